#!/usr/bin/env python3
"""Writes src/models/pretrained_table.inc: public data about the weights that the models' tags
name, from timm's registry. Run it where timm is installed, after tags or models were added:

    python3 -m pip install timm
    python3 scripts/pretrained_table.py results-imagenet.csv >src/models/pretrained_table.inc
    python3 scripts/pretrained_table.py --renamed >src/models/pretrained_renamed.c

results-imagenet.csv is in the folder `results` of timm's repository. URLs of files with
other formats or parameters (ViT's .npz files, the original ConvNeXt files, DINOv2's with registers, ResMLP's)
are omitted: these weights come only from the Hugging Face Hub. Accuracies are timm's results
for 50,000 images at the row's size and crop, or 0 if timm has none. --renamed writes the
table of timm's deprecated names.
"""
import csv
import pathlib
import re
import sys

from timm.models import get_pretrained_cfg
from timm.models._registry import get_deprecated_models

MODELS = pathlib.Path(__file__).parents[1] / "src" / "models"
FAMILIES = ("resnet_models.c", "swin.c", "swinv2.c", "vit_models.c", "convnext.c", "regnet.c",
            "efficientnet.c", "mobilenetv2.c", "mobilenetv3.c", "mobilenetv4.c", "vgg.c",
            "densenet.c", "inception.c", "resnetv2.c", "ghostnet.c", "mixer.c", "beit.c")
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
OPENAI = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
UNIT = ((0, 0, 0), (1, 1, 1))
NORMS = {IMAGENET: "IMAGENET", OPENAI: "OPENAI", HALF: "HALF", UNIT: "UNIT"}


def tags():
    """Yields name.tag for each row of the models' tables, in their order."""
    for family in FAMILIES:
        text = (MODELS / family).read_text()
        for name, row in re.findall(r"\{ROW\((\w+)\)(.*?)(?=\{ROW|\{\.name)", text, re.S):
            listed = re.search(r'TAGS ((?:"[^"]*"\s*)+)', row)
            for tag in "".join(re.findall(r'"([^"]*)"', listed[1])).split() if listed else ():
                yield f"{name}.{tag}"


def row(name, accuracy):
    c = get_pretrained_cfg(name)
    if c is None or not (c.hf_hub_id or c.url):
        raise SystemExit(f"{name}: not in timm's registry")
    url = c.url or ""
    if not url.endswith(".pth") or any(word in url for word in ("convnext", "reg4", "resmlp")):
        url = ""
    top = accuracy.get((name, c.input_size[-1], c.crop_pct), ("0", "0"))
    return (f'    {{"{name}", "{url}", "{c.license or ""}", {c.input_size[-1]}, {c.crop_pct}, '
            f'{c.num_classes}, {NORMS[tuple(c.mean), tuple(c.std)]}, '
            f'{str(c.interpolation == "bilinear").lower()}, '
            f'{str(c.crop_mode == "squash").lower()}, {top[0]}, {top[1]}}},')


def renamed():
    """Yields deprecated names of models in the table, except for an error in timm: three
    models of other widths that its list maps to resnext101_32x8d."""
    known = set(tags())
    for old, new in sorted(get_deprecated_models().items()):
        if new in known and not re.fullmatch(r"ig_resnext101_32x(16|32|48)d", old):
            yield f'    {{"{old}", "{new}"}},'


def print_renamed():
    print("""/* Made by scripts/pretrained_table.py --renamed: timm's deprecated names. */
#include "models/pretrained.h"

/* clang-format off */
const struct pretrained_renamed pretrained_renamed_table[] = {""")
    print("\n".join(renamed()))
    print("    {NULL, NULL},\n};\n/* clang-format on */")


def main():
    if sys.argv[1] == "--renamed":
        print_renamed()
        return
    with open(sys.argv[1]) as f:
        accuracy = {(r["model"], int(r["img_size"]), float(r["crop_pct"])): (r["top1"], r["top5"])
                    for r in csv.DictReader(f)}
    rows = [row(name, accuracy) for name in tags()]
    print("/* Made by scripts/pretrained_table.py: facts of timm's registry, a row for each tag. */")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
