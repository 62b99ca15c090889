#!/usr/bin/env python3
"""Writes the golden file for tests/image/test_policy.c: timm's RandAugment operations on
one image.

usage: image_policy.py OUT.bin

A sequence of cases: int32 operation (the order of enum policy_op), increasing, sign (1 or
-1), bicubic, float32 magnitude, then 19 x 15 pixels of RGB. The script overrides timm's
random sign.
"""
import struct
import sys

from PIL import Image
from timm.data import auto_augment as aa

from image_formula import formula_image

W, H = 19, 15
INCREASING = ["AutoContrast", "Equalize", "Invert", "Rotate", "PosterizeIncreasing",
              "SolarizeIncreasing", "SolarizeAdd", "ColorIncreasing", "ContrastIncreasing",
              "BrightnessIncreasing", "SharpnessIncreasing", "ShearX", "ShearY",
              "TranslateXRel", "TranslateYRel"]
PLAIN = [name.replace("Increasing", "") for name in INCREASING]


def main():
    # Smooth, because the formula's noise would mask errors of the sampling positions.
    image = formula_image(W, H).resize((W // 3, H // 3)).resize((W, H), Image.BICUBIC)
    with open(sys.argv[1], "wb") as out:
        out.write(image.tobytes())
        for increasing, names in enumerate([PLAIN, INCREASING]):
            for op, name in enumerate(names):
                geometric = name.startswith(("Rotate", "Shear", "Translate"))
                signed = geometric or (increasing and 7 <= op <= 10)
                if not increasing and name in INCREASING:
                    continue  # the same in both sets
                for m in (9.0, 3.3):
                    for sign in (1, -1) if signed else (1,):
                        for bicubic in (0, 1) if geometric else (0,):
                            aa.random.random = lambda: 0.2 if sign > 0 else 0.8
                            operation = aa.AugmentOp(name, prob=1.0, magnitude=m, hparams={
                                "img_mean": (124, 116, 104),
                                "interpolation": Image.BICUBIC if bicubic else Image.BILINEAR})
                            out.write(struct.pack("<4if", op, increasing, sign, bicubic, m)
                                      + operation(image).tobytes())


main()
