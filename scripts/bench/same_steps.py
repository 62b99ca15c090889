#!/usr/bin/env python3
"""Trains a network on CIFAR-10 with trainc and PyTorch, step by step alike, and compares them.

    scripts/bench/same_steps.py DATA [--model mobilenetv2_100|efficientnet_b0] [--per-class 24]
                                [--lr 1e-4] [--trainc ./trainc] [--dir DIR]

Both start from the same weights of timm and see the same images of DATA/train/CLASS/*.jpg in
the same order, without augmentation, in fp32, with the recipe of configs/cifar10/mobilenetv2.yaml
otherwise (SGD with momentum, cosine schedule without warmup, the first two strides left out).
The learning rate is small, because with the recipe's rate rounding errors grow within a few steps
until nothing can be compared. MobileNetV2 needs an even smaller one (1e-6).
Compared are the quantities of scripts/random_recipes.py, with its tolerances: ten times the
difference between PyTorch in fp32 and in fp64. Prints the losses of all steps.
"""
import argparse
import json
import os
import sys

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import random_recipes as recipes
from pytorch_cifar10 import build

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def cifar(a, c, folder):
    """Writes the pixels of the first images of each class as PNGs; returns them as recipes.images."""
    sets = {}
    for split, source, each in (("train", "train", a.per_class), ("val", "test", c["val"] // 10)):
        pixels, labels = [], []
        for label, name in enumerate(sorted(os.listdir(f"{a.data}/{source}"))):
            os.makedirs(f"{folder}/{split}/{name}")
            for f in sorted(os.listdir(f"{a.data}/{source}/{name}"))[:each]:
                x = Image.open(f"{a.data}/{source}/{name}/{f}").convert("RGB")
                x.save(f"{folder}/{split}/{name}/{os.path.splitext(f)[0]}.png")
                pixels.append(torch.from_numpy(np.array(x)).permute(2, 0, 1))
                labels.append(label)
        sets[split] = torch.stack(pixels), torch.tensor(labels)
    return sets


def network(c, attempt):
    torch.manual_seed(attempt)
    return build(c["model"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data")
    p.add_argument("--model", default="mobilenetv2_100")
    p.add_argument("--per-class", type=int, default=24)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--trainc", default="./trainc")
    p.add_argument("--dir", default="/tmp/same_steps")
    a = p.parse_args()
    a.device = "cpu"
    c = recipes.draw(0)
    c.update(seed=1, model=a.model, classes=10, size=32, batch=24, epochs=2, accumulate=1, train=10 * a.per_class,
             val=100, warmup=0, optimizer="sgd", lr=a.lr, warmup_lr=a.lr, min_lr=0.0,
             momentum=0.9, nesterov=True, decay=5e-4, decay_1d=False, clip_mode="norm", clip=0.0,
             schedule="cosine", prefix=False, smoothing=0.0, ema=True, ema_decay=0.999, ema_ramp=0.0,
             freeze=[], stop=None, threads=1)
    recipes.MEAN, recipes.STD = MEAN, STD
    recipes.images = lambda c, folder: cifar(a, c, folder)
    recipes.network = network
    plain = recipes.command
    recipes.command = lambda *args: plain(*args) + ["MODEL.TYPE", a.model.split("_")[0], "MODEL.SKIP_STRIDES", "2"]
    made = []

    class Torch(recipes.Torch):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    recipes.Torch = Torch
    torch.set_num_threads(1)
    found = recipes.differences(c, a, 0)
    lines = [json.loads(line) for line in open(f"{a.dir}/recipe/out/{a.model}/run/metrics.jsonl")]
    losses = {q["step"]: q["loss"] for q in lines if q["kind"] == "train"}
    exact, single = made
    print("step  trainc  PyTorch fp32  PyTorch fp64")
    for i, (want, other) in enumerate(zip(exact.update, single.update)):
        print(f"{i + 1:4} {losses[i + 1]:9.6f} {other['loss']:9.6f} {want['loss']:9.6f}")
    for line in found[:12]:
        print("   ", line)
    print(a.model, "BAD" if found else "ok")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
