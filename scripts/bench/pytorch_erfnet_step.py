#!/usr/bin/env python3
"""Times one training step of ERFNet in PyTorch on synthetic pixels: the counterpart of
`trainc bench`.

Forward, weighted cross-entropy with ignored pixels, backward, and Adam with coupled weight
decay, channels_last, 16-bit types by autocast (fp16 with a gradient scaler); eager or
compiled, by default or with mode="max-autotune". On a GPU the host does not wait between
steps. Prints one line: images per second from the median step. With --seconds 0 it only
compiles, for a later call.

    pytorch_erfnet_step.py [--dtype fp32|bf16|fp16] [--mode eager|compiled|max-autotune] [--batch 4]
                           [--width 480] [--height 360] [--classes 12] [--seconds 5]
                           [--threads N] [--device cpu|cuda]
"""
import argparse
import statistics

import torch
from torch.nn import functional as F

from pytorch_erfnet import ERFNet
from pytorch_train_step import times_on_cpu, times_on_gpu


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dtype", choices=("fp32", "bf16", "fp16"), default="fp32")
    p.add_argument("--mode", choices=("eager", "compiled", "max-autotune"), default="eager")
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
    net = {"eager": lambda: model, "compiled": lambda: torch.compile(model),
           "max-autotune": lambda: torch.compile(model, mode="max-autotune")}[a.mode]()

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

    for _ in range(10 if cuda and a.seconds else 3):
        step()
    if cuda:
        torch.cuda.synchronize()
    if not a.seconds:
        print(f"erfnet {a.dtype} batch {a.batch} {a.mode}: compiled")
        return
    times = times_on_gpu(step, a.seconds) if cuda else times_on_cpu(step, a.seconds)
    median = statistics.median(times)
    memory = f", {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB" if cuda else ""
    print(f"erfnet {a.dtype} {a.width}x{a.height} batch {a.batch} torch {torch.__version__} "
          f"{a.mode}: {a.batch / median:.2f} img/s, {median * 1e3:.2f} ms per step "
          f"(median of {len(times)}{memory})")


if __name__ == "__main__":
    main()
