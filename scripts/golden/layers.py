#!/usr/bin/env python3
"""Writes how PyTorch trains the networks of configs/layers and tests/golden/layers/ops.yaml: the
golden files of tests/layers/test_layers_golden.c.

    python3 -m pip install torch torchvision timm numpy
    python3 scripts/golden/layers.py tests/golden/layers [NAME...]

The modules below have the same names as in the YAML files, so their state dicts have the same
tensors. model_resnet.py computes the weights, and pt2.py the figures.
"""
import copy
import json
import pathlib
import sys

import torch
from timm.layers import LayerNorm2d
from torch import nn
from torch.nn import functional as F
from torchvision.ops import SqueezeExcitation

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from model_resnet import reset  # noqa: E402
from pt2 import calm, noise, train  # noqa: E402


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x).relu(), 2)
        x = F.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc3(self.fc2(self.fc1(x.flatten(1)).relu()).relu())


def sequential():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.SiLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(64), nn.SiLU(),
        nn.Sequential(nn.Dropout2d(0.1), nn.Conv2d(64, 128, 3, stride=2, padding=1),
                      nn.GELU(approximate="tanh")),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


class Basic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.se = SqueezeExcitation(width, width // 4)

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        return (self.se(self.bn2(self.conv2(y))) + x).relu()


class Down(nn.Module):
    def __init__(self, inside, width):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, width, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential(nn.Conv2d(inside, width, 1, stride=2, bias=False),
                                      nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + self.shortcut(x)).relu()


class CustomResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Basic(16), Basic(16))
        self.down2 = Down(16, 32)
        self.layer2 = nn.Sequential(Basic(32), Basic(32))
        self.down3 = Down(32, 64)
        self.layer3 = nn.Sequential(Basic(64), Basic(64))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = self.layer1(self.bn(self.conv(x)).relu())
        x = self.layer3(self.down3(self.layer2(self.down2(x))))
        return self.fc(x.mean((2, 3)))


def double(inside, width):
    return nn.Sequential(
        nn.Conv2d(inside, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())


class Up(nn.Module):
    def __init__(self, inside, width):
        super().__init__()
        self.up = nn.ConvTranspose2d(inside, width, 2, stride=2)
        self.conv = double(2 * width, width)

    def forward(self, x, skip):
        return self.conv(torch.cat([self.up(x), skip], 1))


class SmallUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.bottom = double(3, 16), double(16, 32), double(32, 64)
        self.up2, self.up1 = Up(64, 32), Up(32, 16)
        self.head = nn.Conv2d(16, 10, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        return self.head(self.up1(self.up2(c, b), a))


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Conv2d(width, width, 1)
        self.map = nn.Conv2d(width, 1, 1, bias=False)

    def forward(self, x, of):
        return x * self.fc(of.mean((2, 3), keepdim=True)).sigmoid() * self.map(of).tanh()


class Bottleneck(nn.Module):
    def __init__(self, inside, act, groups=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, 4, 1)
        self.norm = nn.GroupNorm(2, 4, eps=1e-4)
        self.conv2 = nn.Conv2d(4, 8, (3, 1), padding=(1, 0), groups=groups)
        self.act = act

    def forward(self, x):
        return self.conv2(self.act(self.norm(self.conv1(x)))) + x


class Ops(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, (3, 5), stride=(1, 2), padding=(1, 2), dilation=(2, 1))
        self.norm = LayerNorm2d(8)
        self.blocks = nn.Sequential(Bottleneck(8, F.silu, 2), Bottleneck(8, F.silu, 2))
        self.last = Bottleneck(8, F.mish)
        self.same = nn.Conv2d(8, 16, 4, padding="same", groups=8, bias=False)
        self.bn = nn.BatchNorm2d(16, eps=1e-3, momentum=0.2)
        self.max = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
        self.mean = nn.AvgPool2d((3, 2), 2, (1, 0))
        self.gated = Gate(16)
        self.se = SqueezeExcitation(16, 4, activation=nn.SiLU, scale_activation=nn.Hardsigmoid)
        self.transposed = nn.ConvTranspose2d(16, 4, 3, 2, 1, output_padding=1)
        self.fc1 = nn.Linear(36 * 24, 12, bias=False)
        self.bn1 = nn.BatchNorm1d(12)
        self.fc2 = nn.Linear(12, 10)
        self.ln = nn.LayerNorm(10)
        self.add_module("34", nn.Sequential(nn.LayerNorm(22, elementwise_affine=False),
                                            nn.Linear(22, 10)))

    def forward(self, x):
        x = self.last(self.blocks(F.gelu(self.norm(self.conv(x)))))
        most = self.max(F.hardswish(self.bn(self.same(x))))
        up = F.interpolate(self.mean(most), size=most.shape[2:], mode="bilinear")
        x = self.se(self.gated(most, up)) + most + up
        small = F.adaptive_avg_pool2d(x, (3, 2))
        cubic = F.interpolate(F.adaptive_max_pool2d(x, 3), size=(6, 4), mode="bicubic",
                              align_corners=True)
        x = torch.cat([F.interpolate(small, scale_factor=2), cubic, self.transposed(small)], 1)
        x = F.leaky_relu(F.relu6(x), 0.2)
        features = self.fc1(x.flatten(1))
        x = F.softplus(self.fc2(F.elu(self.bn1(features), 1.5)))
        ln = F.gelu(self.ln(x), approximate="tanh")
        return self.get_submodule("34")(torch.cat([ln, features], 1))


# name: (module, side of the images)
NETS = {"lenet": (LeNet, 28), "sequential": (sequential, 16), "custom_resnet": (CustomResNet, 16),
        "small_unet": (SmallUnet, 16), "ops": (Ops, 17)}


def main(folder, *names):
    torch.use_deterministic_algorithms(True, warn_only=True)
    for name in names or NETS:
        make, side = NETS[name]
        model = make()
        calm(model)
        reset(model)
        model.train()
        exact = copy.deepcopy(model).double()
        out = train(model, side)
        sizes = {n: t.numel() for n, t in model.state_dict().items()}
        out["noise"] = noise(out, train(exact, side), sizes)
        text = json.dumps(out, separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size, out["noise"])


if __name__ == "__main__":
    main(*sys.argv[1:])
