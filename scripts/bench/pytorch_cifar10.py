#!/usr/bin/env python3
r"""Trains a network on CIFAR-10 in PyTorch, as configs/cifar10/resnet20.yaml does for ResNet-20
and configs/cifar10/mobilenetv2.yaml for networks of timm, whose first two strides are left out.

Batch 128, SGD with Nesterov momentum 0.9, cosine schedule per step with warmup, weight
decay 5e-4 except on BN and biases, 4-pixel crop and flip, bf16 autocast or fp32, channels_last.
The same with trainc, whose own recipe of 30 epochs regularizes differently:

    trainc --cfg configs/cifar10/resnet20.yaml --data-path DATA TRAIN.WEIGHT_DECAY=5e-4 \
      MODEL.LABEL_SMOOTHING=0 AUG.PAD_CROP=4 AUG.PAD_MODE=constant AUG.HFLIP_MODE=random

    trainc --cfg configs/cifar10/mobilenetv2.yaml --data-path DATA --amp-dtype bf16 \
      AUG.PAD_MODE=constant AUG.HFLIP_MODE=random

The data set is one uint8 array in memory, so loading costs next to nothing.

    pytorch_cifar10.py DATA [--model resnet20|mobilenetv2_100|efficientnet_b0|...] [--epochs 30]
                       [--warmup 3] [--lr 0.1] [--threads 2] [--max-steps N] [--ema 0.999]
                       [--eval-freq 1] [--dtype bf16|fp32]

DATA holds train/CLASS/*.jpg and test/CLASS/*.jpg. Prints a line per epoch, with validation
accuracy every --eval-freq epochs and at the end.
"""
import argparse
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from pytorch_resnet20 import ResNet20

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1) * 255
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(1, 3, 1, 1) * 255


def load(root):
    images, labels = [], []
    for label, name in enumerate(sorted(os.listdir(root))):
        for f in sorted(os.listdir(os.path.join(root, name))):
            images.append(np.asarray(Image.open(os.path.join(root, name, f)).convert("RGB")))
            labels.append(label)
    x = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
    return x, torch.tensor(labels)


def augment(x):
    n = x.shape[0]
    x = F.pad(x, (4, 4, 4, 4))
    dy, dx = torch.randint(0, 9, (2, n))
    rows = (dy[:, None] + torch.arange(32))[:, None, :, None]
    cols = (dx[:, None] + torch.arange(32))[:, None, None, :]
    x = x[torch.arange(n)[:, None, None, None], torch.arange(3)[None, :, None, None], rows, cols]
    flip = torch.rand(n) < 0.5
    x[flip] = x[flip].flip(3)
    return x


def to_input(x):
    return ((x.float() - MEAN) / STD).contiguous(memory_format=torch.channels_last)


def build(name):
    """A network of timm's keeps its weights, but its first two strides become 1."""
    if name == "resnet20":
        return ResNet20()
    import timm
    model = timm.create_model(name, num_classes=10)
    strided = [m for m in model.modules() if isinstance(m, torch.nn.Conv2d) and m.stride != (1, 1)]
    for m in strided[:2]:
        m.stride = (1, 1)
    return model


@torch.no_grad()
def accuracy(model, x, y, half):
    model.eval()
    hits = 0
    for i in range(0, len(x), 500):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            hits += (model(to_input(x[i : i + 500])).argmax(1) == y[i : i + 500]).sum().item()
    model.train()
    return 100 * hits / len(x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--model", default="resnet20")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--max-steps", type=int, default=0, help="stop early, print the rate only")
    p.add_argument("--ema", type=float, default=0.0)
    p.add_argument("--eval-freq", type=int, default=1)
    p.add_argument("--dtype", choices=("bf16", "fp32"), default="bf16")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    half = a.dtype == "bf16"
    train, val = load(os.path.join(a.data, "train")), load(os.path.join(a.data, "test"))
    model = build(a.model).to(memory_format=torch.channels_last)
    decay = [q for q in model.parameters() if q.ndim > 1]
    plain = [q for q in model.parameters() if q.ndim <= 1]
    opt = torch.optim.SGD([{"params": decay, "weight_decay": 5e-4}, {"params": plain}],
                          lr=a.lr, momentum=0.9, nesterov=True)
    ema = None
    if a.ema:
        ema = torch.optim.swa_utils.AveragedModel(
            model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(a.ema), use_buffers=True)
    n = len(train[0]) // a.batch
    total, warm, step = a.epochs * n, a.warmup * n, 0
    began = time.time()
    for epoch in range(a.epochs):
        order, t0, seen, loss_sum = torch.randperm(len(train[0])), time.time(), 0, 0.0
        for i in range(n):
            lr = a.lr * (step + 1) / warm if step < warm else \
                a.lr / 2 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
            for g in opt.param_groups:
                g["lr"] = lr
            pick = order[i * a.batch : (i + 1) * a.batch]
            x, y = to_input(augment(train[0][pick])), train[1][pick]
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                z = model(x)
            loss = F.cross_entropy(z.float(), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            if ema:
                ema.update_parameters(model)
            step, seen, loss_sum = step + 1, seen + len(pick), loss_sum + loss.item()
            if a.max_steps and step == 10:
                t0, seen = time.time(), 0  # after warmup
            if a.max_steps and step == a.max_steps:
                print(f"images_per_second {seen / (time.time() - t0):.1f}")
                return
        rate = seen / (time.time() - t0)
        line = f"epoch {epoch + 1} loss {loss_sum / n:.4f}"
        if (epoch + 1) % a.eval_freq == 0 or epoch + 1 == a.epochs:
            line += f" val {accuracy(model, *val, half):.2f}"
            if ema:
                line += f" ema {accuracy(ema, *val, half):.2f}"
        print(f"{line} images_per_second {rate:.1f} seconds {time.time() - began:.0f}", flush=True)


if __name__ == "__main__":
    main()
