#!/usr/bin/env python3
"""Prints lower bounds and a prediction of a training step's time on an absent GPU.

  trainc summary --cfg configs/resnet50.yaml --device h200 --json s.json
  scripts/bench/gpu_floors.py s.json [--copy TB/s] [--peak TFLOP/s] [--launches N] [--list]

Prints one line per kernel: the number of nodes that use it, the bytes of tensors that they
read and write, the operations, both bounds (bytes over the copy rate, operations over the
peak), and the predicted time: for each node, the larger of bytes over 85 % of the copy rate
and operations over 55 % of the peak. --list prints each node. A prediction is not a
measurement.
"""
import argparse
import json

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("summary")
parser.add_argument("--copy", type=float, default=4.3, help="TB/s, read and written")
parser.add_argument("--peak", type=float, default=989, help="TFLOP/s of the type")
parser.add_argument("--share", type=float, default=0.55, help="of the peak, of products")
parser.add_argument("--good", type=float, default=0.85, help="of the copy, of the rest")
parser.add_argument("--launches", type=int, default=0, help="kernels of a captured step")
parser.add_argument("--gap", type=float, default=1.0, help="us between two kernels")
parser.add_argument("--list", action="store_true")
o = parser.parse_args()

with open(o.summary, encoding="utf-8") as f:
    s = json.load(f)

kernels = {}
for c in s["claims"]:
    moved, computed = c["bytes"] / o.copy / 1e9, c["flops"] / o.peak / 1e9  # ms
    guess = max(moved / o.good, computed / o.share)
    k = kernels.setdefault(c["kernel"], [0] * 6)
    for i, v in enumerate((1, c["bytes"], c["flops"], moved, computed, guess)):
        k[i] += v
    if o.list:
        print(f"{c['layer']:28} {c['kernel']:26} {c['bytes'] / 1e6:9.1f} MB "
              f"{c['flops'] / 1e9:9.1f} GFLOP {moved:7.3f} {computed:7.3f} {guess:7.3f} ms")

print("| kernel | steps | GB | GFLOP | bytes, ms | operations, ms | predicted, ms |")
print("|---|---|---|---|---|---|---|")
total = [sum(v) for v in zip(*kernels.values())]
for name, v in sorted(kernels.items(), key=lambda k: -k[1][5]) + [("together", total)]:
    print(f"| {name} | {v[0]} | {v[1] / 1e9:.2f} | {v[2] / 1e9:.0f} | {v[3]:.2f} "
          f"| {v[4]:.2f} | {v[5]:.2f} |")
gaps = o.launches * o.gap / 1e3
step = total[5] + gaps
print(f"\npredicted: {total[5]:.1f} ms of kernels + {gaps:.1f} ms between them = {step:.1f} ms "
      f"a step, {s['batch'] / step * 1e3:.0f} images/s")
floor = sum(max(c["bytes"] / o.copy, c["flops"] / o.peak) / 1e9 for c in s["claims"])
print(f"floor of these kernels: {floor:.1f} ms per step, {s['batch'] / floor * 1e3:.0f} images/s")
