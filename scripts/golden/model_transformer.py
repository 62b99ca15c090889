#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_transformer_golden.c: Swin v1, v2, and MLP,
ViT, DeiT, BEiT, ConvNeXt V1 and V2, and MLP-Mixer and its relatives in PyTorch, one JSON file per model.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_transformer.py tests/golden/models

Weights, input, and digests are those of model_resnet.py; the file has the loss, the logits,
the gradients, and the parameters after three steps of AdamW. Dropout and drop path are off
because their masks differ from PyTorch's.

Maps are small and not divisible into windows, so there are shifted and padded windows,
padded merges, and a stage smaller than its window. Class counts are odd.

timm does not have Swin-MLP: it is written here from its description (appendix A3.3 of the
paper), with parameters named like those of timm's Swin.
"""
import json
import pathlib
import sys
from functools import partial

import numpy as np
import torch
from timm.layers import GatedMlp, GluMlp, LayerNorm, SwiGLUPacked
from timm.models.beit import Beit
from timm.models.convnext import ConvNeXt
from timm.models.deit import VisionTransformerDistilled
from timm.models.mlp_mixer import Affine, MlpMixer, ResBlock, SpatialGatingBlock
from timm.models.swin_transformer import PatchMerging, SwinTransformer
from timm.models.swin_transformer_v2 import SwinTransformerV2
from timm.models.vision_transformer import VisionTransformer
from torch import nn
from torch.nn import functional as F

import model_resnet as common

STEPS = 3
ADAMW = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-4)
DECAY = 5.0
# The gradients of the bias of k, and of what later norms subtract, are zero except for rounding;
# eps as in model_resnet.py.

# Never decayed, no matter how many dims they have.
NO_DECAY = {
    "swin": ("absolute_pos_embed", "relative_position_bias_table", "cpb_mlp", "logit_scale"),
    "vit": ("pos_embed", "cls_token", "reg_token", "dist_token"),
    "beit": ("cls_token", "relative_position_bias_table"),
    "convnext": (),
    "mixer": (),
}


class SpatialMlp(nn.Module):
    """Mixes tokens with one matrix per head, on zero-padded windows if they are shifted."""

    def __init__(self, dim, heads, window, shift):
        super().__init__()
        n = window * window
        self.heads, self.window, self.shift = heads, window, shift
        self.weight = nn.Parameter(torch.zeros(heads * n, n, 1))
        self.bias = nn.Parameter(torch.zeros(heads * n))

    def forward(self, x):
        b, height, width, c = x.shape
        w, s = self.window, self.shift
        if s:
            x = F.pad(x, (0, 0, w - s, s, w - s, s))
        rows, columns = x.shape[1] // w, x.shape[2] // w
        x = x.reshape(b, rows, w, columns, w, self.heads, c // self.heads)
        x = x.permute(0, 1, 3, 5, 2, 4, 6).reshape(b, rows, columns, self.heads, w * w, -1)
        matrix = self.weight.reshape(self.heads, w * w, w * w)
        x = matrix @ x + self.bias.reshape(self.heads, w * w, 1)
        x = x.reshape(b, rows, columns, self.heads, w, w, c // self.heads)
        x = x.permute(0, 1, 4, 2, 5, 3, 6).reshape(b, rows * w, columns * w, c)
        return x[:, w - s : w - s + height, w - s : w - s + width] if s else x


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class MlpBlock(nn.Module):
    def __init__(self, dim, heads, window, shift):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.spatial_mlp = SpatialMlp(dim, heads, window, shift)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = Mlp(dim)

    def forward(self, x):
        x = x + self.spatial_mlp(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class SwinMlp(nn.Module):
    def __init__(self, img_size, patch_size, num_classes, embed_dim, depths, num_heads,
                 window_size):
        super().__init__()
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, embed_dim, patch_size, patch_size)
        self.patch_embed.norm = nn.LayerNorm(embed_dim)
        self.layers = nn.ModuleList()
        side, dim = img_size // patch_size, embed_dim
        for s, depth in enumerate(depths):
            layer = nn.Module()
            if s:
                layer.downsample = PatchMerging(dim)
                side, dim = side // 2, 2 * dim
            window = min(window_size, side)
            shift = window // 2 if side > window else 0
            layer.blocks = nn.ModuleList(MlpBlock(dim, num_heads[s], window, i % 2 * shift)
                                         for i in range(depth))
            self.layers.append(layer)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Module()
        self.head.fc = nn.Linear(dim, num_classes)

    def forward(self, x):
        x = self.patch_embed.norm(self.patch_embed.proj(x).permute(0, 2, 3, 1))
        for layer in self.layers:
            if hasattr(layer, "downsample"):
                x = layer.downsample(x)
            for block in layer.blocks:
                x = block(x)
        return self.head.fc(self.norm(x).mean((1, 2)))


def other_keys(Base):
    """Other options of configurations: no norm of patches and no bias of q, k, and v, an
    absolute position embedding, narrower MLPs, and in v1 another scale of q k."""

    class Net(Base):
        def __init__(self, scale=None, **args):
            super().__init__(img_size=20, num_classes=3, qkv_bias=False, mlp_ratio=2.5,
                             **args)
            self.patch_embed.norm = nn.Identity()
            self.absolute_pos_embed = nn.Parameter(torch.zeros(1, 100, self.embed_dim))
            for layer in self.layers:
                for block in layer.blocks:
                    block.attn.scale = scale

        def forward(self, x):
            x = self.patch_embed(x)
            x = x + self.absolute_pos_embed.reshape(1, *x.shape[1:])
            return self.head(self.norm(self.layers(x)))

    return Net


# name: (family, model, batch, size, classes). The test has the same models and names.
def nets():
    swin = dict(patch_size=2, embed_dim=16, depths=(2, 2, 2, 1), num_heads=(2, 2, 4, 8),
                window_size=4, drop_path_rate=0)
    yield ("swin", "swin", SwinTransformer(img_size=36, num_classes=7, **swin), 2, 36, 7)
    yield ("swinv2", "swin", SwinTransformerV2(img_size=36, num_classes=5,
           pretrained_window_sizes=(3, 0, 6, 2), **swin), 2, 36, 5)
    keys = dict(patch_size=2, embed_dim=16, depths=(2, 1), num_heads=(2, 4), window_size=3,
                drop_path_rate=0)
    yield ("swin_keys", "swin", other_keys(SwinTransformer)(scale=0.5, **keys), 2, 20, 3)
    yield ("swinv2_keys", "swin", other_keys(SwinTransformerV2)(
           pretrained_window_sizes=(2, 4), **keys), 2, 20, 3)
    yield ("swin_mlp", "swin", SwinMlp(32, 2, 3, 16, (2, 2, 1), (2, 4, 4), 4), 2, 32, 3)
    vit = dict(img_size=20, patch_size=4, embed_dim=24, depth=2, num_heads=3, num_classes=9)
    yield ("vit", "vit", VisionTransformer(**vit), 3, 20, 9)
    yield ("deit", "vit", VisionTransformerDistilled(**vit), 3, 20, 9)
    registers = dict(vit, reg_tokens=2, no_embed_class=True, init_values=0.1)
    yield ("vit_reg_gap", "vit", VisionTransformer(class_token=False, global_pool="avg",
           qkv_bias=False, mlp_ratio=3, act_layer="gelu_tanh", in_chans=1, **registers), 3, 20, 9)
    yield ("vit_swiglu", "vit", VisionTransformer(mlp_layer=SwiGLUPacked, act_layer=nn.SiLU,
           final_norm=False, **registers), 3, 20, 9)
    yield ("vit_clip", "vit", VisionTransformer(pre_norm=True, act_layer="quick_gelu",
           norm_layer=partial(LayerNorm, eps=1e-5), global_pool="avg", fc_norm=False,
           reg_tokens=1, **dict(vit, img_size=24)), 3, 24, 9)
    yield ("vit_siglip", "vit", VisionTransformer(class_token=False, global_pool="map",
           act_layer="gelu_tanh", **registers), 3, 20, 9)
    yield ("beit", "beit", Beit(use_abs_pos_emb=False, use_rel_pos_bias=True, init_values=0.1,
           **dict(vit, img_size=(20, 28))), 3, (20, 28), 9)
    mixer = dict(img_size=20, patch_size=4, embed_dim=24, num_blocks=2, num_classes=9)
    affine = dict(block_layer=partial(ResBlock, init_values=0.1), norm_layer=Affine)
    yield "mixer", "mixer", MlpMixer(**mixer), 3, 20, 9
    yield ("gmixer", "mixer", MlpMixer(mlp_layer=GluMlp, act_layer=nn.SiLU, mlp_ratio=(1.0, 4.0),
           **mixer), 3, 20, 9)
    yield "resmlp", "mixer", MlpMixer(mlp_ratio=4, in_chans=4, **affine, **mixer), 3, 20, 9
    yield ("gmlp", "mixer", MlpMixer(mlp_ratio=6, block_layer=SpatialGatingBlock,
           mlp_layer=GatedMlp, **mixer), 3, 20, 9)
    convnext = dict(depths=(1, 1, 2, 1), dims=(8, 16, 24, 32), num_classes=11)
    yield "convnext", "convnext", ConvNeXt(**convnext), 2, 48, 11
    v2 = dict(use_grn=True, ls_init_value=None, **convnext)
    yield ("convnextv2", "convnext", ConvNeXt(conv_mlp=True, stem_type="overlap_tiered",
           head_norm_first=True, kernel_sizes=(7, 5, 5, 3), act_layer="silu", norm_eps=1e-5,
           in_chans=4, **v2), 2, 45, 11)
    yield "convnextv2_mlp", "convnext", ConvNeXt(head_hidden_size=20, **v2), 2, 70, 11


def decays(name, p, family):
    return (p.ndim > 1 and not name.endswith(".bias")
            and not any(word in name for word in NO_DECAY[family]))


def golden(family, model, batch, side, classes, dtype):
    side, width = side if isinstance(side, tuple) else (side, side)
    model.to(dtype).train()
    channels = next(p for p in model.parameters() if p.ndim == 4).shape[1]
    x = common.pixels(batch, side, 0, channels, width).to(dtype)
    y = torch.from_numpy((common.hash32(np.arange(batch)) % np.uint32(classes)).astype(np.int64))
    named = list(model.named_parameters())
    with torch.no_grad():
        for n, p in named:
            p.copy_(common.formula(n, tuple(p.shape)))
    optimizer = torch.optim.AdamW(
        [dict(params=[p for n, p in named if decays(n, p, family)], weight_decay=DECAY),
         dict(params=[p for n, p in named if not decays(n, p, family)], weight_decay=0)],
        **ADAMW)
    losses, logits, grads = common.train(model, x, y, optimizer, STEPS)
    other = {} if channels == 3 else dict(channels=channels)
    other.update({} if width == side else dict(width=width))
    return dict(batch=batch, side=side, **other, classes=classes, input=0, loss_adamw=losses,
                logits=[float(f"{v:.8g}") for v in logits.flatten().tolist()],
                grad={n: common.digest(n, g) for n, g in grads.items()},
                adamw={n: common.digest(n, t) for n, t in model.state_dict().items()})


def same(name, a, b):
    if isinstance(a, dict):
        for key in a:
            same(f"{name} {key}", a[key], b[key])
        return
    a, b = np.array(a), np.array(b)
    off = np.abs(a - b).max()
    if not off <= 2e-4 * np.abs(b).max() + 1e-7:
        sys.exit(f"{name}: fp32 and fp64 are {off} apart")


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
