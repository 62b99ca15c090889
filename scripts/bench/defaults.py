#!/usr/bin/env python3
"""Compares trainc's defaults with other programs' defaults: runs that set no options.

    defaults.py --trainc ./trainc --out DIR DATA...        a row per data set and program
    defaults.py --out DIR --table                          the rows so far, as Markdown

DATA is NAME=FOLDER with train/CLASS/IMAGE and val/CLASS/IMAGE, `digits` (scikit-learn's),
or for segmentation NAME=FOLDER with train/images, train/labels, val/images, and val/labels
(and the lists train.txt and val.txt), where the accuracy is the mIoU. trainc's run is `trainc init FOLDER >x.yaml; trainc --cfg x.yaml` without
further options. Every other program then gets the same CPU time: the script times an epoch
and derives the number of epochs. It uses CPU time because wall time depends on the load of
the machine. A program whose first epoch takes 1.5 times that is stopped.

    timm         train.py of its repository (--timm FILE), --model resnet18
    ultralytics  classify, yolo11n-cls.yaml
    fastai       vision_learner(resnet18), aug_transforms(), fit_one_cycle; segmentation:
                 unet_learner(resnet34)

--programs selects the programs, --epochs shortens trainc's run, and --limit sets its CPU
seconds. All start from scratch. With --weights FILE, a state dict of akamaster's CIFAR ResNet-20, trainc runs
with `--pretrained FILE` and `--model resnet20`, and fastai fine-tunes the same model from
--net FILE (resnet.py of pytorch_resnet_cifar10) at 32 pixels; the others have no such
model. The table notes programs that are not installed. Rows are in DIR/rows.jsonl.
"""
import argparse
import csv
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def digits(folder):
    """Writes scikit-learn's digits as 8 x 8 PNGs; every tenth image of a class is for
    validation."""
    import numpy
    import PIL.Image
    import sklearn.datasets

    seen = {}
    data = sklearn.datasets.load_digits()
    for i, (image, label) in enumerate(zip(data.images, data.target)):
        n = seen[label] = seen.get(label, -1) + 1
        to = os.path.join(folder, "val" if n % 10 == 0 else "train", str(label))
        os.makedirs(to, exist_ok=True)
        pixels = (image * 255 / 16).round().astype(numpy.uint8)
        PIL.Image.fromarray(pixels).save(os.path.join(to, f"{i:04d}.png"))


class OutOfTime(RuntimeError):
    """A program used up its CPU time."""


def run(command, log, env=None, limit=None):
    """Runs a command; returns its output and CPU seconds, including its children's."""
    def cap():
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 10))

    with open(log, "w", encoding="utf-8") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                 env={**os.environ, **(env or {})}, preexec_fn=cap)
        _, status, usage = os.wait4(child.pid, 0)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        raise OutOfTime(f"{command[0]} used {limit:.0f} s of CPU time")
    if status:
        raise RuntimeError(f"{command[0]} failed, see {log}: {text[-300:]}")
    return usage.ru_utime + usage.ru_stime, text


def segmentation(folder):
    return os.path.isdir(os.path.join(folder, "train", "labels"))


def classes_of(folder):
    return len(os.listdir(os.path.join(folder, "train")))


def trainc(args, name, folder, out):
    recipe = os.path.join(out, "x.yaml")
    with open(recipe, "w", encoding="utf-8") as file:
        subprocess.run([args.trainc, "init", folder], stdout=file, check=True)
    tuned = ["--pretrained", args.weights, "--model", "resnet20", "--img-size", "32"] if args.weights else []
    if args.epochs:
        tuned += ["--epochs", str(args.epochs)]
    seconds, text = run([args.trainc, "--cfg", recipe, "--output", os.path.join(out, "runs"), *tuned],
                        os.path.join(out, "log"), limit=args.limit)
    best = [100 * float(x) for x in re.findall(r"Max mIoU: ([0-9.]+)", text)] if segmentation(folder) \
        else [float(x) for x in re.findall(r"Max accuracy: ([0-9.]+)%", text)]
    epochs = len(re.findall(r"^Max (?:accuracy|mIoU)", text, re.M))
    return {"seconds": seconds, "accuracy": best[-1], "epochs": epochs}


def in_time(seconds, once):
    """Calls once(epochs) -> (CPU seconds, accuracy) with as many epochs as fit, estimated
    from two short runs (which include the time outside of epochs)."""
    one, best = once(1, 1.5 * seconds)
    if one >= seconds:  # it gets one epoch, no matter how long that takes
        return {"seconds": one, "accuracy": best, "epochs": 1}
    two, _ = once(2)
    each = max(two - one, 0.05 * one)
    epochs = max(1, int((seconds - (one - each)) / each))
    used, best = once(epochs)
    return {"seconds": used, "accuracy": best, "epochs": epochs}


def timm(args, name, folder, out, seconds):
    if segmentation(folder):
        raise ImportError("it does not train segmentation")
    if args.weights:
        raise ImportError("it has no CIFAR ResNet-20")
    if not args.timm:
        raise ImportError("--timm is not given")

    def once(epochs, limit=None):
        command = [sys.executable, args.timm, "--data-dir", folder, "--model", "resnet18",
                   "--num-classes", str(classes_of(folder)), "--epochs", str(epochs),
                   "--device", "cpu", "--output", os.path.join(out, "runs"), "--workers", "1",
                   "--val-split", "val", "--experiment", str(epochs)]
        used, _ = run(command, os.path.join(out, f"log{epochs}"), limit=limit)
        with open(os.path.join(out, "runs", str(epochs), "summary.csv"), encoding="utf-8") as file:
            best = max(float(row["eval_top1"]) for row in csv.DictReader(file))
        return used, best

    return in_time(seconds, once)


def ultralytics(args, name, folder, out, seconds):
    import ultralytics as found

    if segmentation(folder):
        raise ImportError("it does not train on label maps")
    if args.weights:
        raise ImportError("it has no CIFAR ResNet-20")
    code = ("from ultralytics import YOLO; import sys; "
            "r = YOLO('yolo11n-cls.yaml').train(data=sys.argv[1], epochs=int(sys.argv[2]), "
            "device='cpu', project=sys.argv[3], exist_ok=True, workers=1, plots=False)")

    def once(epochs, limit=None):
        runs = os.path.join(out, f"runs{epochs}")
        used, _ = run([sys.executable, "-c", code, folder, str(epochs), runs],
                      os.path.join(out, f"log{epochs}"), {"YOLO_AUTOINSTALL": "false"}, limit)
        for root, _, files in os.walk(runs):
            if "results.csv" in files:
                with open(os.path.join(root, "results.csv"), encoding="utf-8") as file:
                    rows = [{k.strip(): v for k, v in r.items()} for r in csv.DictReader(file)]
                return used, max(100 * float(r["metrics/accuracy_top1"]) for r in rows)
        raise RuntimeError(f"no results.csv below {runs}")

    del found
    return in_time(seconds, once)


FASTAI = """
import sys
from fastai.vision.all import *
dls = ImageDataLoaders.from_folder(sys.argv[1], train='train', valid='val',
    item_tfms=Resize(224), batch_tfms=aug_transforms(), num_workers=0, device='cpu')
learn = vision_learner(dls, resnet18, metrics=accuracy, pretrained=False)
with learn.no_bar():
    learn.fit_one_cycle(int(sys.argv[2]))
print('best', max(v[2] for v in learn.recorder.values))
"""


FASTAI_TUNED = """
import importlib.util, sys
from fastai.vision.all import *
spec = importlib.util.spec_from_file_location('net', sys.argv[3])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
dls = ImageDataLoaders.from_folder(sys.argv[1], train='train', valid='val',
    item_tfms=Resize(32), batch_tfms=aug_transforms(), num_workers=0, device='cpu')
net = module.resnet20()
state = torch.load(sys.argv[4], map_location='cpu', weights_only=False)
state = state.get('state_dict', state)
net.load_state_dict({k.replace('module.', ''): v for k, v in state.items()})
net.linear = nn.Linear(64, dls.c)
split = lambda m: [[p for n, p in m.named_parameters() if 'linear' not in n], params(m.linear)]
learn = Learner(dls, net, metrics=accuracy, splitter=split)
with learn.no_bar():
    learn.fine_tune(int(sys.argv[2]))
print('best', max(v[2] for v in learn.recorder.values))
"""


FASTAI_MASKS = """
import sys
from fastai.vision.all import *
codes = range(int(sys.argv[3]))
files = L(get_image_files(sys.argv[1])).filter(lambda f: f.parent.name == 'images')
block = DataBlock(blocks=(ImageBlock, MaskBlock(list(codes))), get_items=lambda path: files,
    splitter=FuncSplitter(lambda f: f.parent.parent.name == 'val'),
    get_y=lambda f: f.parent.parent/'labels'/(f.stem + '.png'), batch_tfms=aug_transforms())
dls = block.dataloaders(sys.argv[1], bs=8, num_workers=0, device='cpu')
learn = unet_learner(dls, resnet34, metrics=JaccardCoeffMulti(), pretrained=False, n_out=len(codes))
with learn.no_bar():
    learn.fit_one_cycle(int(sys.argv[2]))
print('best', max(v[2] for v in learn.recorder.values))
"""


def labels_of(folder):
    """The largest label value + 1."""
    import numpy
    import PIL.Image

    labels = os.path.join(folder, "train", "labels")
    return 1 + max(int(numpy.max(PIL.Image.open(os.path.join(labels, f)))) for f in os.listdir(labels))


def fastai(args, name, folder, out, seconds):
    import fastai as found

    def once(epochs, limit=None):
        if segmentation(folder):
            code = [FASTAI_MASKS, folder, str(epochs), str(labels_of(folder))]
        elif args.weights:
            code = [FASTAI_TUNED, folder, str(epochs), args.net, args.weights]
        else:
            code = [FASTAI, folder, str(epochs)]
        used, text = run([sys.executable, "-c", *code],
                         os.path.join(out, f"log{epochs}"), limit=limit)
        return used, 100 * float(re.findall(r"^best ([0-9.e-]+)", text, re.M)[-1])

    del found
    return in_time(seconds, once)


OTHERS = {"timm": timm, "ultralytics": ultralytics, "fastai": fastai}


def rows_of(out):
    path = os.path.join(out, "rows.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def add_row(out, row):
    with open(os.path.join(out, "rows.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def table(out):
    rows = {}
    for row in rows_of(out):
        rows.setdefault(row["data"], {})[row["program"]] = row
    names = ["trainc", *OTHERS]
    print("| data | CPU time | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
    for data, found in rows.items():
        cells = []
        for name in names:
            row = found.get(name, {})
            cells.append(f"{row['accuracy']:.1f} % ({row['epochs']} epochs)"
                         if "accuracy" in row else row.get("why", "not measured"))
        seconds = found.get("trainc", {}).get("seconds")
        print(f"| {data} | {f'{seconds:.0f} s' if seconds else ''} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--trainc", default="./trainc")
    parser.add_argument("--out", required=True)
    parser.add_argument("--timm", help="train.py of timm's repository")
    parser.add_argument("--weights", help="state dict of akamaster's ResNet-20")
    parser.add_argument("--net", help="resnet.py of pytorch_resnet_cifar10")
    parser.add_argument("--programs", nargs="*", default=["trainc", *OTHERS])
    parser.add_argument("--limit", type=float, default=3600, help="CPU seconds of trainc's run")
    parser.add_argument("--epochs", type=int, help="of trainc's run")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for item in args.data:
        name, _, folder = item.partition("=")
        if name == "digits" and not folder:
            folder = os.path.join(args.out, "digits.data")
            if not os.path.exists(folder):
                digits(folder)
        folder = os.path.abspath(folder)
        done = {r["program"]: r for r in rows_of(args.out) if r["data"] == name}
        for program in args.programs:
            out = os.path.join(args.out, f"{name}.{program}")
            if program in done:
                continue
            os.makedirs(out, exist_ok=True)
            began = time.time()
            try:
                if program == "trainc":
                    row = trainc(args, name, folder, out)
                else:
                    row = OTHERS[program](args, name, folder, out, done["trainc"]["seconds"])
            except ImportError as why:
                row = {"why": f"not installed: {why}"}
            except OutOfTime:
                row = {"why": "less than an epoch"}
            except RuntimeError as why:
                print(why, file=sys.stderr)
                row = {"why": "failed"}
            row.update(data=name, program=program, clock=time.time() - began)
            done[program] = row
            add_row(args.out, row)
    if args.table:
        table(args.out)


if __name__ == "__main__":
    main()
