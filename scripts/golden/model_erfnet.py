#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_segment_golden.c: ERFNet in PyTorch, both
stages.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_erfnet.py tests/golden/models

Weights, input, and digests are those of model_resnet.py; for the weights after one and
three steps the file has their changes. Labels are hashed, every fifth pixel is ignored, and
the loss has class weights. The optimizer is Adam with coupled weight decay on all
parameters, as in the published recipe. Dropout is off because its masks differ from
PyTorch's.

The weights of each block's second batch norm are a quarter of the formula's. With the full
weights, rounding changes the gradients of the 25 residual blocks by a percent, and after
three steps fp32 and fp64 differ by up to 0.25, at any batch and image size: a single value
that rounding moves over the kink of a ReLU is enough. With BRANCH they agree as closely as
the script prints.

Images are nine deep pixels long, across for one model and down for the other, so that all
four dilations differ: in a shorter image only the middle tap of the larger ones would not
be padding.
"""
import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import model_resnet as common

CLASSES, IGNORE, STEPS = 6, 255, 3
BRANCH = 0.25
ADAM = dict(lr=1e-4, betas=(0.9, 0.999), eps=1e-2, weight_decay=1e-1)


def formula(name, shape):
    scale = BRANCH if name.endswith(".bn2.weight") else 1
    return common.formula(name, shape) * scale


def reset(model):
    common.reset(model)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(formula(name, tuple(p.shape)))


class Down(nn.Module):
    def __init__(self, inside, out):
        super().__init__()
        self.conv = nn.Conv2d(inside, out - inside, 3, 2, 1)
        self.pool = nn.MaxPool2d(2, 2)
        self.bn = nn.BatchNorm2d(out, eps=1e-3)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.bn(torch.cat([self.conv(x), self.pool(x)], 1)))


class Block(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.conv3x1_1 = nn.Conv2d(c, c, (3, 1), 1, (1, 0))
        self.conv1x3_1 = nn.Conv2d(c, c, (1, 3), 1, (0, 1))
        self.bn1 = nn.BatchNorm2d(c, eps=1e-3)
        self.conv3x1_2 = nn.Conv2d(c, c, (3, 1), 1, (d, 0), (d, 1))
        self.conv1x3_2 = nn.Conv2d(c, c, (1, 3), 1, (0, d), (1, d))
        self.bn2 = nn.BatchNorm2d(c, eps=1e-3)
        self.act1, self.act2, self.act3, self.act4 = (nn.ReLU() for _ in range(4))

    def forward(self, x):
        y = self.conv1x3_1(self.act1(self.conv3x1_1(x)))
        y = self.act3(self.conv3x1_2(self.act2(self.bn1(y))))
        return self.act4(self.bn2(self.conv1x3_2(y)) + x)


class Up(nn.Module):
    def __init__(self, inside, out):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inside, out, 3, 2, 1, 1)
        self.bn = nn.BatchNorm2d(out, eps=1e-3)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.initial_block = Down(3, 16)
        self.layers = nn.ModuleList(
            [Down(16, 64)] + [Block(64, 1) for _ in range(5)] + [Down(64, 128)] +
            [Block(128, d) for d in (2, 4, 8, 16) * 2])
        self.output_conv = nn.Conv2d(128, CLASSES, 1)

    def forward(self, x):
        x = self.initial_block(x)
        for layer in self.layers:
            x = layer(x)
        return x


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Up(128, 64), Block(64, 1), Block(64, 1), Up(64, 16),
                                     Block(16, 1), Block(16, 1)])
        self.output_conv = nn.ConvTranspose2d(16, CLASSES, 2, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.output_conv(x)


class Net(nn.Module):
    def __init__(self, full):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder() if full else None

    def forward(self, x):
        x = self.encoder(x)
        return self.decoder(x) if self.decoder else self.encoder.output_conv(x)


def labels(shape):
    i = np.arange(int(np.prod(shape)))
    y = (common.hash32(i) % np.uint32(CLASSES)).astype(np.int64)
    y[i % 5 == 2] = IGNORE
    return torch.from_numpy(y.reshape(shape))


def pixels(batch, height, width, number):
    flat = 2 * common.uniform(f"input{number}", batch * 3 * height * width)
    return torch.from_numpy(flat.reshape(batch, 3, height, width))


def pool_gap(x):
    """Returns the smallest gap between a window's largest and second largest value."""
    top = F.unfold(x.flatten(0, 1)[:, None], 2, stride=2).topk(2, dim=1).values
    return (top[:, 0] - top[:, 1])[top[:, 0] > 0].min().item()


def margin(model, x):
    least = []
    hooks = [m.register_forward_pre_hook(lambda m, a: least.append(a[0].abs().min().item()))
             for m in model.modules() if isinstance(m, nn.ReLU)]
    hooks += [m.register_forward_pre_hook(lambda m, a: least.append(pool_gap(a[0])))
              for m in model.modules() if isinstance(m, nn.MaxPool2d)]
    reset(model)
    model.double().train()(x.double())
    for h in hooks:
        h.remove()
    return min(least)


def moves(used):
    moved = {n: p.detach() - formula(n, tuple(p.shape)) for n, p in used if kept(n)}
    return {n: common.digest(n, t) for n, t in moved.items()}


def kept(name):
    """True for what files contain. Backbones have golden files of their own."""
    return (not name.startswith(("encoder.layer", "encoder.block", "backbone.layer")) or
            name.startswith(("encoder.layers.", "encoder.layer4.1.", "encoder.block1.0.",
                             "encoder.block4.1.", "backbone.layer3.1.")))


def golden(model, batch, height, width, number, dtype):
    model.to(dtype).train()
    reset(model)
    x = pixels(batch, height, width, number).to(dtype)
    weight = torch.tensor([1 + 0.25 * k for k in range(CLASSES)], dtype=dtype)
    used = [(n, p) for n, p in model.named_parameters()]
    optimizer = torch.optim.Adam([p for _, p in used], **ADAM)
    out = dict(batch=batch, side=width, height=height, input=number, branch=BRANCH,
               loss_adam=[])
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(x)
        heads = [(logits, 1)]
        if isinstance(logits, dict):  # with auxiliary heads; torchvision's have one
            aux = logits["aux"] if isinstance(logits["aux"], list) else [logits["aux"]]
            heads = [(logits["out"], 1)] + [(z, logits.get("weight", 0.5)) for z in aux]
            logits = logits["out"]
        y = labels((batch, *logits.shape[2:]))
        loss = sum(factor * F.cross_entropy(z, y, weight=weight, ignore_index=IGNORE)
                   for z, factor in heads)
        loss.backward()
        if step == 0:
            out["logits"] = common.digest("logits", logits)
            out["grad"] = {n: common.digest(n, p.grad) for n, p in used
                           if p.grad is not None and kept(n)}
        optimizer.step()
        out["loss_adam"].append(loss.item())
        if step == 0:
            out["adam_first"] = moves(used)
    out["adam"] = moves(used)
    return out


def apart(a, b, floor):
    """Returns the largest difference of two digests, relative to the norm, beyond `floor`.
    The floor is for biases before a batch norm, whose gradients are rounding errors only."""
    gap = np.abs(np.array(a) - np.array(b)).max() - floor
    return max(gap, 0) / (np.abs(b).max() + 1e-30)


def differences(name, a, b):
    """Returns and prints the differences between fp32 (a) and fp64 (b)."""
    figures = {"loss": max(abs(x / y - 1) for x, y in zip(a["loss_adam"], b["loss_adam"]))}
    for key, floor in (("grad", 1e-6), ("adam_first", 3e-8), ("adam", 3e-8)):
        figures[key] = max(apart(a[key][n], b[key][n], floor) for n in b[key])
    print(name, "input", a["input"], "fp32 - fp64:",
          ", ".join(f"{key} {v:.1e}" for key, v in figures.items()))
    return figures


def check(name, a, b):
    return max(differences(name, a, b).values()) < 1e-3


def search(name, model, batch, height, width):
    for number in range(2000):
        if margin(model, pixels(batch, height, width, number)) > common.MARGIN:
            out = golden(model, batch, height, width, number, torch.float32)
            if check(name, out, golden(model, batch, height, width, number, torch.float64)):
                return out
    sys.exit("no input stays clear of the kinks: take a smaller one")


def main(folder):
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for name, full, *size in (("erfnet", True, 1, 16, 72), ("erfnet_encoder", False, 2, 72, 16)):
        text = json.dumps(search(name, Net(full), *size), separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1])
