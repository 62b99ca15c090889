#!/usr/bin/env python3
"""Writes the golden file of TRAIN.OPTIMIZER.GROUPS and AMP.NUM_LOSSES: a small model in
PyTorch.

    scripts/golden/groups.py tests/golden/train

writes groups.json. The model has two layers, a classifier, and an auxiliary classifier of
the first layer. Each case takes several steps with two or more of PyTorch's and timm's
optimizers, each for the parameters that its group names, or with one loss scaler for each
of two losses by Apex's rule (apex/amp/scaler.py and handle.py): each loss has its own scale
and backward pass, whose gradients are unscaled and added; an overflow halves the scale of
that loss and skips the step. `keys` is the equivalent configuration. Needs torch and timm.
"""
import json
import math
import sys

import torch
from timm.optim import Lamb, Lars
from torch.nn import functional as F

STEPS, LR = 4, 0.02
SHAPES = {"layer1.0.weight": (5, 6), "layer1.0.bias": (5,), "layer2.0.weight": (5, 5), "layer2.0.bias": (5,),
          "fc.weight": (3, 5), "fc.bias": (3,), "aux1.fc.weight": (3, 5), "aux1.fc.bias": (3,)}


def floats(t):
    return [float(f"{x:.9g}") for x in t.detach().flatten().tolist()]  # exact for fp32


def start():
    torch.manual_seed(11)
    params = {n: torch.nn.Parameter(torch.randn(s) * (0.5 if len(s) > 1 else 0.1)) for n, s in SHAPES.items()}
    return params, torch.randn(STEPS * 2, 4, 6), torch.randint(0, 3, (STEPS * 2, 4))


def losses(p, x, y):
    h = F.relu(F.linear(x, p["layer1.0.weight"], p["layer1.0.bias"]))
    aux = F.linear(h, p["aux1.fc.weight"], p["aux1.fc.bias"])
    h = F.relu(F.linear(h, p["layer2.0.weight"], p["layer2.0.bias"]))
    return F.cross_entropy(F.linear(h, p["fc.weight"], p["fc.bias"]), y), F.cross_entropy(aux, y)


def groups(name, keys, make, clip=0.0):
    """`make` returns the optimizers for the parameters by name."""
    params, x, y = start()
    first = {n: floats(p) for n, p in params.items()}
    optimizers = make(params)
    ema = {n: p.detach().clone() for n, p in params.items()}
    steps = []
    for i in range(STEPS):
        for o in optimizers:
            o.zero_grad()
        main, aux = losses(params, x[i], y[i])
        (main + 0.4 * aux).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(params.values(), clip)
        for o in optimizers:
            o.step()
        for n, p in params.items():
            ema[n] += 0.1 * (p.detach() - ema[n])
        steps.append({n: floats(p) for n, p in params.items()})
    moments = {}
    for o in optimizers:
        for n, p in params.items():
            for key, m in o.state.get(p, {}).items():
                if torch.is_tensor(m) and m.shape == p.shape:
                    moments[f"{key}.{n}"] = floats(m)
    return dict(name=name, keys=keys, weights=[1, 0.4], x=[floats(t) for t in x[:STEPS]], labels=y[:STEPS].tolist(),
                start=first, step=steps, moments=moments, ema={n: floats(e) for n, e in ema.items()})


def adamw_and_sgd(p):
    rest = [n for n in p if not n.startswith("fc.")]
    return [torch.optim.AdamW([dict(params=[p[n] for n in rest if p[n].ndim > 1], weight_decay=0.3),
                               dict(params=[p[n] for n in rest if p[n].ndim == 1], weight_decay=0.0)], lr=LR),
            torch.optim.SGD([p["fc.weight"], p["fc.bias"]], lr=10 * LR, momentum=0.8, weight_decay=0.01)]


def adam_by_betas(p):
    """The first match wins; weights of layer1 keep the optimizer's betas."""
    own = ["layer1.0.bias"]
    slow = ["layer1.0.weight"]
    rest = [n for n in p if n not in own + slow]
    decay = lambda names: [dict(params=[p[n] for n in names if p[n].ndim > 1], weight_decay=0.3),
                           dict(params=[p[n] for n in names if p[n].ndim == 1], weight_decay=0.0)]
    return [torch.optim.Adam(decay(rest), lr=LR),
            torch.optim.Adam([p[n] for n in slow], lr=0.5 * LR, weight_decay=0.3),
            torch.optim.Adam([p[n] for n in own], lr=LR, betas=(0.5, 0.9), weight_decay=0.1)]


def lars_and_lamb(p):
    """With layer decay 0.5, layer1 has a quarter of the learning rate, layer2 half, aux and
    fc all."""
    scale = lambda n: 0.25 if n.startswith("layer1") else 0.5 if n.startswith("layer2") else 1
    group = lambda n, wd: dict(params=[p[n]], lr=LR * scale(n), weight_decay=wd if p[n].ndim > 1 else 0.0)
    lamb = [n for n in p if n.startswith("layer2.")]
    return [Lars([group(n, 0.3) for n in p if n not in lamb], lr=LR, momentum=0.9, nesterov=True, trust_coeff=0.2),
            Lamb([group(n, 0.3) for n in lamb], lr=LR, eps=1e-6, max_grad_norm=None)]


def num_losses(name, keys, weights, init, growth_interval, accumulate=1):
    params, x, y = start()
    first = {n: floats(p) for n, p in params.items()}
    opt = torch.optim.SGD(params.values(), lr=LR, momentum=0.9)
    scale, good, steps, skipped = [init, init], [0, 0], [], 0
    for i in range(STEPS * 2 // accumulate):
        total = {n: torch.zeros_like(p) for n, p in params.items()}
        overflow = [False, False]
        for k in range(2):  # one backward pass per loss, as amp.scale_loss(..., loss_id=k)
            got = {n: torch.zeros_like(p) for n, p in params.items()}
            for m in range(accumulate):
                for p in params.values():
                    p.grad = None
                loss = weights[k] * losses(params, x[i * accumulate + m], y[i * accumulate + m])[k]
                (loss * torch.tensor(scale[k] / accumulate, dtype=torch.float32)).backward()
                for n, p in params.items():
                    got[n] += p.grad if p.grad is not None else 0
            for n, g in got.items():
                overflow[k] |= not bool(torch.isfinite(g).all())
                total[n] += g / scale[k]
        for k in range(2):  # LossScaler.update_scale
            if overflow[k]:
                scale[k], good[k] = scale[k] / 2, 0
            else:
                good[k] += 1
                if good[k] == growth_interval:
                    scale[k], good[k] = scale[k] * 2, 0
        if any(overflow):
            skipped += 1
        else:
            for n, p in params.items():
                p.grad = total[n]
            opt.step()
        steps.append({n: floats(p) for n, p in params.items()} |
                     dict(scale=[math.log2(s) for s in scale], good=list(good), skipped=skipped))
    return dict(name=name, keys=keys, weights=weights, init=init, accumulate=accumulate, x=[floats(t) for t in x],
                labels=y.tolist(), start=first, step=steps, moments={}, ema={})


def main():
    sgd = ["TRAIN.OPTIMIZER.NAME", "sgd", "TRAIN.OPTIMIZER.NESTEROV", "False", "TRAIN.WEIGHT_DECAY", "0"]
    amp = ["AMP_ENABLE", "True", "AMP.DTYPE", "fp16", "AMP.NUM_LOSSES", "2"]
    cases = [
        groups("adamw, sgd of the head",
               ["TRAIN.OPTIMIZER.NAME", "adamw", "TRAIN.WEIGHT_DECAY", "0.3", "TRAIN.OPTIMIZER.GROUPS",
                "[{match: 'fc.*', name: sgd, lr_scale: 10, weight_decay: 0.01, momentum: 0.8, nesterov: False}]"],
               adamw_and_sgd),
        groups("adam, betas by pattern",
               ["TRAIN.OPTIMIZER.NAME", "adam", "TRAIN.WEIGHT_DECAY", "0.3", "TRAIN.OPTIMIZER.GROUPS",
                "[{match: 'layer1.*.weight', lr_scale: 0.5}, "
                "{match: 'layer1.*', betas: [0.5, 0.9], weight_decay: 0.1}]"], adam_by_betas),
        groups("lars, lamb of layer2, layer decay, clipped",
               ["TRAIN.OPTIMIZER.NAME", "lars", "TRAIN.OPTIMIZER.TRUST_COEFF", "0.2", "TRAIN.WEIGHT_DECAY", "0.3",
                "TRAIN.LAYER_DECAY", "0.5", "TRAIN.CLIP_GRAD", "0.5", "TRAIN.OPTIMIZER.GROUPS",
                "[{match: 'layer2.*', name: LAMB, eps: 1.0e-6}]"], lars_and_lamb, clip=0.5),
        # the second loss has weight 8: its gradients are infinite until its scale is 2^124
        num_losses("two scales", sgd + amp + ["AMP.GROWTH_INTERVAL", "4"],
                   [1 / 16, 8], 2.0 ** 126, 4),
        num_losses("two scales, two batches an update",
                   sgd + amp + ["AMP.GROWTH_INTERVAL", "3", "TRAIN.ACCUMULATION_STEPS", "2"], [1, 0.4], 1024.0, 3, accumulate=2),
    ]
    with open(f"{sys.argv[1]}/groups.json", "w") as f:
        json.dump(dict(lr=LR, case=cases), f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
