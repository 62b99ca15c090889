#!/usr/bin/env python3
"""Trains with DistributedDataParallel over gloo in two processes of one core each: the
counterpart of scripts/bench/ranks.sh. Random images in memory, channels last, bf16
autocast, SGD.

    pytorch_ddp.py --model resnet50 --batch 16 --side 224 --steps 12 --cores 0 1

Prints "images_per_second N" of both processes, without the first third of the steps.
"""
import argparse
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    """Block of CIFAR's ResNet-20 with parameter-free shortcuts."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.stride, self.more = stride, cout - cin

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        x = x[:, :, ::self.stride, ::self.stride]
        if self.more:
            x = nn.functional.pad(x, (0, 0, 0, 0, self.more // 2, self.more // 2))
        return torch.relu(x + y)


def resnet20():
    layers, cin = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
    for cout, stride in ((16, 1), (32, 2), (64, 2)):
        for i in range(3):
            layers.append(Block(cin, cout, stride if i == 0 else 1))
            cin = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def model_of(name):
    if name == "resnet20":
        return resnet20()
    import timm
    return timm.create_model(name, num_classes=1000)


def run(rank, a):
    os.sched_setaffinity(0, {a.cores[rank]})
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    net = DistributedDataParallel(model_of(a.model).to(memory_format=torch.channels_last))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(a.batch, 3, a.side, a.side).to(memory_format=torch.channels_last)
    y = torch.randint(0, 4, (a.batch,))
    for step in range(a.steps):
        if step == a.steps // 3:
            began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    seconds = time.perf_counter() - began
    if rank == 0:
        print(f"images_per_second {2 * a.batch * (a.steps - a.steps // 3) / seconds:.2f}", flush=True)
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="resnet50")
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--side", type=int, default=224)
    p.add_argument("--steps", type=int, default=12)
    p.add_argument("--cores", type=int, nargs=2, default=[0, 1])
    p.add_argument("--port", type=int, default=0, help="0: one that is free")
    a = p.parse_args()
    if not a.port:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            a.port = s.getsockname()[1]
    mp.spawn(run, (a,), nprocs=2)


if __name__ == "__main__":
    main()
