#!/usr/bin/env python3
"""Writes the golden file for tests/image/test_segment.c: images and their labels resized,
flipped, cropped, padded, and shifted together by Pillow.

usage: image_segment.py OUT.bin

A sequence of cases: int32 seed, epoch, sample, width, height, out width, out height, label
divisor, shift, 0; float64 smallest factor, largest factor, flip; then the image's RGB and
the labels. Random numbers are those of src/base/philox.h and src/image/augment.h.
"""
import struct
import sys

import numpy as np
from PIL import Image

from image_formula import formula_image

STREAM, FLIP, SEGMENT = 2, 1, 7
FILL, IGNORE = (10, 20, 30), 255

#        w   h   W   H   d  shift  factors    flip
CASES = [(48, 36, 24, 16, 1, 0, (0, 0), 0),
         (48, 36, 24, 18, 1, 2, (1, 1), 0.5),
         (40, 30, 24, 16, 1, 3, (1, 1), 0.5),
         (24, 16, 24, 16, 1, 2, (1, 1), 0.5),
         (31, 47, 24, 16, 8, 2, (1, 1), 0.5),
         (48, 32, 24, 16, 8, 0, (0, 0), 0),
         (50, 33, 24, 16, 1, 0, (0.5, 2), 0.5),
         (50, 33, 24, 16, 8, 1, (0.5, 2), 0.5),
         (20, 40, 24, 16, 1, 0, (0, 0), 1)]
SAMPLES = 3


def philox(seed, step, element):
    c = [element & 0xffffffff, element >> 32, step & 0xffffffff, (step >> 32) ^ (STREAM << 24)]
    k = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xffffffff, (p0 >> 32) ^ c[3] ^ k[1],
             p0 & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c


def draw(key, purpose, n):
    seed, epoch, sample = key
    return philox(seed, epoch, sample | purpose << 40 | n << 48)


def integer(bits, lo, hi):
    return lo + (bits * (hi - lo + 1) >> 32)


def labels(w, h):
    y, x = np.mgrid[:h, :w]
    return ((x // 3 + 5 * (y // 4)) % 19).astype(np.uint8)


def nearest(n, out):
    return [(2 * o + 1) * n // (2 * out) for o in range(out)]


def place(bits, spare, random):
    if not random:
        return -(-spare // 2) if spare < 0 else spare // 2
    return -integer(bits, 0, -spare) if spare < 0 else integer(bits, 0, spare)


def segmentation_sample(key, w, h, W, H, d, shift, factors, flip):
    r, s = draw(key, SEGMENT, 0), draw(key, SEGMENT, 1)
    random = factors[0] > 0
    f = factors[0] + (factors[1] - factors[0]) * (r[0] / 2**32) if random else 1
    wide = W * h <= H * w
    rw, rh = (W, round(h * W / w)) if wide else (round(w * H / h), H)
    rw, rh = max(1, round(f * rw)), max(1, round(f * rh))
    x = place(r[1], rw - W, random) - integer(s[0], -shift, shift)
    y = place(r[2], rh - H, random) - integer(s[1], -shift, shift)
    image = formula_image(w, h).resize((rw, rh), Image.BILINEAR)
    label = labels(w, h)[nearest(h, rh)][:, nearest(w, rw)]
    if (rw - w) % 2 == 0:  # otherwise Pillow's sums may fall short of an integer
        pillow = Image.fromarray(labels(w, h)).resize((rw, rh), Image.NEAREST)
        print("labels that are not Pillow's:", (np.array(pillow) != label).sum())
    if draw(key, FLIP, 0)[0] / 2**32 < flip:
        image, label = image.transpose(Image.FLIP_LEFT_RIGHT), label[:, ::-1]
    out = Image.new("RGB", (W, H), FILL)
    out.paste(image, (-x, -y))
    full = np.full((H, W), IGNORE, np.uint8)
    for i in range(H):
        for j in range(W):
            if 0 <= i + y < rh and 0 <= j + x < rw:
                full[i, j] = label[i + y, j + x]
    return out, full[d // 2::d, d // 2::d]


def main():
    with open(sys.argv[1], "wb") as out:
        for c in CASES:
            w, h, W, H, d, shift, factors, flip = c
            for sample in range(SAMPLES):
                key = (2**35 + 9, 3, sample)
                image, label = segmentation_sample(key, *c)
                out.write(struct.pack("<10i3d", 9, 3, sample, w, h, W, H, d, shift, 0,
                                      *factors, flip)
                          + image.tobytes() + label.tobytes())


main()
