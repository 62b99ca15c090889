#!/usr/bin/env python3
"""Writes golden files for tests/image/test_exif.c: images with an EXIF orientation, with
their RGB from Pillow's ImageOps.exif_transpose.

usage: image_exif.py OUT_DIR

Writes NAME (the file) and NAME.rgb (two little-endian int32, width and height, then RGB).
"""
import os
import struct
import sys

from PIL import Image, ImageOps, PngImagePlugin

W, H = 23, 17


def pixel(x, y):
    return (x * 11) & 255, (y * 15) & 255, (255 - x * 5 - y * 6) & 255


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    os.chdir(sys.argv[1])
    rgb = Image.new("RGB", (W, H))
    rgb.putdata([pixel(x, y) for y in range(H) for x in range(W)])
    names = [f"{k}.jpg" for k in range(1, 9)] + ["6.png", "8.webp", "5.tif", "3.tif"]
    names += [f"{k}.avif" for k in range(1, 9)]
    for name in names:
        exif = Image.Exif()
        exif[0x010f] = "a maker"  # another tag before it
        exif[0x0112] = int(name[0])
        if name.endswith(".tif"):
            rgb.save(name, tiffinfo={0x0112: int(name[0])})
        else:
            rgb.save(name, exif=exif, **({"lossless": True} if "webp" in name else {"quality": 90} if "avif" in name else {}))
        keep(name)
    elsewhere(rgb)


def keep(name):
    image = Image.open(name)
    if name.endswith(".tif"):  # Pillow orients TIFF files when it loads them
        image.load()
    shown = ImageOps.exif_transpose(image).convert("RGB")
    with open(name + ".rgb", "wb") as f:
        f.write(struct.pack("<2i", *shown.size) + shown.tobytes())


def elsewhere(rgb):
    """EXIF in PNG text, as ImageMagick writes it, and in XMP."""
    def profile(k):
        block = b"Exif\0\0" + struct.pack("<4sIHHHIHHI", b"II*\0", 8, 1, 0x112, 3, 1, k, 0, 0)
        hex_ = block.hex()
        lines = [hex_[i:i + 72] for i in range(0, len(hex_), 72)]
        return "\nexif\n%8d\n%s\n" % (len(block), "\n".join(lines))

    def xmp(k, element=False):
        value = "<tiff:Orientation>%d</tiff:Orientation>" % k if element else ""
        attribute = "" if element else ' tiff:Orientation="%d"' % k
        return ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
                '<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/"%s>%s</rdf:Description></rdf:RDF></x:xmpmeta>'
                % (attribute, value))

    def png(name, add):
        info = PngImagePlugin.PngInfo()
        add(info)
        rgb.save(name, pnginfo=info)
        keep(name)

    key = "XML:com.adobe.xmp"
    png("6_text.png", lambda i: i.add_text("Raw profile type exif", profile(6)))
    png("8_packed.png", lambda i: i.add_text("Raw profile type exif", profile(8), zip=True))
    png("5_xmp.png", lambda i: i.add_itxt(key, xmp(5)))
    png("7_xmp.png", lambda i: i.add_itxt(key, xmp(7, True), zip=True))
    png("3_both.png", lambda i: (i.add_itxt(key, xmp(7)), i.add_text("Raw profile type exif", profile(3))))
    rgb.save("6_xmp.jpg", xmp=xmp(6).encode())
    rgb.save("8_xmp.webp", lossless=True, xmp=xmp(8))
    rgb.save("6_xmp.avif", quality=90, xmp=xmp(6).encode())
    for name in ("6_xmp.jpg", "8_xmp.webp", "6_xmp.avif"):
        keep(name)
    exif = Image.Exif()
    exif[0x010f] = "a maker"  # EXIF without an orientation: XMP's applies
    rgb.save("4_xmp.jpg", exif=exif, xmp=xmp(4).encode())
    keep("4_xmp.jpg")
    rgb.save("2_xmp.tif", tiffinfo={700: xmp(2).encode()})
    keep("2_xmp.tif")


main()
