#!/usr/bin/env python3
"""Does the work of timm's inference.py for scripts/bench/predict.sh: passes a folder of
JPEGs through timm's data loader and a model, with softmax and the top five classes.

    timm_predict.py DIR --model resnet18 --weights W.safetensors [--batch 32] [--workers 1]
    timm_predict.py --save W.safetensors --model resnet18      random weights, for both

Prints "timm N": images per second of wall time without startup.
"""
import argparse
import time

import safetensors.torch
import timm
import torch
from timm.data import create_dataset, create_loader, resolve_data_config


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir", nargs="?")
    p.add_argument("--model", default="resnet18")
    p.add_argument("--weights")
    p.add_argument("--save")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(a.threads)
    model = timm.create_model(a.model, pretrained=False).eval()
    if a.save:
        state = {k: v.contiguous() for k, v in model.state_dict().items()}
        safetensors.torch.save_file(state, a.save)
        return
    model.load_state_dict(safetensors.torch.load_file(a.weights))
    model = model.to(memory_format=torch.channels_last)
    config = resolve_data_config({}, model=model)
    loader = create_loader(create_dataset("", a.dir), batch_size=a.batch, use_prefetcher=False,
                           num_workers=a.workers, device=torch.device("cpu"), **{
                               k: config[k] for k in ("input_size", "interpolation", "mean",
                                                      "std", "crop_pct")})
    began, n = time.monotonic(), 0
    with torch.inference_mode():
        for x, _ in loader:
            x = x.contiguous(memory_format=torch.channels_last)
            model(x).softmax(-1).topk(5)
            n += len(x)
    print(f"timm {n / (time.monotonic() - began):.1f}")


if __name__ == "__main__":
    main()
