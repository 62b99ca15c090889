#!/usr/bin/env python3
"""Golden files for tests/test_image_decode.c: small pictures of many kinds, with the RGB that
Pillow makes of them.

usage: image_decode.py OUT_DIR

Writes NAME (the file) and NAME.rgb (two little-endian int32, width and height, then RGB).
16-bit PNG is written by hand, and its RGB are the high bytes.
"""
import os
import struct
import sys
import zlib

from PIL import Image

W, H = 23, 17


def pixel(x, y):
    return (x * 11) & 255, (y * 15) & 255, (255 - x * 5 - y * 6) & 255, (x * y) & 255


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data)))


def png16(path, channels, color):
    rows = b""
    for y in range(H):
        rows += b"\0" + b"".join(struct.pack(">H", pixel(x, y)[c] * 256 + 77)
                                 for x in range(W) for c in range(channels))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 16, color, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def png_short(path):
    """Indices beyond the palette."""
    rows = b"".join(b"\0" + bytes((x + y) % 6 for x in range(W)) for y in range(H))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 8, 3, 0, 0, 0))
                + chunk(b"PLTE", bytes(range(40, 49)))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def segments(jpeg):
    """Marker and all bytes of each segment up to the scan; then ("scan", the rest)."""
    at = 2
    yield "start", jpeg[:2]
    while jpeg[at + 1] != 0xda:
        size = 2 + struct.unpack(">H", jpeg[at + 2:at + 4])[0]
        yield jpeg[at + 1], jpeg[at:at + size]
        at += size
    yield "scan", jpeg[at:]


def without_huffman(jpeg):
    """As frames of Motion JPEG: the tables are the standard's."""
    return b"".join(s for marker, s in segments(jpeg) if marker != 0xc4)


def odd_scan(jpeg):
    """The scan says that it ends with coefficient 0; sequential ones have all 64."""
    out = b""
    for marker, s in segments(jpeg):
        if marker == "scan":
            size = struct.unpack(">H", s[2:4])[0]
            s = s[:size] + b"\0" + s[size + 1:]
        out += s
    return out


def extra_bytes(jpeg):
    return b"".join((b"\x12\x34" if marker == "scan" else b"") + s for marker, s in segments(jpeg))


def expect(path, rgb):
    with open(path + ".rgb", "wb") as f:
        f.write(struct.pack("<2i", W, H) + rgb)


def main():
    os.chdir(sys.argv[1])
    rgba = Image.new("RGBA", (W, H))
    rgba.putdata([pixel(x, y) for y in range(H) for x in range(W)])
    rgb = rgba.convert("RGB")
    cmyk = Image.merge("CMYK", rgba.split())
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees: ignored, here and by Image.open
    saved = {
        "rgb.jpg": (rgb, {"quality": 90}),
        "rgb444.jpg": (rgb, {"quality": 90, "subsampling": 0}),
        "progressive.jpg": (rgb, {"quality": 90, "progressive": True}),
        "restart.jpg": (rgb, {"quality": 90, "restart_marker_blocks": 1}),
        "rotated.jpg": (rgb, {"quality": 90, "exif": exif}),
        "grey.jpg": (rgb.convert("L"), {"quality": 90}),
        "cmyk.jpg": (cmyk, {"quality": 90}),
        "rgb.png": (rgb, {}),
        "rgba.png": (rgba, {}),
        "grey.png": (rgb.convert("L"), {}),
        "greyalpha.png": (rgba.convert("LA"), {}),
        "palette.png": (rgb.quantize(16), {}),
        "bit.png": (rgb.convert("1"), {}),
        "rgb.bmp": (rgb, {}),
        "palette.gif": (rgb.quantize(16), {}),
        "rgb.ppm": (rgb, {}),
        "grey.pgm": (rgb.convert("L"), {}),
    }
    edits = {"mjpeg.jpg": without_huffman, "scan.jpg": odd_scan, "extra.jpg": extra_bytes}
    for name, (image, options) in saved.items():
        image.save(name, **options)
        expect(name, Image.open(name).convert("RGB").tobytes())
    for name, edit in edits.items():
        with open("rgb.jpg", "rb") as f:
            data = edit(f.read())
        with open(name, "wb") as f:
            f.write(data)
        expect(name, Image.open(name).convert("RGB").tobytes())
    png_short("short.png")
    expect("short.png", Image.open("short.png").convert("RGB").tobytes())
    png16("rgb16.png", 3, 2)
    expect("rgb16.png", rgb.tobytes())
    png16("grey16.png", 1, 0)
    expect("grey16.png", bytes(pixel(x, y)[0] for y in range(H) for x in range(W) for _ in range(3)))


main()
