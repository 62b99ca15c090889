#!/usr/bin/env python3
"""Writes the golden file of tests/models/test_layers.c: the layer of each parameter.

    python3 -m pip install torch timm numpy
    python3 scripts/golden/layer_decay.py tests/golden/models

For each parameter of the models, it has the factor of the learning rate and whether weight
decay applies, from timm's param_groups_layer_decay. Names depend only on the depth, so the
models are narrow. Models that timm lacks have a group_matcher here.
"""
import json
import pathlib
import sys

import timm
import torch
from timm.optim import param_groups_layer_decay

import model_erfnet
import model_resnet
import model_transformer

DECAY = 0.75
NARROW = dict(embed_dim=12, num_heads=(1, 2, 3, 4))
MODELS = [
    ("resnet", "resnet26d", {}),
    ("resnet", "seresnet50", {}),
    ("swin", "swin_tiny_patch4_window7_224", NARROW),
    ("swinv2", "swinv2_tiny_window8_256", NARROW),
    ("vit", "vit_tiny_patch16_224", {}),
    ("vit", "deit_tiny_distilled_patch16_224", {}),
    ("vit", "vit_xsmall_patch16_clip_224", {}),
    ("vit", "test_vit2", {}),
    ("vit", "vit_base_patch32_siglip_256", dict(num_classes=10)),
    ("beit", "beit_base_patch16_224", {}),
    ("mixer", "resmlp_12_224", {}),
    ("vgg", "vgg11_bn", {}),
    ("densenet", "densenetblur121d", dict(growth_rate=8)),
    ("resnetv2", "resnetv2_18", {}),
    ("inception", "inception_v3", dict(aux_logits=True)),
    ("ghostnet", "ghostnet_050", {}),
    ("regnet", "regnety_002", {}),
    ("efficientnet", "test_efficientnet", {}),
    ("mobilenetv2", "mobilenetv2_035", {}),
    ("mobilenetv3", "mobilenetv3_small_050", {}),
    ("mobilenetv4", "mobilenetv4_conv_small_035", {}),
    ("convnext", "convnext_tiny", dict(dims=(8, 12, 16, 20))),
    ("convnext", "convnext_tiny_hnf", dict(dims=(8, 12, 16, 20))),
]


class SwinMlp(model_transformer.SwinMlp):
    def group_matcher(self, coarse=False):
        return timm.models.SwinTransformer.group_matcher(self, coarse)


def parameter(*dim):
    return torch.nn.Parameter(torch.zeros(dim))


def swin_moe():
    """timm's Swin-S with the parameters that Microsoft's Swin-MoE has in their place."""
    net = timm.create_model("swin_small_patch4_window7_224", **NARROW)
    nn = torch.nn
    for s, layer in enumerate(net.layers):
        for b, block in enumerate(layer.blocks):
            del block.attn.relative_position_bias_table
            block.attn.cpb_mlp = nn.Sequential(nn.Linear(2, 3), nn.ReLU(),
                                               nn.Linear(3, 2, bias=False))
            block.mlp.fc2.bias = None
            if b % 2 == 0 or s < 2:
                continue
            block.mlp = nn.Module()
            block.mlp._moe_layer = moe = nn.Module()
            moe.experts, gate = nn.Module(), nn.Module()
            for name, dim in (("batched_fc1_w", (2, 3, 4)), ("batched_fc2_w", (2, 3, 4)),
                              ("batched_fc1_bias", (2, 3)), ("batched_fc2_bias", (2, 4))):
                setattr(moe.experts, name, parameter(*dim))
            gate.wg = nn.Linear(4, 2, bias=False)
            moe.gates = nn.ModuleList([gate])
    never = {n for n, _ in net.named_parameters()
             if any(word in n for word in ("cpb_mlp", "fc1_bias", "fc2_bias"))}
    net.no_weight_decay = lambda: never
    return net


class ERFNet(model_erfnet.Net):
    def group_matcher(self, coarse=False):
        return dict(stem=r"^encoder\.initial_block", blocks=r"^encoder\.layers\.(\d+)",
                    decoder=r"^decoder\.layers\.(\d+)")


def entry(family, name, model):
    of = {id(p): n for n, p in model.named_parameters()}
    skip = model.no_weight_decay() if hasattr(model, "no_weight_decay") else ()
    groups = param_groups_layer_decay(model, weight_decay=1.0, no_weight_decay_list=skip,
                                      layer_decay=DECAY)
    found = {of[id(p)]: [g["lr_scale"], g["weight_decay"] > 0] for g in groups for p in g["params"]}
    return dict(family=family, name=name, parameters={n: found[n] for n in of.values()})


def main(folder):
    models = [entry(f, n, timm.create_model(n, **kw)) for f, n, kw in MODELS]
    models.append(entry("resnet", "resnet20", model_resnet.CifarNet(3, 10)))
    models.append(entry("swin_mlp", "swin_mlp_tiny_c12_patch4_window8_256",
                        SwinMlp(256, 4, 10, 12, (2, 2, 6, 2), (1, 2, 4, 8), 8)))
    models.append(entry("swin_moe", "swin_moe_small_patch4_window12_192_8expert_32gpu_22k",
                        swin_moe()))
    models.append(entry("erfnet", "erfnet", ERFNet(True)))
    path = pathlib.Path(folder) / "layer_decay.json"
    text = json.dumps(dict(decay=DECAY, models=models), separators=(",", ":"))
    path.write_text(text.replace('],"', '],\n"') + "\n")
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1])
