"""ERFNet in plain PyTorch from the published layer table: the counterpart of
src/models/erfnet.c.

Parameters have the published names; the classifier of the encoder stage is kept, unused.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Down(nn.Module):
    """Halves the size: concatenates a strided convolution and a max pool."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs - inputs, 3, stride=2, padding=1)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3)

    def forward(self, x):
        return F.relu(self.bn(torch.cat((self.conv(x), F.max_pool2d(x, 2)), 1)))


class Block(nn.Module):
    """Residual block of four one-dimensional convolutions."""

    def __init__(self, channels, drop, dilation):
        super().__init__()
        d = dilation
        self.conv3x1_1 = nn.Conv2d(channels, channels, (3, 1), padding=(1, 0))
        self.conv1x3_1 = nn.Conv2d(channels, channels, (1, 3), padding=(0, 1))
        self.bn1 = nn.BatchNorm2d(channels, eps=1e-3)
        self.conv3x1_2 = nn.Conv2d(channels, channels, (3, 1), padding=(d, 0), dilation=(d, 1))
        self.conv1x3_2 = nn.Conv2d(channels, channels, (1, 3), padding=(0, d), dilation=(1, d))
        self.bn2 = nn.BatchNorm2d(channels, eps=1e-3)
        self.drop = drop

    def forward(self, x):
        y = self.conv1x3_1(F.relu(self.conv3x1_1(x)))
        y = F.relu(self.bn1(y))
        y = self.bn2(self.conv1x3_2(F.relu(self.conv3x1_2(y))))
        if self.drop:
            y = F.dropout2d(y, self.drop, self.training)
        return F.relu(x + y)


class Up(nn.Module):
    """Doubles the size."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inputs, outputs, 3, stride=2, padding=1, output_padding=1)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Encoder(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.initial_block = Down(3, 16)
        self.layers = nn.ModuleList(
            [Down(16, 64)] + [Block(64, 0.03, 1) for _ in range(5)] + [Down(64, 128)] +
            [Block(128, 0.3, d) for d in (2, 4, 8, 16, 2, 4, 8, 16)])
        self.output_conv = nn.Conv2d(128, classes, 1)

    def forward(self, x):
        x = self.initial_block(x)
        for layer in self.layers:
            x = layer(x)
        return x


class Decoder(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.ModuleList([Up(128, 64), Block(64, 0, 1), Block(64, 0, 1), Up(64, 16),
                                     Block(16, 0, 1), Block(16, 0, 1)])
        self.output_conv = nn.ConvTranspose2d(16, classes, 2, stride=2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.output_conv(x)


class ERFNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = Encoder(classes)
        self.decoder = Decoder(classes)

    def forward(self, x):
        return self.decoder(self.encoder(x))
