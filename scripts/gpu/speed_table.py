#!/usr/bin/env python3
"""Prints the table of scripts/check_gpu.sh speed: speed_table.py FILE.jsonl.

A row of the file is {"model", "batch", "dtype", "what", "images_per_second"} and, if there
is no figure, "note". `what` is predicted, trainc, apart (with CUDNN.FUSE False),
folded (with MODEL.FOLD_BN auto), eager, or compiled (with max-autotune).
"""
import json
import sys


def figure(cell):
    if cell is None:
        return "-"
    return "%.1f" % cell["images_per_second"] if cell.get("images_per_second") else "-"


def main():
    rows = [json.loads(line) for line in open(sys.argv[1])]
    table = {}
    for r in rows:
        table.setdefault((r["model"], r["batch"], r["dtype"]), {})[r["what"]] = r
    form = "%-13s %6s %6s %11s %11s %11s %11s %11s %11s %12s %12s"
    print(form % ("img/s", "batch", "dtype", "predicted", "trainc", "apart", "folded", "eager", "compiled",
                  "of predicted", "of PyTorch's"))
    for (model, batch, dtype), cells in table.items():
        value = {w: c.get("images_per_second") for w, c in cells.items()}
        peer = max([value.get(w) or 0 for w in ("eager", "compiled")])
        ours, guess = value.get("trainc"), value.get("predicted")
        print(form % (model, batch, dtype, *(figure(cells.get(w)) for w in
                                             ("predicted", "trainc", "apart", "folded", "eager", "compiled")),
                      "%.0f %%" % (100 * ours / guess) if ours and guess else "-",
                      "%.2f x" % (ours / peer) if ours and peer else "-"))
    for note in dict.fromkeys(r["note"] for r in rows if r.get("note")):
        print(note)


main()
