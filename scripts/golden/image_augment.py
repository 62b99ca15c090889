#!/usr/bin/env python3
"""Writes golden files for tests/image/test_augment_list.c and test_augmix.c: torchvision's
operations, its AugMix, and OpenCV's CLAHE on one image.

usage: image_augment.py FOLDER

torchvision.bin: 24 x 18 pixels of RGB, a smoothed copy, and a label map, then a sequence of
cases: the operation (16 bytes), four float64 values of its fields (perspective: the
corners' inward shifts in pixels, x + 1000 y), int32 bicubic and label, then the pixels, RGB
or label.

augmix.bin: 24 x 18 pixels of RGB, then cases of int32 chains, float32 weight of the image,
and for each chain float32 weight, int32 depth, and int32 operation, level, and sign of each
operation; then the pixels.

clahe.bin: cases of float64 limit, int32 tiles, w, h, and gray, and the pixels before and
after, RGB or gray.
"""
import math
import struct
import sys

import cv2
import numpy
import torchvision.transforms.functional as F
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment

from image_formula import formula_image

W, H = 24, 18
FILL, IGNORE = [124, 116, 104], 255
CORNERS = [(3, 1), (0, 4), (5, 2), (2, 0)]


def perspective(image, mode, fill):
    (a, b), (c, d), (e, f), (g, h) = CORNERS
    start = [[0, 0], [W - 1, 0], [W - 1, H - 1], [0, H - 1]]
    end = [[a, b], [W - 1 - c, d], [W - 1 - e, H - 1 - f], [g, H - 1 - h]]
    return F.perspective(image, start, end, mode, fill)


def affine(degrees, share, scale, shear):
    shift = [round(W * share), round(H * share)]
    return lambda image, mode, fill: F.affine(image, -degrees, shift, scale, [shear, 0.0],
                                              mode, fill)


def blur(sigma):
    taps = 2 * int(4 * sigma + 0.5) + 1
    return lambda image: F.gaussian_blur(image, [taps, taps], [sigma, sigma])


MOVES = [("hflip", [], lambda i, m, f: F.hflip(i)), ("vflip", [], lambda i, m, f: F.vflip(i))]
MOVES += [("rotate", [d], lambda i, m, f, d=d: F.rotate(i, d, m, fill=f)) for d in (33.0, -7.5)]
MOVES += [("affine", v, affine(*v)) for v in ([20.0, 0.1, 0.8, 12.0], [0.0, -0.2, 1.3, 0.0],
                                              [-50.0, 0.0, 1.0, -30.0])]
MOVES += [("perspective", [x + 1000 * y for x, y in CORNERS], perspective)]
COLORS = [("blur", [s], blur(s)) for s in (0.3, 1.0, 1.7)]
for amount in (-1.0, -0.45, 0.3, 1.5):
    COLORS += [(name, [amount], lambda i, f=f, a=amount: f(i, 1 + a)) for name, f in (
        ("sharpness", F.adjust_sharpness), ("brightness", F.adjust_brightness),
        ("contrast", F.adjust_contrast), ("saturation", F.adjust_saturation))]
COLORS += [("hue", [a], lambda i, a=a: F.adjust_hue(i, a)) for a in (-0.5, -0.1, 0.03, 0.25, 0.5)]
COLORS += [("grayscale", [], lambda i: F.rgb_to_grayscale(i, 3)),
           ("posterize", [4], lambda i: F.posterize(i, 4)),
           ("posterize", [1], lambda i: F.posterize(i, 1)),
           ("solarize", [128], lambda i: F.solarize(i, 128)),
           ("solarize", [40], lambda i: F.solarize(i, 40)),
           ("equalize", [], F.equalize), ("autocontrast", [], F.autocontrast),
           ("invert", [], F.invert)]


def augmix(out):
    image = formula_image(W, H).resize((W // 3, H // 3)).resize((W, H), Image.BICUBIC)
    space = autoaugment.AugMix()._augmentation_space(10, (H, W))
    names = list(space)
    out.write(image.tobytes())
    for n in range(40):
        depths = [1] if n < 26 else [1 + n % 3, 2, 1 + n % 4][:1 + n % 3]
        weights = numpy.float32([1] * len(depths)) * numpy.float32(0 if n < 26 else 0.23)
        own = numpy.float32(1) - weights.sum(dtype=numpy.float32) if n >= 26 else 0
        weights = weights if n >= 26 else numpy.float32([1])
        total = numpy.asarray(image, numpy.float32) * numpy.float32(own)
        out.write(struct.pack("<if", len(depths), own))
        for i, depth in enumerate(depths):
            chain = image
            out.write(struct.pack("<fi", weights[i], depth))
            for k in range(depth):
                op, level = (n + 5 * i + 3 * k) % 13, (n // 13 * 4 + 3 + i + k) % 10
                sign = -1 if (n + k) % 2 else 1
                sizes, signed = space[names[op]]
                value = float(sizes[level]) if sizes.ndim else 0.0
                chain = autoaugment._apply_op(chain, names[op], sign * value if signed else value,
                                              InterpolationMode.BILINEAR, FILL)
                out.write(struct.pack("<3i", op, level, sign))
            total += weights[i] * numpy.asarray(chain, numpy.float32)
        out.write(total.astype(numpy.uint8).tobytes())


def clahe(out):
    for w, h in ((W, H), (50, 33)):
        rgb = numpy.asarray(formula_image(w // 2, h // 2).resize((w, h), Image.BICUBIC))
        for limit, tiles in ((2.0, 4), (4.0, 8), (1.0, 1), (0.0, 3)):
            op = cv2.createCLAHE(clipLimit=limit, tileGridSize=(tiles, tiles))
            lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB)
            lab[:, :, 0] = op.apply(lab[:, :, 0].copy())
            gray = rgb[:, :, 1].copy()
            for is_gray, source, pixels in ((1, gray, op.apply(gray)),
                                            (0, rgb, cv2.cvtColor(lab, cv2.COLOR_LAB2RGB))):
                out.write(struct.pack("<d4i", limit, tiles, w, h, is_gray))
                out.write(source.tobytes() + pixels.tobytes())


def main():
    noisy = formula_image(W, H)
    # Smooth, because the formula's noise would mask errors of the sampling positions.
    smooth = noisy.resize((W // 3, H // 3)).resize((W, H), Image.BICUBIC)
    label = Image.new("L", (W, H))
    label.putdata([(x // 3 + 5 * (y // 4)) % 19 for y in range(H) for x in range(W)])
    with open(sys.argv[1] + "/torchvision.bin", "wb") as out:
        out.write(noisy.tobytes() + smooth.tobytes() + label.tobytes())

        def case(name, values, bicubic, is_label, image):
            values = list(values) + [math.nan] * (4 - len(values))
            out.write(struct.pack("<16s4d2i", name.encode(), *values, bicubic, is_label))
            out.write(image.tobytes())

        for name, values, f in MOVES:
            case(name, values, 0, 0, f(smooth, InterpolationMode.BILINEAR, FILL))
            case(name, values, 1, 0, f(smooth, InterpolationMode.BICUBIC, FILL))
            case(name, values, 0, 1, f(label, InterpolationMode.NEAREST, [IGNORE]))
        for name, values, f in COLORS:
            case(name, values, 0, 0, f(noisy))
    with open(sys.argv[1] + "/augmix.bin", "wb") as out:
        augmix(out)
    with open(sys.argv[1] + "/clahe.bin", "wb") as out:
        clahe(out)


main()
