#!/usr/bin/env python3
"""Writes src/models/imagenet22k.c: which rows of Microsoft's classifiers of ImageNet-22k
are the classes of ImageNet-1k.

    python3 scripts/golden/imagenet22k.py map22kto1k.txt

from data/map22kto1k.txt of microsoft/Swin-Transformer: their checkpoints have the classes
in an order of their own, which no other list has.
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
