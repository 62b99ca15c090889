#!/usr/bin/env python3
"""Writes the golden file of tests/train/test_boundary.c: Boundary IoU of random label maps,
with mask_to_boundary of the authors' code (Cheng et al. 2021, boundary_iou_api), and the
scores of mmsegmentation's total_area_to_metrics.

    python3 -m pip install numpy opencv-python-headless
    python3 scripts/golden/boundary.py tests/golden/train/boundary.json
"""
import json
import sys

import cv2
import numpy as np

IGNORE = 255


def mask_to_boundary(mask, dilation_ratio):
    """boundary_iou_api/boundary_iou/utils/boundary_utils.py"""
    h, w = mask.shape
    dilation = int(round(dilation_ratio * np.sqrt(h**2 + w**2)))
    dilation = max(dilation, 1)
    new_mask = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    eroded = cv2.erode(new_mask, np.ones((3, 3), dtype=np.uint8), iterations=dilation)
    return mask - eroded[1 : h + 1, 1 : w + 1]


def boundary_iou(images, classes, ratio):
    both, either, present = np.zeros(classes), np.zeros(classes), np.zeros(classes)
    for label, guess in images:
        guess = np.where(label == IGNORE, IGNORE, guess)
        for c in range(classes):
            g = mask_to_boundary((label == c).astype(np.uint8), ratio)
            p = mask_to_boundary((guess == c).astype(np.uint8), ratio)
            both[c] += (g & p).sum()
            either[c] += (g | p).sum()
            present[c] += g.sum()
    return [float(b / e) if n else None for b, e, n in zip(both, either, present)]


def areas(images, classes):
    """mmsegmentation's IoUMetric.intersect_and_union, summed over the images."""
    total = np.zeros((4, classes))
    for label, guess in images:
        keep = label != IGNORE
        g, p = guess[keep], label[keep]
        hist = [np.histogram(x, bins=classes, range=(0, classes - 1))[0] for x in (g[g == p], g, p)]
        total += np.array([hist[0], hist[1] + hist[2] - hist[0], hist[1], hist[2]])
    return total


def mmseg(images, classes):
    """mmsegmentation's IoUMetric.total_area_to_metrics for mIoU, mDice, and mFscore."""
    both, either, guess, label = areas(images, classes)
    with np.errstate(all="ignore"):
        iou, acc, dice = both / either, both / label, 2 * both / (guess + label)
        precision, recall = both / guess, both / label
        fscore = 2 * precision * recall / (precision + recall)
        out = dict(aAcc=both.sum() / label.sum(), mIoU=np.nanmean(iou), mAcc=np.nanmean(acc),
                   mDice=np.nanmean(dice), mFscore=np.nanmean(fscore))
    out = {k: None if np.isnan(v) else float(v) for k, v in out.items()}
    for name, x in dict(IoU=iou, Acc=acc, Dice=dice).items():
        out[name] = [None if np.isnan(v) else float(v) for v in x]
    return out


def blobs(rng, w, h, classes, cell):
    """A random label map of blocks of about `cell` pixels."""
    small = rng.integers(0, classes, (h // cell + 2, w // cell + 2)).astype(np.uint8)
    big = cv2.resize(small, (w + cell, h + cell), interpolation=cv2.INTER_NEAREST)
    return np.ascontiguousarray(big[cell // 2 : cell // 2 + h, cell // 2 : cell // 2 + w])


def image(rng, w, h, classes, cell, noise, ignored):
    label = blobs(rng, w, h, classes, cell)
    guess = np.where(rng.random((h, w)) < noise, blobs(rng, w, h, classes, cell), label)
    label[rng.random((h, w)) < ignored] = IGNORE
    return label, guess.astype(np.uint8)


def cases():
    rng = np.random.default_rng(45)
    yield "several", 4, 0.02, [image(rng, w, h, 4, 7, 0.2, 0.0) for w, h in ((40, 30), (23, 31), (50, 8))]
    yield "wide", 3, 0.1, [image(rng, 37, 29, 3, 12, 0.05, 0.0)]
    yield "ignored", 5, 0.02, [image(rng, 41, 33, 5, 9, 0.1, 0.01) for _ in range(2)]
    yield "one pixel", 2, 0.02, [image(rng, 1, 1, 2, 1, 0.5, 0.0)]
    label, guess = image(rng, 30, 20, 3, 6, 0.2, 0.0)
    yield "absent", 4, 0.02, [(label, guess)]
    label, guess = image(rng, 30, 20, 3, 6, 0.2, 0.0)
    yield "predicted, but absent", 4, 0.02, [(label, np.where(rng.random(guess.shape) < 0.1, 3, guess).astype(np.uint8))]
    yield "all ignored", 3, 0.02, [(np.full((9, 11), IGNORE, np.uint8), guess[:9, :11].copy())]
    label = blobs(rng, 24, 24, 3, 8)
    yield "perfect", 3, 0.02, [(label, label.copy())]
    label = blobs(rng, 24, 24, 3, 8)
    void = label.copy()
    void[rng.random(label.shape) < 0.2] = IGNORE
    yield "perfect where it counts", 3, 0.05, [(void, label)]
    yield "one class", 1, 0.02, [(np.zeros((12, 12), np.uint8), np.zeros((12, 12), np.uint8))]


def main():
    out = []
    for name, classes, ratio, images in cases():
        out.append(dict(name=name, classes=classes, ratio=ratio,
                        boundary=boundary_iou(images, classes, ratio), mmseg=mmseg(images, classes),
                        images=[dict(w=g.shape[1], h=g.shape[0], label=g.tobytes().hex(), guess=p.tobytes().hex())
                                for g, p in images]))
    with open(sys.argv[1], "w") as f:
        f.write("[" + ",\n ".join(json.dumps(c) for c in out) + "]\n")


if __name__ == "__main__":
    main()
