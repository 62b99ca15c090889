#!/usr/bin/env python3
"""Writes small containers as other programs do, for tests/dataset/test_containers.c.

Five images of 6 x 5 pixels in three classes with label maps, as PNG files and in each
container, by the library of its format: webdataset, lmdb, tfrecord, h5py, zipfile. MXNet is
no longer maintained, so its RecordIO files are written here as described by
src/io/image_recordio.h and python/mxnet/recordio.py.

  pip install webdataset lmdb tfrecord h5py numpy pillow
  scripts/golden/containers.py tests/golden/containers
"""
import io
import os
import struct
import sys
import zipfile

import numpy as np
from PIL import Image

N, W, H, CLASSES = 5, 6, 5, 3
LABEL = [1, 0, 2, 2, 1]


def png(array):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "PNG")
    return out.getvalue()


rng = np.random.default_rng(1)
PIXELS = rng.integers(0, 256, (N, H, W, 3), dtype=np.uint8)
VALUES = rng.integers(0, CLASSES, (N, H, W), dtype=np.uint8)
IMAGE = [png(p) for p in PIXELS]
MAP = [png(v) for v in VALUES]


def make(*path):
    folder = os.path.join(sys.argv[1], *path)
    os.makedirs(folder, exist_ok=True)
    return folder


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def files():
    for i in range(N):
        write(os.path.join(make("files"), f"{i}.png"), IMAGE[i])
        write(os.path.join(make("files"), f"{i}_map.png"), MAP[i])


def tar():
    import webdataset

    with webdataset.ShardWriter(os.path.join(make("tar"), "train-%02d.tar"), maxcount=3, mtime=0,
                                verbose=0) as out:
        for i in range(N):
            out.write({"__key__": f"a.b/x/{i:04d}", "png": IMAGE[i], "cls": LABEL[i],
                       "seg.png": MAP[i], "json": {"text": "passed over"}})


def lmdb_file(folder, label):
    import lmdb

    env = lmdb.open(os.path.join(make(folder), "train.lmdb"), map_size=1 << 20)
    with env.begin(write=True) as txn:
        txn.put(b"num-samples", str(N).encode())
        for i in range(N):
            txn.put(b"image-%09d" % (i + 1), IMAGE[i])
            txn.put(b"label-%09d" % (i + 1), label(i))
    env.close()
    os.remove(os.path.join(sys.argv[1], folder, "train.lmdb", "lock.mdb"))


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def datum(i):
    """Returns the caffe.Datum (caffe.proto) of image i: encoded, or blue, green, and red
    planes."""
    if i % 2:
        return (b"\x22" + varint(len(IMAGE[i])) + IMAGE[i] + b"\x28" + varint(LABEL[i]) +
                b"\x38\x01")
    planes = PIXELS[i][:, :, ::-1].transpose(2, 0, 1).tobytes()
    return (b"\x08\x03\x10" + varint(H) + b"\x18" + varint(W) + b"\x22" +
            varint(len(planes)) + planes + b"\x28" + varint(LABEL[i]))


def lmdb_keys(folder, key, value):
    import lmdb

    env = lmdb.open(os.path.join(make(folder), "train_lmdb"), map_size=1 << 20)
    with env.begin(write=True) as txn:
        for i in range(N):
            txn.put(key(i), value(i))
    env.close()
    os.remove(os.path.join(sys.argv[1], folder, "train_lmdb", "lock.mdb"))


def tfrecord():
    from tfrecord.writer import TFRecordWriter

    out = TFRecordWriter(os.path.join(make("tfrecord"), "train-00000-of-00001.tfrecord"))
    for i in range(N):
        out.write({"image/encoded": (IMAGE[i], "byte"),
                   "image/class/label": (LABEL[i], "int"),
                   "image/segmentation/class/encoded": (MAP[i], "byte"),
                   "image/height": (H, "int"), "image/weight": (0.5, "float"),
                   "image/filename": (f"{i}.png".encode(), "byte")})
    out.close()


MAGIC = struct.pack("<I", 0xCED7230A)


def record(data):
    """Returns a record of dmlc-core's RecordIO: split where it contains the magic, padded
    to a multiple of 4."""
    parts, at = [], 0
    for i in range(0, len(data) // 4 * 4, 4):
        if data[i:i + 4] == MAGIC:
            parts.append(data[at:i])
            at = i + 4
    parts.append(data[at:])
    out = b""
    for k, part in enumerate(parts):
        flag = 0 if len(parts) == 1 else 1 if k == 0 else 3 if k == len(parts) - 1 else 2
        out += MAGIC + struct.pack("<I", flag << 29 | len(part)) + part
        out += b"\0" * (-len(part) % 4)
    return out


def recordio():
    index, rec = "", b""
    for i in range(N):
        index += f"{i}\t{len(rec)}\n"
        if i == 3:  # labels in an array, and a PNG comment that contains the magic
            data = struct.pack("<IfQQ", 1, 0, i, 0) + struct.pack("<f", LABEL[i])
        else:
            data = struct.pack("<IfQQ", 0, LABEL[i], i, 0)
        data += IMAGE[i]
        if i in (2, 4):  # bytes after the end of a PNG are ignored
            data += b"\0" * (-len(data) % 4) + MAGIC + b"behind" + b"\0\0" + MAGIC
        rec += record(data)
    write(os.path.join(make("recordio"), "train.rec"), rec)
    write(os.path.join(make("recordio"), "train.idx"), index.encode())


def hdf5():
    import h5py

    with h5py.File(os.path.join(make("hdf5"), "train.h5"), "w") as f:
        kind = h5py.vlen_dtype(np.uint8)
        for name, all_of in (("images", IMAGE), ("label_maps", MAP)):
            to = f.create_dataset(name, (N,), dtype=kind)
            for i in range(N):
                to[i] = np.frombuffer(all_of[i], np.uint8)
        f["labels"] = np.array(LABEL, np.int64)
    with h5py.File(os.path.join(make("hdf5_pixels"), "train.h5"), "w") as f:
        f.create_dataset("images", data=PIXELS, chunks=(1, H, W, 3), compression="gzip")
        f["label_maps"] = VALUES
        f["labels"] = np.array(LABEL, np.uint8)
    with h5py.File(os.path.join(make("hdf5_gray"), "train.hdf5"), "w") as f:
        f["images"] = PIXELS[..., 0]
        f["label_maps"] = VALUES[..., None]
        f["labels"] = np.array(LABEL, np.float32)[:, None]


def swin_zip():
    text = ""
    with zipfile.ZipFile(os.path.join(make("zip"), "train.zip"), "w") as z:
        for i in range(N):
            name = f"n{LABEL[i]:03d}/{i}.png"
            how = zipfile.ZIP_DEFLATED if i % 2 else zipfile.ZIP_STORED
            z.writestr(zipfile.ZipInfo(name), IMAGE[i], how)
            text += f"{name}\t{LABEL[i]}\n"
    write(os.path.join(make("zip"), "train_map.txt"), text.encode())


def names():
    """Class folders with non-ASCII names and nested folders."""
    import tarfile

    with tarfile.open(os.path.join(make("tar_names"), "train.tar"), "w") as t, \
            zipfile.ZipFile(os.path.join(make("zip_names"), "train.zip"), "w") as z:
        for i in range(N):
            entry = tarfile.TarInfo(f"{'a é,b ü,c 日'.split(',')[LABEL[i]]}/{i}/x.png")
            entry.size = len(IMAGE[i])
            t.addfile(entry, io.BytesIO(IMAGE[i]))
            z.writestr(zipfile.ZipInfo(entry.name), IMAGE[i])


files()
tar()
names()
lmdb_file("lmdb", lambda i: str(LABEL[i]).encode())
lmdb_file("lmdb_maps", lambda i: MAP[i])
lmdb_keys("lmdb_caffe", lambda i: b"%08d_%d.png" % (i, i), datum)
# Keys are sorted: those with more leading "./" come first.
lmdb_keys("lmdb_paths", lambda i: b"./" * (N - i) + b"n%03d/%d/x.png" % (LABEL[i], i),
          lambda i: IMAGE[i])
tfrecord()
recordio()
hdf5()
swin_zip()
