#!/usr/bin/env python3
"""Writes the golden file for tests/image/test_resize.c: Pillow's resize on synthetic
images.

usage: image_resize.py OUT.bin

The file is a sequence of cases: nine little-endian int32 (filter, source width, source
height, box x0, y0, x1, y1, output width, output height), then the output, RGB. The box is
cut out first (as in a random resized crop), then resized. Sizes are chosen so that no
center falls on the edge of two pixels, where the result of Pillow's nearest depends on
rounding, and none shrinks much more in height than in width, where only Pillow 13 does the
vertical pass first.
"""
import struct
import sys

from PIL import Image

from image_formula import formula_image

FILTERS = [Image.NEAREST, Image.BOX, Image.BILINEAR, Image.BICUBIC, Image.LANCZOS]
CASES = [  # source, box, output
    ((50, 37), (0, 0, 50, 37), (20, 16)),
    ((50, 37), (7, 5, 40, 33), (22, 24)),
    ((50, 37), (3, 3, 47, 14), (16, 14)),
    ((33, 41), (0, 0, 33, 41), (33, 41 // 2)),
    ((200, 150), (3, 10, 197, 149), (16, 12)),
    ((9, 7), (1, 1, 8, 6), (24, 16)),
    ((31, 1), (0, 0, 31, 1), (7, 5)),
]


def main():
    with open(sys.argv[1], "wb") as out:
        for (w, h), box, size in CASES:
            crop = formula_image(w, h).crop(box)
            for i, f in enumerate(FILTERS):
                out.write(struct.pack("<9i", i, w, h, *box, *size))
                out.write(crop.resize(size, f).tobytes())


main()
