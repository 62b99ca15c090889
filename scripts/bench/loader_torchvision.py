#!/usr/bin/env python3
"""Measures torchvision on the work of `trainc bench --loader`: RandomResizedCrop and a
horizontal flip on the JPEGs of DATA/train, one thread, pixels stay bytes.

    loader_torchvision.py DATA [--size 224] [--seconds 5] [--bicubic]

Prints "pillow N" (the default loader) and "torchvision N" (its own JPEG decoder and tensor
transforms) in images per CPU second.
"""
import argparse
import time

import torch
from torchvision import datasets
from torchvision.io import decode_jpeg, read_file
from torchvision.transforms import InterpolationMode, v2


def measure(name, samples, load, seconds):
    for path, _ in samples[:50]:
        load(path)
    n, start, end = 0, time.process_time(), time.monotonic() + seconds
    while time.monotonic() < end:
        load(samples[n % len(samples)][0])
        n += 1
    print(f"{name} {n / (time.process_time() - start):.0f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--size", type=int, default=224)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--bicubic", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(1)
    data = datasets.ImageFolder(a.data + "/train")
    how = InterpolationMode.BICUBIC if a.bicubic else InterpolationMode.BILINEAR
    crop = v2.Compose([v2.RandomResizedCrop(a.size, interpolation=how, antialias=True),
                       v2.RandomHorizontalFlip()])
    to_tensor = v2.PILToTensor()
    measure("pillow", data.samples, lambda p: to_tensor(crop(data.loader(p))), a.seconds)
    measure("torchvision", data.samples, lambda p: crop(decode_jpeg(read_file(p))), a.seconds)


main()
