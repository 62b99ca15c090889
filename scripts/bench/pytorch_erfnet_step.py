#!/usr/bin/env python3
"""Times one training step of ERFNet in PyTorch on synthetic pixels: the counterpart of
`trainc bench`.

Forward, weighted cross-entropy with ignored pixels, backward, and Adam with coupled weight
decay, channels_last, 16-bit types by autocast (fp16 with a gradient scaler); eager or
compiled. Prints one line: images per second from the median step.

    pytorch_erfnet_step.py [--dtype fp32|bf16|fp16] [--mode eager|compiled] [--batch 4]
                           [--width 480] [--height 360] [--classes 12] [--seconds 5]
                           [--threads N] [--device cpu|cuda]
"""
import argparse
import statistics
import time

import torch
from torch.nn import functional as F

from pytorch_erfnet import ERFNet


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dtype", choices=("fp32", "bf16", "fp16"), default="fp32")
    p.add_argument("--mode", choices=("eager", "compiled"), default="eager")
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--width", type=int, default=480)
    p.add_argument("--height", type=int, default=360)
    p.add_argument("--classes", type=int, default=12)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    a = p.parse_args()

    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    cuda = a.device == "cuda"
    if cuda:
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    model = ERFNet(a.classes).to(a.device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, weight_decay=1e-4,
                                 fused=True if cuda else None)
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(a.dtype)
    scaler = torch.amp.GradScaler(a.device, enabled=a.dtype == "fp16")
    shape = (a.batch, a.height, a.width)
    pixels = torch.randint(0, 256, (*shape, 3), dtype=torch.uint8).to(a.device)
    flat = torch.arange(a.batch * a.height * a.width) // 16 % a.classes
    labels = flat.view(shape).to(torch.uint8).to(a.device)
    weight = torch.ones(a.classes, device=a.device)
    net = torch.compile(model, mode="max-autotune" if cuda else None) \
        if a.mode == "compiled" else model

    def step():
        x = (pixels.permute(0, 3, 1, 2).float() / 255).contiguous(
            memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(a.device, half, enabled=half is not None):
            z = net(x)
            loss = F.cross_entropy(z.float(), labels.long(), weight, ignore_index=255)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if cuda:
            torch.cuda.synchronize()

    for _ in range(3 if not cuda else 10):
        step()
    times, until = [], time.monotonic() + a.seconds
    while len(times) < 5 or time.monotonic() < until:
        began = time.monotonic()
        step()
        times.append(time.monotonic() - began)
    median = statistics.median(times)
    memory = f", {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB" if cuda else ""
    print(f"erfnet {a.dtype} {a.width}x{a.height} batch {a.batch} torch {torch.__version__} "
          f"{a.mode}: {a.batch / median:.2f} img/s, {median * 1e3:.2f} ms per step "
          f"(median of {len(times)}{memory})")


if __name__ == "__main__":
    main()
