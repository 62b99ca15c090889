#!/usr/bin/env python3
"""Writes the golden file of window attention, from timm.

    scripts/golden/attention.py tests/golden/ops

attention.safetensors has for each case qkv, the parameters, y, and all gradients of timm's
Swin and SwinV2 blocks (including roll, padding, partition, and their inverses) and of its
ViT attention. The block's qkv layer is replaced by a lookup of features: pixels contain
their index, and padding, which is zero, gets row 0. So the input of the block's last layer
is the result for exactly these features. Also contains SwinV2's coordinate network with its
gradients, and Swin-MLP's mixing by PyTorch's padding and grouped convolution. Computed in
fp64 from numbers that are exact in fp32. Needs torch and timm.
"""
import os
import sys

import torch
from safetensors.torch import save_file
from timm.models.swin_transformer import SwinTransformerBlock
from timm.models.swin_transformer_v2 import SwinTransformerV2Block, WindowAttention
from timm.models.vision_transformer import Attention

# name: kind, images, height, width, channels, heads, window, shift
CASES = {
    "plain": ("v1", 2, 4, 6, 8, 2, (2, 3), (0, 0)),
    "shift": ("v1", 1, 6, 9, 6, 1, (3, 3), (1, 1)),
    "odd": ("v1", 1, 5, 7, 8, 2, (3, 4), (0, 0)),
    "odd_shift": ("v1", 2, 6, 5, 6, 2, (4, 2), (2, 1)),
    "one_direction": ("v1", 1, 5, 7, 6, 2, (3, 3), (0, 1)),
    "swin": ("v1", 1, 9, 16, 8, 2, (7, 7), (3, 3)),
    "cosine": ("v2", 1, 6, 6, 8, 2, (3, 3), (1, 1)),
    "cosine_odd": ("v2", 1, 5, 6, 12, 3, (2, 4), (1, 2)),
    "vit": ("vit", 2, 1, 9, 12, 3, (1, 9), (0, 0)),
}


def rounded(x):
    return x.float().double()


# name: window, pretrained window, heads
TABLES = {"cpb": ((2, 3), (0, 0), 2), "cpb_pretrained": ((3, 2), (5, 4), 1)}

# name: images, height, width, channels, heads, window, shift
MIXES = {
    "mix": (2, 4, 6, 4, 2, (2, 3), 0),
    "mix_shift": (1, 6, 9, 6, 3, (3, 3), 1),
    "mix_large_shift": (2, 4, 8, 2, 1, (4, 4), 3),
}


class Features(torch.nn.Module):
    """Row 0 for padding, row i + 1 for pixel i."""

    def __init__(self, pixels, features):
        super().__init__()
        self.table = torch.nn.Parameter(rounded(torch.randn(pixels + 1, features)))

    def forward(self, x):
        return self.table[x[..., 0].round().long()]


def block(kind, height, width, channels, heads, window, shift):
    if kind == "vit":
        return Attention(channels, heads, qkv_bias=False)
    if kind == "v1":
        b = SwinTransformerBlock(channels, (height, width), heads, window_size=window,
                                 shift_size=shift, qkv_bias=False, always_partition=True)
    else:
        b = SwinTransformerV2Block(channels, (height, width), heads, window_size=window,
                                   shift_size=shift, qkv_bias=False)
    # timm removes the shift if the window is not smaller than the map
    assert tuple(b.shift_size) == tuple(shift) and tuple(b.window_size) == tuple(window)
    return b


def run(out, name, kind, images, height, width, channels, heads, window, shift):
    torch.manual_seed(len(name) + channels)
    b = block(kind, height, width, channels, heads, window, shift)
    attn = b if kind == "vit" else b.attn
    pixels = images * height * width
    attn.qkv = Features(pixels, 3 * channels)
    attn.proj = torch.nn.Identity()
    numbers = torch.arange(1, pixels + 1, dtype=torch.float64)
    x = numbers.reshape(images, height, width, 1).repeat(1, 1, 1, channels)
    if kind == "vit":
        y = attn(x[:, 0])[:, None]
    else:
        if kind == "v1":
            torch.nn.init.normal_(attn.relative_position_bias_table)
        else:
            with torch.no_grad():  # one of them is above the clamp
                attn.logit_scale.copy_(torch.linspace(0.5, 5.5, heads).view(heads, 1, 1))
            raw = attn.cpb_mlp(attn.relative_coords_table).view(-1, heads)
            table = rounded(16 * torch.sigmoid(raw)).detach().requires_grad_()
            attn.cpb_mlp = Inverse(table)
        for p in attn.parameters():
            p.data = rounded(p.data)
        y = b._attn(x)
    dy = rounded(torch.randn_like(y))
    y.backward(dy)
    rows = attn.qkv.table
    shape = (images, height, width, 3 * channels)
    t = {"qkv": rows[1:].reshape(shape), "dqkv": rows.grad[1:].reshape(shape),
         "pad": rows[0], "dpad": rows.grad[0], "y": y, "dy": dy}
    if kind == "v1":
        t["table"] = attn.relative_position_bias_table
        t["dtable"] = attn.relative_position_bias_table.grad
    if kind == "v2":
        t["table"], t["dtable"] = table, table.grad
        t["logit_scale"], t["dlogit_scale"] = attn.logit_scale, attn.logit_scale.grad
    save(out, name, t)


def run_table(out, name, window, pretrained, heads):
    torch.manual_seed(heads)
    attn = WindowAttention(heads * 4, window, heads, pretrained_window_size=pretrained)
    for p in attn.cpb_mlp.parameters():
        torch.nn.init.uniform_(p, -0.5, 0.5)
        p.data = rounded(p.data)
    raw = attn.cpb_mlp(attn.relative_coords_table).view(-1, heads)
    y = 16 * torch.sigmoid(raw)
    dy = rounded(torch.randn_like(y))
    y.backward(dy)
    t = {"y": y, "dy": dy}
    for key, p in attn.cpb_mlp.named_parameters():
        t[key], t["d" + key] = p, p.grad
    save(out, name, t)


def run_mix(out, name, images, height, width, channels, heads, window, shift):
    torch.manual_seed(channels)
    (wh, ww), n = window, window[0] * window[1]
    conv = torch.nn.Conv1d(heads * n, heads * n, 1, groups=heads)
    for p in conv.parameters():
        p.data = rounded(p.data)
    x = rounded(torch.randn(images, height, width, channels)).requires_grad_()
    y = x
    if shift:
        y = torch.nn.functional.pad(y, (0, 0, ww - shift, shift, wh - shift, shift))
    h, w = y.shape[1] // wh, y.shape[2] // ww
    y = y.reshape(images, h, wh, w, ww, heads, channels // heads)
    y = y.permute(0, 1, 3, 5, 2, 4, 6).reshape(-1, heads * n, channels // heads)
    y = conv(y).reshape(images, h, w, heads, wh, ww, channels // heads)
    y = y.permute(0, 1, 4, 2, 5, 3, 6).reshape(images, h * wh, w * ww, channels)
    if shift:
        y = y[:, wh - shift:-shift, ww - shift:-shift]
    dy = rounded(torch.randn_like(y))
    y.backward(dy)
    save(out, name, {"x": x, "dx": x.grad, "y": y, "dy": dy,
                     "weight": conv.weight, "dweight": conv.weight.grad,
                     "bias": conv.bias, "dbias": conv.bias.grad})


def save(out, name, t):
    out.update({f"{name}.{k}": v.detach().float().contiguous().clone() for k, v in t.items()})


class Inverse(torch.nn.Module):
    """Replaces the coordinate network: 16 sigmoid() of its output is the table."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, coordinates):
        return torch.logit(self.table / 16)


def main():
    out = {}
    torch.set_default_dtype(torch.float64)
    for name, case in CASES.items():
        run(out, name, *case)
    for name, case in TABLES.items():
        run_table(out, name, *case)
    for name, case in MIXES.items():
        run_mix(out, name, *case)
    path = os.path.join(sys.argv[1], "attention.safetensors")
    os.makedirs(sys.argv[1], exist_ok=True)
    save_file(out, path)
    print(f"{path}: {len(CASES) + len(TABLES) + len(MIXES)} cases, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
