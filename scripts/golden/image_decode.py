#!/usr/bin/env python3
"""Writes golden files for tests/image/test_decode.c: small images of many kinds, with their
RGB as decoded by Pillow.

usage: image_decode.py OUT_DIR

Writes NAME (the file) and NAME.rgb (two little-endian int32, width and height, then RGB).
16-bit PNG files are written by hand, and their RGB are the high bytes.
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
    """Writes a PNG with indices beyond the palette."""
    rows = b"".join(b"\0" + bytes((x + y) % 6 for x in range(W)) for y in range(H))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 8, 3, 0, 0, 0))
                + chunk(b"PLTE", bytes(range(40, 49)))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def segments(jpeg):
    """Yields marker and bytes of each segment up to the scan; then ("scan", the rest)."""
    at = 2
    yield "start", jpeg[:2]
    while jpeg[at + 1] != 0xda:
        size = 2 + struct.unpack(">H", jpeg[at + 2:at + 4])[0]
        yield jpeg[at + 1], jpeg[at:at + size]
        at += size
    yield "scan", jpeg[at:]


def without_huffman(jpeg):
    """Like Motion JPEG frames, which rely on the standard Huffman tables."""
    return b"".join(s for marker, s in segments(jpeg) if marker != 0xc4)


def odd_scan(jpeg):
    """Sets the last coefficient of the scan to 0; sequential JPEGs always have all 64."""
    out = b""
    for marker, s in segments(jpeg):
        if marker == "scan":
            size = struct.unpack(">H", s[2:4])[0]
            s = s[:size] + b"\0" + s[size + 1:]
        out += s
    return out


def extra_bytes(jpeg):
    return b"".join((b"\x12\x34" if marker == "scan" else b"") + s for marker, s in segments(jpeg))


def riff(kind, data):
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) & 1)


def webp_chunks(path):
    """Yields kind and bytes of each chunk."""
    with open(path, "rb") as f:
        data = f.read()
    at = 12
    while at < len(data):
        size = 8 + struct.unpack("<I", data[at + 4:at + 8])[0]
        yield data[at:at + 4], data[at:at + size + (size & 1)]
        at += size + (size & 1)


def webp_frame(path, x, y, w, h):
    """Returns the image in the file as a frame at x, y."""
    pixels = b"".join(c for kind, c in webp_chunks(path) if kind in (b"ALPH", b"VP8 ", b"VP8L"))
    place = b"".join(struct.pack("<I", v)[:3] for v in (x // 2, y // 2, w - 1, h - 1, 100))
    return riff(b"ANMF", place + b"\0" + pixels)


def animation(path, frames):
    """Writes a W x H canvas that the first frame does not cover; the background is a color
    that it does not use."""
    head = struct.pack("<I", 0x12) + struct.pack("<I", W - 1)[:3] + struct.pack("<I", H - 1)[:3]
    chunks = riff(b"VP8X", head) + riff(b"ANIM", b"\x50\x60\x70\xff\0\0") + b"".join(frames)
    with open(path, "wb") as f:
        f.write(riff(b"RIFF", b"WEBP" + chunks))


def webp_animations(rgba):
    small, other = "small.webp", "other.webp"
    rgba.crop((5, 4, 16, 13)).save(small, lossless=True, exact=True)
    rgba.transpose(Image.Transpose.ROTATE_180).save(other, quality=80)
    animation("moving.webp", [webp_frame(small, 6, 4, 11, 9), webp_frame(other, 0, 0, W, H)])
    rgba.crop((0, 0, 20, 17)).save(small, quality=80, exact=True)
    animation("moving_lossy.webp", [webp_frame(small, 2, 0, 20, 17)])
    os.remove(small)
    os.remove(other)


def gif_offset(source, path, rows):
    """Writes the same frame without its last rows, so it does not cover the bottom of the
    canvas."""
    image = Image.open(source)
    part = image.crop((0, 0, W, H - rows))
    part.save(path, transparency=image.info["transparency"], optimize=False)
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data[8:10] = struct.pack("<H", H)
    with open(path, "wb") as f:
        f.write(data)


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
    exif[0x0112] = 6  # rotation by 90 degrees: ignored here and by Image.open
    saved = {
        "rgb.jpg": (rgb, {"quality": 90}),
        "rgb444.jpg": (rgb, {"quality": 90, "subsampling": 0}),
        "progressive.jpg": (rgb, {"quality": 90, "progressive": True}),
        "restart.jpg": (rgb, {"quality": 90, "restart_marker_blocks": 1}),
        "rotated.jpg": (rgb, {"quality": 90, "exif": exif}),
        "gray.jpg": (rgb.convert("L"), {"quality": 90}),
        "cmyk.jpg": (cmyk, {"quality": 90}),
        "rgb.png": (rgb, {}),
        "rgba.png": (rgba, {}),
        "gray.png": (rgb.convert("L"), {}),
        "grayalpha.png": (rgba.convert("LA"), {}),
        "palette.png": (rgb.quantize(16), {}),
        "bit.png": (rgb.convert("1"), {}),
        "rgb.bmp": (rgb, {}),
        "palette.gif": (rgb.quantize(16), {}),
        "transparent.gif": (rgb.quantize(16), {"transparency": 5}),
        "rgb.ppm": (rgb, {}),
        "gray.pgm": (rgb.convert("L"), {}),
        "lossy.webp": (rgb, {"quality": 80}),
        "lossless.webp": (rgb, {"lossless": True}),
        "rgba.webp": (rgba, {"quality": 80, "exact": True}),
        "rgba_lossless.webp": (rgba, {"lossless": True, "exact": True}),
        "rotated.webp": (rgb, {"quality": 50, "exif": exif}),
        "rgb.avif": (rgb, {"quality": 90, "subsampling": "4:2:0"}),
        "rgb444.avif": (rgb, {"quality": 80, "subsampling": "4:4:4"}),
        "rgba.avif": (rgba, {"quality": 90}),
        "gray.avif": (rgb.convert("L"), {"quality": 90}),
        "rgb.jp2": (rgb, {}),
        "lossy.j2k": (rgb, {"irreversible": True, "quality_layers": [8]}),
        "tiles.jp2": (rgb, {"tile_size": (10, 8), "tile_offset": (0, 0), "offset": (3, 2)}),
        "gray.jp2": (rgb.convert("L"), {}),
        "grayalpha.jp2": (rgba.convert("LA"), {}),
        "rgba.jp2": (rgba, {}),
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
    gif_offset("transparent.gif", "transparent_part.gif", 5)
    expect("transparent_part.gif", Image.open("transparent_part.gif").convert("RGB").tobytes())
    webp_animations(rgba)
    for name in ("moving.webp", "moving_lossy.webp"):
        expect(name, Image.open(name).convert("RGB").tobytes())
    png_short("short.png")
    expect("short.png", Image.open("short.png").convert("RGB").tobytes())
    png16("rgb16.png", 3, 2)
    expect("rgb16.png", rgb.tobytes())
    png16("gray16.png", 1, 0)
    expect("gray16.png", bytes(pixel(x, y)[0] for y in range(H) for x in range(W) for _ in range(3)))


main()
