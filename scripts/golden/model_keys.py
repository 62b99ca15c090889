#!/usr/bin/env python3
"""Writes the entries of timm's state dicts, for tests/models/test_models.c.

    python3 -m pip install torch timm
    python3 scripts/golden/model_keys.py tests/golden/models

resnet18.keys and resnet50.keys are complete, with one "name 64x3x7x7" per line (a scalar
has no dims); keys.txt has for each model the FNV-1a hash of such a list and the name.
"""
import pathlib
import sys

import timm
import torch

WHOLE = ("resnet18", "resnet50")
NAMES = """resnet18 resnet34 resnet50 resnet101 resnet152 resnet18d resnet34d resnet50d
resnet101d resnet152d resnet50c resnet50s resnet50t resnet10t resnet14t resnet26 resnet26d
resnet26t resnext50_32x4d resnext50d_32x4d resnext101_32x4d resnext101_32x8d
resnext101_64x4d wide_resnet50_2 wide_resnet101_2 seresnet18 seresnet34 seresnet50
seresnet101 seresnet152 seresnext26d_32x4d seresnext50_32x4d test_resnet
vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn densenet121 densenet161 densenet169
densenet201 densenet264d densenetblur121d ghostnet_050 ghostnet_100 ghostnet_130 ghostnetv2_100
ghostnetv2_130 ghostnetv2_160
swin_tiny_patch4_window7_224 swin_small_patch4_window7_224 swin_base_patch4_window7_224
swin_base_patch4_window12_384 swin_large_patch4_window7_224 swin_large_patch4_window12_384
swinv2_tiny_window8_256 swinv2_tiny_window16_256 swinv2_small_window8_256
swinv2_small_window16_256 swinv2_base_window8_256 swinv2_base_window16_256
swinv2_base_window12_192 swinv2_base_window12to16_192to256 swinv2_base_window12to24_192to384
swinv2_large_window12_192 swinv2_large_window12to16_192to256 swinv2_large_window12to24_192to384
vit_tiny_patch16_224 vit_small_patch16_224 vit_base_patch16_224 deit_tiny_patch16_224
deit_small_patch16_224 deit_base_patch16_224 deit_tiny_distilled_patch16_224
deit_small_distilled_patch16_224 deit_base_distilled_patch16_224
convnext_tiny convnext_small convnext_base
regnetx_002 regnetx_004 regnetx_006 regnetx_008 regnetx_016 regnetx_032 regnetx_040 regnetx_064
regnetx_080 regnetx_120 regnetx_160 regnetx_320 regnety_002 regnety_004 regnety_006 regnety_008
regnety_016 regnety_032 regnety_040 regnety_064 regnety_080 regnety_120 regnety_160 regnety_320
regnety_640 regnety_1280 regnety_2560
efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5
efficientnet_b6 efficientnet_b7 efficientnet_b8 efficientnet_l2 tf_efficientnet_b0
tf_efficientnet_b1 tf_efficientnet_b2 tf_efficientnet_b3 tf_efficientnet_b4 tf_efficientnet_b5
tf_efficientnet_b6 tf_efficientnet_b7 tf_efficientnet_b8 tf_efficientnet_l2 efficientnet_lite0
efficientnet_lite1 efficientnet_lite2 efficientnet_lite3 efficientnet_lite4 tf_efficientnet_lite0
tf_efficientnet_lite1 tf_efficientnet_lite2 tf_efficientnet_lite3 tf_efficientnet_lite4
efficientnetv2_s efficientnetv2_m efficientnetv2_l efficientnetv2_xl tf_efficientnetv2_s
tf_efficientnetv2_m tf_efficientnetv2_l tf_efficientnetv2_xl tf_efficientnetv2_b0
tf_efficientnetv2_b1 tf_efficientnetv2_b2 tf_efficientnetv2_b3 efficientnetv2_rw_t
efficientnetv2_rw_s efficientnetv2_rw_m test_efficientnet mobilenetv2_035 mobilenetv2_050
mobilenetv2_075 mobilenetv2_100 mobilenetv2_140 mobilenetv2_110d mobilenetv2_120d
mobilenetv3_large_075 mobilenetv3_large_100 mobilenetv3_large_150d mobilenetv3_small_050
mobilenetv3_small_075 mobilenetv3_small_100 mobilenetv3_rw tf_mobilenetv3_large_075
tf_mobilenetv3_large_100 tf_mobilenetv3_large_minimal_100 tf_mobilenetv3_small_075
tf_mobilenetv3_small_100 tf_mobilenetv3_small_minimal_100 mobilenetv4_conv_small_035
mobilenetv4_conv_small_050 mobilenetv4_conv_small mobilenetv4_conv_medium mobilenetv4_conv_large""".split()


def keys(name):
    with torch.device("meta"):
        state = timm.create_model(name, num_classes=1000).state_dict()
    return "".join(f"{k} {'x'.join(map(str, v.shape))}".rstrip() + "\n" for k, v in state.items())


def fnv1a(text):
    h = 0xCBF29CE484222325
    for c in text.encode():
        h = (h ^ c) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


folder = pathlib.Path(sys.argv[1])
lists = {name: keys(name) for name in NAMES}
for name in WHOLE:
    (folder / f"{name}.keys").write_text(lists[name])
(folder / "keys.txt").write_text("".join(f"{fnv1a(t):016x} {n}\n" for n, t in lists.items()))
