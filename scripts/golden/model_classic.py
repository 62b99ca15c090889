#!/usr/bin/env python3
"""Writes the golden files of tests/models/test_classic_golden.c: small nets of timm's older
convolutional families, in the form of model_resnet.py.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/model_classic.py tests/golden/models [NET...]
"""
import sys

from unittest import mock

from timm.layers import BlurPool2d, ClassifierHead, ConvNormAct
from timm.models.densenet import DenseNet
from timm.models.ghostnet import GhostNet
from timm.models.vgg import VGG, ConvMlp
from torch import nn
from torch.nn import functional as F

import model_resnet as common

inception_v3 = sys.modules["timm.models.inception_v3"]  # timm.models has a function of the name


def vgg(layers, hidden, **args):
    """The last layers have fewer channels than 4096."""
    net = VGG(layers, num_classes=10, **args)
    net.pre_logits = ConvMlp(net.num_features, hidden, 7, drop_rate=0)
    net.head = ClassifierHead(hidden, 10)
    return net


class Aux(inception_v3.InceptionAux):
    """Its pooling is adaptive where the map is small."""

    def forward(self, x):
        size = [5 if n < 17 else (n - 5) // 3 + 1 for n in x.shape[2:]]
        small = min(x.shape[2:]) < 17
        pooled = F.adaptive_avg_pool2d(x, size) if small else F.avg_pool2d(x, 5, 3)
        return self.fc(self.conv1(self.conv0(pooled)).mean((2, 3)))


def inception(part):
    """All layers have 1/part of the channels."""
    def conv(i, o, *args, **kw):
        return ConvNormAct(i if i == 3 else i // part, o // part, *args, **kw)

    with mock.patch.object(inception_v3, "ConvNormAct", conv):
        with mock.patch.object(inception_v3, "InceptionAux", Aux):
            net = inception_v3.InceptionV3(num_classes=10, aux_logits=True)
    net.fc = nn.Linear(2048 // part, 10)
    net.AuxLogits.fc = nn.Linear(768 // part, 10)
    net.slow = True
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
    yield "inception", inception(8), 6, 107
    yield "ghostnet", GhostNet(GHOST, num_classes=10, width=0.9, drop_rate=0), 4, 33
    yield "ghostnetv2", GhostNet(GHOST, num_classes=10, version="v2", drop_rate=0), 4, 37


if __name__ == "__main__":
    common.main(*sys.argv[1:], nets=nets)
