#!/usr/bin/env python3
"""Compares what trainc reads of CamVid with numpy: lists, image sizes, label values, class
histogram, and class weights.

usage: camvid_check.py TRAINC CAMVID_DIR

CAMVID_DIR has train.txt and val.txt with "image label" on each line. Needs numpy and
Pillow. trainc trains one step, so this takes a minute.
"""
import glob
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

CLASSES, VOID, W, H, C = 11, 11, 480, 360, 1.1
CONFIG = """
MODEL: {{TYPE: erfnet, NAME: erfnet, NUM_CLASSES: {classes}}}
DATA: {{DATASET: list, DATA_PATH: {root}, CLASS_SET: camvid11, IMG_WIDTH: {w}, IMG_HEIGHT: {h},
       INTERPOLATION: bilinear, BATCH_SIZE: 1, NUM_WORKERS: 1}}
TRAIN: {{EPOCHS: 1, WARMUP_EPOCHS: 0, MAX_STEPS: 1, CLASS_WEIGHTS: auto, CLASS_WEIGHTS_C: {c}}}
OUTPUT: {root}/out
"""


def pairs(root, split):
    with open(os.path.join(root, split + ".txt")) as f:
        return [[os.path.join(os.path.abspath(root), p) for p in line.split()] for line in f]


def count(labels):
    total = np.zeros(256, np.int64)
    for image, label in labels:
        v = np.array(Image.open(label))
        assert v.dtype == np.uint8 and v.shape == (H, W), label
        assert Image.open(image).size == (W, H), image
        assert os.path.splitext(os.path.basename(image))[0] == \
            os.path.splitext(os.path.basename(label))[0], image
        total += np.bincount(v.ravel(), minlength=256)
    return total


def by_trainc(trainc, train, val):
    """Returns the histogram and the weights that trainc prints."""
    with tempfile.TemporaryDirectory() as root:
        for name, lines in (("train", train), ("val", val[:1])):
            with open(os.path.join(root, name + ".txt"), "w") as f:
                f.writelines("\t".join(p) + "\n" for p in lines)
        config = os.path.join(root, "check.yaml")
        with open(config, "w") as f:
            f.write(CONFIG.format(root=root, classes=CLASSES, w=W, h=H, c=C))
        run = subprocess.run([trainc, "--cfg", config, "--index-dir", root], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        kept = glob.glob(os.path.join(root, ".trainc-classes-*"))
        assert len(kept) == 1, kept
        with open(kept[0]) as f:
            lines = [line.split() for line in f.readlines()[1:]]
        weights = re.search("class weights: (.*)", run.stdout + run.stderr).group(1)
    return (np.array([int(n) for _, n in lines]),
            [float(w.split()[-1]) for w in weights.split(",")])


def main():
    trainc, root = sys.argv[1:]
    train, val = pairs(root, "train"), pairs(root, "val")
    values = count(train)
    used = np.nonzero(values + count(val))[0]
    print("%d training and %d validation pairs of %dx%d, label values %d to %d"
          % (len(train), len(val), W, H, used[0], used[-1]))
    assert used[-1] == VOID and len(used) == VOID + 1
    want = values.copy()
    want[VOID], want[255] = 0, values[VOID]
    got, weights = by_trainc(trainc, train, val)
    assert (got == want).all(), "another histogram: %s, not %s" % (got, want)
    print("class      share   weight   numpy")
    for k in range(CLASSES):
        p = want[k] / want.sum()
        w = 1 / math.log(C + p)
        print("%5d  %8.4f %%  %7.4f  %7.4f" % (k, 100 * p, weights[k], w))
        assert abs(weights[k] - w) < 1e-3 * w
    print("all equal")


main()
