#!/usr/bin/env python3
"""Golden files for tests/image/test_exif.c: images with an EXIF orientation, with the RGB
that Pillow's ImageOps.exif_transpose makes of them.

usage: image_exif.py OUT_DIR

Writes NAME (the file) and NAME.rgb (two little-endian int32, width and height, then RGB).
"""
import os
import struct
import sys

from PIL import Image, ImageOps

W, H = 23, 17


def pixel(x, y):
    return (x * 11) & 255, (y * 15) & 255, (255 - x * 5 - y * 6) & 255


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    os.chdir(sys.argv[1])
    rgb = Image.new("RGB", (W, H))
    rgb.putdata([pixel(x, y) for y in range(H) for x in range(W)])
    names = [f"{k}.jpg" for k in range(1, 9)] + ["6.png", "8.webp", "5.tif", "3.tif"]
    names += [f"{k}.avif" for k in range(1, 9)]
    for name in names:
        exif = Image.Exif()
        exif[0x010f] = "a maker"  # another tag before it
        exif[0x0112] = int(name[0])
        if name.endswith(".tif"):
            rgb.save(name, tiffinfo={0x0112: int(name[0])})
        else:
            rgb.save(name, exif=exif, **({"lossless": True} if "webp" in name else {"quality": 90} if "avif" in name else {}))
        image = Image.open(name)
        if name.endswith(".tif"):  # Pillow has oriented it already when it is loaded
            image.load()
        shown = ImageOps.exif_transpose(image).convert("RGB")
        with open(name + ".rgb", "wb") as f:
            f.write(struct.pack("<2i", *shown.size) + shown.tobytes())


main()
