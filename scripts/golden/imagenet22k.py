#!/usr/bin/env python3
"""Writes src/models/imagenet22k.c: the rows of Microsoft's ImageNet-22k classifiers that
are classes of ImageNet-1k.

    python3 scripts/golden/imagenet22k.py map22kto1k.txt

The input is data/map22kto1k.txt of microsoft/Swin-Transformer: their checkpoints order the
classes like no other list.
"""
import pathlib
import sys

rows = pathlib.Path(sys.argv[1]).read_text().split()
lines = [", ".join(rows[i : i + 12]) for i in range(0, len(rows), 12)]
pathlib.Path("src/models/imagenet22k.c").write_text(
    "/* Made by scripts/golden/imagenet22k.py. */\n"
    '#include "models/imagenet22k.h"\n\n/* clang-format off */\n'
    "const int16_t imagenet22k_rows[IMAGENET_1K] = {\n    "
    + ",\n    ".join(lines) + ",\n};\n/* clang-format on */\n")
