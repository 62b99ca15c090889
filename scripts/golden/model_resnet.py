#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_resnet_golden.c: ResNets and a RegNet in
PyTorch, one JSON file per model.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_resnet.py tests/golden/models [NET...]

Weights, input, and labels come from an integer hash that the test also computes, so a file
contains only results: the loss, the logits, and for each parameter a digest of its gradient
and of its value after three steps of SGD, of AdamW, and of AdamW with timm's layer-wise
learning rate decay. A digest is the L2 norm and SAMPLES elements at hashed indices, in
PyTorch's (logical) order. Everything is fp32.

If rounding moves a value over the kink of a ReLU or past its neighbor in a max pool, small
gradients change by a percent. The script therefore uses the first input for which no value
is closer than MARGIN to a kink, and compares its fp32 results with fp64, also for inputs
that differ by a few rounding errors, because later steps have kinks, too.
"""
import json
import pathlib
import sys
from functools import partial

import numpy as np
import timm
import torch
from torch import nn
from torch.nn import functional as F
from timm.layers import BatchNormAct2d, BlurPool2d, StdConv2d, create_conv2d, get_attn
from timm.optim import param_groups_layer_decay
from timm.models.regnet import RegNet, RegNetCfg
from timm.models.resnet import BasicBlock, Bottleneck, ResNet
from timm.models.resnetv2 import ResNetV2
from timm.models.sknet import SelectiveKernelBasic, SelectiveKernelBottleneck

SAMPLES = 6
STEPS = 3
MARGIN = 4e-6
SGD = dict(lr=0.02, momentum=0.9, nesterov=True)
SGD_DECAY = 0.5
SLOW, SLOW_DECAY = dict(SGD, lr=1e-5), 0.05  # of nets with `slow`, in which rounding grows
ADAMW = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-4)
ADAMW_DECAY = 5.0
LAYER_DECAY = 0.6
AUX = 0.4
KINKS = {nn.ReLU: (0,), nn.ReLU6: (0, 6), nn.Hardswish: (-3, 3), nn.Hardsigmoid: (-3, 3)}
# The gradient of a bias before a 1x1 convolution and a batch norm is zero except for rounding;
# AdamW's eps is large enough to keep that from becoming a full step.


def hash32(x):
    x = np.asarray(x, dtype=np.uint32)
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
        x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def name_hash(name):  # FNV-1a
    h = 0x811C9DC5
    for c in name.encode():
        h = (h ^ c) * 0x01000193 & 0xFFFFFFFF
    return h


def uniform(name, count):
    """Returns count numbers in [-1, 1), multiples of 2^-23: exact in fp32."""
    i = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9)
    bits = hash32(i + np.uint32(name_hash(name))) >> np.uint32(8)
    return bits.astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def formula(name, shape):
    u = uniform(name, int(np.prod(shape)))
    if len(shape) > 1:
        u = u * np.float32(np.sqrt(6 / np.prod(shape[1:])))
    elif name.endswith(".weight"):
        u = np.float32(1) + np.float32(0.25) * u
    else:
        u = np.float32(0.1) * u
    return torch.from_numpy(u.reshape(shape))


class CifarBlock(nn.Module):
    """BasicBlock with option A: every second pixel, zero channels on both sides."""

    def __init__(self, inside, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.act1, self.act2 = nn.ReLU(), nn.ReLU()
        self.stride, self.pad = stride, (planes - inside) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(self.act1(self.bn1(self.conv1(x)))))
        if self.pad:
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.pad, self.pad))
        return self.act2(x + y)


class CifarNet(nn.Module):
    def __init__(self, depth, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.act1 = nn.ReLU()
        inside = 16
        for stage, planes in enumerate((16, 32, 64), 1):
            blocks = []
            for i in range(depth):
                blocks.append(CifarBlock(inside, planes, 2 if stage > 1 and i == 0 else 1))
                inside = planes
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
        self.fc = nn.Linear(64, num_classes)

    def group_matcher(self, coarse=False):
        return ResNet.group_matcher(self, coarse)

    def forward(self, x):
        x = self.act1(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


# name: (model, batch, size). The test has the same models under the same names.
def nets():
    yield "resnet20", CifarNet(3, 10), 4, 16
    yield "test_resnet", timm.create_model("test_resnet", num_classes=10), 6, 48
    yield "resnext", ResNet(Bottleneck, (1, 2, 1, 1), num_classes=10, cardinality=4,
                            base_width=32, channels=(64, 24, 32, 32)), 4, 40
    yield "se_tiered", ResNet(BasicBlock, (1, 1, 1, 1), num_classes=10, stem_width=8,
                              stem_type="deep_tiered", avg_down=True,
                              channels=(16, 16, 32, 48),
                              block_args=dict(attn_layer="se")), 4, 40
    yield "eca_blur", ResNet(BasicBlock, (1, 1, 1, 1), num_classes=10, aa_layer=BlurPool2d,
                             channels=(64, 16, 24, 64), block_args=dict(attn_layer="eca")), 4, 40
    yield "rs", ResNet(Bottleneck, (1, 1, 1, 1), num_classes=10, stem_width=8, stem_type="deep",
                       avg_down=True, replace_stem_pool=True, channels=(16, 16, 24, 32),
                       block_args=dict(attn_layer=partial(get_attn("se"), rd_ratio=0.25))), 4, 40
    yield "senet_aa", ResNet(Bottleneck, (1, 1, 1, 1), num_classes=10, cardinality=4,
                             base_width=16, down_kernel_size=3, block_reduce_first=2,
                             aa_layer=nn.AvgPool2d, channels=(64, 32, 32, 32),
                             block_args=dict(attn_layer="se")), 4, 64
    yield "sknet", ResNet(SelectiveKernelBasic, (1, 1, 1, 1), num_classes=10,
                          zero_init_last=False, channels=(64, 16, 24, 32), block_args=dict(
                              sk_kwargs=dict(rd_ratio=1 / 8, rd_divisor=16))), 4, 40
    yield "sknext", ResNet(SelectiveKernelBottleneck, (1, 1, 1, 1), num_classes=10,
                           cardinality=4, base_width=16, zero_init_last=False,
                           channels=(64, 24, 32, 32), block_args=dict(
                               sk_kwargs=dict(rd_divisor=8, split_input=False))), 4, 40
    yield "resnet_gn", ResNet(BasicBlock, (1, 1, 1, 1), num_classes=10, norm_layer="groupnorm",
                              channels=(64, 32, 32, 64)), 4, 40
    yield "bit", ResNetV2((1, 1, 1, 1), channels=(128, 128, 256, 128), num_classes=10,
                          stem_type="fixed", conv_layer=partial(StdConv2d, eps=1e-8)), 4, 40
    yield "resnetv2", ResNetV2((1, 2, 1, 1), channels=(16, 24, 32, 48), num_classes=10,
                               basic=True, bottle_ratio=1, conv_layer=create_conv2d,
                               norm_layer=BatchNormAct2d, stem_type="deep", stem_chs=16,
                               avg_down=True), 4, 40
    yield "regnet", RegNet(RegNetCfg(depth=5, w0=8, wa=10, wm=2, group_size=8, se_ratio=0.25),
                           num_classes=10), 6, 64


def digest(name, tensor):
    flat = tensor.detach().double().flatten().numpy()
    places = [int(hash32(np.uint32((name_hash(name) + k) & 0xFFFFFFFF))) % flat.size
              for k in range(SAMPLES)]
    return [float(f"{v:.8g}") for v in [np.linalg.norm(flat), *flat[places]]]


def reset(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(formula(name, tuple(p.shape)))
        for name, buffer in model.named_buffers():
            if not name.endswith("filt"):  # a constant of smoothed pooling
                buffer.fill_(1 if name.endswith("running_var") else 0)


def groups(model, decay):
    params = list(model.parameters())
    return [dict(params=[p for p in params if p.ndim > 1], weight_decay=decay),
            dict(params=[p for p in params if p.ndim <= 1], weight_decay=0)]


def layer_groups(model):
    made = param_groups_layer_decay(model, weight_decay=ADAMW_DECAY, layer_decay=LAYER_DECAY)
    return [dict(params=g["params"], weight_decay=g["weight_decay"],
                 lr=ADAMW["lr"] * g["lr_scale"]) for g in made]


def train(model, x, y, optimizer, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits if torch.is_tensor(logits) else logits[0], y)
        if not torch.is_tensor(logits):  # an auxiliary head
            logits, aux = logits
            loss = loss + AUX * F.cross_entropy(aux, y)
        loss.backward()
        if not losses:
            first = logits.detach().clone()
            grads = {n: p.grad.clone() for n, p in model.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return losses, first, grads


def pixels(batch, side, number, channels=3, width=None):
    shape = (batch, channels, side, width or side)
    return torch.from_numpy((2 * uniform(f"input{number}", int(np.prod(shape)))).reshape(shape))


def pool_gap(pool, x):
    """Returns the smallest gap between a window's two largest values where the largest is >
    0."""
    windows = F.unfold(x.flatten(0, 1)[:, None], pool.kernel_size, padding=pool.padding,
                       stride=pool.stride)
    top = windows.topk(2, dim=1).values
    gap = (top[:, 0] - top[:, 1])[top[:, 0] > 0]
    return gap.min().item()


def margin(model, x):
    """Returns the distance of the first forward pass from the nearest kink."""
    least = []
    hooks = []
    for m in model.modules():
        for kink in KINKS.get(type(m), ()):
            hooks.append(m.register_forward_pre_hook(
                lambda m, a, kink=kink: least.append((a[0] - kink).abs().min().item())))
        if isinstance(m, nn.MaxPool2d):
            hooks.append(m.register_forward_pre_hook(
                lambda m, a: least.append(pool_gap(m, a[0]))))
    reset(model)
    model.double().train()(x.double())
    for h in hooks:
        h.remove()
    return min(least, default=1)


def golden(model, batch, side, number, dtype, scale=1):
    model.to(dtype).train()
    x = scale * pixels(batch, side, number).to(dtype)
    y = torch.from_numpy((hash32(np.arange(batch)) % np.uint32(10)).astype(np.int64))
    out = dict(batch=batch, side=side, input=number)
    slow = getattr(model, "slow", False)
    for kind in ("sgd",) if slow else ("sgd", "adamw", "layers"):
        reset(model)
        if slow:
            out["rate"] = SLOW["lr"]
            optimizer = torch.optim.SGD(groups(model, SLOW_DECAY), **SLOW)
        elif kind == "sgd":
            optimizer = torch.optim.SGD(groups(model, SGD_DECAY), **SGD)
        elif kind == "layers":
            optimizer = torch.optim.AdamW(layer_groups(model), **ADAMW)
        else:
            optimizer = torch.optim.AdamW(groups(model, ADAMW_DECAY), **ADAMW)
        losses, logits, grads = train(model, x, y, optimizer, STEPS)
        out["loss_" + kind] = losses
        out[kind] = {n: digest(n, t) for n, t in model.state_dict().items()
                     if not n.endswith("num_batches_tracked")}
        if kind == "sgd":
            out["logits"] = [float(f"{v:.8g}") for v in logits.flatten().tolist()]
            out["grad"] = {n: digest(n, g) for n, g in grads.items()}
            model.eval()
            logits = model(x)
            logits = logits if torch.is_tensor(logits) else logits[0]
            out["eval"] = [float(f"{v:.8g}") for v in logits.flatten().tolist()]
            model.train()
    return out


def same(a, b):
    """True if the fp32 and the fp64 results differ only by rounding."""
    if isinstance(a, dict):
        return all(same(a[key], b[key]) for key in a)
    a, b = np.array(a), np.array(b)
    return np.abs(a - b).max() <= 2e-4 * np.abs(b).max() + 1e-6


def noise(a, b):
    """Returns the largest difference of fp32 results (a) from fp64, relative to the norm."""
    if isinstance(a, dict):
        return max(noise(a[key], b[key]) for key in a)
    a, b = np.array(a), np.array(b)
    return float(f"{(np.abs(a - b).max() - 1e-6).clip(0) / np.abs(b).max():.2g}")


def search(model, batch, side):
    for number in range(1000):
        if margin(model, pixels(batch, side, number)) > MARGIN:
            out = golden(model, batch, side, number, torch.float32)
            others = [golden(model, batch, side, number, torch.float64, 1 + e)
                      for e in (0, 1e-6, -1e-6, 3e-6, -3e-6)]
            if all(same(out, o) for o in others):
                if "rate" in out:
                    out["noise"] = {key: noise(out[key], others[0][key])
                                    for key in ("logits", "grad", "sgd", "eval")}
                    out["noise"]["loss"] = [noise(a, b) for a, b in zip(out["loss_sgd"],
                                                                        others[0]["loss_sgd"])]
                return out
    sys.exit("no input stays clear of the kinks: take a smaller one")


def main(folder, *only, nets=nets):
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for name, model, batch, side in nets():
        if only and name not in only:
            continue
        text = json.dumps(search(model, batch, side), separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(*sys.argv[1:])
