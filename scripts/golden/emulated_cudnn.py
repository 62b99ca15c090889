#!/usr/bin/env python3
"""Pooling and batch norm in PyTorch, for tests/emulator/libraries/test_cudnn_norm.c.

    scripts/golden/emulated_cudnn.py >tests/emulator/libraries/cudnn_numbers.h

Inputs are the integers that run_fill() derives from a seed; images are channels last.
"""
import torch
import torch.nn.functional as F


def fill(seed, *nhwc):
    count, numbers = int(torch.tensor(nhwc).prod()), []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        numbers.append((seed >> 20) % 7 - 3)
    return torch.tensor(numbers).double().reshape(nhwc).permute(0, 3, 1, 2)


def show(name, t):
    if t.dim() == 4:
        t = t.permute(0, 2, 3, 1)
    values = ["%.7ff" % v for v in t.flatten().tolist()]
    print("static const float %s[] = {" % name)
    for i in range(0, len(values), 6):
        print("    " + ", ".join(values[i : i + 6]) + ",")
    print("};\n")


def pool(name, f):
    x = fill(9, 1, 5, 4, 2).requires_grad_()
    y = f(x)
    y.backward(fill(11, 1, 3, 2, 2))
    show(name, y)
    show(name + "_dx", x.grad)


def batch_norm():
    x = fill(3, 2, 2, 3, 2).requires_grad_()
    scale = torch.tensor([1.5, -0.5]).double().requires_grad_()
    bias = torch.tensor([0.25, 1.0]).double().requires_grad_()
    mean, var = torch.tensor([0.5, -1.0]).double(), torch.tensor([2.0, 3.0]).double()
    y = F.batch_norm(x, mean, var, scale, bias, True, 0.1, 1e-3)
    y.backward(fill(5, 2, 2, 3, 2))
    for name, t in [("y", y), ("dx", x.grad), ("dscale", scale.grad), ("dbias", bias.grad),
                    ("running_mean", mean), ("running_var", var)]:
        show("norm_" + name, t)


print("/* Made by scripts/golden/emulated_cudnn.py */")
print("#ifndef EMULATOR_LIBRARIES_CUDNN_NUMBERS_H\n#define EMULATOR_LIBRARIES_CUDNN_NUMBERS_H\n")
pool("pool_max", lambda x: F.max_pool2d(x, 3, 2, 1))
pool("pool_whole", lambda x: F.avg_pool2d(x, 3, 2, 1))
pool("pool_inside", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False))
batch_norm()
print("#endif")
