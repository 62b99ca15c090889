#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_mobile_golden.c: small nets of timm's
EfficientNet and MobileNetV3 classes, in the form of model_resnet.py.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_mobile.py tests/golden/models [NET...]
"""
import sys
from functools import partial

from torch import nn
from timm.layers import get_act_layer
from timm.models._efficientnet_blocks import SqueezeExcite
from timm.models._efficientnet_builder import decode_arch_def, round_channels
from timm.models.efficientnet import EfficientNet
from timm.models.mobilenetv3 import MobileNetV3

import model_resnet as common


def build(kind, act, blocks, eps=1e-5, **args):
    return kind(decode_arch_def(blocks), num_classes=10, stem_size=16, num_features=48,
                act_layer=get_act_layer(act), norm_layer=partial(nn.BatchNorm2d, eps=eps), **args)


# name: (model, batch, size). The test has the same models under the same names.
def nets():
    yield "efficientnet", build(
        EfficientNet, "swish",
        [["ds_r1_k3_s1_e1_c8_se0.25"], ["ir_r2_k5_s2_e6_c16_se0.25"],
         ["ir_r1_k3_s2_e6_c24_se0.25"]], eps=1e-3, pad_type="same"), 4, 31
    yield "efficientnetv2", build(
        EfficientNet, "silu",
        [["cn_r1_k3_s1_e1_c16_skip"], ["er_r2_k3_s2_e4_c24"], ["ir_r2_k3_s2_e4_c32_se0.25"]]), 4, 32
    yield "mobilenetv2", build(
        EfficientNet, "relu6",
        [["ds_r1_k3_s1_c8"], ["ir_r2_k3_s2_e6_c16"], ["ir_r1_k3_s2_e6_c24"]]), 4, 33
    yield "mobilenetv3", build(
        MobileNetV3, "hard_swish",
        [["ds_r1_k3_s2_e1_c16_se0.25_nre"], ["ir_r1_k3_s2_e4.5_c24_nre", "ir_r1_k3_s1_e3.67_c24_nre"],
         ["ir_r2_k5_s1_e3_c32_se0.25"], ["cn_r1_k1_s1_c64"]],
        se_layer=partial(SqueezeExcite, gate_layer="hard_sigmoid", force_act_layer=nn.ReLU,
                         rd_round_fn=round_channels)), 6, 40
    yield "mobilenetv4", build(
        MobileNetV3, "relu",
        [["cn_r1_k3_s2_e1_c16", "cn_r1_k1_s1_e1_c16"],
         ["uir_r1_a3_k5_s2_e3_c24", "uir_r1_a0_k3_s1_e2_c24", "uir_r1_a3_k0_s1_e4_c24",
          "uir_r1_a0_k0_s1_e2_c24"], ["cn_r1_k1_s1_c48"]],
        head_bias=False, head_norm=True), 6, 40


if __name__ == "__main__":
    common.main(*sys.argv[1:], nets=nets)
