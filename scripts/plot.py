#!/usr/bin/env python3
"""Plots training runs as one SVG: loss on the left, accuracy on the right.

  plot.py [-o FILE.svg] [--title TEXT] RUN...

A RUN is a run's folder, its summary.csv, or its metrics.jsonl, optionally with a name:
"resnet20=output/resnet20/default". The default name is that of the folder. Losses and
accuracies from summary.csv (for segmentation val_acc, val_miou, ema_miou) are plotted
against the epoch, train_loss or loss from metrics.jsonl against the epoch or step. Colors
distinguish several runs, or the quantities of one run. Standard library only.
"""
import argparse
import csv
import json
import math
import os
import sys
from html import escape

# Okabe and Ito's colors, which color-blind people can distinguish.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666"]
QUANTITIES = {  # column: (panel, label, dash)
    "train_loss": ("loss", "training loss", "5 3"),
    "val_loss": ("loss", "validation loss", ""),
    "train_top1": ("top1", "training top-1", "5 3"),
    "val_top1": ("top1", "validation top-1", ""),
    "ema_top1": ("top1", "validation top-1, EMA", "1.5 2.5"),
    "val_acc": ("share", "validation pixel accuracy", "5 3"),
    "val_miou": ("share", "validation mIoU", ""),
    "ema_miou": ("share", "validation mIoU, EMA", "1.5 2.5"),
}
PANELS = {"loss": "loss", "top1": "top-1 accuracy (%)", "share": "mIoU, pixel accuracy"}
LARGEST = {"top1": 100, "share": 1}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 440, 300, 58, 40, 16, 46


def number(text):
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def rows_of(path):
    """Returns the rows of a log as dicts of numbers (None if empty, null, or not a number)."""
    with open(path, newline="", encoding="utf-8") as f:
        if path.endswith(".jsonl"):
            rows = [json.loads(line) for line in f if line.endswith("\n")]
        else:
            rows = list(csv.DictReader(f))
    return [{k: number(v) for k, v in row.items()} for row in rows]


def read_run(argument):
    """Returns (name, x label, {quantity: [(x, y), ...]})."""
    name, equals, path = argument.partition("=")
    if not equals:
        name, path = None, argument
    if os.path.isdir(path):
        path = os.path.join(path, "summary.csv")
    rows = rows_of(path)
    x_key = "epoch" if any(r.get("epoch") is not None for r in rows) else "step"
    curves = {}
    for row in rows:
        if path.endswith(".jsonl"):
            row.setdefault("train_loss", row.get("loss"))
        for quantity in QUANTITIES:
            if row.get(x_key) is not None and row.get(quantity) is not None:
                curves.setdefault(quantity, []).append((row[x_key], row[quantity]))
    if not curves:
        sys.exit(f"plot.py: '{path}' has no {x_key} with any of: {', '.join(QUANTITIES)}")
    if name is None:
        folders = os.path.abspath(path).split(os.sep)[:-1]
        name = folders[-2] if folders[-1] == "default" and len(folders) > 1 else folders[-1]
    return name, x_key, curves


def ticks(low, high, most=6):
    """Returns round numbers within [low, high]."""
    step = 10 ** math.floor(math.log10((high - low) / most))
    step *= next(f for f in (1, 2, 5, 10) if (high - low) / (f * step) <= most)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def limits(values, panel):
    low, high = min(values), max(values)
    if panel == "loss":
        ordered = sorted(values)
        high = min(high, 4 * ordered[len(ordered) // 2])  # a spike must not flatten the rest
        low = 0 if low < high / 3 else low
    pad = (high - low) * 0.05 or 0.5
    high = high + pad
    if panel in LARGEST and max(values) <= LARGEST[panel]:
        high = min(high, LARGEST[panel])
    return (0 if low == 0 else low - pad), max(high, low + 1e-9)


def text(x, y, what, size=11, anchor="middle", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
            f'{more}>{escape(what)}</text>')


def draw_axes(box, xlim, ylim, scale, labels):
    x0, y0, x1, y1 = box
    out = []
    for v in ticks(*ylim):
        y = scale(xlim[0], v)[1]
        out.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x1}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        out.append(text(x0 - 7, y + 4, f"{v:g}", anchor="end"))
    for v in ticks(*xlim, most=7):
        x = scale(v, ylim[0])[0]
        out.append(f'<line x1="{x:.1f}" y1="{y1}" x2="{x:.1f}" y2="{y1 + 4}" stroke="#444"/>')
        out.append(text(x, y1 + 17, f"{v:g}"))
    out.append(f'<path d="M{x0} {y0}V{y1}H{x1}" fill="none" stroke="#444"/>')
    out.append(text((x0 + x1) / 2, y1 + 36, labels[0], 12))
    middle = (y0 + y1) / 2
    out.append(text(x0 - 44, middle, labels[1], 12,
                    more=f' transform="rotate(-90 {x0 - 44} {middle:.1f})"'))
    return out


def draw_legend(box, entries, low):
    """Draws the legend where curves are rare: top right for losses, bottom right for
    accuracies."""
    x1, rows = box[2], len(entries)
    y = box[3] - 16 * rows - 2 if low else box[1] + 12
    width = 40 + 6.2 * max(len(label) for label, _, _ in entries)
    out = [f'<rect x="{x1 - width - 4:.1f}" y="{y - 12}" width="{width:.1f}" '
           f'height="{16 * rows + 4}" fill="#fff" fill-opacity="0.85"/>']
    for label, color, dash in entries:
        x = x1 - width
        out.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x + 24:.1f}" y2="{y}" '
                   f'stroke="{color}" stroke-width="1.8" stroke-dasharray="{dash}"/>')
        out.append(text(x + 30, y + 4, label, anchor="start"))
        y += 16
    return out


def draw_panel(panel, x_label, curves, clip):
    """Returns the SVG of a panel at the origin. curves: [(label, color, dash, points)]."""
    box = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    xs = [x for c in curves for x, _ in c[3]]
    xlim = (min(xs), max(max(xs), min(xs) + 1))
    ylim = limits([y for c in curves for _, y in c[3]], panel)

    def scale(x, y):
        return (box[0] + (x - xlim[0]) / (xlim[1] - xlim[0]) * (box[2] - box[0]),
                box[3] - (y - ylim[0]) / (ylim[1] - ylim[0]) * (box[3] - box[1]))

    out = draw_axes(box, xlim, ylim, scale, (x_label, PANELS[panel]))
    out.append(f'<clipPath id="{clip}"><rect x="{box[0]}" y="{box[1]}" '
               f'width="{box[2] - box[0]}" height="{box[3] - box[1]}"/></clipPath>'
               f'<g clip-path="url(#{clip})">')
    for _, color, dash, points in curves:
        path = " ".join("%.1f,%.1f" % scale(x, y) for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" '
                   f'stroke-width="1.8" stroke-linejoin="round" stroke-dasharray="{dash}"/>')
        if len(points) == 1:
            out.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>'
                       % (*scale(*points[0]), color))
    out.append("</g>")
    return out + draw_legend(box, [c[:3] for c in curves], panel in LARGEST)


def panel_curves(runs, panel):
    curves = []
    for i, (name, _, quantities) in enumerate(runs):
        for k, (quantity, (where, label, dash)) in enumerate(QUANTITIES.items()):
            if where != panel or quantity not in quantities:
                continue
            if len(runs) > 1:
                label, color = f"{name}: {label}", COLORS[i % len(COLORS)]
            else:
                color = COLORS[{"train_loss": 1, "train_top1": 1, "ema_top1": 2,
                                  "val_acc": 3, "ema_miou": 2}.get(quantity, 0)]
            curves.append((label, color, dash, quantities[quantity]))
    return curves


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="curves.svg")
    parser.add_argument("--title")
    parser.add_argument("run", nargs="+")
    args = parser.parse_args()
    try:
        runs = [read_run(a) for a in args.run]
    except (OSError, ValueError) as e:
        sys.exit(f"plot.py: {e}")
    panels = [(p, panel_curves(runs, p)) for p in PANELS]
    panels = [(p, c) for p, c in panels if c]
    total = WIDTH * len(panels)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{HEIGHT}" '
           f'viewBox="0 0 {total} {HEIGHT}" font-family="Helvetica, Arial, sans-serif" '
           f'fill="#222"><rect width="{total}" height="{HEIGHT}" fill="#fff"/>',
           text(total / 2, 22, args.title or ", ".join(r[0] for r in runs), 14)]
    for i, (panel, curves) in enumerate(panels):
        out.append(f'<g transform="translate({i * WIDTH} 0)">')
        out += draw_panel(panel, runs[0][1], curves, f"clip{i}")
        out.append("</g>")
    out.append("</svg>\n")
    with open(args.output, "w", encoding="utf-8") as f:
        f.write("\n".join(out))
    print(f"plot.py: wrote '{args.output}'")


if __name__ == "__main__":
    main()
