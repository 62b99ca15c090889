#!/usr/bin/env python3
"""Writes the golden file of the binary cross entropy: timm's, with its gradient.

    scripts/golden/loss_bce.py tests/golden/train

writes bce.json. Needs torch and timm.
"""
import json
import sys

import torch
from timm.data.mixup import mixup_target
from timm.loss import BinaryCrossEntropy

N, CLASSES = 4, 5


def one(z, labels, lam, smoothing, threshold, total):
    """timm's Mixup returns soft targets that are already smoothed; otherwise the loss
    smooths them."""
    loss = BinaryCrossEntropy(smoothing=smoothing, target_threshold=threshold,
                              sum_classes=total)
    target = labels
    if lam is not None:
        on = mixup_target(labels, CLASSES, 1.0, smoothing).double()
        target = lam[:, None] * on + (1 - lam[:, None]) * on.flip(0)
    z = z.clone().requires_grad_()
    value = loss(z, target)
    value.backward()
    return {"smoothing": smoothing, "threshold": threshold, "sum": total,
            "lam": None if lam is None else lam.tolist(),
            "loss": value.item(), "grad": z.grad.flatten().tolist()}


def main():
    torch.manual_seed(5)
    z = torch.randn(N, CLASSES, dtype=torch.float64) * 3
    z[1, 2], z[2, 0] = 90, -90  # exp overflows in fp32
    z = z.float().double()
    labels = torch.tensor([3, 2, 0, 3])
    lam = torch.tensor([0.75, 0.25, 1.0, 0.5], dtype=torch.float64)
    cases = [one(z, labels, m, s, t, total) for m in (None, lam) for s, t, total in
             ((0.0, None, False), (0.1, None, False), (0.1, 0.2, False), (0.1, None, True))]
    with open(sys.argv[1] + "/bce.json", "w") as f:
        json.dump({"shape": [N, CLASSES], "logits": z.flatten().tolist(),
                   "labels": labels.tolist(), "cases": cases}, f, indent=1)


main()
