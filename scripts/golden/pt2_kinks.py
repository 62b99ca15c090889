#!/usr/bin/env python3
"""Shows what an activation near the kink of a ReLU does to a gradient: of a network that
differs in scripts/pt2_survey.sh, because rounding moved a value over the kink.

    BATCH=2 pt2_kinks.py FOLDER KIND:NAME PARAMETER [COUNT]

FOLDER has the figures of the survey. Prints the digest of the parameter's gradient (its norm,
then samples) in fp32 and in fp64, and in fp64 with the sign of one ReLU's operand changed, for
each of the COUNT (8) operands that are nearest to 0, as a part of their standard deviation. A
line with the figures of trainc shows that it differs by that operand alone.
"""
import copy
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

import pt2

NEAR = 3  # operands of each ReLU that are tried


def gradient(model, x, name, near=None, flip=None):
    """Returns the digest; lists operands near 0 as (distance, ReLU, element, shape)."""
    calls = 0

    def relu(x, inplace=False):
        nonlocal calls
        calls += 1
        if near is not None:
            distance = x.detach().abs().flatten() / x.detach().std()
            for d, i in zip(*(t.tolist() for t in distance.topk(NEAR, largest=False))):
                near.append((d, calls, i, tuple(x.shape)))
        if flip and flip[0] == calls:
            change = torch.zeros_like(x).flatten()
            change[flip[1]] = -2 * x.detach().flatten()[flip[1]]
            x = x + change.view_as(x)
        return torch.relu(x)

    usual = nn.ReLU.forward, F.relu
    nn.ReLU.forward, F.relu = lambda _, x: relu(x), relu
    model = copy.deepcopy(model)
    pt2.loss_of(model(x)).backward()
    nn.ReLU.forward, F.relu = usual
    return pt2.digest(name, dict(model.named_parameters())[name].grad)


def main(folder, spec, name, count="8"):
    figures = pathlib.Path(folder, spec.replace(":", "_") + ".json")
    side = json.loads(figures.read_text())["side"]
    torch.manual_seed(0)
    model, _ = pt2.named(spec)
    pt2.calm(model)
    model.train()
    x = 2 * pt2.uniform("input0", pt2.BATCH * 3 * side * side)
    x = torch.from_numpy(x.reshape(pt2.BATCH, 3, side, side))
    print("fp32", gradient(model, x, name))
    model, x, near = model.double(), x.double(), []
    print("fp64", gradient(model, x, name, near=near))
    for distance, call, element, shape in sorted(near)[:int(count)]:
        print(f"{distance:.1e} of ReLU {call} of {shape}:",
              gradient(model, x, name, flip=(call, element)))


if __name__ == "__main__":
    main(*sys.argv[1:])
