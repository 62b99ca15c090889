#!/usr/bin/env python3
"""Writes the golden file for tests/image/test_enhance.c: Pillow's color operations on one
image.

usage: image_enhance.py OUT.bin

A sequence of cases: int32 operation, float32 argument, then 29 x 21 pixels of RGB. The
order of the operations is that of the enum in the test.
"""
import struct
import sys

from PIL import Image, ImageEnhance, ImageOps

from image_formula import formula_image

W, H = 29, 21


def solarize_add(image, add):
    table = [min(255, v + int(add)) if v < 128 else v for v in range(256)] * 3
    return image.point(table)


OPERATIONS = [
    lambda i, f: ImageEnhance.Brightness(i).enhance(f),
    lambda i, f: ImageEnhance.Contrast(i).enhance(f),
    lambda i, f: ImageEnhance.Color(i).enhance(f),
    lambda i, f: ImageEnhance.Sharpness(i).enhance(f),
    lambda i, f: ImageOps.autocontrast(i),
    lambda i, f: ImageOps.equalize(i),
    lambda i, f: ImageOps.invert(i),
    lambda i, f: ImageOps.solarize(i, int(f)),
    solarize_add,
    lambda i, f: ImageOps.posterize(i, int(f)),
]
ARGUMENTS = [
    (0.19, 0.6, 1.0, 1.81), (0.19, 0.6, 1.81), (0.0, 0.19, 0.6, 1.81), (0.19, 0.6, 1.81),
    (0,), (0,), (0,), (26, 128, 256), (38, 99), (1, 4, 7),
]


def main():
    image = formula_image(W, H)
    # A narrower range, so that autocontrast and equalize have an effect.
    image = image.point([20 + v * 180 // 255 for v in range(256)] * 3)
    with open(sys.argv[1], "wb") as out:
        for i, (operation, arguments) in enumerate(zip(OPERATIONS, ARGUMENTS)):
            for a in arguments:
                out.write(struct.pack("<if", i, a) + operation(image, a).tobytes())


main()
