#!/usr/bin/env python3
"""Writes the golden file of tests/train/test_weight_grid.c: tables resampled to other
window or image sizes.

    python3 -m pip install torch timm
    python3 scripts/golden/weight_grid.py tests/golden/train/weight_grid.json

With antialias it is timm's resample_abs_pos_embed, otherwise the bicubic interpolation of
torch.nn.functional that Swin's loader uses. Values are (7919 i mod 101) / 50 - 1.
"""
import json
import sys

import torch
from timm.layers import resample_abs_pos_embed, resize_rel_pos_bias_table
from torch.nn import functional as F

CHANNELS = 3
CASES = [(0, 13, 23), (0, 23, 13), (0, 5, 6), (1, 14, 24), (2, 24, 14), (1, 7, 16), (0, 1, 3)]


def values(rows):
    i = torch.arange(rows * CHANNELS, dtype=torch.int64)
    return ((7919 * i % 101).double() / 50 - 1).float().reshape(1, rows, CHANNELS)


def plain(x, prefix, a, b):
    grid = x[:, prefix:].reshape(1, a, a, CHANNELS).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=(b, b), mode="bicubic")
    return torch.cat([x[:, :prefix], grid.permute(0, 2, 3, 1).reshape(1, b * b, CHANNELS)], 1)


out = []
for prefix, a, b in CASES:
    x = values(prefix + a * a)
    timm = resample_abs_pos_embed(x, (b, b), (a, a), num_prefix_tokens=prefix)
    for antialias, y in ((False, plain(x, prefix, a, b)), (True, timm)):
        digest = [float(f"{v:.8g}") for v in y.flatten()[:: max(1, y.numel() // 50)].tolist()]
        out.append(dict(prefix=prefix, side=a, to=b, antialias=antialias,
                        sum=float(y.double().abs().sum()), every=max(1, y.numel() // 50), y=digest))
for a, b, tokens in ((13, 15, 0), (13, 23, 0), (23, 13, 0), (13, 11, 0), (27, 47, 0), (27, 47, 3), (47, 27, 3)):
    x = values(a * a + tokens)[0]
    y = resize_rel_pos_bias_table(x, (b // 2 + 1, b // 2 + 1), (b * b + tokens, CHANNELS))
    every = max(1, y.numel() // 50)
    out.append(dict(prefix=tokens, side=a, to=b, geometric=True, suffix=tokens > 0, every=every,
                    sum=float(y.double().abs().sum()), y=[float(f"{v:.8g}") for v in y.flatten()[::every].tolist()]))
with open(sys.argv[1], "w") as f:
    f.write(json.dumps(out, separators=(",", ":")).replace("},", "},\n") + "\n")
