#!/usr/bin/env python3
"""Writes the result file of scripts/check_gpu.sh: result.py CHECK_DIR EMULATED FILE."""
import json
import os
import sys

LOG_BYTES = 60000  # end of an item's log


def text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def kept(path):
    try:
        return json.loads(text(path))
    except ValueError:
        return text(path)


def main():
    folder, emulated, out = sys.argv[1:4]
    items = []
    for line in text(os.path.join(folder, "items")).splitlines():
        name, state, seconds, detail = line.split("\t", 3)
        items.append({"name": name, "state": state, "seconds": int(seconds), "detail": detail,
                      "log": text(os.path.join(folder, "log", name))[-LOG_BYTES:]})
    count = {s: sum(i["state"] == s for i in items) for s in ("failed", "passed", "skipped")}
    rows = text(os.path.join(folder, "speed.jsonl")).splitlines()
    keep = os.path.join(folder, "keep")
    with open(out + ".new", "w") as f:
        json.dump({**count, "emulated": bool(emulated), "items": items,
                   "speed": [json.loads(r) for r in rows],
                   "files": {n: kept(os.path.join(keep, n)) for n in sorted(os.listdir(keep))}},
                  f, indent=1)
    os.replace(out + ".new", out)


main()
