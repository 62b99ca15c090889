#!/usr/bin/env python3
"""Writes the golden file of mixup, CutMix, and the losses, from timm and PyTorch.

    scripts/golden/mix.py tests/golden/train

writes mix.json: a small batch after timm's Mixup, timm's SoftTargetCrossEntropy of the
mixed targets, and the losses with label smoothing, ignored labels, and class weights, each
with its gradient. timm draws its random numbers from NumPy; here it receives those of
src/ops/mix_formula.h, so boxes, blends, lam, and targets are timm's own. Needs torch and
timm.
"""
import json
import math
import os
import sys
from unittest import mock

import numpy as np
import torch
from timm.data.mixup import Mixup
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy

MASK = 0xFFFFFFFF
MIXUP = 3  # stream of random numbers
TRIES, FIRST_BETA = 16, 2
N, C, H, W, CLASSES = 4, 2, 5, 4, 5


def philox(seed, run, i, draw):
    """Philox4x32-10 (Salmon et al. 2011) with the keys of src/base/philox.h."""
    high = run ^ (MIXUP << 56)
    c, k = [i & MASK, draw, high & MASK, high >> 32], [seed & MASK, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def uniform(word):
    return (word >> 8) / 2**24


def open_uniform(word):
    return (word + 0.5) / 2**32


def log_gamma_variate(seed, run, i, a, which):
    """Marsaglia and Tsang 2000 for a + 1, times U^(1/a)."""
    first = FIRST_BETA + which * (TRIES + 1)
    d = a + 1 - 1 / 3
    for t in range(TRIES):
        w = philox(seed, run, i, first + 1 + t)
        x = math.sqrt(-2 * math.log((w[0] + 1) / 2**32)) * math.cos(2 * math.pi * w[1] / 2**32)
        v = (1 + float(np.float32(x)) / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(open_uniform(w[2])) < x * x / 2 + d - d * v + d * math.log(v):
            break
    return math.log(d * v) + math.log(open_uniform(philox(seed, run, i, first)[0])) / a


class Draws:
    """The part of numpy.random that timm's Mixup uses, for one batch."""

    def __init__(self, c, run):
        self.seed, self.run, self.elem = c["seed"], run, c["mode"] != "batch"
        self.drawers = {"batch": [0], "pair": range(N // 2), "elem": range(N)}[c["mode"]]
        between, words = "minmax" in c, []
        both = c["mixup"] > 0 and (c["cutmix"] > 0 or between)
        # with "pair" and "elem" timm first draws the kind, with "batch" whether to mix at all
        self.asked = ([1, 0] if both else [0]) if self.elem else [0, 1]
        for i in self.drawers:
            w = philox(self.seed, run, i, 0)
            cut = uniform(w[1]) < c["switch_prob"] if both else c["mixup"] == 0
            if uniform(w[0]) < c["prob"] and cut:
                words += philox(self.seed, run, i, 1)[:2] if between else []
                words += w[2:]
        self.words = iter(words)

    def each(self, f):
        values = np.array([f(i) for i in self.drawers])
        return values if self.elem else float(values[0])

    def rand(self, size=None):
        word = self.asked.pop(0)
        return self.each(lambda i: uniform(philox(self.seed, self.run, i, 0)[word]))

    def beta(self, a, b, size=None):
        def ratio(i):
            g, h = (log_gamma_variate(self.seed, self.run, i, a, k) for k in (0, 1))
            return 1 / (1 + math.exp(h - g))
        return self.each(ratio)

    def randint(self, low, high, size=None):
        return low + (next(self.words) * (high - low) >> 32)


def floats(t):
    return [float(f"{x:.9g}") for x in t.detach().flatten().tolist()]  # exact for fp32


def loss_of(loss, logits, target):
    z = logits.clone().requires_grad_()
    value = loss(z, target)
    value.backward()
    return dict(loss=value.item(), grad=floats(z.grad))


CASES = [
    dict(name="mixup", mixup=0.8, seed=1),
    dict(name="cutmix", cutmix=1.0, seed=2, smoothing=0.1),
    dict(name="cutmix pair", cutmix=0.5, mode="pair", seed=3),
    dict(name="cutmix minmax", minmax=[0.2, 0.8], mode="elem", seed=4),
    dict(name="both", mixup=0.4, cutmix=1.0, seed=5, prob=0.75, smoothing=0.1),
    dict(name="both pair", mixup=0.2, cutmix=1.0, mode="pair", seed=6, prob=0.75),
    dict(name="both elem", mixup=0.8, cutmix=1.0, mode="elem", seed=7, switch_prob=0.25,
         prob=0.75, smoothing=0.2),
]


def mixed(c, x, logits, labels):
    c = dict(dict(mixup=0.0, cutmix=0.0, mode="batch", prob=1.0, switch_prob=0.5, smoothing=0.0), **c)
    alpha = [float(np.float32(c[k])) for k in ("mixup", "cutmix")]
    m = Mixup(*alpha, c.get("minmax"), c["prob"], c["switch_prob"], c["mode"],
              label_smoothing=c["smoothing"], num_classes=CLASSES)
    c["run"] = []
    for run in range(1, 4):
        draws = Draws(c, run)
        with mock.patch.multiple(np.random, rand=draws.rand, beta=draws.beta, randint=draws.randint):
            y, target = m(x.clone(), labels)
        assert next(draws.words, None) is None
        c["run"].append(dict(y=[int(v) if v == int(v) else v for v in floats(y)],
                             **loss_of(SoftTargetCrossEntropy(), logits, target)))
    return c


def losses(rng):
    def one(name, loss, shape, labels, **attrs):
        z = torch.tensor(rng.integers(-400, 400, shape) / 100, dtype=torch.float32)
        return dict(name=name, shape=shape, logits=floats(z), labels=labels.flatten().tolist(),
                    **attrs, **loss_of(loss, z, labels))

    cross, label = torch.nn.CrossEntropyLoss, torch.tensor([2, 0, 4, 2])
    holes = torch.tensor([-1, 3, -1, 1])
    pixels = torch.tensor(rng.integers(0, 4, (2, 3, 3)))
    pixels[0, 1, 2] = pixels[1, 0, 0] = 255
    weight = [2.25, 0.5, 0.0, 1.5]
    w = torch.tensor(weight)
    return [
        one("timm smoothing", LabelSmoothingCrossEntropy(0.1), (4, 5), label, smoothing=0.1),
        one("smoothing", cross(label_smoothing=0.25), (4, 5), label, smoothing=0.25),
        one("smoothing holes", cross(label_smoothing=0.25, ignore_index=-1), (4, 5), holes,
            smoothing=0.25),
        one("no smoothing", cross(ignore_index=-1), (4, 5), holes, smoothing=0.0),
        one("pixels", cross(ignore_index=255), (2, 4, 3, 3), pixels, ignore=255),
        one("pixels weighted", cross(weight=w, ignore_index=255), (2, 4, 3, 3), pixels,
            ignore=255, weight=weight),
        one("pixels ignore a class", cross(weight=w, ignore_index=3), (2, 4, 3, 3), pixels % 4,
            ignore=3, weight=weight),
    ]


def main():
    folder, rng = sys.argv[1], np.random.default_rng(1)
    x = torch.tensor(rng.integers(0, 100, (N, C, H, W)), dtype=torch.float32)
    logits = torch.tensor(rng.integers(-400, 400, (N, CLASSES)) / 100, dtype=torch.float32)
    labels = torch.tensor([3, 0, 1, 4])
    golden = dict(shape=x.shape, x=[int(v) for v in x.flatten().tolist()], classes=CLASSES,
                  logits=floats(logits), labels=labels.tolist(),
                  mix=[mixed(c, x, logits, labels) for c in CASES], loss=losses(rng))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "mix.json"), "w") as f:
        json.dump(golden, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
