#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_simmim_golden.c: SimMIM's pre-training (Xie et
al. 2021, arXiv 2111.09886) of small encoders of timm's, written here from the paper.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_simmim.py tests/golden/models

Weights, input, and digests are as in model_resnet.py, the optimizer is as in
model_transformer.py. Masked cells are those whose hash is below `ratio`.
"""
import json
import pathlib
import sys

import numpy as np
import torch
from timm.models.swin_transformer import SwinTransformer
from timm.models.swin_transformer_v2 import SwinTransformerV2
from timm.models.vision_transformer import VisionTransformer
from torch import nn
from torch.nn import functional as F

import model_resnet as common
from model_transformer import ADAMW, DECAY, STEPS, same

NO_DECAY = ("absolute_pos_embed", "relative_position_bias_table", "cpb_mlp", "logit_scale",
            "pos_embed", "cls_token", "mask_token")


def spread(cells, side):
    """Cells [N, n, n] at `side` places a side."""
    times = side // cells.shape[1]
    return cells.repeat_interleave(times, 1).repeat_interleave(times, 2)


class SwinEncoder(nn.Module):
    def __init__(self, net, width):
        super().__init__()
        self.mask_token = nn.Parameter(torch.zeros(1, 1, width))
        self.patch_embed, self.layers, self.norm = net.patch_embed, net.layers, net.norm

    def forward(self, x, cells):
        x = self.patch_embed(x)
        mask = spread(cells, x.shape[1])[..., None]
        x = x * (1 - mask) + self.mask_token * mask
        return self.norm(self.layers(x)).permute(0, 3, 1, 2)


class VitEncoder(nn.Module):
    def __init__(self, net, width):
        super().__init__()
        self.mask_token = nn.Parameter(torch.zeros(1, 1, width))
        self.cls_token, self.pos_embed = net.cls_token, net.pos_embed
        self.patch_embed, self.blocks, self.norm = net.patch_embed, net.blocks, net.norm

    def forward(self, x, cells):
        x = self.patch_embed(x)
        side = int(x.shape[1] ** 0.5)
        mask = spread(cells, side).flatten(1)[..., None]
        x = x * (1 - mask) + self.mask_token * mask
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        x = self.norm(self.blocks(x))[:, 1:]
        return x.transpose(1, 2).reshape(len(x), -1, side, side)


class SimMim(nn.Module):
    def __init__(self, encoder, width, stride, cells, window):
        super().__init__()
        self.encoder = encoder
        self.decoder = nn.Sequential(nn.Conv2d(width, 3 * stride**2, 1), nn.PixelShuffle(stride))
        self.cells, self.window = cells, window

    def forward(self, x):
        return self.decoder(self.encoder(x, self.cells.to(x.dtype)))

    def target(self, x):
        if not self.window:
            return x
        unfold = lambda t: F.unfold(t.flatten(0, 1)[:, None], self.window,
                                    padding=self.window // 2).reshape(*t.shape[:2], -1, *t.shape[2:])
        n = unfold(torch.ones_like(x)).sum(2)
        mean = unfold(x).sum(2) / n
        var = ((unfold(x**2).sum(2) / n - mean**2) * n / (n - 1)).clamp(min=0)
        return (x - mean) / (var + 1e-6).sqrt()

    def loss(self, predicted, x):
        mask = spread(self.cells.to(x.dtype), x.shape[2])[:, None]
        return ((predicted - self.target(x)).abs() * mask).sum() / (mask.sum() + 1e-5) / 3


def masked(batch, side, ratio):
    """The test has the same cells."""
    u = common.hash32(np.arange(batch * side * side)) / 2**32
    return torch.from_numpy((u < ratio).reshape(batch, side, side).astype(np.float32))


def nets():
    swin = dict(patch_size=2, embed_dim=16, depths=(2, 2, 1), num_heads=(2, 2, 4), window_size=4,
                img_size=32, num_classes=0, drop_path_rate=0)
    for name, net, window in (("simmim_swin", SwinTransformer(**swin), 0),
                              ("simmim_swinv2", SwinTransformerV2(**swin), 7)):
        yield name, SimMim(SwinEncoder(net, 16), 64, 8, masked(2, 4, 0.6), window), 32, window
    net = VisionTransformer(img_size=20, patch_size=4, embed_dim=24, depth=2, num_heads=3,
                            num_classes=0)
    yield "simmim_vit", SimMim(VitEncoder(net, 24), 24, 4, masked(2, 5, 0.6), 0), 20, 0


def golden(model, side, window, dtype):
    model.to(dtype).train()
    x = common.pixels(2, side, 0).to(dtype)
    named = list(model.named_parameters())
    decays = lambda n, p: (p.ndim > 1 and not n.endswith(".bias")
                           and not any(word in n for word in NO_DECAY))
    with torch.no_grad():
        for n, p in named:
            p.copy_(common.formula(n, tuple(p.shape)))
    optimizer = torch.optim.AdamW(
        [dict(params=[p for n, p in named if decays(n, p)], weight_decay=DECAY),
         dict(params=[p for n, p in named if not decays(n, p)], weight_decay=0)], **ADAMW)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        predicted = model(x)
        loss = model.loss(predicted, x)
        loss.backward()
        if not losses:
            first = predicted.detach()[:, :, ::37, ::31].flatten().tolist()
            grads = {n: p.grad.clone() for n, p in named}
        optimizer.step()
        losses.append(loss.item())
    return dict(batch=2, side=side, input=0, cells=model.cells.shape[1], window=window,
                loss_adamw=losses, logits=[float(f"{v:.8g}") for v in first],
                grad={n: common.digest(n, g) for n, g in grads.items()},
                adamw={n: common.digest(n, t) for n, t in model.state_dict().items()})


def main(folder):
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for name, *net in nets():
        out = golden(*net, torch.float32)
        same(name, out, golden(*net, torch.float64))
        text = json.dumps(out, separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1])
