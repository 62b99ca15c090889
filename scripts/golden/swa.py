#!/usr/bin/env python3
"""Writes the golden files of TRAIN.SWA, from torch.optim.swa_utils and timm.

    python3 scripts/golden/swa.py CHECKPOINT IMAGES

swa.json has the rates of SWALR; swa_norms.json the batch norm statistics of update_bn for a timm
resnet18 with the weights of CHECKPOINT, on the training images of the folder IMAGES in the order of
their names, in batches of 8. tests/e2e/swa_norms.sh makes both and says how.
"""
import json
import os
import sys

import numpy as np
import timm
import torch
from PIL import Image
from safetensors.torch import load_file
from torch.optim.swa_utils import SWALR, update_bn

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "tests", "golden", "train")


def rates(base, swa, anneal, strategy):
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)
    s, out = SWALR(opt, swa_lr=swa, anneal_epochs=anneal, anneal_strategy=strategy), []
    for _ in range(anneal + 5):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        s.step()
    return dict(base=base, swa=swa, anneal=anneal, linear=strategy == "linear", rates=out)


def norms(checkpoint, images):
    net = timm.create_model("resnet18", num_classes=4)
    weights = load_file(checkpoint)
    net.load_state_dict({k: v for k, v in weights.items() if not k.startswith(("ema.", "optimizer."))})
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    files = sorted(os.path.join(d, f) for d, _, fs in os.walk(images) for f in fs)
    x = [torch.from_numpy(np.array(Image.open(f).convert("RGB"))).permute(2, 0, 1) / 255 for f in files]
    x = torch.stack([(v - mean) / std for v in x]).double()
    net = net.double()
    update_bn([x[i:i + 8] for i in range(0, len(x), 8)], net)
    return {k: v.flatten()[:16].tolist() for k, v in net.state_dict().items()
            if "running_" in k}


def main():
    cases = [rates(0.1, 0.05, 10, "cos"), rates(0.02, 0.05, 7, "linear"), rates(0.1, 0.01, 1, "cos")]
    with open(os.path.join(OUT, "swa.json"), "w") as f:
        json.dump(cases, f, indent=1)
    with open(os.path.join(OUT, "swa_norms.json"), "w") as f:
        json.dump(norms(sys.argv[1], sys.argv[2]), f)


main()
