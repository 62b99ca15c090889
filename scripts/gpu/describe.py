#!/usr/bin/env python3
"""Prints the differences between this GPU's description and the built-in one of an H200,
and their effects.

describe.py DEVICES.json SUMMARY_REAL.json SUMMARY_DESCRIBED.json SUMMARY_H200.json

Fails if this GPU's description lacks a key of the built-in one (cuDNN would reject it for
this version), or if this is an H200 and the descriptions lead to different plans.
"""
import json
import sys


def load(path):
    with open(path) as f:
        return json.load(f)


def differences(name, a, b):
    """Prints differences between the claims of two summaries; returns their number."""
    def claims(s, with_detail):
        return [(c["phase"], c["layer"], c["kernel"], *c["ops"],
                 *([c.get("detail")] if with_detail else [])) for c in s["claims"]]
    regions = len(set(claims(a, False)) ^ set(claims(b, False)))
    engines = len(set(claims(a, True)) ^ set(claims(b, True)))
    print("%s: %d regions and %d engines differ; need %.1f and %.1f MiB" %
          (name, regions, engines, a["need_bytes"] / 2**20, b["need_bytes"] / 2**20))
    return regions, engines


def main():
    devices, real, described, h200 = map(load, sys.argv[1:5])
    cuda = next(d for d in devices["devices"] if d["name"] == "cuda")
    own = cuda["gpus"][0]["description"]
    known = cuda["described"]["h200"]
    missing = [k for k in known if k not in own]
    for k in sorted(set(known) | set(own)):
        if known.get(k) != own.get(k):
            print("%s: %s here, %s in h200" % (k, own.get(k), known.get(k)))
    by_text = differences("this GPU against its own description", real, described)
    by_name = differences("its description against h200", described, h200)
    print("%s: %d keys as h200's, %d others; by its description %d regions and %d engines "
          "differ, of h200 %d and %d" %
          (own["deviceName"], sum(known.get(k) == v for k, v in own.items()),
           sum(known.get(k) != v for k, v in own.items()), *by_text, *by_name)
          + (", missing: " + " ".join(missing) if missing else ""))
    return bool(missing) or "H200" in own["deviceName"] and by_name[0] > 0


sys.exit(main())
