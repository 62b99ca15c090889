#!/usr/bin/env python3
"""Writes the golden file of tests/models/test_stages.c: stages of small models from timm's
features_only, and the stages of ERFNet that the test names.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/features.py tests/golden/models/features.json

Weights and input are those of model_resnet.py. Each stage has a name, shape, reduction, and
digest: the L2 norm and six elements in timm's order.
"""
import json
import sys

import timm
import torch

import model_erfnet
import model_resnet as common

SWIN = dict(img_size=36, patch_size=2, embed_dim=16, depths=(2, 2, 2, 1),
            num_heads=(2, 2, 4, 8), window_size=4)
VIT = dict(img_size=20, patch_size=4, embed_dim=24, depth=4, num_heads=3)
# name: (timm's model, size, arguments). The test has the same models.
NETS = {
    "test_resnet": ("test_resnet", 48, {}),
    "swin": ("swin_tiny_patch4_window7_224", 36, SWIN),
    "swinv2": ("swinv2_tiny_window8_256", 36, SWIN),
    "vit": ("vit_tiny_patch16_224", 20, VIT),
    "deit": ("deit_tiny_distilled_patch16_224", 20, VIT),
    "vit_reg": ("vit_tiny_patch16_224", 20, dict(VIT, class_token=False, global_pool="avg",
                reg_tokens=3, no_embed_class=True, init_values=0.1)),
    "beit": ("beit_base_patch16_224", 20, VIT),
    "mixer_s16_224": ("mixer_s16_224", 48, dict(img_size=48)),
    "regnet": ("regnetx_002", 48, dict(depth=7, w0=8, wa=10, wm=2, group_size=8)),
    "vgg11_bn": ("vgg11_bn", 37, {}),
    "densenet": ("densenet121", 45, dict(growth_rate=8, block_config=(2, 1, 2, 1))),
    "resnetv2_18d": ("resnetv2_18d", 45, {}),
    "inception_v3": ("inception_v3", 83, {}),
    "ghostnet_050": ("ghostnet_050", 48, {}),
    "resnet18d/16": ("resnet18d", 48, dict(output_stride=16)),
    "resnetv2_18d/8": ("resnetv2_18d", 48, dict(output_stride=8)),
    "test_efficientnet": ("test_efficientnet", 48, {}),
    "convnext": ("convnext_tiny", 48, dict(depths=(1, 1, 2, 1), dims=(8, 16, 24, 32))),
}
ERFNET = {"encoder.initial_block": 2, "encoder.layers.5": 4, "encoder.layers.14": 8,
          "decoder.layers.2": 4, "decoder.layers.5": 2}


def plain(name):
    """Returns the classifier model's name for a parameter of the feature model."""
    name = name.removeprefix("model.")
    for word in ("layers", "stages", "features", "blocks"):
        if name.startswith(word + "_"):
            return name.replace("_", ".", 1)
    return name.replace("stem_", "stem.", 1) if name.startswith("stem_") else name


def reset(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(common.formula(plain(name), tuple(p.shape)))
        for name, buffer in model.named_buffers():
            if "running" in name:
                buffer.fill_(1 if name.endswith("running_var") else 0)


def stage(name, reduction, tensor):
    return dict(name=name, reduction=reduction, shape=list(tensor.shape),
                digest=common.digest(name, tensor))


def timm_net(name, side, args):
    model = timm.create_model(name, features_only=True, **args).eval()
    reset(model)
    with torch.no_grad():
        maps = model(common.pixels(2, side, 0))
    return dict(batch=2, side=side, input=0, first=model.feature_info.out_indices[0],
                stages=[stage(i["module"], i["reduction"], m)
                        for i, m in zip(model.feature_info.get_dicts(), maps)])


def erfnet(side):
    model = model_erfnet.Net(True).eval()
    reset(model)
    maps = {}
    for name, module in model.named_modules():
        if name in ERFNET:
            module.register_forward_hook(lambda m, i, o, name=name: maps.update({name: o}))
    with torch.no_grad():
        model(common.pixels(2, side, 0))
    return dict(batch=2, side=side, input=0, first=0,
                stages=[stage(n, r, maps[n]) for n, r in ERFNET.items()])


def main(path):
    out = {name: timm_net(*net) for name, net in NETS.items()}
    out["erfnet"] = erfnet(32)
    with open(path, "w") as f:
        f.write(json.dumps(out, separators=(",", ":")).replace('},{', '},\n{') + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
