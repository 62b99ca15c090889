#!/usr/bin/env python3
"""Writes the golden file of activations: values and slopes in fp64, from PyTorch.

    scripts/golden/activations.py tests/golden/ops

writes activations.json. Needs torch.
"""
import json
import os
import sys

import torch
from torch.nn import functional as F

# name, number, function
ROWS = [
    ("relu", 0, F.relu),
    ("relu", 6, F.relu6),
    ("leaky_relu", 0.01, F.leaky_relu),
    ("leaky_relu", 0.25, lambda x: F.leaky_relu(x, 0.25)),
    ("elu", 1, F.elu),
    ("elu", 1.5, lambda x: F.elu(x, 1.5)),
    ("sigmoid", 0, torch.sigmoid),
    ("tanh", 0, torch.tanh),
    ("softplus", 0, F.softplus),
    ("silu", 0, F.silu),
    ("gelu", 0, F.gelu),
    ("gelu_tanh", 0, lambda x: F.gelu(x, approximate="tanh")),
    ("hardsigmoid", 0, F.hardsigmoid),
    ("hardswish", 0, F.hardswish),
    ("mish", 0, F.mish),
]
# without the kinks 0, 3, -3, 6, where conventions differ
POINTS = [-100.0, -30.0, -12.5, -6.0, -3.5, -2.75, -1.0, -0.3, -1e-3, -1e-6,
          1e-6, 1e-3, 0.3, 1.0, 2.75, 3.5, 5.5, 6.5, 12.5, 19.5, 20.5, 30.0, 100.0]


def main():
    rows = []
    for name, number, function in ROWS:
        x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
        y = function(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        rows.append({"name": name, "number": number, "y": y.tolist(), "slope": slope.tolist()})
    path = os.path.join(sys.argv[1], "activations.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"x": POINTS, "rows": rows}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
