#!/usr/bin/env python3
"""Writes src/models/imagenet_names.c: the names of ImageNet-1k's classes, in order, from
torchvision's weights (meta["categories"]).

    python3 scripts/golden/imagenet_names.py
"""
import pathlib

from torchvision.models import ResNet50_Weights

names = ResNet50_Weights.IMAGENET1K_V1.meta["categories"]
assert len(names) == len(set(names)) == 1000
lines, line = [], "   "
for name in names:
    text = ' "%s",' % name
    if len(line) + len(text) > 90:
        lines.append(line)
        line = "   "
    line += text
lines.append(line)
pathlib.Path("src/models/imagenet_names.c").write_text(
    "/* Made by scripts/golden/imagenet_names.py. */\n"
    '#include "models/imagenet_names.h"\n\n/* clang-format off */\n'
    "const char *const imagenet_names[IMAGENET_1K] = {\n" + "\n".join(lines) + "\n};\n/* clang-format on */\n")
