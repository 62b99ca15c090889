#!/usr/bin/env python3
"""Writes src/models/imagenet_synsets.inc: the WordNet ids of ImageNet-21k's classes in the
order of Google's weights, and which of them are in fall11 (22k) and in timm's 12k, from
timm's lists. Each list is sorted, so the difference from the previous id and two bits
suffice.

    python3 scripts/golden/imagenet_synsets.py
"""
import importlib.resources
import pathlib

info = importlib.resources.files("timm.data") / "_info"


def read(name):
    ids = [int(line[1:]) for line in (info / name).read_text().split()]
    assert ids == sorted(ids)
    return ids


most, k22, k12 = (read(n + "_synsets.txt") for n in ("imagenet21k_goog", "imagenet22k", "imagenet12k"))
assert set(k22) < set(most) and set(k12) < set(k22)
assert (len(most), len(k22), len(k12)) == (21843, 21841, 11821)
digit = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
in22, in12, text, last = set(k22), set(k12), "", 0
for i in most:
    v, last = (i - last) * 4 + 2 * (i in in22) + (i in in12), i
    while v >= 32:
        text += digit[32 + v % 32]
        v //= 32
    text += digit[v]
lines = ['    "%s",\n' % text[at : at + 82] for at in range(0, len(text), 82)]
pathlib.Path("src/models/imagenet_synsets.inc").write_text("/* Made by scripts/golden/imagenet_synsets.py. */\n" + "".join(lines))
