#!/usr/bin/env python3
"""Makes a folder of photos for scripts/bench/loader.sh: images from a tar file, resampled
to ImageNet's usual 500x375 and stored as JPEGs with 4:2:0 chroma.

    loader_photos.py IMAGES.tar OUT [--count 300] [--size 500x375] [--quality 90]

Writes OUT/train/{0,1,2,3}/NNNN.jpg. Use real photos only: drawings compress too well.
"""
import argparse
import io
import os
import tarfile

from PIL import Image


def images(path):
    with tarfile.open(path) as tar:
        for member in tar:
            if member.name.lower().endswith((".jpg", ".jpeg")):
                yield Image.open(io.BytesIO(tar.extractfile(member).read())).convert("RGB")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tar")
    p.add_argument("out")
    p.add_argument("--count", type=int, default=300)
    p.add_argument("--size", default="500x375")
    p.add_argument("--quality", type=int, default=90)
    a = p.parse_args()
    size = tuple(int(n) for n in a.size.split("x"))
    n = 0
    for image in images(a.tar):
        folder = os.path.join(a.out, "train", str(n % 4))
        os.makedirs(folder, exist_ok=True)
        image.resize(size, Image.BICUBIC).save(
            os.path.join(folder, f"{n:04}.jpg"), quality=a.quality, subsampling=2)
        n += 1
        if n == a.count:
            break
    print(f"{n} images of {a.size} in {a.out}")


main()
