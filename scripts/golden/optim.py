#!/usr/bin/env python3
"""Writes the golden files of the optimizers and schedules, from PyTorch and timm.

    scripts/golden/optim.py tests/golden/train

writes optim.json (a few steps of two small tensors, one with weight decay and one without),
schedule.json (learning rates at some steps), and plateau.json (learning rates of epochs).
Needs torch and timm.
"""
import json
import math
import os
import sys

import numpy as np
import torch
from timm.optim import Lamb, Lars, Lion
from timm.scheduler import CosineLRScheduler, PolyLRScheduler, PlateauLRScheduler, StepLRScheduler, create_scheduler_v2

STEPS = 5


def floats(t):
    return [float(f"{x:.9g}") for x in t.detach().flatten().tolist()]  # exact for fp32


CASES = [
    dict(name="sgd", op="sgd", momentum=0.0, nesterov=False, wd=0.0),
    dict(name="sgd momentum", op="sgd", momentum=0.9, nesterov=False, wd=5e-2),
    dict(name="sgd nesterov", op="sgd", momentum=0.9, nesterov=True, wd=5e-2),
    dict(name="sgd clip norm", op="sgd", momentum=0.9, nesterov=True, wd=5e-2, norm=0.7),
    dict(name="sgd clip value", op="sgd", momentum=0.9, nesterov=True, wd=0.0, value=0.3),
    dict(name="adam", op="adam", beta1=0.9, beta2=0.999, eps=1e-8, wd=5e-2),
    dict(name="adamw", op="adamw", beta1=0.9, beta2=0.95, eps=1e-6, wd=0.3),
    dict(name="adamw clip norm", op="adamw", beta1=0.9, beta2=0.999, eps=1e-8, wd=0.3, norm=1.0),
    dict(name="rmsprop", op="rmsprop", alpha=0.9, momentum=0.0, eps=1e-3, wd=5e-2),
    dict(name="rmsprop momentum", op="rmsprop", alpha=0.99, momentum=0.9, eps=1e-8, wd=0.0),
    dict(name="lion", op="lion", beta1=0.9, beta2=0.99, wd=0.3),
    dict(name="lion clip value", op="lion", beta1=0.95, beta2=0.98, wd=0.0, value=0.3),
    dict(name="lamb", op="lamb", beta1=0.9, beta2=0.999, eps=1e-6, wd=5e-2),
    dict(name="lamb max_grad_norm", op="lamb", beta1=0.8, beta2=0.95, eps=1e-2, wd=0.3, norm=1.0),
    dict(name="lamb clipped", op="lamb", beta1=0.9, beta2=0.999, eps=0.05, wd=5e-2, trust_clip=True,
         always_adapt=True),
    dict(name="lars", op="lars", momentum=0.9, nesterov=False, trust_coeff=0.3, eps=1e-8, wd=5e-2),
    dict(name="lars nesterov", op="lars", momentum=0.9, nesterov=True, trust_coeff=0.1, eps=0.1, wd=0.3,
         always_adapt=True, norm=2.0),
    dict(name="lars clipped", op="lars", momentum=0.0, nesterov=False, trust_coeff=0.07, eps=1e-8, wd=5e-2,
         trust_clip=True, always_adapt=True),
]


def optimizer(c, groups):
    if c["op"] == "sgd":
        return torch.optim.SGD(groups, momentum=c["momentum"], nesterov=c["nesterov"])
    if c["op"] in ("adam", "adamw"):
        kind = torch.optim.Adam if c["op"] == "adam" else torch.optim.AdamW
        return kind(groups, betas=(c["beta1"], c["beta2"]), eps=c["eps"])
    trust = dict(trust_clip=c.get("trust_clip", False), always_adapt=c.get("always_adapt", False))
    if c["op"] == "lamb":  # it clips gradients itself
        return Lamb(groups, betas=(c["beta1"], c["beta2"]), eps=c["eps"], max_grad_norm=c.get("norm"),
                    **trust)
    if c["op"] == "lars":
        return Lars(groups, momentum=c["momentum"], nesterov=c["nesterov"],
                    trust_coeff=c["trust_coeff"], eps=c["eps"], **trust)
    if c["op"] == "lion":
        return Lion(groups, betas=(c["beta1"], c["beta2"]))
    return torch.optim.RMSprop(groups, alpha=c["alpha"], momentum=c["momentum"], eps=c["eps"])


def moments(opt, p):
    keys = {"SGD": ["momentum_buffer"], "Adam": ["exp_avg", "exp_avg_sq"],
            "AdamW": ["exp_avg", "exp_avg_sq"],
            "RMSprop": ["momentum_buffer", "square_avg"], "Lion": ["exp_avg"],
            "Lamb": ["exp_avg", "exp_avg_sq"], "Lars": ["momentum_buffer"]}[type(opt).__name__]
    return [floats(opt.state[p][k]) if opt.state[p].get(k) is not None else None for k in keys]


def run(c):
    torch.manual_seed(3)
    decayed, plain = torch.randn(3, 4), torch.randn(5)
    out = dict(c, start=[floats(decayed), floats(plain)], step=[])
    params = [torch.nn.Parameter(decayed), torch.nn.Parameter(plain)]
    opt = optimizer(c, [dict(params=[params[0]], weight_decay=c["wd"], lr=0.1),
                        dict(params=[params[1]], weight_decay=0.0, lr=0.1)])
    for i in range(STEPS):
        lr = 0.1 / (1 + i)
        for g in opt.param_groups:
            g["lr"] = lr
        grads = [torch.randn_like(p) * (0.5 + i) for p in params]
        for p, g in zip(params, grads):
            p.grad = g.clone()
        if c.get("norm") and c["op"] != "lamb":
            torch.nn.utils.clip_grad_norm_(params, c["norm"])
        if c.get("value"):
            torch.nn.utils.clip_grad_value_(params, c["value"])
        opt.step()
        out["step"].append(dict(lr=lr, grad=[floats(g) for g in grads],
                                weight=[floats(p) for p in params],
                                moment=[moments(opt, p) for p in params]))
    return out


def timm_rates(make, base, at):
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)
    s = make(opt)
    rates = []
    for t in at:
        s.step_update(t)
        rates.append([t, opt.param_groups[0]["lr"]])
    return rates


def schedules():
    out = []
    at = [0, 1, 9, 10, 11, 25, 50, 70, 99, 100, 101, 150, 199, 200, 250]
    common = dict(base=0.4, warmup_start=1e-3, total=200, warmup=10)

    for prefix in (True, False):
        span = common["total"] - common["warmup"] * prefix
        kw = dict(t_initial=span, lr_min=1e-2, warmup_lr_init=1e-3, warmup_t=10,
                  cycle_limit=1, t_in_epochs=False, warmup_prefix=prefix)
        out.append(dict(common, kind="cosine", prefix=prefix, min=1e-2,
                        rates=timm_rates(lambda o: CosineLRScheduler(o, **kw), 0.4, at)))
        out.append(dict(common, kind="poly", prefix=prefix, min=1e-2, power=0.9,
                        rates=timm_rates(lambda o: PolyLRScheduler(o, power=0.9, **kw), 0.4, at)))
    kw = dict(decay_rate=0.3, warmup_lr_init=1e-3, warmup_t=10, t_in_epochs=False,
              warmup_prefix=False)
    out.append(dict(common, kind="step", every=50, rate=0.3,
                    rates=timm_rates(lambda o: StepLRScheduler(o, decay_t=50, **kw), 0.4, at)))
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    s, rates = torch.optim.lr_scheduler.MultiStepLR(opt, [70, 100], gamma=0.3), []
    for t in range(251):
        if t in at:
            rates.append([t, opt.param_groups[0]["lr"]])
        opt.step()
        s.step()
    out.append(dict(kind="multistep", base=0.4, total=200, warmup=0, milestones=[70, 100],
                    rate=0.3, rates=rates))
    for total, pct in ((200, 0.3), (37, 0.25), (200, 0.5)):
        opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
        s = torch.optim.lr_scheduler.OneCycleLR(opt, 0.4, total_steps=total, pct_start=pct,
                                                div_factor=10, final_div_factor=100)
        rates = []
        for t in range(total):
            if t % 7 in (0, 3) or t == total - 1:
                rates.append([t, opt.param_groups[0]["lr"]])
            opt.step()
            if t < total - 1:
                s.step()
        out.append(dict(kind="onecycle", base=0.4, total=total, pct_start=pct, div=10,
                        final_div=100, rates=rates))
    kw = dict(sched="constant", num_epochs=200, warmup_epochs=10, warmup_lr=1e-3,
              step_on_epochs=False, updates_per_epoch=1)
    out.append(dict(common, kind="constant",
                    rates=timm_rates(lambda o: create_scheduler_v2(o, **kw)[0], 0.4, at)))
    return out


def plateau():
    """Returns the learning rate of each epoch from timm's scheduler."""
    rng = np.random.default_rng(3)
    rising = [float(x) for x in 70 - 60 * 0.8 ** np.arange(40) + rng.normal(0, 1.5, 40)]
    flat = [50.0] * 5 + [50.004, 50.006, 50.02] + [math.nan] * 3 + [49.0] * 29
    out = []
    for scores, warmup, patience, rate, low in (
            (rising, 3, 2, 0.5, 1e-3), (rising, 0, 0, 0.3, 0.0), (flat, 0, 3, 0.1, 1e-4),
            (flat, 5, 1, 0.2, 0.0)):
        opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
        s = PlateauLRScheduler(opt, decay_rate=rate, patience_t=patience, warmup_t=warmup,
                               warmup_lr_init=1e-3, lr_min=low, mode="max")
        rates = []
        for epoch, score in enumerate(scores):
            rates.append(opt.param_groups[0]["lr"])
            s.step(epoch + 1, score)
        out.append(dict(base=0.4, warmup_start=1e-3, warmup=warmup, patience=patience,
                        rate=rate, min=low, rates=rates,
                        scores=[None if math.isnan(x) else x for x in scores]))
    return out


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, value in (("optim.json", [run(c) for c in CASES]), ("schedule.json", schedules()),
                        ("plateau.json", plateau())):
        with open(os.path.join(folder, name), "w") as f:
            json.dump(value, f, separators=(",", ":"))
            f.write("\n")


if __name__ == "__main__":
    main()
