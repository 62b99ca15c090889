#!/usr/bin/env python3
"""Writes scikit-learn's scores of numbers and of ordered classes, and PyTorch's losses.

    scripts/golden/regression.py tests/golden

tests/golden/scores/regression.txt, one case per line: name, number of targets, number of
images; the values and the targets of each image; then MAE, RMSE, and R2 of the means, and of
each target ("nan": undefined).

tests/golden/scores/ordinal.txt: name, number of classes, number of images; label and answer
of each image; then the MAE in classes and the quadratic weighted kappa.

tests/golden/train/regression.json: losses and gradients of MSELoss, L1Loss, HuberLoss, and
SmoothL1Loss on standardized targets, and of CORN (Shi, Cao, and Raschka 2023) per image.
"""
import json
import os
import sys
import warnings

import numpy as np
import torch
from sklearn import metrics
from torch.nn import functional as F

warnings.filterwarnings("ignore")
rng = np.random.default_rng(45)
torch.manual_seed(45)


def numbers(case):
    return " ".join(f"{v:.17g}" for v in case)


def scores(y, p):
    with np.errstate(all="ignore"):
        return [
            metrics.mean_absolute_error(y, p),
            metrics.root_mean_squared_error(y, p),
            metrics.r2_score(y, p) if len(y) > 1 else float("nan"),
        ]


def regression(name, y, p):
    y = np.asarray(y, np.float32).astype(np.float64)
    p = np.asarray(p, np.float32).astype(np.float64)
    rows = [numbers([*a, *b]) for a, b in zip(p, y)]
    each = [v for k in range(y.shape[1]) for v in scores(y[:, k], p[:, k])]
    return " ".join([name, str(y.shape[1]), str(len(y)), *rows, numbers([*scores(y, p), *each])])


def regressions():
    for t in (1, 2, 5):
        for n in (1, 2, 7, 100):
            y = rng.normal(size=(n, t)) * rng.uniform(0.01, 100, t) + rng.uniform(-50, 50, t)
            yield regression(f"random_{t}_{n}", y, y + rng.normal(size=(n, t)))
    y = rng.normal(size=(20, 2))
    yield regression("perfect", y, y)
    yield regression("mean", y, np.zeros((20, 2)) + y.mean(0))
    yield regression("worse_than_mean", y, -y)
    yield regression("constant_target", y * [0, 1] + [0.1, 0], y)
    yield regression("constant_and_exact", y * [0, 1] + [0.1, 0], y * [0, 1] + [0.1, 0])
    yield regression("constant_values", y, 0 * y + 3)
    yield regression("far_from_zero", y + 1000, y + 1000.5)
    yield regression("single_and_exact", y[:1], y[:1])


def ordinal(name, classes, y, p):
    mae = metrics.mean_absolute_error(y, p)
    kappa = metrics.cohen_kappa_score(y, p, labels=range(classes), weights="quadratic")
    rows = " ".join(f"{a} {b}" for a, b in zip(y, p))
    return f"{name} {classes} {len(y)} {rows} {mae:.17g} {kappa:.17g}"


def ordinals():
    for k in (2, 5, 11):
        for n in (1, 3, 50):
            y = rng.integers(0, k, n)
            p = np.clip(y + rng.integers(-2, 3, n), 0, k - 1)
            yield ordinal(f"random_{k}_{n}", k, y, p)
    y = rng.integers(0, 4, 30)
    yield ordinal("perfect", 4, y, y)
    yield ordinal("inverted", 4, y, 3 - y)
    yield ordinal("one_answer", 4, y, 0 * y + 2)
    yield ordinal("one_class", 4, 0 * y + 2, y)
    yield ordinal("one_class_and_answer", 4, 0 * y + 2, 0 * y + 2)
    yield ordinal("absent_class", 4, np.where(y == 1, 0, y), np.where(y == 1, 3, y))


KINDS = {
    "l2": lambda z, t, d: F.mse_loss(z, t),
    "l1": lambda z, t, d: F.l1_loss(z, t),
    "huber": lambda z, t, d: F.huber_loss(z, t, delta=d),
    "smooth_l1": lambda z, t, d: F.smooth_l1_loss(z, t, beta=d),
}


def case(loss, z, more):
    loss.backward()
    return {
        "shape": list(z.shape),
        "logits": z.detach().flatten().tolist(),
        "loss": loss.item(),
        "grad": z.grad.flatten().tolist(),
        **more,
    }


def short(*shape):
    """Numbers that are exact in fp32."""
    return (torch.randn(*shape) * 256).round().double() / 256


def losses():
    for kind, fn in KINDS.items():
        for delta in (1.0, 0.375):
            for mixed in (False, True):
                n, t = 6, 3
                z, y = (2 * short(n, t)).requires_grad_(), 8 * short(n, t) + 2
                mean, std = short(t), short(t).abs() + 0.5
                lam = (torch.rand(n) * 256).round().double() / 256 if mixed else None
                label = [0, 0, -1, 0, 0, 0]
                ok = torch.tensor([v >= 0 for v in label])
                target = y if lam is None else lam[:, None] * y + (1 - lam[:, None]) * y.flip(0)
                ok = ok if lam is None else ok & ok.flip(0)
                loss = fn(z[ok], ((target - mean) / std)[ok], delta)
                more = {"loss_type": kind, "delta": delta, "labels": label, "targets": y.flatten().tolist()}
                more |= {"mean": mean.tolist(), "std": std.tolist()}
                yield case(loss, z, more | ({"lam": lam.tolist()} if mixed else {}))


def corn_loss(z, y, classes):
    """Sum over the tasks of equation 6 of the paper, without its division by the number of
    (sample, task) pairs."""
    total = 0
    for k in range(classes - 1):
        subset = y >= k
        logit, above = z[subset, k], (y[subset] > k).double()
        total = total - (F.logsigmoid(logit) * above + (F.logsigmoid(logit) - logit) * (1 - above)).sum()
    return total


def corns():
    for classes in (2, 3, 6):
        z = (3 * short(9, classes - 1)).requires_grad_()
        y = torch.arange(9) % classes
        loss = corn_loss(z, y, classes) / len(y)
        yield case(loss, z, {"loss_type": "corn", "labels": y.tolist()})


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def main():
    out = sys.argv[1]
    write(os.path.join(out, "scores/regression.txt"), "\n".join(regressions()))
    write(os.path.join(out, "scores/ordinal.txt"), "\n".join(ordinals()))
    write(os.path.join(out, "train/regression.json"), json.dumps({"cases": [*losses(), *corns()]}))


main()
