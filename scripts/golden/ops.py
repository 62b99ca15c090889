#!/usr/bin/env python3
"""Writes the golden file of general ops, from PyTorch.

    scripts/golden/ops.py tests/golden/ops

general.safetensors has for each case of tests/ops/test_general.c the inputs, the
parameters, y, dy, and all gradients. Images and weights are stored channels last. Computed
in fp64 from numbers that are exact in fp32. Needs torch.
"""
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


def interpolate(size=None, **options):
    return lambda x: F.interpolate(x, size=size, **options)


def convolve(stride, dilation=1, groups=1, same=False, padding=0):
    """`same`: timm's pad_same(), for TensorFlow's weights."""

    def function(x, weight, bias=None):
        ends = []
        for size, k in zip(x.shape[2:], weight.shape[2:]):
            out = -(-size // stride)
            all_ = max((out - 1) * stride + (k - 1) * dilation + 1 - size, 0)
            ends = [all_ // 2, all_ - all_ // 2] + ends
        x = F.pad(x, ends) if same else x
        return F.conv2d(x, weight, bias, stride, padding, dilation, groups)

    return function


BICUBIC, BILINEAR = {"mode": "bicubic"}, {"mode": "bilinear"}

# name: shapes of the inputs, shapes of the parameters, function
CASES = {
    "concat": ([(2, 3, 3, 4), (2, 5, 3, 4), (2, 6, 3, 4)], {}, lambda *x: torch.cat(x, 1)),
    "concat_rows": ([(2, 3, 3, 4), (2, 3, 2, 4)], {}, lambda *x: torch.cat(x, 2)),
    "concat_columns": ([(2, 3, 3, 4), (2, 3, 3, 2)], {}, lambda *x: torch.cat(x, 3)),
    "bilinear_up": ([(2, 3, 4, 5)], {}, interpolate((7, 10), **BILINEAR)),
    "bilinear_down": ([(2, 3, 9, 7)], {}, interpolate((4, 5), **BILINEAR)),
    "bilinear_aligned": ([(1, 3, 4, 5)], {}, interpolate((7, 3), align_corners=True, **BILINEAR)),
    "bilinear_smooth": ([(1, 3, 9, 11)], {}, interpolate((4, 3), antialias=True, **BILINEAR)),
    "bilinear_smooth_up": ([(1, 3, 4, 9)], {}, interpolate((7, 2), antialias=True, **BILINEAR)),
    "bilinear_factor": ([(1, 3, 5, 7)], {}, interpolate(scale_factor=(1.25, 1.625), **BILINEAR)),
    "bicubic_up": ([(2, 3, 4, 5)], {}, interpolate((7, 10), **BICUBIC)),
    "bicubic_down": ([(1, 3, 9, 7)], {}, interpolate((4, 5), **BICUBIC)),
    "bicubic_aligned": ([(1, 3, 4, 5)], {}, interpolate((7, 3), align_corners=True, **BICUBIC)),
    "bicubic_smooth": ([(1, 3, 9, 11)], {}, interpolate((4, 3), antialias=True, **BICUBIC)),
    "bicubic_one": ([(1, 3, 1, 1)], {}, interpolate((3, 2), **BICUBIC)),
    "nearest_up": ([(1, 3, 4, 5)], {}, interpolate((7, 11), mode="nearest")),
    "nearest_down": ([(1, 3, 7, 10)], {}, interpolate((3, 4), mode="nearest")),
    "nearest_factor": ([(1, 3, 5, 6)], {}, interpolate(scale_factor=(1.5, 0.75), mode="nearest")),
    "nearest_exact": ([(1, 3, 4, 10)], {}, interpolate((7, 4), mode="nearest-exact")),
    "conv_same": ([(2, 3, 6, 7)], {"weight": (4, 3, 3, 3)}, convolve(2, same=True)),
    "conv_same_even": ([(2, 3, 5, 4)], {"weight": (4, 3, 2, 4), "bias": (4,)}, convolve(1, same=True)),
    "conv_same_dilated": ([(1, 3, 9, 8)], {"weight": (4, 3, 3, 3)}, convolve(2, 2, same=True)),
    "depthwise_same": ([(2, 5, 6, 7)], {"weight": (5, 1, 5, 5), "bias": (5,)}, convolve(2, 1, 5, True)),
    "depthwise_s2": ([(2, 5, 6, 7)], {"weight": (5, 1, 3, 3)}, convolve(2, 1, 5, padding=1)),
    "depthwise_dilated": ([(2, 5, 8, 7)], {"weight": (5, 1, 3, 3)}, convolve(1, 2, 5, padding=2)),
    "group_norm": ([(2, 6, 4, 3)], {"weight": (6,), "bias": (6,)}, lambda x, weight, bias: F.group_norm(x, 3, weight, bias)),
    "max_ceil": ([(2, 3, 6, 7)], {}, lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True)),
    "max_rectangular": ([(2, 3, 7, 6)], {}, lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 0))),
    "max_adaptive": ([(2, 3, 7, 5)], {}, lambda x: F.adaptive_max_pool2d(x, (3, 4))),
    "max_alike": ([(2, 3, 6, 8)], {}, lambda x: F.adaptive_max_pool2d(x, (3, 2))),
    "avg_ceil": ([(2, 3, 6, 7)], {}, lambda x: F.avg_pool2d(x, 3, 2, 1, True, False)),
    "avg_padding": ([(2, 3, 6, 7)], {}, lambda x: F.avg_pool2d(x, 3, 2, 1, True, True)),
    "avg_padding_floor": ([(2, 3, 6, 7)], {}, lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "avg_rectangular": ([(2, 3, 7, 6)], {}, lambda x: F.avg_pool2d(x, (3, 2), (1, 2), (1, 0), False, False)),
    "avg_adaptive": ([(2, 3, 7, 5)], {}, lambda x: F.adaptive_avg_pool2d(x, (3, 4))),
    "avg_more": ([(2, 3, 2, 3)], {}, lambda x: F.adaptive_avg_pool2d(x, (5, 7))),
    "avg_alike": ([(2, 3, 6, 8)], {}, lambda x: F.adaptive_avg_pool2d(x, (3, 2))),
}


def stored(x):
    x = x.permute(0, 2, 3, 1) if x.dim() == 4 else x
    return x.detach().float().contiguous().clone()


def rounded(*shape):
    return torch.randn(shape).float().double().requires_grad_()


def main():
    torch.manual_seed(5)
    out = {}
    for name, (inputs, params, function) in CASES.items():
        x = dict(zip("xyz", (rounded(*s) for s in inputs)))
        p = {k: rounded(*s) for k, s in params.items()}
        y = function(*x.values(), **p)
        dy = rounded(*y.shape)
        y.backward(dy)
        for key, t in {**x, **p}.items():
            out[f"{name}.{key}"] = stored(t)
            out[f"{name}.d{key}"] = stored(t.grad)
        out[f"{name}.out"], out[f"{name}.dout"] = stored(y), stored(dy)
    save_file(out, os.path.join(sys.argv[1], "general.safetensors"))


main()
