"""Contents of a run's folder without times: two runs that learned the same have
the same state."""
import csv
import hashlib
import json
import os
import struct

TIMES = {"images_per_second", "data_share", "seconds", "img_s"}


def weights(path):
    """Returns a hash of all tensors and their layout, without the metadata, which contains
    times."""
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        header.pop("__metadata__", None)
        digest = hashlib.sha1(json.dumps(header, sort_keys=True).encode())
        for piece in iter(lambda: f.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def metrics(path):
    lines = []
    with open(path, "rb") as f:
        for text in f.read().split(b"\n")[:-1]:
            line = json.loads(text)
            lines.append(json.dumps({k: v for k, v in line.items() if k not in TIMES}, sort_keys=True))
    return sorted(lines)


def table(path, columns=None):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    return [{k: v for k, v in row.items() if k not in TIMES and (not columns or k in columns)} for row in rows]


def of_run(folder):
    s = {}
    for name in ("last", "best"):
        path = os.path.join(folder, name + ".safetensors")
        s[name] = weights(path) if os.path.exists(path) else None
    s["metrics"] = metrics(os.path.join(folder, "metrics.jsonl"))
    s["summary"] = table(os.path.join(folder, "summary.csv"))
    path = os.path.join(folder, "result.json")
    if os.path.exists(path):
        with open(path) as f:
            result = json.load(f)
        s["result"] = {k: result.get(k) for k in result if k in ("exit", "epochs", "steps") or k.startswith("best")}
    path = os.path.join(folder, "report", "confusion.csv")
    if os.path.exists(path):
        with open(path) as f:
            s["confusion"] = f.read()
    s["left"] = sorted(n for n in os.listdir(folder) if n.endswith(".tmp") or n.startswith("validate"))
    return s


def of_output(output):
    """Returns the state of all runs below a folder, by name."""
    s = {}
    for folder, _, names in os.walk(output):
        if "derived.yaml" in names:
            s[os.path.relpath(folder, output)] = of_run(folder)
    path = os.path.join(output, "sweep.csv")
    if os.path.exists(path):
        with open(path) as f:
            s["sweep.csv"] = [line.split(",")[:4] for line in f.read().splitlines()]
    return s


# Messages of a run that cannot write a file, and the parts that may then differ.
EXCUSES = {
    "lines are missing": {"metrics", "summary"},
    "log lines may be lost": {"metrics", "summary"},
    "cannot write": {"confusion", "result"},
    "checkpoint not saved": {"best", "result", "metrics", "summary"},  # background validation is impossible
    "checkpoint is not saved": {"best", "result"},
    "is not validated: cannot link": {"best", "result", "metrics", "summary"},
}


def excuses(text):
    """Returns the parts that may differ after a process with this log; never the last
    weights."""
    return set().union(*(parts for words, parts in EXCUSES.items() if words in text))


def difference(want, got, excused=()):
    """Returns a description of the first difference, or None. `excused`: parts that may
    differ."""
    if sorted(want) != sorted(got):
        return "other runs: %s, not %s" % (sorted(got), sorted(want))
    for run in want:
        if run == "sweep.csv":
            if want[run] != got[run] and "best" not in excused:
                return "sweep.csv: %s, not %s" % (got[run], want[run])
            continue
        for part in want[run]:
            a, b = want[run][part], got[run].get(part)
            if a == b or part in excused:
                continue
            if isinstance(a, list) and isinstance(b, list):
                missing = [x for x in a if a.count(x) > b.count(x)]
                more = [x for x in b if b.count(x) > a.count(x)]
                return "%s: %s: of %d, %d missing: %.300s, %d too many: %.300s" % (
                    run, part, len(a), len(missing), missing, len(more), more)
            return "%s: %s: %.200s, not %.200s" % (run, part, b, a)
    return None
