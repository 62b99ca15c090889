#!/usr/bin/env python3
"""Writes the golden file of tests/train/test_remake.c: RGB first convolutions adapted to
other channel counts.

    python3 -m pip install torch timm
    python3 scripts/golden/first_layer.py tests/golden/train/first_layer.json

Uses timm's adapt_input_conv. Weights [2, 3, 2, 2] are (7919 i mod 101) / 50 - 1.
"""
import json
import sys

import torch
from timm.models._manipulate import adapt_input_conv

i = torch.arange(24, dtype=torch.int64)
rgb = ((7919 * i % 101).double() / 50 - 1).float().reshape(2, 3, 2, 2)
out = [dict(channels=n, y=adapt_input_conv(n, rgb.clone()).flatten().tolist()) for n in (1, 2, 4, 5, 7, 13)]
with open(sys.argv[1], "w") as f:
    f.write(json.dumps(out, separators=(",", ":")).replace("},", "},\n") + "\n")
