#!/usr/bin/env python3
"""Prints the GPUs that a program has machine code for: machine_code.py FILE prints "sm_80
sm_90".

Fails if its kernels are PTX only, which the driver compiles at the first start on each
machine: half a minute or more. Reads the section .nv_fatbin; a file without one passes.
"""
import struct
import sys

MAGIC, PTX, ELF = b"\x50\xed\x55\xba", 1, 2


def section(data, name):
    """Returns the bytes of a section of a 64-bit ELF file, or b"" if there is none."""
    at, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]
    for row in rows:
        start = rows[names][4] + row[0]
        if data[start:data.index(b"\0", start)] == name:
            return data[row[4]:row[4] + row[5]]
    return b""


def images(data):
    """Yields (PTX or ELF, architecture) for each image of each fat binary."""
    at = data.find(MAGIC)
    while at >= 0:
        header, = struct.unpack_from("<H", data, at + 6)
        size, = struct.unpack_from("<Q", data, at + 8)
        image, end = at + header, at + header + size
        while image < end:
            kind, = struct.unpack_from("<H", data, image)
            skip, length = struct.unpack_from("<IQ", data, image + 4)
            yield kind, struct.unpack_from("<I", data, image + 28)[0]
            image += skip + length
        at = data.find(MAGIC, end)


def main():
    with open(sys.argv[1], "rb") as f:
        found = set(images(section(f.read(), b".nv_fatbin")))
    code = ["sm_%d" % arch for kind, arch in sorted(found) if kind == ELF]
    print(" ".join(code) or "PTX alone" if found else "no kernels")
    return bool(found) and not code


sys.exit(main())
