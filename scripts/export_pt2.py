#!/usr/bin/env python3
"""Exports a network for trainc: docs/any-network.md.

    python3 -m pip install torch timm                  or torchvision, ...
    python3 scripts/export_pt2.py timm:starnet_s1 --pretrained
    python3 scripts/export_pt2.py net.py:MyNet --size 64 --classes 5 --pair
    trainc train --model MyNet.pt2 --model-eval MyNet_eval.pt2 --data-path photos

NET is timm:NAME, tv:NAME (torchvision), tvseg:NAME (torchvision's segmentation), smp:ARCHITECTURE
(segmentation_models_pytorch, on --encoder), hf:NAME (transformers: an image classifier or a network of
semantic segmentation), or FILE.py:CALLABLE, which returns a module; it is called with
num_classes=N if --classes is given. Writes NAME.pt2, in train mode, for any batch; with --pair
also NAME_eval.pt2, in eval mode, for networks that compute something else in it than dropout and
batch norms account for.
"""
import argparse
import importlib.util
import pathlib

import torch


class Only(torch.nn.Module):
    """A network with one of its outputs."""

    def __init__(self, net, output):
        super().__init__()
        self.net, self.output = net, output

    def forward(self, x):
        return self.net(x)[self.output]


def from_timm(name, args, classes):
    import timm
    net = timm.create_model(name, pretrained=args.pretrained, **classes)
    return net, net.pretrained_cfg.get("input_size", (3, 224, 224))[-1]


def from_torchvision(name, args, classes):
    import torchvision
    weights = "DEFAULT" if args.pretrained else None
    if name in ("googlenet", "inception_v3"):  # their auxiliary outputs cannot be exported
        net = torchvision.models.get_model(name, weights=weights, init_weights=weights is None,
                                           **(classes if weights is None else {}))
        net.aux_logits, net.aux1, net.aux2, net.AuxLogits = False, None, None, None
        if weights and classes:
            net.fc = torch.nn.Linear(net.fc.in_features, args.classes)
        return net, 299 if name == "inception_v3" else 224
    net = torchvision.models.get_model(name, weights=weights, **({} if weights else classes))
    return net, 224


def from_torchvision_segmentation(name, args, classes):
    import torchvision
    more = {"weights": "DEFAULT"} if args.pretrained else {"weights_backbone": None, **classes}
    net = torchvision.models.get_model(name, **more)
    net.aux_classifier = None
    return Only(net, "out"), 224


def from_smp(name, args, classes):
    import segmentation_models_pytorch as smp
    net = getattr(smp, name)(args.encoder, encoder_weights="imagenet" if args.pretrained else None,
                             **({"classes": args.classes} if classes else {}))
    return net, 224


def from_transformers(name, args, classes):
    import transformers
    config = transformers.AutoConfig.from_pretrained(name)
    if classes:
        config.num_labels = args.classes
    segment = any("Segmentation" in a for a in config.architectures or ())
    auto = (transformers.AutoModelForSemanticSegmentation if segment
            else transformers.AutoModelForImageClassification)
    net = (auto.from_pretrained(name, config=config, ignore_mismatched_sizes=True)
           if args.pretrained else auto.from_config(config))
    size = getattr(config, "image_size", 224)
    return Only(net, "logits"), size if isinstance(size, int) else size[0]


def from_file(path, name, classes):
    spec = importlib.util.spec_from_file_location("network", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)(**classes), 224


KINDS = dict(timm=from_timm, tv=from_torchvision, tvseg=from_torchvision_segmentation,
             smp=from_smp, hf=from_transformers)


def export(net, images, path):
    batch = torch.export.Dim("batch", max=1 << 20)
    with torch.no_grad():
        program = torch.export.export(net, (images,), strict=False, dynamic_shapes=({0: batch},))
    torch.export.save(program, path)
    print("wrote", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("net", metavar="NET", help="timm:NAME, tv:NAME, tvseg:NAME, smp:NAME, "
                        "hf:NAME, or FILE.py:CALLABLE")
    parser.add_argument("--out", metavar="FILE", help="default: NAME.pt2")
    parser.add_argument("--size", type=int, help="of the images in pixels; default: the network's")
    parser.add_argument("--channels", type=int, default=3, help="of the images (3)")
    parser.add_argument("--classes", type=int, help="default: the network's")
    parser.add_argument("--encoder", default="resnet34", help="of smp:NAME (resnet34)")
    parser.add_argument("--pretrained", action="store_true", help="with public weights")
    parser.add_argument("--pair", action="store_true",
                        help="also write NAME_eval.pt2, for trainc --model-eval")
    args = parser.parse_args()
    kind, _, name = args.net.rpartition(":") if args.net.count(":") else ("", "", args.net)
    classes = {"num_classes": args.classes} if args.classes else {}
    if kind in KINDS:
        net, size = KINDS[kind](name, args, classes)
    elif kind.endswith(".py"):
        net, size = from_file(kind, name, classes)
    else:
        parser.error(f"'{args.net}' is none of {', '.join(k + ':NAME' for k in KINDS)}, "
                     "and FILE.py:CALLABLE")
    size = args.size or size
    out = pathlib.Path(args.out or name.split("/")[-1] + ".pt2")
    images = torch.randn(2, args.channels, size, size)
    export(net.train(), images, out)
    if args.pair:
        export(net.eval(), images, out.with_name(out.stem + "_eval.pt2"))


if __name__ == "__main__":
    main()
