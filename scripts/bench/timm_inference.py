#!/usr/bin/env python3
"""Times the forward pass of a model on random pixels, the counterpart of `trainc bench
--inference`: timm in PyTorch, eager or compiled, or an ONNX file in onnxruntime. The model
unet is the U-Net on ResNet-34 of segmentation_models_pytorch, at 256 pixels.

    timm_inference.py --model vit_small_patch16_224|unet [--dtype fp32|bf16] [--batch 8]
                      [--mode eager|compiled|onnxruntime] [--threads 2] [--seconds 3]
                      [--onnx FILE] [--save W.safetensors]

--save only writes random weights, from which `trainc export --onnx` makes the ONNX file.
Prints one line: images per second from the median pass.
"""
import argparse
import statistics
import time

import torch


def onnxruntime_pass(path, x, threads):
    import onnxruntime

    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, feed)


def build(name):
    if name == "unet":
        import segmentation_models_pytorch as smp
        return smp.Unet("resnet34", encoder_weights=None, classes=21)
    import timm
    return timm.create_model(name)


def torch_pass(a, x):
    model = build(a.model).eval()
    if a.save:
        import safetensors.torch

        safetensors.torch.save_file(model.state_dict(), a.save)
        return None
    net = torch.compile(model) if a.mode == "compiled" else model
    half = torch.autocast("cpu", torch.bfloat16, enabled=a.dtype == "bf16")

    def run():
        with torch.inference_mode(), half:
            net(x)

    return run


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", required=True)
    p.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    p.add_argument("--mode", choices=("eager", "compiled", "onnxruntime"), default="eager")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--onnx")
    p.add_argument("--save")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    size = 256 if a.model == "unet" else 224
    x = torch.randn(a.batch, 3, size, size)
    run = onnxruntime_pass(a.onnx, x, a.threads) if a.mode == "onnxruntime" \
        else torch_pass(a, x)
    if not run:
        return
    times, until = [], time.monotonic() + a.seconds
    for _ in range(3):
        run()
    while len(times) < 5 or time.monotonic() < until:
        began = time.monotonic()
        run()
        times.append(time.monotonic() - began)
    print(f"{a.model} {a.dtype} batch {a.batch} {a.mode}: "
          f"{a.batch / statistics.median(times):.1f} img/s (median of {len(times)})")


if __name__ == "__main__":
    main()
