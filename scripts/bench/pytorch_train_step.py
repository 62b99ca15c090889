#!/usr/bin/env python3
"""Times one training step in PyTorch on synthetic pixels: the counterpart of `trainc
bench`.

Forward, loss, backward, and the optimizer (SGD with Nesterov momentum; AdamW for timm's
models, whose attention is PyTorch's scaled_dot_product_attention, and for the U-Net on a
ResNet-34 of segmentation_models_pytorch, at 256 pixels), channels_last for
convolutional models, 16-bit types by autocast (fp16 with a gradient scaler); eager or
compiled, by default or with mode="max-autotune". On a GPU the host does not wait between
steps. Prints one line: images per second from the median step, and the peak memory of
the process or of the GPU. With --seconds 0 it only compiles: the caches of Inductor and
Triton (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR) then serve the next call. Without timm, Swin-T is torchvision's. KIND:NAME is a network of
scripts/pt2_nets.txt, with 10 classes and images of the size for which it was trained.

    pytorch_train_step.py --model resnet50|resnet20|unet|TIMM_MODEL|KIND:NAME [--dtype fp32|bf16|fp16]
                          [--batch N] [--mode eager|compiled|max-autotune] [--seconds 5]
                          [--threads 2]
                          [--device cpu|cuda]
"""
import argparse
import pathlib
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F

from pytorch_resnet20 import ResNet20


def transformer(name):
    try:
        import timm

        return timm.create_model(name)
    except ImportError:
        from torchvision.models import swin_t

        if not name.startswith("swin_tiny_patch4_window7_224"):
            raise
        print("no timm: torchvision's swin_t")
        return swin_t()


def times_on_cpu(step, seconds):
    times, until = [], time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < until:
        began = time.monotonic()
        step()
        times.append(time.monotonic() - began)
    return times


def times_on_gpu(step, seconds):
    """Events mark the steps, and the host waits once for each group of them."""
    GROUP = 10
    times, until = [], time.monotonic() + seconds
    while not times or time.monotonic() < until:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(GROUP + 1)]
        marks[0].record()
        for mark in marks[1:]:
            step()
            mark.record()
        torch.cuda.synchronize()
        times += [a.elapsed_time(b) / 1e3 for a, b in zip(marks, marks[1:])]
    return times


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", default="resnet50")
    p.add_argument("--dtype", choices=("fp32", "bf16", "fp16"), default="fp32")
    p.add_argument("--mode", choices=("eager", "compiled", "max-autotune"), default="eager")
    p.add_argument("--batch", type=int, default=0)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    a = p.parse_args()
    cuda = a.device == "cuda"

    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    if cuda:
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    if a.model == "resnet50":
        from torchvision.models import resnet50

        model, size, classes, batch = resnet50(), 224, 1000, a.batch or 16
    elif a.model == "resnet20":
        model, size, classes, batch = ResNet20(), 32, 10, a.batch or 128
    elif a.model == "unet":
        import segmentation_models_pytorch as smp

        model, size, classes, batch = smp.Unet("resnet34", encoder_weights=None,
                                               classes=21), 256, 21, a.batch or 8
    elif ":" in a.model:
        sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
        from pt2 import named

        model, size = named(a.model)
        classes, batch = 10, a.batch or 8
    else:
        model, size, classes, batch = transformer(a.model), 224, 1000, a.batch or 8
    resnet = a.model.startswith("resnet")
    model = model.to(a.device, memory_format=torch.channels_last).train()
    decay = [w for w in model.parameters() if w.ndim > 1]
    rest = [w for w in model.parameters() if w.ndim <= 1]
    groups = [{"params": decay, "weight_decay": 1e-4}, {"params": rest, "weight_decay": 0}]
    if resnet:
        optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True,
                                    fused=True if cuda else None)
    else:
        optimizer = torch.optim.AdamW(groups, lr=1e-4, fused=True if cuda else None)
    pixels = torch.randint(0, 256, (batch, size, size, 3), dtype=torch.uint8).to(a.device)
    labels = torch.arange(batch) % classes
    if a.model == "unet":
        labels = torch.randint(classes, (batch, size, size))
    elif ":" in a.model:
        with torch.no_grad():
            out = model.eval()(torch.randn(1, 3, size, size, device=a.device)).shape
        model.train()
        labels = torch.randint(classes, (batch, *out[2:]))
    labels = labels.to(a.device)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1).to(a.device) * 255
    std = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1).to(a.device) * 255
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(a.dtype)
    scaler = torch.amp.GradScaler(a.device, enabled=a.dtype == "fp16")
    net = {"eager": lambda: model, "compiled": lambda: torch.compile(model),
           "max-autotune": lambda: torch.compile(model, mode="max-autotune")}[a.mode]()

    def step():
        x = ((pixels.permute(0, 3, 1, 2).float() - mean) / std).contiguous(
            memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(a.device, half, enabled=half is not None):
            loss = F.cross_entropy(net(x), labels, label_smoothing=0.1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(10 if cuda and a.seconds else 3):
        step()
    if cuda:
        torch.cuda.synchronize()
    if not a.seconds:
        print(f"{a.model} {a.dtype} batch {batch} {a.mode}: compiled")
        return
    times = times_on_gpu(step, a.seconds) if cuda else times_on_cpu(step, a.seconds)
    median = statistics.median(times)
    peak = torch.cuda.max_memory_allocated() / 2**30 if cuda else \
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{a.model} {a.dtype} batch {batch} torch {torch.__version__} {a.mode}: "
          f"{batch / median:.1f} img/s, {median * 1e3:.2f} ms per step (median of {len(times)}), "
          f"peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()
