#!/usr/bin/env python3
"""Checks trainc's ONNX exports with onnx.checker, and their results with onnxruntime.

    make build/cc/tests/onnx/test_export
    scripts/check_onnx.py [--update] [NAME...]

Exports every model of tests/onnx/onnx_nets.c (default: the small ones) with its images and
the logits of trainc's CPU backend. The checker must pass with shape inference, and
onnxruntime must agree to 1e-5 of the largest logit, for all images as one batch and for the
first image only (8-bit models with trainc's reference to 2e-2, because a value near a
rounding boundary may round either way). --update then writes tests/golden/onnx/NAME.txt,
which the test of every build compares with.

Needs onnx and onnxruntime; no part of trainc does.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEST = ROOT / "build/cc/tests/onnx/test_export"
LIMIT = 1e-5
LIMIT_8_BITS = 0.02  # a value near a rounding boundary may round either way


def check(folder, name, limit):
    path = folder / f"{name}.onnx"
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    if name.endswith("_q"):  # unoptimized: there are no 8-bit operators with an int32 bias
        limit = LIMIT_8_BITS
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    images = np.fromfile(folder / f"{name}.images", np.float32).reshape([-1] + shape[1:])
    want = np.fromfile(folder / f"{name}.logits", np.float32)
    want = want.reshape([len(images)] + session.get_outputs()[0].shape[1:])
    worst = 0
    for n in (len(images), 1):
        got = session.run(None, {"input": images[:n]})[0]
        assert got.shape == want[:n].shape, (name, got.shape, want.shape)
        assert np.isfinite(got).all(), name
        worst = max(worst, np.abs(got - want[:n]).max() / np.abs(want).max())
    good = worst <= limit
    print(f"{name:40} {worst:.1e} {'' if good else 'WRONG'}", flush=True)
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--update", action="store_true", help="write the golden files")
    p.add_argument("name", nargs="*", help="these nets, large ones too")
    args = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        for name in args.name or [""]:
            subprocess.run([TEST, "--write", tmp] + [name] * bool(name), check=True, cwd=ROOT)
            for path in sorted(folder.glob("*.onnx")):
                good = check(folder, path.stem, LIMIT)
                bad += not good
                if args.update and good and not name:
                    shutil.copy(folder / f"{path.stem}.txt", ROOT / "tests/golden/onnx")
                path.unlink()
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
