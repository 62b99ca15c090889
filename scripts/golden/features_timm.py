#!/usr/bin/env python3
"""Compares trainc features with timm's features_only, at real sizes.

    python3 -m pip install torch timm numpy safetensors pillow
    python3 scripts/golden/features_timm.py ./trainc [MODEL[/OUTPUT_STRIDE]...]

Both read random weights from a safetensors file, and two noise images of the model's size,
so that nothing is resized. Compares names, shapes, reductions, and values of every stage:
the largest difference from timm's in fp64, over the largest value, must be at most 1e-5 more than
four times PyTorch's own in fp32.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.torch
import timm
import torch
from PIL import Image

MODELS = ("resnet18", "resnet50", "seresnet50", "resnet50d", "swin_tiny_patch4_window7_224",
          "swinv2_tiny_window8_256", "vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224",
          "test_vit2", "vit_xsmall_patch16_clip_224", "deit3_small_patch16_224",
          "vit_base_patch32_siglip_256", "beit_base_patch16_224", "mixer_s32_224", "gmixer_12_224", "resmlp_12_224", "gmlp_ti16_224",
          "convnext_tiny", "convnextv2_atto", "convnext_nano_ols",
          "vgg11", "vgg13_bn",
          "densenet121", "densenetblur121d", "inception_v3", "resnetv2_50", "resnetv2_50x1_bit", "resnetv2_18d", "ghostnet_100", "ghostnetv2_100", "regnety_002", "test_efficientnet", "efficientnet_b0", "tf_efficientnet_b1",
          "efficientnet_lite1", "tf_efficientnetv2_b2", "efficientnetv2_s",
          "mobilenetv2_050", "mobilenetv3_small_100", "tf_mobilenetv3_large_100",
          "mobilenetv4_conv_small", "mobilenetv4_conv_medium",
          "resnet18/8", "resnet50/16", "resnet50d/8", "resnet18d/16", "seresnet50/8", "skresnet18/16", "ecaresnet50d/8",
          "resnetv2_50/8", "resnetv2_18d/16", "resnetaa34d/16", "regnety_002/8", "efficientnet_b0/16", "mobilenetv2_050/8")


def images(folder, side):
    rng = np.random.default_rng(0)
    names = []
    for i in range(2):
        coarse = rng.integers(0, 256, (side // 16, side // 16, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((side, side), Image.BILINEAR)
        names.append(str(folder / f"{i}.png"))
        image.save(names[-1])
    return names


def normalized(names, cfg):
    mean, std = (torch.tensor(cfg[k]).reshape(1, 3, 1, 1) for k in ("mean", "std"))
    x = np.stack([np.asarray(Image.open(n)) for n in names]).transpose(0, 3, 1, 2)
    return (torch.tensor(x) / 255 - mean) / std


def fill(model, x):
    """Sets random weights. The batch norms have the statistics of x, so that a deep net does not
    amplify rounding."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
        torch.nn.init.uniform_(norm.bias, -0.2, 0.2)
        norm.momentum = 1
    if norms:
        with torch.no_grad():
            model.train()(x)
    model.eval()


def check(trainc, name, indices):
    name, _, stride = name.partition("/")
    strides = {"output_stride": int(stride)} if stride else {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        torch.manual_seed(1)
        classes = timm.get_pretrained_cfg(name).num_classes or 1000  # SigLIP's weights have none
        model = timm.create_model(name, num_classes=classes)
        cfg = model.pretrained_cfg
        names = images(folder, cfg["input_size"][-1])
        x = normalized(names, cfg)
        fill(model, x)
        weights, out = folder / "w.safetensors", folder / "f.npz"
        safetensors.torch.save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                                    weights)
        features = timm.create_model(name, features_only=True, **strides,
                                     **({"out_indices": indices} if indices else {})).eval()
        state = model.state_dict()
        if hasattr(features, "model"):
            features.model.load_state_dict(state, strict=False)
        else:  # FeatureListNet renames layers.0 to layers_0
            own = features.state_dict()
            features.load_state_dict({k: state[k if k in state else k.replace("_", ".", 1)]
                                      for k in own})
        with torch.no_grad():
            single = features(x)
            want = features.double()(x.double())
        info = features.feature_info.get_dicts()
        side = cfg["input_size"][-1]
        run = [trainc, "features", "--model", name, "--weights", str(weights), "--out",
               str(out), "--img-size", str(side)]
        if indices:
            run += ["--out-indices", *map(str, indices)]
        run += ["--opts", "DATA.CROP_PCT", "1.0", "DATA.MEAN", json.dumps(cfg["mean"]),
                "DATA.STD", json.dumps(cfg["std"]), "LOG.LEVEL", "warning",
                *(["MODEL.OUTPUT_STRIDE", stride] if stride else []), "--", *names]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        got = np.load(out)
        assert [n for n in got.files if n != "files"] == [i["module"] for i in info], got.files
        assert [n.decode() for n in got["files"]] == names
        worst = 0
        for i, w, s in zip(info, want, single):
            g, w, s = got[i["module"]], w.numpy(), s.numpy()
            assert g.shape == w.shape, (i, g.shape, w.shape)
            off, own = (np.abs(v - w).max() / np.abs(w).max() for v in (g, s))
            assert off <= 1e-5 + 4 * own, (name, i["module"], off, own)
            worst = max(worst, off)
        print(f"{name} {stride} {[i['module'] for i in info]}: {worst:.1e}")


def main(trainc, names):
    for name in names or MODELS:
        check(trainc, name, None)
        check(trainc, name, [0, 2])
        check(trainc, name, [-2])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
