#!/usr/bin/env python3
"""Writes golden files for tests/image/test_policy.c: timm's AutoAugment pairs and
torchvision's TrivialAugmentWide on one image.

usage: image_policies.py FOLDER

pairs.txt: policy, pair, member, operation (the order of enum policy_op), probability, and
the argument on an image of 200 x 100 for either sign. torchvision.bin: 19 x 15 pixels of
RGB, then cases of int32 choice, bin, and sign with the resulting pixels.
"""
import struct
import sys

from PIL import Image
from timm.data import auto_augment as aa
from torchvision.transforms import InterpolationMode, autoaugment

from image_formula import formula_image

OPS = ["AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize",
       "SolarizeAdd", "Color", "Contrast", "Brightness", "Sharpness", "ShearX", "ShearY",
       "TranslateXRel", "TranslateYRel"]
W, H, BINS = 19, 15, 31


def pairs(out):
    for name in ("original", "originalr", "v0", "v0r"):
        for i, pair in enumerate(aa.auto_augment_policy(name)):
            for k, op in enumerate(pair):
                base = op.name.replace("Increasing", "").replace("Original", "")
                sides = []
                for coin in (0.2, 0.8):
                    aa.random.random = lambda coin=coin: coin
                    args = op.level_fn(op.magnitude, op.hparams) if op.level_fn else (0,)
                    scale = {"TranslateXRel": 200, "TranslateYRel": 100}.get(base, 1)
                    sides.append(repr(float(args[0] * scale)))
                print(name, i, k, OPS.index(base), op.prob, *sides, file=out)


def trivial(out):
    image = formula_image(W, H).resize((W // 3, H // 3)).resize((W, H), Image.BICUBIC)
    space = autoaugment.TrivialAugmentWide()._augmentation_space(BINS)
    out.write(image.tobytes())
    for choice, (name, (size, signed)) in enumerate(space.items()):
        for b in (0, 7, 13, 30) if size.ndim else (0,):
            for sign in (1, -1) if signed else (1,):
                value = float(size[b]) if size.ndim else 0.0
                done = autoaugment._apply_op(image, name, sign * value,
                                             InterpolationMode.BILINEAR, None)
                out.write(struct.pack("<3i", choice, b, sign) + done.tobytes())


def main():
    with open(sys.argv[1] + "/pairs.txt", "w") as out:
        pairs(out)
    with open(sys.argv[1] + "/torchvision.bin", "wb") as out:
        trivial(out)


main()
