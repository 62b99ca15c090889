#!/usr/bin/env python3
"""Writes tests/golden/scores/class_scores.txt: scikit-learn's classification scores.

One case per line: name, number of classes, number of images; the label and four times the
logits of each image; then balanced accuracy, macro F1, MCC, and AUROC ("nan": undefined).
"""
import os
import warnings

import numpy as np
from sklearn import metrics

warnings.filterwarnings("ignore")
rng = np.random.default_rng(45)
OUT = os.path.join(os.path.dirname(__file__), "../../tests/golden/scores/class_scores.txt")


def auroc(labels, p):
    """Returns the mean over classes that have both positive and negative images."""
    k = p.shape[1]
    areas = [metrics.roc_auc_score(labels == c, p[:, c]) for c in ([1] if k == 2 else range(k))
             if 0 < (labels == c).sum() < len(labels)]
    if not areas:
        return float("nan")
    if k > 2 and len(set(labels)) == k:
        assert abs(np.mean(areas) - metrics.roc_auc_score(labels, p / p.sum(1, keepdims=True),
                                                          multi_class="ovr")) < 1e-6
    return np.mean(areas)


def case(name, labels, quarters):
    labels, quarters = np.asarray(labels), np.asarray(quarters)
    z = quarters / 4
    p = np.exp(z - z.max(1, keepdims=True))
    p = (p / p.sum(1, keepdims=True)).astype(np.float32).astype(float)
    answers = p.argmax(1)
    scores = [metrics.balanced_accuracy_score(labels, answers),
              metrics.f1_score(labels, answers, average="macro", zero_division=0),
              metrics.matthews_corrcoef(labels, answers), auroc(labels, p)]
    rows = [f"{y} " + " ".join(map(str, q)) for y, q in zip(labels, quarters)]
    return " ".join([name, str(z.shape[1]), str(len(z)), *rows, *(f"{s:.17g}" for s in scores)])


def main():
    cases = []
    for k in (2, 3, 7):
        for n in (1, 2, 9, 60):
            labels = rng.integers(0, k, n)
            q = rng.integers(-20, 20, (n, k))
            q[np.arange(n), labels] += rng.integers(0, 12, n)
            cases.append(case(f"random_{k}_{n}", labels, q))
    labels = rng.integers(0, 4, 40)
    cases.append(case("absent_class", labels, rng.integers(-9, 9, (40, 5))))
    cases.append(case("ties", rng.integers(0, 3, 50), rng.integers(0, 2, (50, 3))))
    cases.append(case("all_equal", rng.integers(0, 3, 10), np.zeros((10, 3), int)))
    cases.append(case("one_label", np.ones(8, int), rng.integers(-9, 9, (8, 3))))
    cases.append(case("one_answer", rng.integers(0, 2, 12), np.tile([3, -1], (12, 1))))
    cases.append(case("perfect", [0, 1, 2, 0], [[9, 0, 0], [0, 9, 0], [0, 0, 9], [8, 0, 0]]))
    cases.append(case("inverted", [0, 1, 0, 1], [[0, 5], [5, 0], [0, 4], [4, 0]]))
    with open(OUT, "w", encoding="utf-8") as file:
        file.write("\n".join(cases) + "\n")


main()
