#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_segment_golden.c for segmentation nets on
backbones: segmentation-models-pytorch's with a ResNet-18 (SegFormer: MiT-B0) as encoder, and
torchvision's with a ResNet-26; and for BiSeNet V2, written here from its paper
(arXiv 2004.02147) with the names and the further batch norms of mmsegmentation.

    python3 -m pip install torch torchvision timm numpy segmentation-models-pytorch
    python3 scripts/golden/model_segment.py tests/golden/models [NET...]

Weights, labels, optimizer, and digests are as in model_erfnet.py, but of the backbone's
stages a file has only one block, and kinks are not avoided: there are too many values. So a
file also says how far gradients, movements, and losses of fp32 and fp64 are apart.
"""
import json
import pathlib
import sys

import segmentation_models_pytorch as smp
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

import model_erfnet as erfnet

SMP = dict(encoder_name="resnet18", encoder_weights=None, classes=erfnet.CLASSES)


def torchvision_net(make):
    resnet = torchvision.models.resnet.ResNet(
        torchvision.models.resnet.Bottleneck, [2, 2, 2, 2],
        replace_stride_with_dilation=[False, True, True])
    return make(resnet)


def deeplabv3(resnet):
    return torchvision.models.segmentation.deeplabv3._deeplabv3_resnet(
        resnet, erfnet.CLASSES, True)


def fcn(resnet):
    return torchvision.models.segmentation.fcn._fcn_resnet(resnet, erfnet.CLASSES, True)


class Conv(nn.Module):
    def __init__(self, inputs, out, kernel=3, stride=1, groups=1, act=True, norm=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, out, kernel, stride, kernel // 2, groups=groups, bias=not norm)
        if norm:
            self.bn = nn.BatchNorm2d(out)
        self.activate = nn.ReLU() if act else nn.Identity()

    def forward(self, x):
        x = self.conv(x)
        return self.activate(self.bn(x) if hasattr(self, "bn") else x)


class Separable(nn.Module):
    def __init__(self, inputs, out, stride=1, norm=True):
        super().__init__()
        self.depthwise_conv = Conv(inputs, inputs, 3, stride, inputs, False)
        self.pointwise_conv = Conv(inputs, out, 1, act=False, norm=norm)

    def forward(self, x):
        return self.pointwise_conv(self.depthwise_conv(x))


class Stem(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.conv_first = Conv(3, out, stride=2)
        self.convs = nn.Sequential(Conv(out, out // 2, 1), Conv(out // 2, out, stride=2))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.fuse_last = Conv(2 * out, out)

    def forward(self, x):
        x = self.conv_first(x)
        return self.fuse_last(torch.cat([self.convs(x), self.pool(x)], 1))


class Expansion(nn.Module):
    def __init__(self, inputs, out, stride):
        super().__init__()
        wide = 6 * inputs
        self.conv1 = Conv(inputs, inputs)
        self.dwconv = nn.Sequential(Conv(inputs, wide, 3, stride, inputs, stride == 1))
        self.shortcut = nn.Identity()
        if stride > 1:
            self.dwconv.append(Conv(wide, wide, 3, 1, wide))
            self.shortcut = nn.Sequential(Separable(inputs, out, stride))
        self.conv2 = nn.Sequential(Conv(wide, out, 1, act=False))

    def forward(self, x):
        return F.relu(self.conv2(self.dwconv(self.conv1(x))) + self.shortcut(x))


class Context(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gap = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(width))
        self.conv_gap = Conv(width, width, 1)
        self.conv_last = Conv(width, width)

    def forward(self, x):
        return self.conv_last(x + self.conv_gap(self.gap(x)))


class Aggregation(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.detail_dwconv = nn.Sequential(Separable(width, width, norm=False))
        self.detail_down = nn.Sequential(Conv(width, width, stride=2, act=False), nn.AvgPool2d(3, 2, 1))
        self.semantic_conv = nn.Sequential(Conv(width, width, act=False))
        self.semantic_dwconv = nn.Sequential(Separable(width, width, norm=False))
        self.conv = Conv(width, width)

    def forward(self, detail, semantic):
        size = detail.shape[2:]
        fine = self.detail_dwconv(detail) * resize(self.semantic_conv(semantic), size).sigmoid()
        coarse = self.detail_down(detail) * self.semantic_dwconv(semantic).sigmoid()
        return self.conv(fine + resize(coarse, size))


def resize(x, size):
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class Head(nn.Module):
    def __init__(self, inputs, width, convs):
        super().__init__()
        self.conv_seg = nn.Conv2d(width, erfnet.CLASSES, 1)
        self.convs = nn.Sequential(*(Conv(width if i else inputs, width) for i in range(convs)))

    def forward(self, x):
        return self.conv_seg(self.convs(x))


class BiSeNetV2(nn.Module):
    def __init__(self, widths=(16, 32, 64, 128)):
        super().__init__()
        self.backbone = nn.Module()
        self.backbone.detail = nn.Module()
        detail, inputs = nn.ModuleList(), 3
        for out, convs in (64, 2), (64, 3), (128, 3):
            detail.append(nn.Sequential(*(Conv(out if i else inputs, out, stride=1 if i else 2)
                                          for i in range(convs))))
            inputs = out
        self.backbone.detail.detail_branch = detail
        self.backbone.semantic = nn.Module()
        self.backbone.semantic.stage1 = Stem(widths[0])
        for i in 1, 2, 3:
            stage = [Expansion(widths[i] if k else widths[i - 1], widths[i], 1 if k else 2)
                     for k in range(4 if i == 3 else 2)]
            setattr(self.backbone.semantic, f"stage{i + 1}", nn.Sequential(*stage))
        self.backbone.semantic.stage4_CEBlock = Context(widths[-1])
        self.backbone.bga = Aggregation(128)
        self.decode_head = Head(128, 1024, 1)
        self.auxiliary_head = nn.ModuleList(Head(i, o, 2) for i, o in zip(widths, (16, 64, 256, 1024)))

    def forward(self, x):
        detail = maps = x
        for stage in self.backbone.detail.detail_branch:
            detail = stage(detail)
        heads = []
        for i in range(4):
            maps = getattr(self.backbone.semantic, f"stage{i + 1}")(maps)
            heads.append(resize(self.auxiliary_head[i](maps), x.shape[2:]))
        fused = self.backbone.bga(detail, self.backbone.semantic.stage4_CEBlock(maps))
        return dict(out=resize(self.decode_head(fused), x.shape[2:]), aux=heads, weight=1)


# net, batch, height, width
NETS = {
    "unet": (lambda: smp.Unet(**SMP), 2, 72, 40),
    "unetplusplus": (lambda: smp.UnetPlusPlus(**SMP), 2, 64, 32),
    "deeplabv3plus": (lambda: smp.DeepLabV3Plus(**SMP), 4, 64, 48),
    "deeplabv3": (lambda: smp.DeepLabV3(**SMP), 4, 40, 48),
    "fpn": (lambda: smp.FPN(**SMP), 2, 64, 32),
    "pspnet": (lambda: smp.PSPNet(**SMP), 2, 56, 48),
    "upernet": (lambda: smp.UPerNet(**SMP), 4, 64, 96),
    "segformer_b0": (lambda: smp.Segformer(**{**SMP, "encoder_name": "mit_b0"}), 2, 64, 32),
    "bisenetv2": (BiSeNetV2, 4, 72, 45),
    "fcn_torchvision": (lambda: torchvision_net(fcn), 2, 45, 38),
    "deeplabv3_torchvision": (lambda: torchvision_net(deeplabv3), 4, 38, 45),
}


# Norms of 1x1 maps over a few samples amplify rounding: where ReLUs flip depends on the order of sums.
SENSITIVE = {"bisenetv2"}


def round_weights(model, seed):
    """Changes weights in the 22nd bit."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + 2**-22 * torch.randn(p.shape, generator=g, dtype=torch.float64))


def spread(name, model, size, want):
    """Returns the largest differences of fp64 figures with changed weights."""
    figures = []
    reset = erfnet.reset
    for seed in range(1, 4):
        erfnet.reset = lambda m: (reset(m), round_weights(m, seed))
        figures.append(erfnet.differences(name, erfnet.golden(model, *size, 0, torch.float64), want))
    erfnet.reset = reset
    return {key: max(f[key] for f in figures) for key in figures[0]}


def main(folder, names):
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for name in names or NETS:
        make, *size = NETS[name]
        model = make()
        for module in model.modules():
            if isinstance(module, (nn.Dropout, nn.Dropout2d)):
                module.p = 0
            if type(module).__name__ == "DropPath":
                module.drop_prob = 0
        out = erfnet.golden(model, *size, 0, torch.float32)
        exact = erfnet.golden(model, *size, 0, torch.float64)
        apart = erfnet.differences(name, out, exact)
        if name in SENSITIVE:  # tests permit ten times `apart`: twice the spread
            for key, value in spread(name, model, size, exact).items():
                apart[key] = max(apart[key], value / 5)
        out["apart"] = [apart["grad"], max(apart["adam_first"], apart["adam"]),
                        apart["loss"]]
        text = json.dumps(out, separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
