#!/usr/bin/env python3
"""Writes the golden file of a whole recipe: timm's Swin with trainc's random numbers.

    scripts/golden/recipe.py TRAINC tests/golden/train

writes recipe.json: loss and gradient norm of each step of tests/e2e/recipe.sh, which trains
a smaller configs/cifar10/swin.yaml on generated images: order of the epochs, padded crops
and flips, drop path, label smoothing, clipping, parameter groups, AdamW, cosine schedule
with warmup. Here the model and its gradients are timm's and the optimizer is PyTorch's,
while order (dataset/sampler.c), crops and flips (base/augment_formula.h), and drop path
masks (ops/dropout_formula.h) are recomputed from Philox, and the initial weights are
TRAINC's. So a difference from timm cannot come from random numbers. Needs torch, timm,
safetensors, numpy, and Pillow.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from timm.layers import DropPath
from timm.models.swin_transformer import SwinTransformer
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "../../tests/e2e/recipe.sh")
SEED, BATCH, EPOCHS, WARMUP, DROP_PATH, CLIP = 5, 16, 3, 1, 0.3, 1.5  # as in recipe.sh
LR, WARM_LR, MIN_LR, DECAY, SMOOTHING = 1e-3, 1e-6, 1e-5, 0.05, 0.1
MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(1, 3, 1, 1)
SHUFFLE, AUGMENT, DROPS = 1, 2, 6  # enum philox_stream
WORD = (1 << 32) - 1


def philox(stream, step, element):
    """Returns four words per element: base/philox.h."""
    high, k0, k1 = step ^ stream << 56, SEED & WORD, SEED >> 32
    c = [element & WORD, element >> 32, high & WORD, high >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & WORD, p0 >> 32 ^ c[3] ^ k1, p0 & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c


def order(n, epoch):
    """Permutes with a Feistel network of eight rounds over the next power of four."""
    half = next(b for b in range(1, 32) if 1 << 2 * b >= n)

    def scramble(v):
        left, right = v >> half, v & (1 << half) - 1
        for r in range(8):
            drawn = philox(SHUFFLE, epoch, right | r << 32)[0] & (1 << half) - 1
            left, right = right, left ^ drawn
        return left << half | right

    places = []
    for v in range(n):
        v = scramble(v)
        while v >= n:
            v = scramble(v)
        places.append(v)
    return places


def augment(image, epoch, sample):
    crop, flip = philox(AUGMENT, epoch, sample), philox(AUGMENT, epoch, sample | 1 << 40)[0]
    x, y = crop[0] * 9 >> 32, crop[1] * 9 >> 32
    image = F.pad(image, (4, 4, 4, 4))[:, y:y + 32, x:x + 32]
    return image.flip(2) if flip < 1 << 31 else image


class Drop(torch.nn.Module):
    micro = 0

    def __init__(self, layer, rate):
        super().__init__()
        self.rate, self.salt = rate, 2166136261
        for c in layer.encode():
            self.salt = (self.salt ^ c) * 16777619 & WORD
        self.salt &= 0x7FFFFFFF

    def forward(self, x):
        words = [philox(DROPS, Drop.micro, self.salt << 32 ^ i)[0] for i in range(len(x))]
        keep = torch.tensor([(w >> 8) / (1 << 24) >= self.rate for w in words])
        return x * (keep / (1 - self.rate)).view(-1, *[1] * (x.ndim - 1))


def rate(step, warm, total):
    if step < warm:
        return WARM_LR + (LR - WARM_LR) * step / warm
    return MIN_LR + (LR - MIN_LR) / 2 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


def load(root):
    images, labels = [], []
    for label, name in enumerate(sorted(os.listdir(root))):
        for f in sorted(os.listdir(os.path.join(root, name))):
            pixels = np.asarray(Image.open(os.path.join(root, name, f)).convert("RGB"))
            images.append(torch.from_numpy(pixels.copy()).permute(2, 0, 1))
            labels.append(label)
    return images, torch.tensor(labels)


def net(weights):
    model = SwinTransformer(img_size=32, patch_size=2, window_size=4, embed_dim=24, depths=(2, 2, 2),
                            num_heads=(1, 2, 4), num_classes=10, drop_path_rate=DROP_PATH)
    own = load_file(weights)
    model.load_state_dict({k: own[k].reshape(v.shape) for k, v in model.state_dict().items()})
    for name, block in list(model.named_modules()):
        for key in ("drop_path1", "drop_path2"):
            if isinstance(getattr(block, key, None), DropPath):
                setattr(block, key, Drop(f"{name}.{key}", getattr(block, key).drop_prob))
    return model


def train(model, images, labels):
    named = list(model.named_parameters())
    plain = [q for n, q in named if q.ndim <= 1 or "relative_position_bias_table" in n]
    rest = [q for n, q in named if not any(q is p for p in plain)]
    opt = torch.optim.AdamW([{"params": rest, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0}], lr=LR)
    per_epoch, out = len(labels) // BATCH, {"loss": [], "grad_norm": []}
    for update in range(EPOCHS * per_epoch):
        epoch, at = divmod(update, per_epoch)
        pick = order(len(labels), epoch)[at * BATCH:(at + 1) * BATCH]
        x = torch.stack([augment(images[i], epoch, i) for i in pick]).float() / 255
        Drop.micro = update
        for g in opt.param_groups:
            g["lr"] = rate(update, WARMUP * per_epoch, EPOCHS * per_epoch)
        loss = F.cross_entropy(model((x - MEAN) / STD), labels[pick], label_smoothing=SMOOTHING)
        opt.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        opt.step()
        out["loss"].append(round(loss.item(), 6))
        out["grad_norm"].append(round(norm.item(), 5))
    return out


def main():
    trainc, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as dir_:
        # after one step with a tiny learning rate: the initial weights
        subprocess.run([SCRIPT, trainc, "--first", dir_], check=True)
        images, labels = load(os.path.join(dir_, "shapes/train"))
        out = train(net(os.path.join(dir_, "first.safetensors")), images, labels)
    with open(os.path.join(folder, "recipe.json"), "w", encoding="utf-8") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
