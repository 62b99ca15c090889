#!/usr/bin/env python3
"""Writes the golden file for tests/image/test_transform.c: torchvision's Resize and
CenterCrop on a synthetic image.

usage: image_center.py OUT.bin

A sequence of cases: int32 width, height, resize, crop, then crop x crop pixels of RGB.
"""
import struct
import sys

from torchvision import transforms

from image_formula import formula_image

CASES = [(50, 37, 32, 28), (37, 50, 32, 27), (64, 64, 29, 24), (61, 20, 16, 16),
         (40, 30, 20, 24), (23, 40, 17, 30), (30, 30, 30, 30)]


def main():
    with open(sys.argv[1], "wb") as out:
        for w, h, resize, crop in CASES:
            t = transforms.Compose([
                transforms.Resize(resize, transforms.InterpolationMode.BICUBIC),
                transforms.CenterCrop(crop)])
            out.write(struct.pack("<4i", w, h, resize, crop) + t(formula_image(w, h)).tobytes())


main()
