#!/usr/bin/env python3
"""Writes golden files for tests/image/test_label.c: label maps with 1, 2, 4, and 8 bits per
pixel, gray (gN.png), with a palette (pN.png), and interlaced (pNi.png). The test computes
their values with the same formula. deep.jp2 has 16 bits per pixel.

usage: image_label.py OUT_DIR

The files are written by hand because Pillow cannot write interlaced PNGs; it verifies the
palettes.
"""
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image

W, H = 23, 17
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
         (0, 1, 1, 2)]


def values(bits):
    y, x = np.mgrid[:H, :W]
    return ((x * 3 + y * 7 + x * y % 5) % (1 << bits)).astype(np.uint8)


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data)))


def pack(v, bits):
    """Packs rows with `bits` per pixel, most significant first, each after filter type 0."""
    rows = b""
    for row in v:
        text = "".join(format(p, "0%db" % bits) for p in row)
        text += "0" * (-len(text) % 8)
        rows += b"\0" + bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))
    return rows


def png(path, bits, palette, interlaced):
    v = values(bits)
    rows = pack(v, bits)
    if interlaced:
        rows = b"".join(pack(v[y::dy, x::dx], bits) for x, y, dx, dy in ADAM7)
    colors = b""
    if palette:  # different from the indices
        colors = chunk(b"PLTE", bytes((i * 77 + 200 + c * 31) & 255
                                       for i in range(1 << bits) for c in range(3)))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, bits, 3 if palette else 0, 0, 0,
                                             1 if interlaced else 0))
                + colors + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    read = np.array(Image.open(path))
    assert not palette or (read == v).all(), path


def main():
    os.chdir(sys.argv[1])
    for bits in (1, 2, 4, 8):
        png("g%d.png" % bits, bits, False, False)
        png("p%d.png" % bits, bits, True, False)
        png("p%di.png" % bits, bits, True, True)
    Image.fromarray(values(8).astype(np.uint16) * 257).save("deep.jp2")


main()
