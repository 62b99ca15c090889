#!/usr/bin/env python3
"""Writes golden files for tests/image/test_decode.c: BMP, GIF, TGA, ICO, and PNM files like
those of programs other than Pillow, by hand, with their RGB as decoded by Pillow.

usage: image_formats.py OUT_DIR

Writes NAME (the file) and NAME.rgb (two little-endian int32, width and height, then RGB).
"""
import io
import os
import struct
import sys

from PIL import Image

W, H = 23, 17
PALETTE = [(7 * i % 256, 255 - 11 * i % 256, 31 * i % 256) for i in range(256)]


def pixel(x, y):
    return (x * 11) & 255, (y * 15) & 255, (255 - x * 5 - y * 6) & 255


def index(x, y, colors):
    return (x // 3 + y * 5) % colors


def keep(name, data):
    with open(name, "wb") as f:
        f.write(data)
    image = Image.open(io.BytesIO(data))
    with open(name + ".rgb", "wb") as f:
        f.write(struct.pack("<2i", *image.size) + image.convert("RGB").tobytes())


# ---- BMP: rows from the bottom to the top unless the height is negative ----

def info(size, bits, compression=0, colors=0, height=H, masks=b""):
    head = struct.pack("<IiiHHIIiiII", size, W, height, 1, bits, compression, 0, 0, 0, colors, 0)
    return (head + masks).ljust(size, b"\0")


def old(bits):
    return struct.pack("<IHHHH", 12, W, H, 1, bits)


def bmp(header, palette, pixels, gap=b"", offset=None):
    at = 14 + len(header) + len(palette) + len(gap)
    return (b"BM" + struct.pack("<IHHI", at + len(pixels), 0, 0, at if offset is None else offset)
            + header + palette + gap + pixels)


def rows(bits, value, down=False):
    out = b""
    for y in range(H) if down else reversed(range(H)):
        if bits < 8:
            text = "".join(format(value(x, y), "0%db" % bits) for x in range(W))
            text = text.ljust((len(text) + 7) // 8 * 8, "0")
            row = bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))
        else:
            row = b"".join(value(x, y).to_bytes(bits // 8, "little") for x in range(W))
        out += row + b"\0" * (-len(row) % 4)
    return out


def quads(n):
    return b"".join(bytes((b, g, r, 0)) for r, g, b in PALETTE[:n])


def triples(n):
    return b"".join(bytes((b, g, r)) for r, g, b in PALETTE[:n])


def packed(masks):
    def value(x, y):
        v = 0
        for mask, c in zip(masks, pixel(x, y)):
            shift = (mask & -mask).bit_length() - 1
            v |= (c * (mask >> shift) // 255) << shift
        return v
    return value


def rle8():
    out = b""
    for y in reversed(range(H)):
        if y == 9:
            out += bytes((0, 2, 4, 0, 3, 17, 0, 2, 2, 0))   # deltas to the right
            out += bytes((0, 5, 1, 2, 3, 4, 5, 0))          # a literal and its padding
            out += bytes((200, 6))                          # longer than the row
        else:
            for x in range(0, W, 4):
                out += bytes((min(4, W - x), index(x, y, 16)))
        out += b"\0\0"
    return out + b"\0\1"


def rle4():
    out = b""
    for y in reversed(range(H)):
        out += bytes((0, 7, 0x12, 0x34, 0x56, 0x70, W - 7, 0x10 * (y % 16) + 3, 0, 0))
    return out + b"\0\1"


def bmps():
    for bits in (1, 4, 8):
        n = 1 << bits
        value = lambda x, y: index(x, y, n)
        keep("win%d.bmp" % bits, bmp(info(40, bits), quads(n), rows(bits, value)))
        keep("os2_%d.bmp" % bits, bmp(old(bits), triples(n), rows(bits, value)))
    few = lambda x, y: index(x, y, 8)
    keep("few.bmp", bmp(info(40, 8, colors=5), quads(5), rows(8, few)))  # indices beyond the palette
    ramp = b"".join(bytes((i, i, i, 0)) for i in range(100))
    keep("ramp.bmp", bmp(info(40, 8, colors=100), ramp, rows(8, lambda x, y: x * 11)))
    keep("gap.bmp", bmp(info(40, 8, colors=16), quads(16), rows(8, few), gap=b"gap" * 7))
    keep("nowhere.bmp", bmp(info(40, 8), quads(256), rows(8, few), offset=54))
    keep("zero.bmp", bmp(info(40, 4), quads(16), rows(4, few), offset=0))
    keep("down.bmp", bmp(info(40, 8, height=-H), quads(256), rows(8, few, True)))
    keep("os2_v2.bmp", bmp(info(64, 8), quads(256), rows(8, few)))
    keep("rle8.bmp", bmp(info(40, 8, 1), quads(256), rle8()))
    keep("rle4.bmp", bmp(info(40, 4, 2), quads(16), rle4()))
    m555, m565 = (0x7c00, 0x3e0, 0x1f), (0xf800, 0x7e0, 0x1f)
    m888, rgba = (0xff0000, 0xff00, 0xff), (0xff000000, 0xff0000, 0xff00)
    text = lambda masks, *alpha: struct.pack("<%dI" % (3 + len(alpha)), *masks, *alpha)
    keep("raw16.bmp", bmp(info(40, 16), b"", rows(16, packed(m555))))
    keep("mask16.bmp", bmp(info(40, 16, 3), b"", rows(16, packed(m565)), gap=text(m565)))
    keep("raw24.bmp", bmp(info(40, 24, colors=9), quads(9), rows(24, packed(m888))))
    keep("old24.bmp", bmp(old(24), b"", rows(24, packed(m888))))
    keep("raw32.bmp", bmp(info(40, 32), b"", rows(32, packed(m888))))
    keep("mask32.bmp", bmp(info(40, 32, 3), b"", rows(32, packed(rgba)), gap=text(rgba)))
    keep("v3.bmp", bmp(info(56, 32, 3, masks=text(m888, 0xff000000)), b"", rows(32, packed(m888))))
    keep("v4.bmp", bmp(info(108, 32, 3, masks=text(m888, 0)), b"", rows(32, packed(m888))))
    keep("v5.bmp", bmp(info(124, 16, 3, masks=text(m555, 0)), b"", rows(16, packed(m555))))
    keep("bare.dib", info(40, 8) + quads(256) + rows(8, few))


# ---- GIF ----

def lzw(indices, least, clear_first=True, clear_every=10 ** 9):
    """Returns codes of `least` + 1 bits and more, in blocks."""
    clear, out, bits, have = 1 << least, bytearray(), 0, 0

    def put(code, size):
        nonlocal bits, have
        bits |= code << have
        have += size
        while have >= 8:
            out.append(bits & 255)
            bits >>= 8
            have -= 8

    size, table, next_code = least + 1, {}, clear + 2
    if clear_first:
        put(clear, size)
    text = ()
    for n, i in enumerate(indices):
        if text + (i,) in table or not text:
            text += (i,)
            continue
        put(table[text] if len(text) > 1 else text[0], size)
        table[text + (i,)] = next_code
        if next_code == 1 << size and size < 12:
            size += 1
        next_code += 1
        text = (i,)
        if len(table) % clear_every == 0:
            put(text[0], size)
            put(clear, size)
            size, table, next_code, text = least + 1, {}, clear + 2, ()
    if text:
        put(table[text] if len(text) > 1 else text[0], size)
    put(clear + 1, size)
    if have:
        out.append(bits)
    blocks = b"".join(bytes((len(out[i:i + 200]),)) + bytes(out[i:i + 200])
                      for i in range(0, len(out), 200))
    return bytes((least,)) + blocks + b"\0"


def gif(screen, colors, frame, local=b"", control=b"", interlaced=False, **how):
    x, y, w, h = frame
    order = [r for s, k in ((0, 8), (4, 8), (2, 4), (1, 2)) for r in range(s, h, k)] if interlaced else range(h)
    flags = 0x80 | 3 if colors else 0
    data = b"GIF89a" + struct.pack("<HHBBB", *screen, flags, 0, 0) + colors + control
    data += b"," + struct.pack("<HHHHB", x, y, w, h, (0x83 if local else 0) | 64 * interlaced) + local
    return data + lzw([index(i, r, 16) for r in order for i in range(w)], 4, **how) + b";"


def gifs():
    table = bytes(c for p in PALETTE[:16] for c in p)
    other = bytes(255 - c for c in table)
    ramp = bytes(i for i in range(16) for _ in range(3))
    see_through = b"!\xf9\4\1\0\0\5\0"
    full = (0, 0, W, H)
    keep("no_clear.gif", gif((W, H), table, full, clear_first=False))
    keep("clears.gif", gif((W, H), table, full, clear_every=40))
    keep("beyond.gif", gif((10, 9), table, (3, 2, W, H)))
    keep("inside.gif", gif((W, H), table, (3, 2, 9, 8)))
    keep("inside_clear.gif", gif((W, H), table, (3, 2, 9, 8), control=see_through))
    keep("local.gif", gif((W, H), table, full, local=other))
    keep("no_palette.gif", gif((W, H), b"", full))
    keep("ramp.gif", gif((W, H), ramp, full))
    keep("interlaced.gif", gif((W, H), table, full, interlaced=True))
    keep("comment.gif", gif((W, H), table, full, control=b"!\xfe\3abc\0" + see_through + b"!\xff\1x\0"))


# ---- TGA: rows from the bottom to the top unless 0x20 is set, from the right with 0x10 ----

def tga(kind, bits, data, flags=0, colors=b"", first=0, map_bits=0, name=b"name"):
    n = len(colors) // ((map_bits + 7) // 8) if colors else 0
    return (struct.pack("<BBBHHBHHHHBB", len(name), 1 if colors else 0, kind, first, n, map_bits,
                        0, 0, W, H, bits, flags) + name + colors + data)


def plain(bits, value):
    return b"".join(value(x, y).to_bytes((bits + 7) // 8, "little")
                    for y in reversed(range(H)) for x in range(W))


def packets(bits, value):
    """Returns rows of a run of 5 pixels in the row's first color, then literals."""
    size, out = (bits + 7) // 8, b""
    for y in reversed(range(H)):
        out += bytes((0x80 | 4,)) + value(0, y).to_bytes(size, "little")
        out += bytes((W - 6,)) + b"".join(value(x, y).to_bytes(size, "little") for x in range(5, W))
    return out


def tgas():
    m888, m555 = packed((0xff0000, 0xff00, 0xff)), packed((0x7c00, 0x3e0, 0x1f))
    gray = lambda x, y: pixel(x, y)[2]
    few = lambda x, y: index(x, y, 16)
    keep("rgb24.tga", tga(2, 24, plain(24, m888)))
    keep("rgb32.tga", tga(2, 32, plain(32, m888), 8))
    keep("rgb16.tga", tga(2, 16, plain(16, m555)))
    keep("gray.tga", tga(3, 8, plain(8, gray)))
    keep("grayalpha.tga", tga(3, 16, plain(16, lambda x, y: gray(x, y) | 77 << 8)))
    keep("mapped24.tga", tga(1, 8, plain(8, few), colors=triples(16), map_bits=24))
    keep("mapped32.tga", tga(1, 8, plain(8, few), colors=quads(16), map_bits=32))
    keep("mapped16.tga", tga(1, 8, plain(8, few), map_bits=16,
                             colors=b"".join(struct.pack("<H", 997 * i % 32768) for i in range(16))))
    keep("mapped_later.tga", tga(1, 8, plain(8, few), colors=triples(12), first=3, map_bits=24))
    keep("runs24.tga", tga(10, 24, packets(24, m888)))
    keep("runs32.tga", tga(10, 32, packets(32, m888)))
    keep("runs_gray.tga", tga(11, 8, packets(8, gray)))
    keep("runs_mapped.tga", tga(9, 8, packets(8, few), colors=triples(16), map_bits=24))
    for flags in (0x10, 0x20, 0x30):
        keep("corner%x.tga" % flags, tga(2, 24, plain(24, m888), flags))


# ---- ICO ----

def icons():
    def directory(images):
        head, data = struct.pack("<HHH", 0, 1, len(images)), b""
        for w, h, bits, image in images:
            head += struct.pack("<BBBBHHII", w, h, 0, 0, 1, bits, len(image),
                                6 + 16 * len(images) + len(data))
            data += image
        return head + data

    few = lambda x, y: index(x, y, 16)
    mask = b"\x55\x55\x55\0" * H
    eight = info(40, 8, height=2 * H) + quads(256) + rows(8, few) + mask
    four = info(40, 4, height=2 * H) + quads(16) + rows(4, few) + mask
    full = info(40, 32, height=2 * H) + rows(32, packed((0xff0000, 0xff00, 0xff))) + mask
    png = io.BytesIO()
    image = Image.new("RGBA", (W, H))
    image.putdata([pixel(x, y) + (x * y & 255,) for y in range(H) for x in range(W)])
    image.save(png, "PNG")
    keep("depths.ico", directory([(W, H, 8, eight), (W, H, 4, four), (8, 8, 4, four)]))
    keep("full.ico", directory([(W, H, 32, full)]))
    keep("png.ico", directory([(8, 8, 4, four), (W, H, 32, png.getvalue())]))


# ---- PNM ----

def pnms():
    plain_rgb = "\n".join(" ".join(str(c) for c in pixel(x, y)) for y in range(H) for x in range(W))
    keep("plain.ppm", ("P3\n# a comment\n%d %d\n255\n%s\n" % (W, H, plain_rgb)).encode())
    levels = " ".join(str((x + y) % 16) for y in range(H) for x in range(W))
    keep("plain.pgm", ("P2 %d %d 15\n%s # the end" % (W, H, levels)).encode())
    bits = "".join(str((x * y) & 1) for y in range(H) for x in range(W))
    keep("plain.pbm", ("P1\n%d %d\n%s\n" % (W, H, bits)).encode())
    row = (W + 7) // 8
    keep("bits.pbm", b"P4 %d %d\n" % (W, H) + bytes((37 * i) & 255 for i in range(row * H)))
    keep("deep.ppm", b"P6 %d %d 999\n" % (W, H)
         + b"".join(struct.pack(">H", (c * 4 + x) % 1000) for y in range(H) for x in range(W)
                    for c in pixel(x, y)))
    keep("shallow.pgm", b"P5 %d %d 100\n" % (W, H)
         + bytes((x * 7 + y) % 101 for y in range(H) for x in range(W)))


def main():
    os.chdir(sys.argv[1])
    bmps()
    gifs()
    tgas()
    icons()
    pnms()


main()
