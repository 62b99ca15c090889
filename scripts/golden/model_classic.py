#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_classic_golden.c: small nets of timm's older
convolutional families, in the form of model_resnet.py.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_classic.py tests/golden/models [NET...]
"""
import sys

from timm.layers import BlurPool2d, ClassifierHead
from timm.models.densenet import DenseNet
from timm.models.ghostnet import GhostNet
from timm.models.vgg import VGG, ConvMlp
from torch import nn

import model_resnet as common


def vgg(layers, hidden, **args):
    """The last layers have fewer channels than 4096."""
    net = VGG(layers, num_classes=10, **args)
    net.pre_logits = ConvMlp(net.num_features, hidden, 7, drop_rate=0)
    net.head = ClassifierHead(hidden, 10)
    return net


GHOST = [[[3, 8, 8, 0, 1]], [[3, 24, 12, 0, 2]], [[5, 36, 12, 0.25, 1], [3, 30, 20, 0, 1]],
         [[3, 40, 20, 0.25, 2]]]


# name: (model, batch, size). The test has the same models under the same names.
def nets():
    yield "vgg", vgg([8, "M", 16, 16, "M"], 24), 4, 33
    yield "vgg_bn", vgg([6, "M", 12, "M", 24, 24, "M", 48, "M", 48, "M"], 24,
                        norm_layer=nn.BatchNorm2d), 4, 37
    yield "densenet", DenseNet(8, (2, 3), num_classes=10), 4, 40
    yield "densenetblur", DenseNet(8, (1, 2), num_classes=10, stem_type="deep",
                                   aa_layer=BlurPool2d), 4, 37
    yield "ghostnet", GhostNet(GHOST, num_classes=10, width=0.9, drop_rate=0), 4, 33
    yield "ghostnetv2", GhostNet(GHOST, num_classes=10, version="v2", drop_rate=0), 4, 37


if __name__ == "__main__":
    common.main(*sys.argv[1:], nets=nets)
