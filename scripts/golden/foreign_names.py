#!/usr/bin/env python3
"""Writes tests/golden/names/*.txt: names and shapes of other projects' state dicts, from
each project's smallest model that trainc has. The first line has trainc's model and its
classes, then one line per tensor: NAME DIM...

    pip install open_clip_torch mmengine mmcv-lite mmpretrain efficientnet_lite_pytorch
    python3 scripts/golden/foreign_names.py DINO MAE SWIN CONVNEXT CONVNEXTV2 DEIT DINOV2 CIFAR

The arguments are checkouts of facebookresearch/dino, facebookresearch/mae,
microsoft/Swin-Transformer, facebookresearch/ConvNeXt,
facebookresearch/ConvNeXt-V2,
facebookresearch/deit, facebookresearch/dinov2, and akamaster/pytorch_resnet_cifar10;
"-" leaves the lists of a project unchanged.
"""
import contextlib
import importlib
import importlib.util
import pathlib
import re
import sys
from unittest import mock

import numpy
import torch

OUT = pathlib.Path("tests/golden/names")


def save(name, model, classes, state):
    lines = ["%s %d" % (model, classes)]
    lines += [" ".join([k] + [str(d) for d in v.shape]) for k, v in state.items()]
    (OUT / (name + ".txt")).write_text("\n".join(lines) + "\n")


@contextlib.contextmanager
def project(root):
    """Imports modules of a checkout by path, because none of them is a package."""
    sys.path.insert(0, root)
    before = set(sys.modules)

    def load(path):
        spec = importlib.util.spec_from_file_location("foreign", pathlib.Path(root) / path)
        module = sys.modules["foreign"] = importlib.util.module_from_spec(spec)  # timm looks for it there
        spec.loader.exec_module(module)
        return module

    yield load
    sys.path.remove(root)
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("utils", "util", "kernels"):
            del sys.modules[name]


def dino(root):
    with project(root) as load:
        vit = load("vision_transformer.py")
        head = {"head." + k: v for k, v in vit.DINOHead(192, 64).state_dict().items()}
        state = {"backbone." + k: v for k, v in vit.vit_tiny().state_dict().items()}
        save("dino_vit", "vit_tiny_patch16_224", 0, {**state, **head})
    import torchvision
    state = torchvision.models.resnet18().state_dict()
    state = {"backbone." + k: v for k, v in state.items() if not k.startswith("fc.")}
    save("dino_resnet", "resnet18", 0, {**state, **head})


def mae(root):
    import timm.models.vision_transformer as timm_vit
    block = timm_vit.Block
    numpy.float = float  # of old NumPy; timm dropped the argument below
    with mock.patch.object(timm_vit, "Block", lambda *a, qk_scale=None, **k: block(*a, **k)), project(root) as load:
        net = load("models_mae.py").MaskedAutoencoderViT(embed_dim=192, depth=12, num_heads=3, decoder_embed_dim=64,
                                                         decoder_depth=1, decoder_num_heads=2)
    save("mae_vit", "vit_tiny_patch16_224", 0, net.state_dict())


def microsoft(root):
    with project(root) as load:
        save("microsoft_swin", "swin_tiny_patch4_window7_224", 1000,
             load("models/swin_transformer.py").SwinTransformer().state_dict())
        save("microsoft_swinv2", "swinv2_tiny_window8_256", 1000,
             load("models/swin_transformer_v2.py").SwinTransformerV2(img_size=256, window_size=8).state_dict())


def facebook_convnext(root):
    with project(root) as load:
        save("facebook_convnext", "convnext_tiny", 1000, load("models/convnext.py").convnext_tiny().state_dict())


def facebook_convnextv2(root):
    sys.modules["MinkowskiEngine"] = mock.MagicMock()  # for pre-training alone
    with project(root):  # its modules import each other relatively
        net = importlib.import_module("models.convnextv2").convnextv2_atto()
    save("facebook_convnextv2", "convnextv2_atto", 1000, net.state_dict())


def deit(root):
    with project(root) as load:
        save("deit3", "deit3_small_patch16_224", 1000, load("models_v2.py").deit_small_patch16_LS().state_dict())


def dinov2(root):
    with project(root):
        from dinov2.models import vision_transformer as vit
    args = dict(img_size=518, patch_size=14, init_values=1e-5, block_chunks=0)
    save("dinov2", "vit_small_patch14_dinov2", 0, vit.vit_small(**args).state_dict())
    with torch.device("meta"):
        state = vit.vit_giant2(ffn_layer="swiglufused", **args).state_dict()
    save("dinov2_giant", "vit_giant_patch14_dinov2", 0, state)


def cifar(root):
    with project(root) as load:
        net = load("resnet.py").resnet20()
    save("cifar_resnet", "resnet20", 10, {"module." + k: v for k, v in net.state_dict().items()})


def torchvision():
    from torchvision import models
    for name, ours in (("swin_t", "swin_tiny_patch4_window7_224"), ("swin_v2_t", "swinv2_tiny_window8_256"),
                       ("convnext_tiny", "convnext_tiny"), ("vit_b_16", "vit_base_patch16_224"),
                       ("mobilenet_v2", "mobilenetv2_100"), ("efficientnet_b1", "efficientnet_b1"),
                       ("vgg11_bn", "vgg11_bn")):
        save("torchvision_" + name, ours, 1000, models.get_model(name).state_dict())
    # The published files have the names that torchvision replaces when it loads them.
    state = models.densenet121().state_dict()
    save("torchvision_densenet121", "densenet121", 1000,
         {re.sub(r"(layer\d+\.(?:norm|conv))([12])", r"\1.\2", k): v for k, v in state.items()})


def efficientnet_pytorch():
    from efficientnet_lite_pytorch import EfficientNet
    save("efficientnet_pytorch", "tf_efficientnet_b1", 1000, EfficientNet.from_name("efficientnet-b1").state_dict())


def open_clip():
    import open_clip
    state = open_clip.create_model("convnext_tiny").state_dict()
    tower = {k[len("visual."):]: v for k, v in state.items() if k.startswith("visual.")}
    save("open_clip_convnext", "convnext_tiny", 1024, {"visual." + k: v for k, v in tower.items()})
    save("open_clip_tower", "convnext_tiny", 1024, tower)
    net = open_clip.timm_model.TimmModel("vit_tiny_patch16_224", 64, proj="linear", pretrained=False)
    save("open_clip_vit", "vit_tiny_patch16_224", 64, {"visual." + k: v for k, v in net.state_dict().items()})
    net = open_clip.timm_model.TimmModel("vit_base_patch32_siglip_256", 0, pool="map", proj="none", pretrained=False)
    save("open_clip_siglip", "vit_base_patch32_siglip_256", 0, {"visual." + k: v for k, v in net.state_dict().items()})


def mmsegmentation():
    """FCN on ResNet-V1c, from the structure of mmseg's resnet.py and fcn_head.py; its stem is one Sequential."""
    import timm
    state = {}
    for k, v in timm.create_model("resnet50c").state_dict().items():
        k = re.sub("^bn1", "stem.7", re.sub("^conv1", "stem", k))
        if not k.startswith("fc."):
            state["backbone." + k] = v
    for head, width, inputs in (("decode_head", 512, 2048), ("auxiliary_head", 256, 1024)):
        state[head + ".conv_seg.weight"], state[head + ".conv_seg.bias"] = torch.zeros(19, width, 1, 1), torch.zeros(19)
        state[head + ".convs.0.conv.weight"] = torch.zeros(width, inputs, 3, 3)
        for name in ("weight", "bias", "running_mean", "running_var"):
            state[f"{head}.convs.0.bn.{name}"] = torch.zeros(width)
        state[head + ".convs.0.bn.num_batches_tracked"] = torch.tensor(0)
    save("openmmlab_seg_resnet_c", "resnet50c", 0, state)


def mmpretrain():
    for name in ("", ".load_model_index", ".models", ".models.Model", ".models.ModelIndex", ".models.ModelList"):
        sys.modules["modelindex" + name] = mock.MagicMock()  # lists of files to download
    from mmpretrain.models import build_classifier
    pool = {"neck": {"type": "GlobalAveragePooling"}}
    for name, ours, backbone, head, more in (
            ("vit", "vit_tiny_patch16_224", {"type": "VisionTransformer", "arch": "deit-t"}, "VisionTransformerClsHead", {}),
            ("deit", "deit_tiny_distilled_patch16_224", {"type": "DistilledVisionTransformer", "arch": "deit-tiny"},
             "DeiTClsHead", {}),
            ("convnext", "convnext_tiny", {"type": "ConvNeXt", "arch": "tiny"}, "LinearClsHead", {}),
            ("resnet", "resnet18", {"type": "ResNet", "depth": 18}, "LinearClsHead", pool),
            ("resnet_c", "resnet50c", {"type": "ResNetV1c", "depth": 50}, "LinearClsHead", pool),
            ("resnet_d", "resnet50d", {"type": "ResNetV1d", "depth": 50}, "LinearClsHead", pool),
            ("seresnet", "seresnet50", {"type": "SEResNet", "depth": 50}, "LinearClsHead", pool)):
        width = {"vit": 192, "deit": 192, "convnext": 768, "resnet": 512}.get(name, 2048)
        net = build_classifier({"type": "ImageClassifier", "backbone": backbone,
                                "head": {"type": head, "num_classes": 10, "in_channels": width}, **more})
        save("openmmlab_" + name, ours, 10, net.state_dict())


def main():
    OUT.mkdir(exist_ok=True)
    torchvision()
    efficientnet_pytorch()
    open_clip()
    mmsegmentation()
    mmpretrain()
    for make, root in zip((dino, mae, microsoft, facebook_convnext, facebook_convnextv2, deit, dinov2, cifar), sys.argv[1:]):
        if root != "-":  # last: Facebook's ConvNeXt replaces timm's in timm's registry
            make(root)


main()
