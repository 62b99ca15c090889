#!/usr/bin/env python3
"""Writes golden files for tests/image/test_channels.c: images with other channels than RGB.

usage: image_channels.py OUT_DIR

Writes NAME (the file) and NAME.bin (three little-endian int32, width, height, and channels,
then the bytes). One channel is Pillow's convert("L").
"""
import io
import os
import struct
import sys

from PIL import Image

from image_tiff import (BITS, BLACK, COMPRESSION, DEFLATE, EXTRA, H, PHOTOMETRIC, PLANAR, SAMPLES, TILE_HEIGHT,
                        TILE_WIDTH, W, strips, tiff, tiles)

BANDS = 5


def pixel(x, y):
    return tuple((37 * x + 91 * y + 53 * c + x * y * (c + 1)) & 255 for c in range(BANDS))


def image(mode, channels):
    im = Image.new(mode, (W, H))
    im.putdata([pixel(x, y)[:channels] for y in range(H) for x in range(W)])
    return im


def saved(images, kind, **more):
    out = io.BytesIO()
    images[0].save(out, kind, **({"append_images": images[1:], "save_all": True} if images[1:] else {}), **more)
    return out.getvalue()


def bands():
    return [Image.frombytes("L", (W, H), bytes(pixel(x, y)[c] for y in range(H) for x in range(W)))
            for c in range(BANDS)]


def planes(cut):
    return [b for c in range(BANDS) for b in cut(lambda x, y: pixel(x, y)[c:c + 1])]


def main():
    os.chdir(sys.argv[1])
    rgb, rgba, la = image("RGB", 3), image("RGBA", 4), image("LA", 2)
    many = {BITS: [8] * BANDS, PHOTOMETRIC: BLACK, SAMPLES: BANDS, EXTRA: [0] * (BANDS - 1)}
    all_bands = bytes(v for y in range(H) for x in range(W) for v in pixel(x, y))
    bit = bands()[:2] + [bands()[2].convert("1", dither=0)]
    bit_bands = bytes(v for p in zip(*(im.convert("L").tobytes() for im in bit)) for v in p)
    files = {
        "gray.png": (saved([rgb], "PNG"), 1, rgb.convert("L").tobytes()),
        "gray_of_rgba.png": (saved([rgba], "PNG"), 1, rgba.convert("L").tobytes()),
        "alpha.png": (saved([la], "PNG"), 2, la.tobytes()),
        "rgba.png": (saved([rgba], "PNG"), 4, rgba.tobytes()),
        "rgba.tif": (saved([rgba], "TIFF", compression="tiff_lzw"), 4, rgba.tobytes()),
        "pages.tif": (saved(bands(), "TIFF", compression="tiff_deflate"), BANDS, all_bands),
        "bit_page.tif": (saved(bit + bands()[3:4], "TIFF"), 4, bytes(
            v for p, q in zip(zip(*[iter(bit_bands)] * 3), bands()[3].tobytes()) for v in p + (q,))),
        "samples.tif": (tiff(strips(pixel, 5), {**many, COMPRESSION: DEFLATE, 278: 5}), BANDS, all_bands),
        "planes.tif": (tiff(planes(lambda s: tiles(s, 16)), {**many, TILE_WIDTH: 16, TILE_HEIGHT: 16,
                                                              COMPRESSION: DEFLATE, PLANAR: 2}, ">"), BANDS, all_bands),
    }
    for name, (data, channels, pixels) in files.items():
        with open(name, "wb") as f:
            f.write(data)
        with open(name + ".bin", "wb") as f:
            f.write(struct.pack("<3i", W, H, channels) + pixels)
    small = bands()[1].resize((W - 1, H))
    for name, pages in {"other_size.tif": [bands()[0], small], "color_page.tif": [bands()[0], rgb.quantize(16)]}.items():
        with open(name, "wb") as f:
            f.write(saved(pages, "TIFF", compression="tiff_deflate"))


if __name__ == "__main__":
    main()
