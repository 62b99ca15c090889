#!/usr/bin/env python3
"""Converts Parquet files with images inside, such as Hugging Face's data sets, to tar files
that trainc reads (DATA.DATASET tar, WebDataset's layout).

    scripts/parquet.py SOURCE OUT [--image COLUMN] [--label COLUMN]

SOURCE is a folder or a Parquet file. The split is the part of the file name before the
first hyphen (train-00000-of-00004.parquet, test.parquet). An image is the bytes of a file,
or a struct of `bytes` and `path`. A label is text, or a number whose name may be in Hugging
Face's metadata. Writes OUT/SPLIT-000000.tar, ..., and OUT/classes.txt if the classes have
names. Needs pyarrow.
"""
import argparse
import io
import json
import pathlib
import sys
import tarfile

import pyarrow.parquet

IMAGES = ("image", "img", "pixel_values", "picture", "photo")
LABELS = ("label", "labels", "fine_label", "class", "category", "target")
KINDS = {b"\xff\xd8": "jpg", b"\x89P": "png", b"GI": "gif", b"BM": "bmp", b"RI": "webp", b"II": "tif", b"MM": "tif"}
SPLITS = {"validation": "val", "valid": "val", "dev": "val"}
SHARD = 10000  # images per tar file


def fail(text):
    sys.exit(f"parquet.py: {text}")


def find(columns, named, usual, what, source):
    """Returns the column `named`, or the first with a usual name."""
    for name in [named] if named else usual:
        if name in columns:
            return name
    fail(f"{source}: no column of {what}{f' {named!r}' if named else ''}; name it by --{what}: {', '.join(columns)}")


def class_names(schema, label):
    """Returns the names of the classes in Hugging Face's metadata, or None."""
    text = (schema.metadata or {}).get(b"huggingface")
    features = json.loads(text).get("info", {}).get("features", {}) if text else {}
    names = features.get(label, {}).get("names")
    return names if isinstance(names, list) and all(isinstance(n, str) and "\n" not in n for n in names) else None


def split_of(path):
    name = path.name.split("-")[0].split(".")[0]
    return SPLITS.get(name, name)


class Writer:
    """Writes the tar files of a split."""

    def __init__(self, out, split):
        self.out, self.split, self.n, self.tar = out, split, 0, None

    def add(self, image, label):
        if self.n % SHARD == 0:
            self.close()
            self.tar = tarfile.open(self.out / f"{self.split}-{self.n // SHARD:06}.tar", "w")
        kind = KINDS.get(bytes(image[:2]))
        if not kind:
            fail(f"{self.split}, image {self.n}: neither a JPEG nor another known image")
        for ending, data in (kind, image), ("cls", str(label).encode()):
            info = tarfile.TarInfo(f"{self.n:09}.{ending}")
            info.size = len(data)
            self.tar.addfile(info, io.BytesIO(data))
        self.n += 1

    def close(self):
        if self.tar:
            self.tar.close()


def image_bytes(value):
    return value.get("bytes") if isinstance(value, dict) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--image")
    parser.add_argument("--label")
    args = parser.parse_args()
    files = sorted(args.source.rglob("*.parquet")) if args.source.is_dir() else [args.source]
    if not files:
        fail(f"{args.source}: no .parquet file")
    args.out.mkdir(parents=True, exist_ok=True)
    writers, names = {}, None
    for path in files:
        file = pyarrow.parquet.ParquetFile(path)
        image = find(file.schema_arrow.names, args.image, IMAGES, "image", path)
        label = find(file.schema_arrow.names, args.label, LABELS, "label", path)
        names = names or class_names(file.schema_arrow, label)
        writer = writers.setdefault(split_of(path), Writer(args.out, split_of(path)))
        for batch in file.iter_batches(256, columns=[image, label]):
            for value, target in zip(batch[image].to_pylist(), batch[label].to_pylist()):
                data = image_bytes(value)
                if not data:
                    fail(f"{path}: image {writer.n} of the split has no bytes: the file names it only")
                if target is None or target == -1:
                    fail(f"{path}: image {writer.n} of the split has no label")
                writer.add(data, target)
    for writer in writers.values():
        writer.close()
        print(f"{writer.split}: {writer.n} images")
    if names:
        (args.out / "classes.txt").write_text("".join(f"{n}\n" for n in names), encoding="utf-8")


main()
