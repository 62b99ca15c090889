#!/usr/bin/env python3
"""Writes the golden file of tests/train/test_cam.c: Grad-CAM of small models in PyTorch, as
pytorch-grad-cam computes it (GradCAM, ActivationsAndGradients, scale_cam_image).

    python3 -m pip install torch timm numpy opencv-python-headless
    python3 scripts/golden/cam.py tests/golden/models/cam.json

Weights and input are those of model_resnet.py. Each map has the layer, the class, and the
scaled map, and `resized`, the same map resized to 13 x 11 by cv2.
"""
import json
import sys

import cv2
import numpy as np
import timm
import torch

import features
import model_resnet as common

CLASSES = 10
# name: (model of features.NETS, layer, tokens before the map)
MAPS = [
    ("test_resnet", "layer4", 0),
    ("test_resnet", "layer2", 0),
    ("swin", "layers.3.blocks.0.norm1", 0),
    ("swin", "layers.1", 0),
    ("swinv2", "layers.3.blocks.0.norm1", 0),
    ("vit", "blocks.3.norm1", 1),
    ("vit", "blocks.1", 1),
    ("deit", "blocks.3.norm1", 2),
    ("convnext", "stages.2", 0),
    ("regnet", "s4", 0),
]
PICKED = (3, 7)  # the classes of the two images


def gradients(model, layer, x):
    kept = {}
    model.get_submodule(layer).register_forward_hook(lambda m, i, o: kept.update(x=o))
    logits = model(x)
    loss = sum(logits[i, c] for i, c in enumerate(PICKED))
    return kept["x"], torch.autograd.grad(loss, kept["x"])[0]


def channels_first(x, name, prefix):
    """pytorch-grad-cam's reshape_transform."""
    if x.ndim == 3:
        side = int(round((x.shape[1] - prefix) ** 0.5))
        return x[:, prefix:].reshape(len(x), side, side, -1).permute(0, 3, 1, 2)
    return x.permute(0, 3, 1, 2) if name.startswith("swin") else x


def scale(cam):
    cam = cam - cam.min()
    return cam / (1e-7 + cam.max())


def maps(name, layer, prefix):
    net, side, args = features.NETS[name]
    model = timm.create_model(net, num_classes=CLASSES, **args).eval().double()
    features.reset(model)
    x, dx = (channels_first(t.detach(), name, prefix).numpy()
             for t in gradients(model, layer, common.pixels(2, side, 0).double()))
    weights = dx.mean((2, 3))
    cam = np.maximum((weights[:, :, None, None] * x).sum(1), 0)
    assert (cam.reshape(2, -1).max(1) > 0).any(), (name, layer)
    scaled = [scale(c) for c in cam]
    resized = [cv2.resize(c.astype(np.float32), (13, 11)) for c in scaled]
    return dict(net=name, layer=layer, side=side, input=0, batch=2, classes=list(PICKED),
                height=cam.shape[1], width=cam.shape[2],
                nonzero=[bool(c.max() > 0) for c in cam],
                map=[round(float(v), 9) for c in scaled for v in c.ravel()],
                resized=[round(float(v), 6) for c in resized for v in c.ravel()])


def main():
    with open(sys.argv[1], "w") as f:
        f.write("[" + ",\n ".join(json.dumps(maps(*m)) for m in MAPS) + "]\n")


if __name__ == "__main__":
    main()
