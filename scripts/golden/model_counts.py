#!/usr/bin/env python3
"""Prints rows of tests/models/model_counts.inc for models of timm.

    python3 -m pip install torch timm
    python3 scripts/golden/model_counts.py convnextv2_atto ...

Counts multiply-accumulates and output elements of the convolutions, linear layers, and
matrix multiplications that run for an image of the model's size.
"""
import sys

import timm
import torch
from timm.layers import BlurPool2d, set_fused_attn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode


def blur(self, x):
    """BlurPool2d without a convolution."""
    padded = F.pad(x, self.padding, mode=self.pad_mode)
    return F.avg_pool2d(F.avg_pool2d(padded, 2, 1), 2, self.stride)


class Counter(TorchDispatchMode):
    macs = outputs = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = function.__name__.split(".")[0]
        sums = {"convolution": lambda: args[1][0].numel(), "addmm": lambda: args[1].shape[-1],
                "mm": lambda: args[0].shape[-1], "bmm": lambda: args[0].shape[-1]}
        if name in sums:
            self.macs += out.numel() * sums[name]()
            self.outputs += out.numel()
        return out


AUX = {"inception_v3": dict(aux_logits=True)}  # the heads count, but not what they compute


def row(name):
    with torch.device("meta"), torch.no_grad():
        model = timm.create_model(name, num_classes=1000).eval()
        side = model.pretrained_cfg["input_size"][-1]
        with Counter() as c:
            model(torch.empty(1, 3, side, side))
        model = timm.create_model(name, num_classes=1000, **AUX.get(name, {}))
    named = list(model.named_parameters())
    never = model.no_weight_decay() if hasattr(model, "no_weight_decay") else ()
    decayed = sum(p.numel() for n, p in named if p.ndim > 1 and not n.endswith(".bias")
                  and not any(word in n for word in never))
    numbers = (1000, side, sum(p.numel() for _, p in named), len(named),
               len(model.state_dict()), decayed, c.macs, c.outputs)
    return f'{{"{name}", {", ".join(map(str, numbers))}}},'


if __name__ == "__main__":
    set_fused_attn(False)
    BlurPool2d.forward = blur
    for name in sys.argv[1:]:
        print(row(name), flush=True)
