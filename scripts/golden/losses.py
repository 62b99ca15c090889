#!/usr/bin/env python3
"""Writes the golden file of per-row losses: focal, Dice, OHEM, distillation, with their
gradients.

    scripts/golden/losses.py tests/golden/train

writes losses.json. Needs torch. Focal is torchvision's formula with softmax instead of
sigmoid, Dice is V-Net's, OHEM is BiSeNet's OhemCELoss, and distillation is DeiT's
DistillationLoss.
"""
import json
import sys

import torch
from torch.nn import functional as F

IGNORE = 255


def rows(z):
    """Reshapes logits [N,K] or [N,K,H,W] to [rows, K]."""
    return z if z.ndim == 2 else z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])


def targets(labels, classes, smoothing, lam):
    on = F.one_hot(labels.clamp(min=0), classes).double() * (1 - smoothing) + smoothing / classes
    if lam is None:
        return on
    return lam[:, None] * on + (1 - lam[:, None]) * on.flip(0)


def focal(z, labels, gamma=2.0, smoothing=0.0, lam=None):
    logp = F.log_softmax(rows(z), 1)
    y = labels.flatten()
    ok = (y >= 0) & (y != IGNORE)
    if lam is not None:
        ok &= ok.flip(0)
    t = targets(torch.where(ok, y, 0) if lam is None else y, z.shape[1], smoothing, lam)
    loss = -(t * (1 - logp.exp()) ** gamma * logp).sum(1)
    return loss[ok].mean()


def cross_entropy(z, labels, smoothing):
    return F.cross_entropy(z, labels, ignore_index=IGNORE, label_smoothing=smoothing)


def dice(z, labels, smooth=1.0, squared=False):
    p = rows(z).softmax(1)
    y = labels.flatten()
    p, y = p[y != IGNORE], F.one_hot(y[y != IGNORE], z.shape[1]).double()
    mass = (p * p if squared else p).sum(0) + y.sum(0)
    return 1 - ((2 * (p * y).sum(0) + smooth) / (mass + smooth)).mean()


def ohem(z, labels, thresh=0.7, min_share=0.0625):
    loss = F.cross_entropy(z, labels, ignore_index=IGNORE, reduction="none").flatten()
    cut = -torch.log(torch.tensor(thresh, dtype=torch.float64))
    least = max(int((labels != IGNORE).sum() * min_share), 1)
    hard = loss[loss > cut]
    if hard.numel() < least:
        hard, _ = loss[labels.flatten() != IGNORE].topk(least)
    return hard.mean()


def distill(z, labels, teacher=None, temperature=1.0, hard=False):
    y = labels.flatten()
    ok = (y >= 0) & (y != IGNORE)
    s, t = rows(z)[ok], rows(teacher)[ok]
    if hard:
        return F.cross_entropy(s, t.argmax(1))
    s, t = F.log_softmax(s / temperature, 1), F.log_softmax(t / temperature, 1)
    return F.kl_div(s, t, reduction="sum", log_target=True) * temperature ** 2 / s.numel()


def case(fn, z, labels, **more):
    z = z.clone().requires_grad_()
    value = fn(z, labels, **more)
    value.backward()
    told = {k: v.flatten().tolist() if torch.is_tensor(v) else v for k, v in more.items()}
    return {"loss_type": fn.__name__, "shape": list(z.shape),
            "logits": z.detach().flatten().tolist(), "labels": labels.flatten().tolist(),
            "loss": value.item(), "grad": z.grad.flatten().tolist(), **told}


def main():
    torch.manual_seed(7)

    def draw(*shape):
        return (torch.randn(*shape, dtype=torch.float64) * 2).float().double()

    images, labels = draw(5, 6), torch.tensor([3, 0, 5, -1, 2])
    lam = torch.tensor([0.75, 0.25, 1.0, 0.5, 0.125], dtype=torch.float64)
    pixels = draw(2, 5, 3, 4)
    images[1] += 100  # exp overflows in fp32
    images = images.float().double()
    maps = torch.randint(0, 5, (2, 3, 4))
    maps[0, 0, :3] = IGNORE
    few = torch.full((1, 2, 4), IGNORE)
    few[0, 0, 0], few[0, 1, 2] = 1, 2
    cases = [
        case(focal, images, labels), case(focal, images, labels, gamma=0.5, smoothing=0.1),
        case(focal, images, labels, gamma=0.0, smoothing=0.1, lam=lam),
        case(focal, images, labels.clamp(min=0), gamma=3.0, lam=lam),
        case(focal, pixels, maps, gamma=1.5),
        case(dice, pixels, maps), case(dice, pixels, maps, smooth=1e-3, squared=True),
        case(dice, draw(1, 4, 2, 4), few),
        case(ohem, pixels, maps), case(ohem, pixels, maps, thresh=0.02, min_share=0.5),
        case(ohem, pixels, maps, thresh=1e-4, min_share=0.0),
        case(ohem, draw(1, 4, 2, 4), few, thresh=1e-9, min_share=1.0),
        case(distill, images, labels, teacher=draw(5, 6)),
        case(distill, images, labels, teacher=draw(5, 6), temperature=3.0),
        case(distill, images, labels, teacher=draw(5, 6), hard=True),
        case(distill, pixels, maps, teacher=draw(2, 5, 3, 4), temperature=0.5),
        case(distill, pixels, maps, teacher=draw(2, 5, 3, 4), hard=True),
        case(cross_entropy, pixels, maps, smoothing=0.1),
        case(focal, pixels, maps, gamma=2.0, smoothing=0.3),
    ]
    with open(sys.argv[1] + "/losses.json", "w") as f:
        json.dump({"cases": cases}, f, allow_nan=False)
        f.write("\n")


main()
