#!/usr/bin/env python3
"""Writes golden files for tests/image/test_decode.c and tests/image/test_tiff.c: small
TIFFs of many kinds, with their RGB as decoded by Pillow.

usage: image_tiff.py OUT_DIR

Writes NAME (the file) and NAME.rgb (two little-endian int32, width and height, then RGB),
as image_decode.py does. Tiles, planes, unusual bit depths, and so on, which Pillow reads
but does not write, are written by hand. Pillow applies the orientation tag; NAME.rgb has
the pixels as stored.
"""
import io
import os
import struct
import sys
import zlib

from PIL import Image

W, H = 23, 17
WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, FILL_ORDER, OFFSETS, ORIENTATION, SAMPLES, ROWS, SIZES = (
    256, 257, 258, 259, 262, 266, 273, 274, 277, 278, 279)
PLANAR, PREDICTOR, COLORS, TILE_WIDTH, TILE_HEIGHT, TILE_OFFSETS, TILE_SIZES, EXTRA = (
    284, 317, 320, 322, 323, 324, 325, 338)
WHITE, BLACK, RGB, PALETTE, CMYK = 0, 1, 2, 3, 5
DEFLATE = 8


def pixel(x, y):
    return (x * 11) & 255, (y * 15) & 255, (255 - x * 5 - y * 6) & 255, (x * y) & 255


def tiff(blocks, tags, order="<", big=False, pages=1):
    """Returns a TIFF with 16-bit tags and the blocks `blocks`; all pages are the same."""
    if tags.get(COMPRESSION) == DEFLATE:
        blocks = [zlib.compress(b, 9) for b in blocks]
    word, count = ("Q", "Q") if big else ("I", "H")
    tags = {WIDTH: W, HEIGHT: H, COMPRESSION: 1, **tags}
    where, sizes = (TILE_OFFSETS, TILE_SIZES) if TILE_WIDTH in tags else (OFFSETS, SIZES)
    at = 16 if big else 8
    tags[where] = [at + sum(len(b) for b in blocks[:i]) for i in range(len(blocks))]
    tags[sizes] = [len(b) for b in blocks]
    if sizes == SIZES:
        tags.setdefault(ROWS, H)
    out = b"".join(blocks)
    out += b"\0" * (len(out) & 1)
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + ("HHHQ" if big else "HI"), *(
        (43, 8, 0, at + len(out)) if big else (42, at + len(out))))
    for page in range(pages):
        entries, late = b"", b""
        start = at + len(out)
        room = struct.calcsize(order + word)
        size = struct.calcsize(order + count) + len(tags) * (4 + 2 * room) + room
        for tag in sorted(tags):
            v = tags[tag] if isinstance(tags[tag], list) else [tags[tag]]
            kind, letter = (4, "I") if tag in (where, sizes) else (3, "H")
            data = struct.pack("%s%d%s" % (order, len(v), letter), *v)
            if len(data) > room:
                offset = start + size + len(late)
                late += data + b"\0" * (len(data) & 1)
                data = struct.pack(order + word, offset)
            entries += struct.pack(order + "HH" + word, tag, kind, len(v)) + data.ljust(room, b"\0")
        next_page = start + size + len(late) if page + 1 < pages else 0
        out += struct.pack(order + count, len(tags)) + entries + struct.pack(order + word, next_page) + late
    return head + out


def rows(sample, x0, x1, y0, y1):
    """Returns sample(x, y), a tuple, for each pixel of a rectangle; 77 outside the image."""
    return b"".join(bytes(sample(x, y)) if x < W and y < H else b"\x4d" * len(sample(0, 0))
                    for y in range(y0, y1) for x in range(x0, x1))


def packed(sample, bits):
    """Packs sample(x, y), one number, into `bits` bits, the first pixel in the high bits."""
    out = b""
    for y in range(H):
        v = 0
        for x in range(W):
            v = v << bits | sample(x, y)
        pad = -W * bits % 8
        out += (v << pad).to_bytes((W * bits + 7) // 8, "big")
    return out


def tiles(sample, size):
    return [rows(sample, x, x + size, y, y + size) for y in range(0, H, size) for x in range(0, W, size)]


def strips(sample, n):
    return [rows(sample, 0, W, y, min(y + n, H)) for y in range(0, H, n)]


def planes(cut, n):
    return [b for c in range(n) for b in cut(lambda x, y: pixel(x, y)[c:c + 1])]


def reverse_bits(data):
    return bytes(int("{:08b}".format(b)[::-1], 2) for b in data)


def colors(n):
    """Returns 16-bit values whose low byte is ignored: all reds, all greens, all blues."""
    return [(i * step + 13) * 256 % 65536 + 200 for step in (31, 57, 99) for i in range(n)]


def gray(x, y):
    return pixel(x, y)[:1]


def made():
    whole = {BITS: [8, 8, 8], PHOTOMETRIC: RGB, SAMPLES: 3}
    four = {BITS: [8] * 4, PHOTOMETRIC: RGB, SAMPLES: 4}
    tiled = {TILE_WIDTH: 16, TILE_HEIGHT: 16, COMPRESSION: DEFLATE}
    rgb = lambda x, y: pixel(x, y)[:3]
    bit = packed(lambda x, y: (x * y) % 3 & 1, 1)
    return {
        "tiles.tif": tiff(tiles(rgb, 16), {**whole, **tiled}, ">"),
        "planes.tif": tiff(planes(lambda s: strips(s, 5), 3), {**whole, PLANAR: 2, ROWS: 5}, ">"),
        "plane_tiles.tif": tiff(planes(lambda s: tiles(s, 16), 4), {**four, **tiled, PLANAR: 2, EXTRA: 2}),
        "premultiplied.tif": tiff(strips(pixel, 7), {**four, COMPRESSION: DEFLATE, EXTRA: 1, ROWS: 7}),
        "unspecified.tif": tiff(strips(pixel, 17), {**four, COMPRESSION: DEFLATE, EXTRA: 0}),
        "cmyk_extra.tif": tiff(strips(lambda x, y: pixel(x, y) + (9,), 17),
                               {BITS: [8] * 5, PHOTOMETRIC: CMYK, SAMPLES: 5, COMPRESSION: DEFLATE, EXTRA: 0}),
        "cmyk_planes.tif": tiff(planes(lambda s: strips(s, 17), 4),
                                {BITS: [8] * 4, PHOTOMETRIC: CMYK, SAMPLES: 4, COMPRESSION: DEFLATE, PLANAR: 2}),
        "fill.tif": tiff([reverse_bits(bit)], {BITS: 1, PHOTOMETRIC: WHITE, SAMPLES: 1, FILL_ORDER: 2}),
        "white.tif": tiff(strips(gray, 17), {BITS: 8, PHOTOMETRIC: WHITE, SAMPLES: 1, COMPRESSION: DEFLATE}),
        "bits2.tif": tiff([packed(lambda x, y: (x + y) & 3, 2)], {BITS: 2, PHOTOMETRIC: BLACK, SAMPLES: 1}),
        "bits4.tif": tiff([packed(lambda x, y: (x + y) & 15, 4)], {BITS: 4, PHOTOMETRIC: WHITE, SAMPLES: 1}),
        "palette1.tif": tiff([bit], {BITS: 1, PHOTOMETRIC: PALETTE, SAMPLES: 1, COLORS: colors(2)}),
        "palette4.tif": tiff([packed(lambda x, y: (x * y) & 15, 4)],
                             {BITS: 4, PHOTOMETRIC: PALETTE, SAMPLES: 1, COLORS: colors(16)}, ">"),
        "big.tif": tiff(strips(rgb, 17), {**whole, COMPRESSION: DEFLATE}, big=True),
        "pages.tif": tiff(strips(gray, 17), {BITS: 8, PHOTOMETRIC: BLACK, SAMPLES: 1, COMPRESSION: DEFLATE},
                          pages=2),
        "rotated.tif": tiff(strips(rgb, 17), {**whole, COMPRESSION: DEFLATE, ORIENTATION: 6}),
    }


def saved():
    rgba = Image.new("RGBA", (W, H))
    rgba.putdata([pixel(x, y) for y in range(H) for x in range(W)])
    rgb, cmyk = rgba.convert("RGB"), Image.merge("CMYK", rgba.split())
    kinds = {
        "rgb.tif": (rgb, None, {}),
        "lzw.tif": (rgb, "tiff_lzw", {PREDICTOR: 2, ROWS: 4}),
        "rgba.tif": (rgba, "tiff_adobe_deflate", {}),
        "gray.tif": (rgb.convert("L"), "packbits", {}),
        "grayalpha.tif": (rgba.convert("LA"), "tiff_deflate", {}),
        "palette.tif": (rgb.quantize(16), "tiff_lzw", {}),
        "cmyk.tif": (cmyk, "zstd", {}),
        "bit.tif": (rgb.convert("1"), "group4", {}),
        "fax3.tif": (rgb.convert("1"), "group3", {}),
        "fax.tif": (rgb.convert("1"), "tiff_ccitt", {}),
        "jpeg.tif": (rgb.convert("YCbCr"), "jpeg", {}),
        "jpeg_cmyk.tif": (cmyk, "jpeg", {}),
    }
    for name, (image, compression, tags) in kinds.items():
        out = io.BytesIO()
        image.save(out, "TIFF", compression=compression, tiffinfo=tags)
        yield name, out.getvalue()


def stored(data):
    """Returns the image before Pillow rotates it."""
    orientation = struct.pack("<HHIHH", ORIENTATION, 3, 1, 6, 0)
    return Image.open(io.BytesIO(data.replace(orientation, orientation[:8] + b"\1\0\0\0"))).convert("RGB")


def main():
    os.chdir(sys.argv[1])
    for name, data in [*saved(), *made().items()]:
        with open(name, "wb") as f:
            f.write(data)
        with open(name + ".rgb", "wb") as f:
            f.write(struct.pack("<2i", W, H) + stored(data).tobytes())


if __name__ == "__main__":
    main()
