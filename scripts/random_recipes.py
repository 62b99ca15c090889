#!/usr/bin/env python3
"""Trains random recipes with trainc and with PyTorch and compares all results.

    scripts/random_recipes.py [--trainc ./trainc] [--device cpu] [--dir DIR] [FIRST [LAST]]

Recipe n is drawn with seed n: optimizer, schedule, warmup, accumulation, clipping,
smoothing, EMA, frozen layers, an interruption. Images are generated PNGs of the model's
size without augmentation, so both sides see the same pixels; both start from the same
weights. Compared are loss, learning rate, and gradient norm of each step, the scores of
each validation, and the weights, running statistics, EMAs, and moments at the end. PyTorch
trains in fp64 and in fp32: trainc may differ from fp64 by ten times the difference of
PyTorch's fp32, so a chaotic recipe proves little. A recipe that differs is repeated from up
to four other initial weights, and is BAD (exit code 1) only if it differs with all of them.
Needs torch, timm, safetensors, and Pillow.
"""
import argparse
import bisect
import copy
import fnmatch
import json
import math
import os
import random
import shutil
import subprocess
import sys

import numpy as np
import timm
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import load_file, save_file
from timm.scheduler import CosineLRScheduler, PolyLRScheduler

MODELS = ["test_resnet"] * 6 + ["resnet10t", "resnet18", "resnet18d", "seresnet18"]
MEAN, STD = (0.4, 0.45, 0.5), (0.25, 0.22, 0.28)
# The choices of TRAIN.FREEZE; most recipes freeze nothing.
FREEZE = [[], [], [], ["*.running_mean", "*.running_var"], ["layer1.*"], ["fc.bias"], ["*.bias"]]
TRIES = 5  # initial weights per recipe, at most


def draw(seed):
    r = random.Random(seed)
    c = dict(seed=seed, model=r.choice(MODELS), classes=r.choice([2, 3, 5, 7]), size=r.choice([32, 40]),
             batch=r.choice([3, 4, 8]), epochs=r.choice([2, 3, 4]), accumulate=r.choice([1, 1, 2, 3]))
    c["train"] = c["batch"] * r.randint(2, 6) + r.randint(0, c["batch"] - 1)
    c["train"], c["val"] = max(c["train"], c["classes"]), c["classes"] + r.randint(0, 9)
    c["warmup"] = r.choice([0, 0, 1])
    c["optimizer"] = r.choice(["sgd", "sgd", "adamw", "adam", "rmsprop"])
    c["lr"] = 10 ** (r.uniform(-3, -1.5) if c["optimizer"] == "sgd" else r.uniform(-4, -2.7))
    c["warmup_lr"], c["min_lr"] = c["lr"] * r.choice([0, 0.01, 0.3]), c["lr"] * r.choice([0, 0.01, 0.1])
    c["momentum"], c["nesterov"] = r.choice([0.0, 0.5, 0.9]), r.random() < 0.5
    c["betas"], c["alpha"] = [r.choice([0.8, 0.9]), r.choice([0.95, 0.999])], r.choice([0.9, 0.99])
    c["eps"] = r.choice([1e-8, 1e-6, 1e-3])
    c["decay"], c["decay_1d"] = r.choice([0.0, 1e-4, 0.05]), r.random() < 0.3
    c["clip_mode"] = r.choice(["norm", "value"])
    c["clip"] = r.choice([0.0, 0.3, 5.0]) * (1 if c["clip_mode"] == "norm" else 0.02)
    c["schedule"] = r.choice(["cosine", "linear", "step", "multistep", "poly"])
    c["prefix"], c["power"] = r.random() < 0.5, r.choice([0.9, 2.0])
    c["step_epochs"], c["step_rate"] = r.choice([1, 2]), r.choice([0.1, 0.5])
    c["multisteps"] = sorted(set(r.randint(max(1, c["warmup"]), c["epochs"]) for _ in range(2)))
    c["smoothing"] = r.choice([0.0, 0.1, 0.3])
    c["ema"], c["ema_decay"], c["ema_ramp"] = r.random() < 0.6, r.choice([0.5, 0.9, 0.99]), r.choice([0.0, 5.0])
    c["freeze"] = r.choice(FREEZE)
    c["stop"] = r.random() if r.random() < 0.4 else None
    c["threads"] = r.choice([1, 2])
    return c


def philox(seed, stream, step, element):
    """Philox (Salmon et al., SC 2011); src/base/philox.h defines the layout of the counter."""
    high, mask = step ^ stream << 56, 0xFFFFFFFF
    v = [element & mask, element >> 32, high & mask, high >> 32]
    k = [seed & mask, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * v[0], 0xCD9E8D57 * v[2]
        v = [q >> 32 ^ v[1] ^ k[0], q & mask, p >> 32 ^ v[3] ^ k[1], p & mask]
        k = [k[0] + 0x9E3779B9 & mask, k[1] + 0xBB67AE85 & mask]
    return v


def order(seed, epoch, n):
    """Returns the shuffled order: a permutation by eight Feistel rounds
    (src/dataset/sampler.c)."""
    half = 1
    while half < 31 and 1 << 2 * half < n:
        half += 1

    def scramble(v):
        left, right = v >> half, v & (1 << half) - 1
        for rnd in range(8):
            mixed = philox(seed, 1, epoch, right | rnd << 32)[0] & (1 << half) - 1
            left, right = right, left ^ mixed
        return left << half | right

    places = []
    for i in range(n):
        v = scramble(i)
        while v >= n:
            v = scramble(v)
        places.append(v)
    return places


def images(c, folder):
    """Writes root/{train,val}/CLASS/*.png; returns {split: (pixels, labels)} in file order."""
    g, sets = np.random.default_rng(c["seed"]), {}
    base = g.normal(0, 40, (c["classes"], 4, 4, 3))
    for split in ("train", "val"):
        more = g.integers(c["classes"], size=c[split] - c["classes"]).tolist()
        labels = sorted(list(range(c["classes"])) + more)
        pixels = []
        for i, label in enumerate(labels):
            x = np.kron(base[label], np.ones((c["size"] // 4, c["size"] // 4, 1)))
            x = (x + g.normal(128, 40, x.shape)).clip(0, 255).astype(np.uint8)
            path = f"{folder}/{split}/c{label}/{i:04d}.png"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Image.fromarray(x).save(path)
            pixels.append(torch.from_numpy(x).permute(2, 0, 1))
        sets[split] = torch.stack(pixels), torch.tensor(labels)
    return sets


def network(c, attempt):
    torch.manual_seed(c["seed"] + 1000003 * attempt)
    net = timm.create_model(c["model"], num_classes=c["classes"])
    for name, p in net.named_parameters():
        if p.ndim == 1:  # timm's ones and zeros would hide mistakes
            p.data = torch.rand_like(p) * 0.8 + 0.6 if name.endswith("weight") else torch.randn_like(p) * 0.1
    for name, b in net.named_buffers():
        if name.endswith("mean"):
            b.copy_(torch.randn_like(b) * 0.2)
        elif name.endswith("var"):
            b.copy_(torch.rand_like(b) + 0.5)
    return net


def rates(c, per_epoch):
    """Returns each step's learning rate from timm's schedulers or PyTorch's formulas."""
    total, warm = per_epoch * c["epochs"], per_epoch * c["warmup"]
    if c["schedule"] in ("cosine", "poly"):
        opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=c["lr"])
        rule = dict(t_initial=total - warm if c["prefix"] else total, lr_min=c["min_lr"], cycle_limit=1,
                    warmup_t=warm, warmup_lr_init=c["warmup_lr"], warmup_prefix=c["prefix"], t_in_epochs=False)
        s = CosineLRScheduler(opt, **rule)
        if c["schedule"] == "poly":
            s = PolyLRScheduler(opt, power=c["power"], **rule)
        out = []
        for t in range(total):
            s.step_update(t)
            out.append(opt.param_groups[0]["lr"])
        return out

    def at(t):
        if t < warm:
            return c["warmup_lr"] + t * (c["lr"] - c["warmup_lr"]) / warm
        if c["schedule"] == "linear":  # as in Swin: to a hundredth
            return c["lr"] * (1 - 0.99 * (t - warm) / (total - warm))
        if c["schedule"] == "step":
            return c["lr"] * c["step_rate"] ** (t // (c["step_epochs"] * per_epoch))
        return c["lr"] * c["step_rate"] ** bisect.bisect_right([m * per_epoch for m in c["multisteps"]], t)

    return [at(t) for t in range(total)]


def optimizer(c, groups):
    if c["optimizer"] == "sgd":
        return torch.optim.SGD(groups, lr=1, momentum=c["momentum"], nesterov=c["nesterov"] and c["momentum"] > 0)
    if c["optimizer"] == "rmsprop":
        return torch.optim.RMSprop(groups, lr=1, alpha=c["alpha"], eps=c["eps"], momentum=c["momentum"])
    kind = torch.optim.Adam if c["optimizer"] == "adam" else torch.optim.AdamW
    return kind(groups, lr=1, betas=c["betas"], eps=c["eps"])


def is_frozen(c, name):
    return any(fnmatch.fnmatchcase(name, p) for p in c["freeze"])


class Torch:
    """Trains in PyTorch; trainc must reproduce .update, .val, and .state."""

    def __init__(self, c, sets, net, dtype):
        self.c, self.dtype, self.net = c, dtype, copy.deepcopy(net).to(dtype)
        self.sets, self.update, self.val = sets, [], []
        self.batches = c["train"] // c["batch"]
        self.group = min(c["accumulate"], self.batches)
        self.per_epoch = -(-self.batches // self.group)
        self.rates = rates(c, self.per_epoch)
        decayed, plain = [], []
        for name, p in self.net.named_parameters():
            if is_frozen(c, name):
                p.requires_grad_(False)
            else:
                (plain if p.ndim <= 1 and not c["decay_1d"] else decayed).append(p)
        self.params = decayed + plain
        self.opt = optimizer(c, [dict(params=g, weight_decay=w) for g, w in ((decayed, c["decay"]), (plain, 0.0)) if g])
        self.ema_net = copy.deepcopy(self.net) if c["ema"] else None
        for epoch in range(c["epochs"]):
            self.epoch(epoch)
            self.val.append([self.scores(n) for n in (self.net, self.ema_net) if n])
        self.state = self.all_state()

    def images(self, x):
        mean, std = (torch.tensor(v, dtype=self.dtype).view(1, 3, 1, 1) for v in (MEAN, STD))
        return (x.to(self.dtype) / 255 - mean) / std

    def epoch(self, epoch):
        c, (x, y) = self.c, self.sets["train"]
        places = order(c["seed"], epoch, c["train"])
        self.net.train()
        for name, m in self.net.named_modules():
            if isinstance(m, torch.nn.BatchNorm2d) and is_frozen(c, name + ".running_mean"):
                m.eval()
        for first in range(0, self.batches, self.group):
            loss, count = 0, min(self.group, self.batches - first)
            self.opt.zero_grad()
            for b in range(first, first + count):
                at = torch.tensor(places[b * c["batch"]:(b + 1) * c["batch"]])
                part = F.cross_entropy(self.net(self.images(x[at])), y[at], label_smoothing=c["smoothing"]) / count
                part.backward()
                loss += part.item()
            self.step(loss)

    def step(self, loss):
        c, n = self.c, len(self.update)
        longest = c["clip"] if c["clip"] and c["clip_mode"] == "norm" else math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.params, longest)
        if c["clip"] and c["clip_mode"] == "value":
            torch.nn.utils.clip_grad_value_(self.params, c["clip"])
        for g in self.opt.param_groups:
            g["lr"] = self.rates[n]
        self.opt.step()
        self.update.append(dict(loss=loss, lr=self.rates[n], grad_norm=norm.item()))
        if self.ema_net:
            ramp = 1 - math.exp(-(n + 1) / c["ema_ramp"]) if c["ema_ramp"] else 1
            for ema, value in zip(self.ema_net.state_dict().values(), self.net.state_dict().values()):
                if ema.dtype.is_floating_point:
                    ema.lerp_(value, 1 - c["ema_decay"] * ramp)

    def scores(self, net):
        x, y = self.sets["val"]
        net.eval()
        with torch.no_grad():
            z = net(self.images(x))
        top5 = (z.topk(min(5, self.c["classes"]), 1)[1] == y[:, None]).any(1)
        percent = [100 * v.double().mean().item() for v in (z.argmax(1) == y, top5)]
        return dict(loss=F.cross_entropy(z, y).item(), top1=percent[0], top5=percent[1])

    def all_state(self):
        out = dict(self.net.state_dict())
        if self.ema_net:
            out.update({"ema." + k: v for k, v in self.ema_net.state_dict().items()})
        names = {p: name for name, p in self.net.named_parameters()}
        for p, s in self.opt.state.items():
            out.update({f"optimizer.{k}.{names[p]}": v for k, v in s.items() if torch.is_tensor(v) and v.ndim})
        return {k: v.double() for k, v in out.items() if not k.endswith("num_batches_tracked")}


def command(c, trainc, device, folder):
    keys = {
        "MODEL.TYPE": "resnet", "MODEL.NAME": c["model"], "MODEL.NUM_CLASSES": c["classes"],
        "MODEL.LABEL_SMOOTHING": c["smoothing"], "DATA.IMG_SIZE": c["size"], "DATA.BATCH_SIZE": c["batch"],
        "DATA.MEAN": list(MEAN), "DATA.STD": list(STD), "DATA.NUM_WORKERS": 1, "TEST.CROP": False,
        "AUG.CROP_MODE": "none", "AUG.HFLIP": 0.0, "AUG.COLOR_JITTER": 0.0, "AUG.AUTO_AUGMENT": "none",
        "AUG.REPROB": 0.0, "AUG.MIXUP": 0.0, "AUG.CUTMIX": 0.0, "MODEL.DROP_PATH_RATE": 0.0,
        "TRAIN.EPOCHS": c["epochs"], "TRAIN.WARMUP_EPOCHS": c["warmup"], "TRAIN.BASE_LR": c["lr"],
        "TRAIN.WARMUP_LR": c["warmup_lr"], "TRAIN.MIN_LR": c["min_lr"], "TRAIN.SCALE_LR": False,
        "TRAIN.WEIGHT_DECAY": c["decay"], "TRAIN.WEIGHT_DECAY_1D": c["decay_1d"],
        "TRAIN.CLIP_GRAD": c["clip"], "TRAIN.CLIP_MODE": c["clip_mode"],
        "TRAIN.ACCUMULATION_STEPS": c["accumulate"], "TRAIN.FREEZE": c["freeze"],
        "TRAIN.LR_SCHEDULER.NAME": c["schedule"], "TRAIN.LR_SCHEDULER.WARMUP_PREFIX": c["prefix"],
        "TRAIN.LR_SCHEDULER.DECAY_EPOCHS": c["step_epochs"], "TRAIN.LR_SCHEDULER.DECAY_RATE": c["step_rate"],
        "TRAIN.LR_SCHEDULER.GAMMA": c["step_rate"], "TRAIN.LR_SCHEDULER.POWER": c["power"],
        "TRAIN.LR_SCHEDULER.MULTISTEPS": c["multisteps"] if c["schedule"] == "multistep" else [],
        "TRAIN.OPTIMIZER.NAME": c["optimizer"], "TRAIN.OPTIMIZER.EPS": c["eps"],
        "TRAIN.OPTIMIZER.BETAS": c["betas"], "TRAIN.OPTIMIZER.MOMENTUM": c["momentum"],
        "TRAIN.OPTIMIZER.NESTEROV": c["nesterov"], "TRAIN.OPTIMIZER.ALPHA": c["alpha"],
        "TRAIN.EMA.ENABLE": c["ema"], "TRAIN.EMA.DECAY": c["ema_decay"], "TRAIN.EMA.RAMP_STEPS": c["ema_ramp"],
        "AMP_ENABLE": False, "PRINT_FREQ": 1, "SEED": c["seed"], "THREADS": c["threads"], "DEVICE": device,
        "LOG.TENSORBOARD": False,
    }
    flags = ["--data-path", folder + "/data", "--pretrained", folder + "/start.safetensors",
             "--output", folder + "/out", "--tag", "run"]
    return [trainc, "train", *flags, "--opts", *(str(v) for pair in keys.items() for v in pair)]


def train(argv):
    p = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    if p.returncode:
        sys.exit(p.stderr)


def differences(c, a, attempt):
    folder = os.path.join(a.dir, "recipe")
    shutil.rmtree(folder, ignore_errors=True)
    sets, net = images(c, folder + "/data"), network(c, attempt)
    save_file({k: v.contiguous() for k, v in net.state_dict().items()}, folder + "/start.safetensors")
    exact, single = (Torch(c, sets, net, t) for t in (torch.float64, torch.float32))
    argv, updates, out = command(c, os.path.abspath(a.trainc), a.device, folder), len(exact.update), []
    if c["stop"] is not None:
        train(argv + ["TRAIN.MAX_STEPS", str(1 + int(c["stop"] * (updates - 1)))])
    train(argv)
    run = f"{folder}/out/{c['model']}/run"
    lines = [json.loads(line) for line in open(run + "/metrics.jsonl")]
    update = {q["step"]: q for q in lines if q["kind"] == "train"}
    val = {q["step"]: q for q in lines if q["kind"] == "val"}
    if sorted(update) != list(range(1, updates + 1)):
        return [f"updates {sorted(update)}, not 1 to {updates}"]
    if not val.keys() >= {(e + 1) * exact.per_epoch for e in range(c["epochs"])}:  # more: where it was interrupted
        return [f"validations after {sorted(val)}"]

    def check(what, got, want, other, relative):
        if not abs(got - want) <= relative * abs(want) + 10 * abs(other - want) + 1e-12:
            out.append(f"{what}: {got}, PyTorch {want} (fp32 {other})")

    drift = dict.fromkeys(exact.update[0], 0.0)
    for i, (want, other) in enumerate(zip(exact.update, single.update)):
        for k in want:  # a difference persists in the weights, so the tolerance never shrinks
            drift[k] = max(drift[k], abs(other[k] - want[k]))
            relative = 1e-10 if k == "lr" else 2e-5 * (i + 1)
            check(f"update {i + 1} {k}", update[i + 1][k], want[k], want[k] + drift[k], relative)
    for e in range(c["epochs"]):
        for name, want, other in zip(("val_", "ema_"), exact.val[e], single.val[e]):
            got = val[(e + 1) * exact.per_epoch]
            check(f"epoch {e + 1} {name}loss", got[name + "loss"], want["loss"], other["loss"], 2e-4)
            for k in ("top1", "top5"):
                if want[k] == other[k]:
                    check(f"epoch {e + 1} {name}{k}", got[name + k], want[k], want[k], 1e-9)
    return out + differences_of_state(c, run, exact, single)


def differences_of_state(c, run, exact, single):
    got, out = load_file(run + "/last.safetensors"), []
    rms = lambda t: t.pow(2).mean().sqrt().item()
    for k, want in exact.state.items():
        if k not in got or got[k].shape != want.shape:
            out.append(f"{k}: missing or of another shape")
            continue
        error, other = rms(got[k].double() - want), rms(single.state[k] - want)
        if not error <= 2e-5 * rms(want) + 10 * other + 1e-12:
            out.append(f"{k}: {error:.3g} from PyTorch's, its fp32 {other:.3g}, of {rms(want):.3g}")
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trainc", default="./trainc")
    p.add_argument("--device", default="cpu")
    p.add_argument("--dir", default="/tmp/random_recipes", help="its folder recipe is emptied for each")
    p.add_argument("first", nargs="?", type=int, default=1)
    p.add_argument("last", nargs="?", type=int)
    a = p.parse_args()
    torch.set_num_threads(1)
    bad = 0
    for seed in range(a.first, (a.last or a.first) + 1):
        c = draw(seed)
        for attempt in range(TRIES):
            found = differences(c, a, attempt)
            if not found:
                break
        bad += bool(found)
        print(seed, "BAD" if found else "ok", attempt + 1, c["model"], c["optimizer"], c["schedule"], flush=True)
        for line in found[:12]:
            print("   ", line, flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
