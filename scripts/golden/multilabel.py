#!/usr/bin/env python3
"""Writes tests/golden/scores/multilabel.txt: scikit-learn's multi-label scores.

One case per line: name, number of classes, number of images; four times the logits and the
targets of each image (255: unknown); then mAP, AUROC, micro F1, and macro F1; then average
precision, AUROC, F1, and the best F1 of each class ("nan": undefined).
"""
import os
import warnings

import numpy as np
from sklearn import metrics

warnings.filterwarnings("ignore")
rng = np.random.default_rng(46)
OUT = os.path.join(os.path.dirname(__file__), "../../tests/golden/scores/multilabel.txt")
NAN = float("nan")


def of_class(y, z):
    """Returns average precision, AUROC, F1 at 0.5, and the best F1 of a class's known
    images."""
    z, y = z[y != 255], y[y != 255]
    ap = metrics.average_precision_score(y, z) if y.sum() else NAN
    auroc = metrics.roc_auc_score(y, z) if 0 < y.sum() < len(y) else NAN
    f1 = metrics.f1_score(y, z > 0, zero_division=0) if len(y) else 0
    best = max([metrics.f1_score(y, z >= t, zero_division=0) for t in set(z)], default=0)
    return ap, auroc, f1, best


def mean(x):
    x = [v for v in x if not np.isnan(v)]
    return np.mean(x) if x else NAN


def case(name, targets, quarters):
    y, q = np.asarray(targets), np.asarray(quarters)
    z, known = q / 4, y != 255
    of = [of_class(y[:, k], z[:, k]) for k in range(y.shape[1])]
    micro = metrics.f1_score(y[known], z[known] > 0, zero_division=0) if known.any() else NAN
    macro = mean([f[2] for f in of]) if known.any() else NAN
    if known.all() and y.shape[1] > 1:
        assert abs(micro - metrics.f1_score(y, z > 0, average="micro", zero_division=0)) < 1e-14
        assert abs(macro - metrics.f1_score(y, z > 0, average="macro", zero_division=0)) < 1e-14
    means = [mean([f[0] for f in of]), mean([f[1] for f in of]), micro, macro]
    rows = [" ".join(map(str, [*a, *b])) for a, b in zip(q, y)]
    numbers = [*means, *(v for f in of for v in f)]
    return " ".join([name, str(y.shape[1]), str(len(y)), *rows, *(f"{v:.17g}" for v in numbers)])


def main():
    cases = []
    for k in (1, 3, 7):
        for n in (1, 2, 9, 60):
            y = rng.integers(0, 2, (n, k))
            cases.append(case(f"random_{k}_{n}", y, rng.integers(-20, 20, (n, k)) + 6 * y))
    y = rng.integers(0, 2, (40, 4))
    q = rng.integers(-20, 20, (40, 4))
    cases.append(case("unknown", np.where(rng.random((40, 4)) < 0.3, 255, y), q))
    cases.append(case("absent_class", y * [1, 0, 1, 1], q))
    cases.append(case("all_have_it", y | [0, 0, 1, 0], q))
    cases.append(case("ties", y, rng.integers(-1, 2, (40, 4))))
    cases.append(case("all_equal", y, np.zeros((40, 4), int)))
    cases.append(case("all_unknown", np.full((6, 3), 255), q[:6, :3]))
    cases.append(case("class_unknown", np.where([0, 1, 0, 0], 255, y), q))
    cases.append(case("no_labels", np.zeros((5, 2), int), q[:5, :2]))
    cases.append(case("no_answers", y, -1 - abs(q)))
    cases.append(case("perfect", y, 8 * y - 4))
    cases.append(case("inverted", y, 4 - 8 * y))
    with open(OUT, "w", encoding="utf-8") as file:
        file.write("\n".join(cases) + "\n")


main()
