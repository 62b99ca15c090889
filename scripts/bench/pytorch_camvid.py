#!/usr/bin/env python3
"""Trains ERFNet, or a network of segmentation_models_pytorch, on CamVid in PyTorch with the
recipe of configs/camvid/erfnet.yaml, for comparison.

Adam with coupled weight decay on all parameters, poly schedule by step, class weights 1 /
ln(1.1 + share), random scale and position, flip, color jitter, and an EMA of the weights.
Prints a line per epoch, and every --eval-freq epochs validation mIoU of the weights and of
their EMA (11 classes, without classes that are absent from the labels).

    pytorch_camvid.py --data DIR [--model erfnet|Unet|DeepLabV3Plus|...]
                      [--epochs 80] [--batch 4] [--dtype bf16] [--threads 2]

DIR holds train.txt and val.txt with "image label" on each line; all images have one size.
The backbone of smp's networks is a ResNet-18 with random weights. The same with trainc:

    trainc --cfg configs/camvid/erfnet.yaml --model unet --backbone resnet18 --drop-path 0 --data-path DIR
"""
import argparse
import copy
import math
import os
import random
import time

import numpy as np
import torch
from PIL import Image, ImageEnhance
from torch.nn import functional as F

from pytorch_erfnet import ERFNet

CLASSES, VOID, IGNORE = 11, 11, 255


def read(root, split):
    with open(os.path.join(root, split + ".txt"), encoding="utf-8") as f:
        pairs = [line.split() for line in f if line.strip()]
    out = []
    for image, label in pairs:
        y = np.array(Image.open(os.path.join(root, label)))
        y[y == VOID] = IGNORE
        out.append((Image.open(os.path.join(root, image)).convert("RGB"), Image.fromarray(y)))
    return out


def build(name):
    if name == "erfnet":
        return ERFNet(CLASSES)
    import segmentation_models_pytorch as smp
    return getattr(smp, name)("resnet18", encoder_weights=None, classes=CLASSES)


def augment(image, label, rng):
    width, height = image.size
    factor = rng.uniform(0.75, 1.5)
    w, h = round(width * factor), round(height * factor)
    x, y = (rng.randint(min(0, n), max(0, n)) for n in (w - width, h - height))
    image, label = image.resize((w, h), Image.BILINEAR), label.resize((w, h), Image.NEAREST)
    canvas = Image.new("RGB", (width, height))
    truth = Image.new("L", (width, height), IGNORE)
    canvas.paste(image, (-x, -y))
    truth.paste(label, (-x, -y))
    if rng.random() < 0.5:
        canvas, truth = (p.transpose(Image.FLIP_LEFT_RIGHT) for p in (canvas, truth))
    kinds = [ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color]
    rng.shuffle(kinds)
    for kind in kinds:
        canvas = kind(canvas).enhance(rng.uniform(0.8, 1.2))
    return canvas, truth


def tensors(batch):
    x = np.stack([np.asarray(a) for a, _ in batch])
    y = np.stack([np.asarray(b) for _, b in batch])
    x = torch.from_numpy(x).permute(0, 3, 1, 2).float().div(255)
    return x.contiguous(memory_format=torch.channels_last), torch.from_numpy(y).long()


def miou(model, data, half):
    matrix = np.zeros((CLASSES, CLASSES), np.int64)
    model.eval()
    with torch.no_grad():
        for pair in data:
            x, y = tensors([pair])
            with torch.autocast("cpu", half, enabled=half is not None):
                p = model(x).argmax(1)
            y, p = y.numpy().ravel(), p.numpy().ravel()
            keep = y != IGNORE
            matrix += np.bincount(y[keep] * CLASSES + p[keep],
                                  minlength=CLASSES ** 2).reshape(CLASSES, CLASSES)
    model.train()
    right, truth, taken = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    return (right / np.maximum(truth + taken - right, 1))[truth > 0].mean()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data", required=True)
    p.add_argument("--model", default="erfnet")
    p.add_argument("--epochs", type=int, default=80)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--eval-freq", type=int, default=5)
    p.add_argument("--dtype", choices=("fp32", "bf16"), default="bf16")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()

    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    rng = random.Random(a.seed)
    half = torch.bfloat16 if a.dtype == "bf16" else None
    train, val = read(a.data, "train"), read(a.data, "val")
    counts = sum(np.bincount(np.asarray(y).ravel(), minlength=256) for _, y in train)
    weight = torch.tensor([1 / math.log(1.1 + c / counts.sum()) if c else 0.0
                           for c in counts[:CLASSES]], dtype=torch.float)
    model = build(a.model).to(memory_format=torch.channels_last).train()
    ema = copy.deepcopy(model)
    used = [w for name, w in model.named_parameters() if not name.startswith("encoder.output_conv")]
    optimizer = torch.optim.Adam(used, lr=a.lr, weight_decay=1e-4)
    steps = len(train) // a.batch
    best = 0
    for epoch in range(a.epochs):
        began, losses = time.monotonic(), 0.0
        order = list(range(len(train)))
        rng.shuffle(order)
        for k in range(steps):
            t = epoch * steps + k
            for g in optimizer.param_groups:
                g["lr"] = a.lr * (1 - t / (a.epochs * steps)) ** 0.9
            x, y = tensors([augment(*train[i], rng) for i in order[k * a.batch:(k + 1) * a.batch]])
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", half, enabled=half is not None):
                z = model(x)
            loss = F.cross_entropy(z.float(), y, weight, ignore_index=IGNORE)
            loss.backward()
            optimizer.step()
            losses += loss.item()
            with torch.no_grad():
                for e, w in zip(ema.state_dict().values(), model.state_dict().values()):
                    e.lerp_(w, 1 - 0.998) if e.is_floating_point() else e.copy_(w)
        seconds = time.monotonic() - began
        line = f"epoch {epoch} loss {losses / steps:.4f} {steps * a.batch / seconds:.2f} img/s"
        if (epoch + 1) % a.eval_freq == 0 or epoch + 1 == a.epochs:
            now = miou(model, val, half), miou(ema, val, half)
            best = max(best, *now)
            line += f" mIoU {now[0]:.4f} EMA {now[1]:.4f} best {best:.4f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
