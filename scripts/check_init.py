#!/usr/bin/env python3
"""Compares the initial weights of trainc's models with timm, torchvision, and
segmentation_models_pytorch (smp): the standard deviation of every parameter, and its kurtosis,
which distinguishes uniform from normal distributions.

usage: check_init.py TRAINC [NAME...]

NAME is a model of timm, a net of torchvision, or NET:BACKBONE for a net of smp. Needs torch, timm, torchvision,
segmentation_models_pytorch, and safetensors. trainc makes one step with a learning rate of
1e-12. Prints the parameters that differ; the exit code is 1 if there are any.
"""
import glob
import os
import subprocess
import sys
import tempfile

from safetensors.torch import load_file

CLASSIFIERS = """efficientnet_b0 tf_efficientnetv2_s tf_efficientnet_lite0 mobilenetv2_100
mobilenetv3_large_100 mobilenetv4_conv_small regnetx_002 regnety_002 vgg11 vgg11_bn densenet121
convnext_tiny convnextv2_atto resnet18 resnet18d resnet50 ecaresnet26t skresnet18
resnetv2_50x1_bit ghostnet_100""".split()
SMP = {"unet": "Unet", "unetplusplus": "UnetPlusPlus", "deeplabv3": "DeepLabV3",
       "deeplabv3plus": "DeepLabV3Plus", "fpn": "FPN", "pspnet": "PSPNet", "upernet": "UPerNet",
       "segformer_b0": "Segformer"}
SMP_NAMES = [f"{n}:{'mit_b0' if n == 'segformer_b0' else 'resnet18'}" for n in SMP]
TORCHVISION = ["deeplabv3_resnet50", "fcn_resnet50"]
CLASSES, SMALLEST = 10, 300  # parameters with fewer values say too little about the spread


def other(name):
    net, _, backbone = name.partition(":")
    if backbone:
        import segmentation_models_pytorch as smp
        return getattr(smp, SMP[net])(backbone, encoder_weights=None, classes=CLASSES)
    if net in TORCHVISION:
        from torchvision.models import segmentation
        return getattr(segmentation, net)(weights=None, weights_backbone=None,
                                          num_classes=CLASSES, aux_loss=True)
    import timm
    return timm.create_model(name, num_classes=CLASSES)


def ours(trainc, name):
    net, _, backbone = name.partition(":")
    with tempfile.TemporaryDirectory() as out:
        command = [trainc, "--model", net, *(["--backbone", backbone] if backbone else []),
                   "--dataset", "synthetic", "--device", "cpu", "--batch-size", "2",
                   "--img-size", "64", "--output", out, "--max-steps", "1", "--lr", "1e-12",
                   "--num-classes", str(CLASSES), "--opts", "TRAIN.EMA.ENABLE", "False"]
        r = subprocess.run(command, capture_output=True, text=True, check=False)
        found = glob.glob(os.path.join(out, "*", "*", "last.safetensors"))
        if not found:
            sys.exit(f"{name}: {r.stderr.strip()[-300:]}")
        return load_file(found[0])


def spread(t):
    t = t.double()
    std = t.std().item()
    return std, ((t - t.mean()) ** 4).mean().item() / std ** 4 if std > 1e-9 else 0


def differs(a, b):
    """Describes how our parameter b differs from a library's a, or returns None."""
    if tuple(a.shape) != tuple(b.shape):
        return f"shape {tuple(b.shape)}, not {tuple(a.shape)}"
    if a.numel() > 1 and a.std() < 1e-6:
        close = (a.double() - b.double()).abs().max().item() < 1e-5
        return None if close else f"mean {b.double().mean():.3g}, not all {a.flatten()[0]:.3g}"
    if a.numel() < SMALLEST:
        return None
    (s, k), (t, m) = spread(a), spread(b)
    if not abs(t / s - 1) < 0.12:
        return f"standard deviation {t:.4g}, not {s:.4g}"
    # A few outliers of PyTorch's trunc_normal_() make kurtoses of any size.
    if k < 10 and a.numel() > 2000 and not abs(k - m) < 0.5:
        return f"kurtosis {m:.2f}, not {k:.2f}"
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    names = sys.argv[2:] or CLASSIFIERS + SMP_NAMES + TORCHVISION
    bad = 0
    for name in names:
        mine, lines = ours(sys.argv[1], name), []
        for key, value in other(name).state_dict().items():
            if not value.is_floating_point() or "running_" in key:
                continue
            got = mine.get("model." + key, mine.get(key))
            difference = "missing" if got is None else differs(value, got)
            lines += [f"  {key}: {difference}"] if difference else []
        print(f"{name}: {len(lines)} differ" if lines else f"{name}: the same", *lines,
              sep="\n", flush=True)
        bad += len(lines)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
