#!/usr/bin/env python3
"""Estimates training speed on 8 to 4,096 GPUs from the program and a table of links.

    scripts/scale.py [--trainc ./trainc] [--device h200] [--check]

`trainc summary --world N --json -` gives the time at which each gradient bucket is ready
and the bytes to send, for a GPU that need not be in this machine. A bucket then takes

    t(B) = a8 + 2 (g - 1) / g * B / nvlink                          inside a node of g GPUs
         + 2 (m - 1) / m * (B / g) / nic + 2 ceil(log2 m) * hop      between m nodes

Buckets are sent one after another, each as soon as its last gradient is ready (a
hierarchical all-reduce as in NCCL: reduce-scatter in the node, all-reduce of each GPU's
share over its own network adapter, all-gather in the node). Link speeds are what NCCL
achieves, not nominal ones. All GPUs wait for the slowest: the time of a step without
communication varies by `jitter`, and the slowest of n takes (1 + jitter * sqrt(2 ln n)) of
it.

--check compares rates with published ones (MLPerf Training, closed division; MXNet, fp16).
Those trainers also load real data and use other kernels, so it compares the rate per GPU
relative to that of 8 GPUs at batch 400: once as above, and once with PER_KERNEL additional
seconds per kernel. PER_KERNEL is fitted to the row of 64 GPUs, so only the other rows test
it.
"""
import argparse
import json
import math
import subprocess
import sys

# Bytes per second and seconds. NVLink: nccl-tests, issues 212 and 272: bus bandwidth of 8 H100s,
# 370 GB/s with rings, 475 with NVLS; a8: a small all-reduce within a node. Network: one 400 Gb/s
# adapter per GPU, of which NCCL achieves 46 GB/s; hop: one tree stage between nodes, in either
# direction.
LINKS = {
    "NVLink + NDR InfiniBand": dict(gpus=8, nvlink=370e9, a8=12e-6, nic=46e9, hop=6e-6),
    "NVLink + 100 Gb/s Ethernet per node": dict(gpus=8, nvlink=370e9, a8=12e-6, nic=1.4e9, hop=25e-6),
}
JITTER = 0.01
PER_KERNEL = 5e-6

MODELS = {
    "ResNet-50": ("configs/resnet50.yaml", []),
    "Swin-B": ("configs/swin/swin_base_patch4_window7_224.yaml", []),
}

# GPUs, images per GPU, total images per second: results files of NVIDIA (eos) and Dell,
# mlcommons/training_results_v3.1 and _v4.0, */results/*/resnet, H100.
MLPERF = [
    (8, 400, 57_330, "v4.0 NVIDIA eos_ngc24.04"),
    (16, 200, 100_800, "v3.1 Dell"),
    (64, 50, 314_117, "v4.0 NVIDIA eos_ngc24.04"),
    (2528, 16, 6_890_000, "v4.0 NVIDIA eos"),
    (3584, 16, 10_100_000, "v4.0 NVIDIA eos; the batch is taken to be that of 2528"),
]


def program(trainc, device, model, batch):
    cfg, more = MODELS[model]
    command = [trainc, "summary", "--cfg", cfg, "--device", device, "--batch-size", str(batch),
               "--world", "2", "--json", "-", *more]
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode:
        sys.exit("scale.py: " + (out.stderr.strip().splitlines() or ["trainc failed"])[0])
    p = json.loads(out.stdout)
    if "step_seconds" not in p:
        sys.exit(f"scale.py: trainc knows no times of {device}")
    return p


def all_reduce(size, n, link):
    g = min(n, link["gpus"])
    m = (n + g - 1) // g
    t = link["a8"] + 2 * (g - 1) / g * size / link["nvlink"]
    if m > 1:
        t += 2 * (m - 1) / m * size / g / link["nic"] + 2 * math.ceil(math.log2(m)) * link["hop"]
    return t


def step(p, n, link, overlap=True, per_kernel=0.0):
    """Returns the seconds of a step on n GPUs."""
    slow = 1 + JITTER * math.sqrt(2 * math.log(n))
    slow *= 1 + per_kernel * len(p["claims"]) / p["step_seconds"]
    idle = 0.0
    for b in p["buckets"]:
        ready = b["ready_seconds"] if overlap else p["backward_seconds"]
        idle = max(idle, ready * slow) + all_reduce(b["bytes"], n, link)
    return p["step_seconds"] * slow + max(0.0, idle - p["backward_seconds"] * slow)


def table(trainc, device):
    sizes = [8, 16, 64, 256, 1024, 4096]
    for name, link in LINKS.items():
        print(f"\n{name}, {device}: efficiency of n GPUs against one, in percent\n")
        print("| model | images a GPU | " + " | ".join(map(str, sizes)) + " | without overlap, 4096 |")
        print("|---|---|" + "---|" * (len(sizes) + 1))
        for model in MODELS:
            for batch in (64, 128, 256):
                p = program(trainc, device, model, batch)
                one = p["step_seconds"]
                row = [f"{100 * one / step(p, n, link):.1f}" for n in sizes]
                row.append(f"{100 * one / step(p, sizes[-1], link, overlap=False):.1f}")
                print(f"| {model} | {batch} | " + " | ".join(row) + " |")


def check(trainc, device):
    link = LINKS["NVLink + NDR InfiniBand"]
    base = None
    print("\n| GPUs | images a GPU | published, images/s a GPU | share of 8 x 400 | model | "
          f"model, {1e6 * PER_KERNEL:g} us a kernel | source |")
    print("|---|---|---|---|---|---|---|")
    for n, batch, rate, source in MLPERF:
        p = program(trainc, device, "ResNet-50", batch)
        own = [batch / step(p, n, link, per_kernel=k) for k in (0, PER_KERNEL)]
        base = base or (rate / n, own)
        print(f"| {n} | {batch} | {rate / n:,.0f} | {100 * rate / n / base[0]:.1f} % | "
              + " | ".join(f"{100 * o / b:.1f} %" for o, b in zip(own, base[1])) + f" | {source} |")


def main():
    a = argparse.ArgumentParser(description="a model of training on many GPUs")
    a.add_argument("--trainc", default="./trainc")
    a.add_argument("--device", default="h200")
    a.add_argument("--check", action="store_true", help="compare with published rates")
    a = a.parse_args()
    (check if a.check else table)(a.trainc, a.device)


if __name__ == "__main__":
    main()
