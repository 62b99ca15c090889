#!/usr/bin/env python3
"""Trains a small Swin on CIFAR-10 with timm and PyTorch: the counterpart of
configs/cifar10/swin.yaml.

Patch 2, window 4, 48 features; batch 128, AdamW, cosine schedule per step with warmup,
weight decay 0.05 except on vectors and position biases, gradients clipped to a norm of 5,
drop path 0.1, label smoothing, 4-pixel crop and flip, an EMA of the weights whose decay
grows as with TRAIN.EMA.RAMP_STEPS. fp32, or bf16 by autocast. The data set is one uint8
array in memory.

    timm_cifar10.py DATA [--epochs 20] [--dtype fp32|bf16] [--threads 2] [--seed 0]
                    [--eval-every 1] [--max-steps N] [--csv FILE]

DATA holds train/CLASS/*.jpg and test/CLASS/*.jpg. Prints a line per evaluation; FILE gets
them as a table that scripts/plot.py draws.
"""
import argparse
import copy
import math
import os
import time

import torch
import torch.nn.functional as F
from timm.models.swin_transformer import SwinTransformer

from pytorch_cifar10 import augment, load, to_input

LR, WARM_LR, MIN_LR, CLIP, BATCH, WARMUP = 1e-3, 1e-6, 1e-5, 5.0, 128, 2
EMA_DECAY, EMA_RAMP = 0.999, 2000


def rate(step, warm, total):
    """Returns the learning rate of step `step`, from 0, as in configs/cifar10/swin.yaml."""
    if step < warm:
        return WARM_LR + (LR - WARM_LR) * step / warm
    return MIN_LR + (LR - MIN_LR) / 2 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


@torch.no_grad()
def follow(ema, model, update):
    """Updates the EMA; steps count from 1. src/ops/control_formula.h defines the decay."""
    decay = EMA_DECAY * (1 - math.exp(-update / EMA_RAMP))
    torch._foreach_lerp_(list(ema.parameters()), list(model.parameters()), 1 - decay)


@torch.no_grad()
def accuracy(model, x, y, autocast):
    model.eval()
    hits = 0
    for i in range(0, len(x), 500):
        with autocast():
            hits += (model(to_input(x[i : i + 500])).argmax(1) == y[i : i + 500]).sum().item()
    model.train()
    return 100 * hits / len(x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--eval-every", type=int, default=1, help="epochs between two evaluations")
    p.add_argument("--max-steps", type=int, default=0, help="stop early, print the rate only")
    p.add_argument("--csv", help="a table of the evaluations")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)

    def autocast():
        return torch.autocast("cpu", torch.bfloat16, enabled=a.dtype == "bf16")

    train, val = load(os.path.join(a.data, "train")), load(os.path.join(a.data, "test"))
    model = SwinTransformer(img_size=32, patch_size=2, window_size=4, embed_dim=48, depths=(2, 2, 2),
                            num_heads=(3, 6, 12), num_classes=10, drop_path_rate=0.1)
    named = list(model.named_parameters())
    plain = [q.ndim <= 1 or "relative_position_bias_table" in n for n, q in named]
    opt = torch.optim.AdamW(
        [{"params": [q for (_, q), f in zip(named, plain) if not f], "weight_decay": 0.05},
         {"params": [q for (_, q), f in zip(named, plain) if f], "weight_decay": 0.0}], lr=LR)
    ema = copy.deepcopy(model)
    n = len(train[0]) // BATCH
    total, warm, step = a.epochs * n, WARMUP * n, 0
    began = time.time()
    table = open(a.csv, "w", encoding="utf-8") if a.csv else None
    if table:
        print("epoch,train_loss,val_top1,ema_top1", file=table, flush=True)
    for epoch in range(a.epochs):
        order, t0, seen, loss_sum = torch.randperm(len(train[0])), time.time(), 0, 0.0
        for i in range(n):
            for g in opt.param_groups:
                g["lr"] = rate(step, warm, total)
            pick = order[i * BATCH : (i + 1) * BATCH]
            x, y = to_input(augment(train[0][pick])), train[1][pick]
            with autocast():
                z = model(x)
            loss = F.cross_entropy(z.float(), y, label_smoothing=0.1)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            opt.step()
            follow(ema, model, step + 1)
            step, seen, loss_sum = step + 1, seen + len(pick), loss_sum + loss.item()
            if a.max_steps and step == 5:
                t0, seen = time.time(), 0  # after warmup
            if a.max_steps and step == a.max_steps:
                print(f"images_per_second {seen / (time.time() - t0):.1f}")
                return
        speed = seen / (time.time() - t0)
        if (epoch + 1) % a.eval_every and epoch + 1 < a.epochs:
            continue
        loss, val_top1 = loss_sum / n, accuracy(model, *val, autocast)
        ema_top1 = accuracy(ema, *val, autocast)
        print(f"epoch {epoch + 1} loss {loss:.4f} val {val_top1:.2f} ema {ema_top1:.2f} "
              f"images_per_second {speed:.1f} seconds {time.time() - began:.0f}", flush=True)
        if table:
            print(f"{epoch},{loss:.4f},{val_top1:.2f},{ema_top1:.2f}", file=table, flush=True)


if __name__ == "__main__":
    main()
