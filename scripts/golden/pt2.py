#!/usr/bin/env python3
"""Exports networks, and writes how PyTorch trains them: the golden files of
tests/pt2/test_pt2_golden.c, and the same for a survey of larger networks.

    python3 -m pip install torch timm torchvision numpy
    python3 scripts/golden/pt2.py tests/golden/pt2                     the small ones
    python3 scripts/golden/pt2.py tests/golden/pt2 small:picks         one of them
    SUFFIX=_2.6 python3 scripts/golden/pt2.py tests/golden/pt2 small:versions
    python3 scripts/golden/pt2.py /tmp/survey timm:resnet10t tv:vgg11_bn ...

Networks whose NAME.json exists are skipped. BATCH is the number of images, SIDE their size; SIDE=0
tries small sizes first, LIMIT is the CPU time for each network in seconds; with it, archives that
exist are kept. ONLY=archives writes no figures, SUFFIX appends to the name of the archive, to
write one with another version of PyTorch, whose figures are the same. Instead of names, "-" reads one name at a time from
the standard input and answers with a line when its files are written; each network then has a
process of its own, with MEMORY GiB at most. NAME.json then lacks "noise" until the line
"NAME noise" adds it, because few comparisons need it, and fp64 takes the longest; "NAME spread"
adds what figures change if weights are rounded, or if PyTorch sums in another order. "NAME large"
writes all files again, with images of the size for which the network was trained: a batch norm of
two pixels is chaotic. The rate is then so small that an update lowers the loss by 1 % at most.

For each network it writes NAME.pt2, an archive of torch.export.save in train mode with a
symbolic batch, NAME_eval.pt2 of a network that computes something else in eval mode, and NAME.json: the losses of three updates of SGD, the logits of the first and
of an evaluation after the last one, and for each tensor a digest of its gradient and of
its value after three updates (scripts/golden/model_resnet.py). The test trains the weights of
the archive. Dropout and drop path are off, because no two programs draw the same numbers.
"""
import copy
import gc
import io
import json
import os
import pathlib
import resource
import signal
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from model_resnet import digest, formula, hash32, uniform  # noqa: E402

STEPS = 3
SGD = dict(lr=1e-4, momentum=0.9, nesterov=True)  # the test has the same
DECAY = 0.05
BATCH = int(os.environ.get("BATCH", 4))
SMALL = (64, 96, 128)  # sizes that SIDE=0 tries
DISTURBED = 4  # runs of each kind with "spread"
NOISE_MAX = 0.01  # what figures differ by 0.1 is no longer compared
AUXILIARY = ("googlenet", "inception_v3")  # PyTorch cannot save their outputs in train mode


class Residual(nn.Module):
    """A residual block with its activation in place, concatenation, and a gate."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, bias=False, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1, groups=2)
        self.gate = nn.Conv2d(6, 6, 1)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = F.relu_(self.bn1(self.conv1(x)))
        y = self.conv2(x) + x
        y = y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))
        return self.fc(torch.cat([F.max_pool2d(y, 2), F.avg_pool2d(x, 2)], 1).mean((2, 3)))


class Tokens(nn.Module):
    """A class token, positions, attention, and an MLP."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, 4)
        self.cls = nn.Parameter(torch.randn(1, 1, 8))
        self.pos = nn.Parameter(torch.randn(1, 5, 8))
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.proj = nn.Linear(8, 8)
        self.gamma = nn.Parameter(torch.ones(8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
        return self.head((x + F.gelu(self.proj(y)) * self.gamma)[:, 0])


class Moves(nn.Module):
    """What moves elements: flatten of an image, chunks, a channel shuffle, an upsampling."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.fc = nn.Linear(128, 5)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, 1)
        x = torch.cat([F.silu(a), F.hardswish(b)], 1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        x = F.interpolate(x, scale_factor=2, mode="nearest")[:, :, ::2, 1::2]
        return self.fc(x.flatten(1))


class General(nn.Module):
    """Products, softmax, attention with a bias, windows that are rolled, norms, padding."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2)
        self.q, self.kv = nn.Linear(8, 8), nn.Linear(8, 16)
        self.bias = nn.Parameter(torch.randn(1, 2, 16, 16))
        self.mix = nn.Parameter(torch.randn(2, 2))
        self.gain = nn.Parameter(torch.ones(1, 1, 1, 8))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.conv(F.pad(x, (1, 0, 1, 0))).permute(0, 2, 3, 1)  # [N, 4, 4, 8]
        x = torch.roll(x, (1, -1), (1, 2)) * self.gain
        n, h, w, c = x.shape
        t = x.reshape(n, 2, 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(n, 16, c)
        q = self.q(t).view(n, 16, 2, 4).transpose(1, 2)
        k, v = self.kv(t).view(n, 16, 2, 2, 4).permute(2, 0, 3, 1, 4)
        a = ((q * 0.5) @ k.transpose(-2, -1) + self.bias).softmax(-1)
        a = (a.permute(0, 2, 3, 1) @ self.mix).permute(0, 3, 1, 2)
        t = t + (a @ v).transpose(1, 2).reshape(n, 16, c)
        y = F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, attn_mask=self.bias)
        t = t + y.transpose(1, 2).flatten(2)
        return self.fc(t.sum(1) / t.norm(dim=1))


class Constants(nn.Module):
    """Indices, masks, and sines: buffers, and what is computed from nothing."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 2, 2)
        self.qkv = nn.Linear(8, 24)
        self.table = nn.Parameter(torch.randn(49, 2))
        self.fc = nn.Linear(8, 5)
        yx = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = (yx[:, :, None] - yx[:, None, :] + 3)
        self.register_buffer("index", apart[0] * 7 + apart[1])
        self.register_buffer("mean", torch.rand(1, 3, 1, 1), persistent=False)

    def forward(self, x):
        x = self.conv(x - self.mean).flatten(2).transpose(1, 2)  # [N, 16, 8]
        n = x.shape[0]
        at = torch.arange(16, dtype=torch.float32)[:, None] / 100 ** (torch.arange(4) / 4)
        x = x + torch.cat([at.sin(), at.cos()], 1)
        late = torch.meshgrid(torch.arange(4.0), torch.arange(4.0) * 2, indexing="xy")[0].reshape(16, 1)
        x = x + late
        late.mul_(0.5)
        x = x - late
        mask = torch.zeros(16, 16)
        mask[:4, 8:] = 1
        mask = mask.masked_fill(mask != 0, -100.0)
        q, k, v = self.qkv(x).reshape(n, 16, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.index.view(-1)].view(16, 16, -1).permute(2, 0, 1)
        y = ((q * 0.5) @ k.transpose(-2, -1) + bias + mask).softmax(-1) @ v
        causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = F.scaled_dot_product_attention(q, k[:, :1], v[:, :1],
                                              attn_mask=torch.ones(16, 16).tril(2) > 0)
        y = y.masked_fill(mask[:, :4] < 0, 0.5) + causal + seen
        return self.fc((x + y.transpose(1, 2).flatten(2)).mean(1))


class Picks(nn.Module):
    """What picks elements: windows, flips, repeats, reflected edges; and sums of products."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, 1, 1)
        self.mix = nn.Parameter(torch.randn(6, 9, 9))
        self.gate = nn.Conv1d(1, 1, 3, padding=1, bias=False)
        self.rows = nn.Conv1d(6, 6, 1)
        self.fc = nn.Linear(18, 5)

    def forward(self, x):
        x = self.conv(F.pad(x, (1, 2, 1, 0), mode="reflect"))[:, :, :8, :8]
        n = x.shape[0]
        t = F.unfold(x, 3, padding=1, stride=2).view(n, 6, 9, 16)
        t = torch.einsum("nckl,ckj->ncjl", t, self.mix)
        y = F.fold(t.flatten(1, 2), (8, 8), 3, padding=1, stride=2)
        w = y.unfold(2, 4, 2).unfold(3, 4, 2)  # [N, 6, 3, 3, 4, 4]
        w = w.amax((2, 3)).mean(2).flip(2).repeat_interleave(2, 2)  # [N, 6, 8]
        w = self.rows(F.pad(w, (0, 1), value=1.0))[..., :8]
        g = torch.sigmoid(self.gate(w.mean(2)[:, None])).transpose(1, 2)
        z = (w * g).repeat(1, 3, 1)[:, :, [1, 5, 5]].sum(2)
        return self.fc(z + y.max(3)[0].mean(2).tile(3))


class Norms(nn.Module):
    """Norms without an op of their own, standardized weights, and computed biases."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 3, 3, 3))
        self.gain = nn.Parameter(torch.rand(8) + 0.5)
        self.group = nn.Parameter(torch.rand(8) + 0.5)
        self.scale = nn.Parameter(torch.rand(8) + 0.5)
        self.many = nn.LayerNorm([4, 4])
        self.rms = nn.RMSNorm(8)
        self.bn = nn.BatchNorm1d(8)
        self.bias = nn.Parameter(torch.randn(8))
        self.key = nn.Linear(4, 4)
        self.fc = nn.Linear(8, 5)
        nn.init.zeros_(self.key.bias)

    def forward(self, x):
        w = F.batch_norm(self.weight.view(1, 8, -1), None, None, self.gain, None, True, 0.0, 1e-5)
        x = F.conv2d(x, w.view_as(self.weight), self.bias * 2, 2, 1)
        x = F.group_norm(x, 2, self.group)
        x = x + self.many(x)
        x = self.bn(x.flatten(2)).transpose(1, 2)
        x = self.rms(F.layer_norm(x, (8,), self.scale)) + F.rms_norm(x, (8,))
        x = F.linear(x, self.weight.flatten(1)[:, :8] * 0.5, torch.cat([self.bias[:4], self.gain[4:]]))
        keys = self.key(F.pad(x[..., :4], (0, 0, 0, 1)))  # of zeros, whose norm has no slope
        x = torch.cat([x[..., 4:], F.normalize(keys, dim=2)[:, :-1]], 2)
        return self.fc(x.sum(1))


class Writes(nn.Module):
    """Writes in place that other names of the memory show, and a region without autocast."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, 2, 1)
        self.bias = nn.Parameter(torch.randn(6))
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        x = self.conv(x)
        bias = self.bias.clone()
        bias[2:4].zero_()
        x = x + bias[:, None, None]
        x[:, 1:3] = x[:, 3:5] * 0.5
        x[:, :, 1].mul_(2.0)
        with torch.autocast("cpu", enabled=False):
            x = x * torch.sigmoid(x)
        return self.fc(x.mean((2, 3)))


class Strides(nn.Module):
    """Parameters that are transposed, that start within a storage, and that share one."""

    def __init__(self):
        super().__init__()
        self.transposed = nn.Parameter(torch.randn(48, 5).t())
        storage = torch.randn(20)
        self.first = nn.Parameter(storage[2:7])
        self.every = nn.Parameter(storage[8::2][:5])

    def forward(self, x):
        x = F.linear(x.permute(0, 2, 3, 1).flatten(1), self.transposed, self.first)
        return x * torch.sigmoid(self.every)


class Tied(nn.Module):
    """Two names for the same weights."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(12, 12)
        self.b = nn.Linear(12, 12)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x.flatten(1)))


class Versions(nn.Module):
    """What archives of other versions of PyTorch write differently: infinities, views of a
    storage, tied weights, constants, buffers, and batch norms."""

    def __init__(self):
        super().__init__()
        storage = torch.randn(16)
        self.conv = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.qkv = nn.Linear(8, 24)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.gain = nn.Parameter(storage[:8])
        self.shift = nn.Parameter(storage[8:])
        self.fc = nn.Linear(8, 5)
        self.register_buffer("index", torch.arange(16).flip(0))
        self.register_buffer("mean", torch.rand(1, 3, 1, 1), persistent=False)

    def forward(self, x):
        x = F.relu_(self.bn(self.conv(x - self.mean))).flatten(2).transpose(1, 2)
        n = x.shape[0]
        q, k, v = self.qkv(x[:, self.index]).reshape(n, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        mask = torch.zeros(16, 16).masked_fill(torch.ones(16, 16).triu(1) > 0, -torch.inf)
        y = ((q * 0.5) @ k.transpose(-2, -1) + mask).softmax(-1) @ v
        x = x + y.transpose(1, 2).flatten(2) * self.gain + self.shift
        x = self.second(F.gelu(self.first(x))) * torch.tensor([1.0, 2.0] * 4)
        return self.fc(x.mean(1))


class Recurrent(nn.Module):
    """LSTMs over the rows and columns of an image; its archive has extra files."""

    extra = dict(classes='["circle", "ring", "square", "star", "triangle"]',
                 input='{"mean": [0.5, 0.25, 0.125], "std": [0.5, 0.25, 0.2], "crop_pct": 1, '
                       '"interpolation": "bilinear"}')

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 2, 2)
        self.rows = nn.LSTM(6, 4, batch_first=True, bidirectional=True)
        self.columns = nn.LSTM(8, 5, num_layers=2, bias=False)
        self.fc = nn.Linear(5, 5)

    def forward(self, x):
        x = self.conv(x).permute(0, 2, 3, 1)  # [N, 4, 4, 6]
        n, h, w, c = x.shape
        y, _ = self.rows(x.reshape(-1, w, c))
        y = y.view(n, h, w, 8) + x.mean(-1, keepdim=True)
        z, _ = self.columns(y.mean(2).transpose(0, 1))  # [4, N, 5]
        return self.fc(z.mean(0) + z[-1])


class Branches(nn.Module):
    """Computes something else in eval mode, with layers that only one of the modes has."""

    pair = True

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, bias=False, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.gate = nn.Conv2d(8, 8, 1)  # only in training
        self.side = nn.Conv2d(8, 8, 3, padding=1, groups=2)  # only in evaluation
        self.gain = nn.Parameter(torch.rand(8) + 0.5)
        self.fc = nn.Linear(8, 5)
        self.register_buffer("order", torch.tensor([3, 1, 0, 2, 7, 6, 5, 4]))
        self.register_buffer("shift", torch.randn(8), persistent=False)

    def forward(self, x):
        x = F.silu(self.bn(self.conv(x)))
        if self.training:
            x = x * self.gate(x).sigmoid()
            return self.fc((x.mean((2, 3)) + self.shift) * self.gain)
        y = F.max_pool2d(self.side(x)[:, self.order], 2)
        views = [F.dropout(v.mean((2, 3)), 0.5, False) - self.shift for v in (x, x.flip(3) + 1, y)]
        return sum(self.fc(F.relu(v)) for v in views) * torch.arange(5).add(2).rsqrt()


class Side(nn.Module):
    """An auxiliary head with the names that LOSSES gives its classifiers: aux1.fc.weight."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(6, 4, 1, bias=False), nn.BatchNorm2d(4), nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(F.relu_(self.bn(self.conv(x))).mean((2, 3)))


class Auxiliary(nn.Module):
    """Three auxiliary outputs: one is in a list, one is None, and one reads the logits, which are
    not the first output."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.bn = nn.BatchNorm2d(6)
        self.aux1, self.late = Side(), nn.Linear(6, 5)
        self.mix = nn.Linear(5, 5)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        out = self.late(x.amax((2, 3)))
        return {"early": [self.aux1(x)], "none": None, "out": out,
                "mix": self.mix(F.relu(out))}


class Distilled(nn.Module):
    """Logits that are the mean of two heads, in eval mode in another way. After the export, the
    heads get another number of classes, as with trainc's MODEL.HEAD and --num-classes."""

    pair = True
    heads = ("head", "head_dist")

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.fc = nn.Linear(8, 5)  # has as many rows as there are classes
        self.head, self.head_dist = nn.Linear(5, 5), nn.Linear(5, 5, bias=False)

    def forward(self, x):
        x = F.silu(self.fc(F.silu(self.conv(x)).flatten(2).transpose(1, 2)))
        if self.training:
            return (self.head(x[:, 0]) + self.head_dist(x.mean(1))) / 2
        return self.head(x[:, 0] * 0.5) + torch.stack([self.head_dist(x.mean(1))] * 2).mean(0)

    def replace(self, classes=3):
        """Sets weights that the test knows. Returns their names."""
        for name in self.heads:
            old = getattr(self, name)
            setattr(self, name, nn.Linear(old.in_features, classes, old.bias is not None))
        names = [n for n, _ in self.named_parameters() if n.startswith("head")]
        with torch.no_grad():
            for name in names:
                p = self.get_parameter(name)
                p.copy_(formula(name, tuple(p.shape)))
        return names


class Deep(nn.Module):
    """Deep supervision: logits of pixels at three resolutions, from one layer and others."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, 2, 1)
        self.conv2 = nn.Conv2d(6, 6, 3, 2, 1)
        self.head = nn.Conv2d(6, 5, 1)
        self.head2 = nn.Conv2d(6, 5, 3, 1, 1)

    def forward(self, x):
        x = F.silu(self.conv1(x))
        y = F.silu(self.conv2(x))
        z = F.interpolate(self.head(x), scale_factor=2, mode="bilinear")
        return z, self.head(x), self.head2(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.conv2, self.bn2 = nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)

    def forward(self, x):
        y = F.dropout(F.relu(self.bn1(self.conv1(x))), 0.0, self.training)
        return F.relu(self.bn2(self.conv2(y)) + x)


class Stages(nn.Module):
    """Blocks, which activation checkpointing recomputes; with timm's factors of layer decay."""

    pretrained_cfg = {"classifier": "fc"}  # for timm

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, 2, 1)
        self.blocks = nn.Sequential(Block(), Block())
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


# The small networks and the sides of their images.
SMALL = {
    "residual": (Residual, 8),
    "tokens": (Tokens, 8),
    "moves": (Moves, 8),
    "general": (General, 8),
    "strides": (Strides, 4),
    "tied": (Tied, 2),
    "constants": (Constants, 8),
    "picks": (Picks, 8),
    "norms": (Norms, 8),
    "writes": (Writes, 8),
    "versions": (Versions, 8),
    "branches": (Branches, 8),
    "recurrent": (Recurrent, 8),
    "auxiliary": (Auxiliary, 8),
    "deep": (Deep, 12),
    "stages": (Stages, 8),
    "distilled": (Distilled, 4),
}


class Out(nn.Module):
    """A network of torchvision's segmentation with its logits as the only output."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


def named(spec):
    """Returns the network KIND:NAME and the side of its images."""
    kind, name = spec.split(":")
    if kind == "small":
        build, side = SMALL[name]
        return build(), side
    if kind == "timm":
        import timm
        model = timm.create_model(name, num_classes=10)
        return model, model.pretrained_cfg.get("input_size", (3, 224, 224))[-1]
    if kind == "smp":
        import segmentation_models_pytorch as smp
        encoder = "mit_b0" if name == "Segformer" else "resnet18"
        return getattr(smp, name)(encoder, encoder_weights=None, classes=10), 128
    if kind == "hf":
        import pt2_hf
        return pt2_hf.build(name), 256 if name in ("segformer", "mobilevit") else 224
    import torchvision
    if kind == "tvseg":
        return Out(torchvision.models.get_model(name, weights=None, weights_backbone=None,
                                                num_classes=10)), 128
    sides = {"inception_v3": 299, "swin_v2_t": 256}
    more = dict(aux_logits=False, init_weights=False) if name in AUXILIARY else {}
    return (torchvision.models.get_model(name, weights=None, num_classes=10, **more),
            sides.get(name, 224))


def side_of(model, largest):
    """Returns the side of the images: SIDE, else the smallest side that the network
    permits, else the side for which it was trained."""
    side = int(os.environ.get("SIDE", largest))
    if side:
        return side
    for small in SMALL:
        try:
            with torch.no_grad():
                copy.deepcopy(model)(torch.randn(2, 3, small, small))
            return min(small, largest)
        except Exception:
            continue
    return largest


def calm(model):
    """Turns off what is random."""
    for m in model.modules():
        if isinstance(m, (nn.Dropout, nn.Dropout2d)):
            m.p = 0.0
        for name in ("drop_prob", "p"):
            if type(m).__name__.endswith(("DropPath", "StochasticDepth")) and hasattr(m, name):
                setattr(m, name, 0.0)
        if isinstance(getattr(m, "drop_rate", None), float):  # of F.dropout in forward()
            m.drop_rate = 0.0


def check_calm(model, side):
    x = torch.randn(2, 3, side, side)
    model = copy.deepcopy(model)
    with torch.no_grad():
        if not torch.equal(outputs(model(x))[0], outputs(model(x))[0]):
            raise ValueError("it draws random numbers, so that no two runs compare")


def export(model, path, side):
    x = torch.randn(2, 3, side, side)
    with torch.no_grad():
        program = torch.export.export(
            model, (x,), dynamic_shapes=({0: torch.export.Dim("batch", max=1 << 20)},), strict=False)
    for node in program.graph.nodes:  # most of a small file
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path, extra_files=getattr(model, "extra", None))


def outputs(out):
    """Returns all outputs of logits, the main one first."""
    main = out.pop("out") if isinstance(out, dict) else None
    return ([] if main is None else [main]) + torch.utils._pytree.tree_leaves(out)


def loss_with_aux(logits):
    """The weight is trainc's for imported networks; images get the size of the logits."""
    loss = loss_of(logits[0])
    for z in logits[1:]:
        if z is None:
            continue
        if z.ndim == 4:
            z = F.interpolate(z, logits[0].shape[2:], mode="bilinear")
        loss = loss + (0.5 if z.ndim == 4 else 0.4) * loss_of(z)
    return loss


def loss_of(logits):
    n = logits.shape[0] * logits.shape[2] * logits.shape[3] if logits.ndim == 4 else BATCH
    y = hash32(np.arange(n, dtype=np.uint32)) % np.uint32(logits.shape[1])
    y = torch.from_numpy(y.astype(np.int64))
    return F.cross_entropy(logits, y.reshape(logits.shape[0], *logits.shape[2:]))


def short(t):
    return [float(f"{v:.8g}") for v in t.detach().flatten().tolist()]


def digests(model):
    """Returns a digest of each gradient; parameters that are not used have none in PyTorch."""
    return {n: digest(n, p.grad if p.grad is not None else torch.zeros_like(p))
            for n, p in model.named_parameters()}


def train(model, side, rate=None):
    """Returns the figures of three updates, in the type of the model's weights."""
    x = 2 * uniform("input0", BATCH * 3 * side * side).reshape(BATCH, 3, side, side)
    x = torch.from_numpy(x).to(next(model.parameters()).dtype)
    decays = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD([dict(params=decays, weight_decay=DECAY),
                                 dict(params=rest, weight_decay=0)],
                                **SGD | (dict(lr=rate) if rate else {}))
    out = dict(batch=BATCH, side=side, input=0, loss_sgd=[])
    if rate:
        out["rate"] = rate
    out["start"] = {n: digest(n, t) for n, t in model.state_dict().items()
                    if t.is_floating_point()}
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = outputs(model(x))
        loss = loss_with_aux(logits)
        logits = logits[0]
        loss.backward()
        if step == 0:
            out["classes"] = logits.shape[1]
            out["logits"] = short(logits if logits.ndim == 2 else logits[:, :, ::37, ::31])
            out["grad"] = digests(model)
        optimizer.step()
        out["loss_sgd"].append(loss.item())
    state = {n: t for n, t in model.state_dict().items() if t.is_floating_point()}
    buffers = dict(model.named_buffers())
    out["stats"] = {n: digest(n, t) for n, t in state.items() if n in buffers}
    out["sgd"] = {n: digest(n, t) for n, t in state.items()}
    model.eval()
    with torch.no_grad():
        logits = outputs(model(x))[0]
    out["eval"] = short(logits if logits.ndim == 2 else logits[:, :, ::37, ::31])
    return out


def apart(got, want, sizes, floor):
    """Returns how far digests differ, as the test compares them."""
    worst = 0
    for name in want:
        w = np.array(want[name])
        scale = 5 * (np.abs(w) + w[0] / np.sqrt(sizes[name]))
        scale[0] = w[0]
        gap = np.maximum(np.abs(np.array(got[name]) - w) - floor, 0)
        worst = max(worst, (gap / (scale + floor)).max())
    return worst


def noise(out, exact, sizes):
    """Returns how far PyTorch's figures in fp32 are from those in fp64: a value that rounding
    moves over the kink of a ReLU changes more than rounding, and each update more still."""
    def vector(key):
        a, b = np.array(out[key]), np.array(exact[key])
        return np.abs(a - b).max() / np.abs(b).max()
    floor = 1e-6 * max(d[0] for d in exact["grad"].values())
    found = {key: vector(key) for key in ("logits", "eval")}
    found["grad"] = apart(out["grad"], exact["grad"], sizes, floor)
    for key in ("stats", "sgd"):
        found[key] = apart(out[key], exact[key], sizes, 1e-7)
    found = {key: float(f"{v:.3g}") for key, v in found.items()}
    found["loss"] = [float(f"{abs(a - b) / abs(b):.3g}")
                     for a, b in zip(out["loss_sgd"], exact["loss_sgd"])]
    return found


def sizes_of(model):
    return {n: t.numel() for n, t in model.state_dict().items()}


def save(path, out):
    text = json.dumps(out, separators=(",", ":"))
    path.write_text(text.replace('],"', '],\n"') + "\n")


def disturbed(model, seed):
    """Returns a copy whose weights are rounded, to 22 bits, in another way for each seed."""
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p *= 1 + (2 * torch.rand(p.shape, generator=generator, dtype=p.dtype) - 1) * 2**-22
    return model


def largest(a, b, factor):
    """Returns the larger one of a and b times the factor, for each figure, NOISE_MAX at most."""
    def one(x, y):
        return min(max(x, factor * y), NOISE_MAX)
    return {k: [one(x, y) for x, y in zip(a[k], b[k])] if k == "loss" else one(a[k], b[k])
            for k in a}


def slow_rate(out):
    """Returns a rate with which an update lowers the loss by about 1 %, or the usual one."""
    squares = sum(d[0]**2 for d in out["grad"].values())
    return min(SGD["lr"], float(f"{0.01 * out['loss_sgd'][0] / squares:.0e}"))


def variants(model):
    """Yields copies of a model whose figures differ by rounding: in fp64 with disturbed weights,
    and in fp32 with images that are stored channels last, as in trainc."""
    for seed in range(DISTURBED):
        yield disturbed(copy.deepcopy(model).double(), seed)
        yield disturbed(model, seed).to(memory_format=torch.channels_last)


def add_noise(path, model, spread):
    """Adds the noise to figures that lack it. The sign of a single operand of a ReLU changes
    figures in steps, which the difference of two runs may lack. So for `spread`, runs of
    variants() follow; the test permits ten times the noise, or twice the spread, and 0.1 at
    most."""
    out = json.loads(path.read_text())
    calm(model)
    model.train()
    sizes = sizes_of(model)
    side, rate = out["side"], out.get("rate")
    exact = train(copy.deepcopy(model).double(), side, rate)
    out["noise"] = noise(out, exact, sizes)
    for variant in variants(model) if spread else ():
        try:
            found = noise(train(variant, side, rate), exact, sizes)
        except TimeoutError:
            break
        out["noise"] = largest(out["noise"], found, 0.2)
    out["noise"] = largest(out["noise"], out["noise"], 0)
    save(path, out)


def write_large(folder, name, model, side):
    """Writes the files with images of `side`, and figures of slow updates with their noise."""
    calm(model)
    model.train()
    export(model, folder / f"{name}.pt2", side)
    rate = slow_rate(train(copy.deepcopy(model), side))
    path = folder / f"{name}.json"
    save(path, train(copy.deepcopy(model), side, rate))
    add_noise(path, model, False)


def write(folder, name, model, side, noisy=True):
    calm(model)
    model.train()
    side = side_of(model, side)
    check_calm(model, side)
    path = folder / f"{name}.pt2"
    if not path.exists() or not os.environ.get("LIMIT"):
        try:
            export(model, path, side)
            if hasattr(model, "pair"):
                export(copy.deepcopy(model).eval(), folder / f"{name}_eval.pt2", side)
        except Exception:
            path.unlink(missing_ok=True)
            raise
    if os.environ.get("ONLY") == "archives":
        return
    replaced = model.replace() if hasattr(model, "replace") else None
    exact = copy.deepcopy(model).double() if noisy else None
    out = train(model, side)
    if replaced:
        out["formula"] = replaced
    if noisy:
        out["noise"] = noise(out, train(exact, side), sizes_of(model))
    if hasattr(model, "pretrained_cfg") and name == "stages":
        out["layer_scale"] = layer_scales(model)
    save(folder / f"{name}.json", out)
    print(path, path.stat().st_size, file=sys.stderr, flush=True)


def layer_scales(model):
    """Returns timm's factor of the learning rate of each parameter at a decay of 0.6."""
    from timm.optim import param_groups_layer_decay
    names = {id(p): n for n, p in model.named_parameters()}
    return {names[id(p)]: g["lr_scale"] for g in param_groups_layer_decay(model, layer_decay=0.6)
            for p in g["params"]}


def late(*_):
    raise TimeoutError("it takes longer than LIMIT seconds")


def attempt(folder, spec, what=None):
    """Writes the files of one network, or NAME.why; what: only "figures", or only their
    "noise", or that with their "spread"; or "large", files of larger images."""
    torch.manual_seed(0)
    name = spec.replace("small:", "").replace(":", "_") + os.environ.get("SUFFIX", "")
    path = folder / f"{name}.json"
    noisy = what in ("noise", "spread")
    if path.exists() and not noisy and what != "large":
        return
    signal.setitimer(signal.ITIMER_PROF, int(os.environ.get("LIMIT", 0)))
    try:
        model, side = named(spec)
        if noisy:
            add_noise(path, model, what == "spread")
        elif what == "large":
            write_large(folder, name, model, side)
        else:
            write(folder, name, model, side, what is None)
    except Exception as e:
        text = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:200]}"
        print(f"{spec}: {text}", file=sys.stderr, flush=True)
        (folder / f"{name}.why").write_text(text + "\n")
    signal.setitimer(signal.ITIMER_PROF, 0)


def warm_up():
    """Imports what every network needs, before the first process is forked."""
    import timm
    import torchvision
    program = torch.export.export(Tied().train(), (torch.randn(2, 3, 2, 2),), strict=False)
    torch.export.save(program, io.BytesIO())
    return timm, torchvision


def serve(folder):
    memory = int(os.environ.get("MEMORY", 0)) << 30
    torch.set_num_threads(1)  # networks are small, and other programs run
    warm_up()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            if memory:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            attempt(folder, *(line + " figures").split()[:2])
            print(line.strip(), os.times().user, "s", file=sys.stderr, flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print("done", line.strip(), flush=True)


def main(folder, *names):
    signal.signal(signal.SIGPROF, late)
    torch.use_deterministic_algorithms(True, warn_only=True)
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    if names == ("-",):
        serve(folder)
        return
    for spec in names or ["small:" + name for name in SMALL]:
        attempt(folder, spec)
        gc.collect()


if __name__ == "__main__":
    main(*sys.argv[1:])
