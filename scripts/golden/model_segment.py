#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_segment_golden.c for segmentation nets on
backbones: segmentation-models-pytorch's with a ResNet-18 (SegFormer: MiT-B0) as encoder, and
torchvision's with a ResNet-26.

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
    "fcn_torchvision": (lambda: torchvision_net(fcn), 2, 45, 38),
    "deeplabv3_torchvision": (lambda: torchvision_net(deeplabv3), 4, 38, 45),
}


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
        apart = erfnet.differences(name, out, erfnet.golden(model, *size, 0, torch.float64))
        out["apart"] = [apart["grad"], max(apart["adam_first"], apart["adam"]),
                        apart["loss"]]
        text = json.dumps(out, separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
