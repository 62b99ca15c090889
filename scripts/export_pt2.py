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
batch norms account for. Auxiliary classifiers of torchvision's networks are exported, too, unless
--no-aux is given. With public weights, the archive also has their mean and standard deviation
and the class names, where the library tells them.
"""
import argparse
import importlib.util
import json
import pathlib

import torch


class Only(torch.nn.Module):
    """A network with one of its outputs."""

    def __init__(self, net, output):
        super().__init__()
        self.net, self.output = net, output

    def forward(self, x):
        return self.net(x)[self.output]


def without_names(net):
    """Makes a network return a plain tuple: PyTorch cannot save a named one."""
    forward = net.forward

    def plain(x):
        y = forward(x)
        return y if isinstance(y, torch.Tensor) else tuple(y)

    net.forward = plain


def prepared(mean, std, crop_pct=None, interpolation=None):
    """Returns the file "input": how images are prepared."""
    every = dict(mean=mean, std=std, crop_pct=crop_pct, interpolation=interpolation)
    return {k: list(v) if k in ("mean", "std") else v for k, v in every.items() if v is not None}


def from_timm(name, args, classes):
    import timm
    net = timm.create_model(name, pretrained=args.pretrained, **classes)
    cfg = timm.data.resolve_model_data_config(net)
    extra = {"input": prepared(cfg["mean"], cfg["std"], cfg["crop_pct"], cfg["interpolation"])}
    subset = timm.data.infer_imagenet_subset(net)
    if args.pretrained and subset and not classes:
        info = timm.data.ImageNetInfo(subset)
        extra["classes"] = [info.index_to_description(i) for i in range(info.num_classes())]
    return net, cfg["input_size"][-1], extra if args.pretrained else {}


def of_weights(name):
    """Returns the extra files of torchvision's weights."""
    import torchvision
    weights = torchvision.models.get_model_weights(name).DEFAULT
    t = weights.transforms()
    crop = min(t.crop_size[0] / t.resize_size[0], 1) if hasattr(t, "crop_size") else None
    return {"input": prepared(t.mean, t.std, crop, t.interpolation.value),
            "classes": list(weights.meta["categories"])}


def from_torchvision(name, args, classes):
    import torchvision
    size = 299 if name == "inception_v3" else 224
    auxiliary = {"aux_logits": True} if name in ("googlenet", "inception_v3") else {}
    more = {"init_weights": False} if auxiliary else {}
    if args.pretrained:
        net = torchvision.models.get_model(name, weights="DEFAULT", **auxiliary)
        if classes:
            raise SystemExit("--classes: public weights of torchvision have their own classes; "
                             "trainc train --num-classes N replaces the last layer")
    else:
        net = torchvision.models.get_model(name, weights=None, **auxiliary, **more, **classes)
    if auxiliary and args.no_aux:
        net.aux_logits, net.aux1, net.aux2, net.AuxLogits = False, None, None, None
    if auxiliary:
        without_names(net)
    return net, size, of_weights(name) if args.pretrained else {}


def from_torchvision_segmentation(name, args, classes):
    import torchvision
    more = {"weights_backbone": None, **classes}
    if not args.pretrained and not args.no_aux and not name.startswith("lraspp"):
        more["aux_loss"] = True
    net = torchvision.models.get_model(name, **({"weights": "DEFAULT"} if args.pretrained else more))
    if args.no_aux:
        net.aux_classifier = None
    return net, 224, of_weights(name) if args.pretrained else {}


def from_smp(name, args, classes):
    import segmentation_models_pytorch as smp
    net = getattr(smp, name)(args.encoder, encoder_weights="imagenet" if args.pretrained else None,
                             **({"classes": args.classes} if classes else {}))
    if not args.pretrained:
        return net, 224, {}
    p = smp.encoders.get_preprocessing_params(args.encoder, "imagenet")
    return net, 224, {"input": prepared(p["mean"], p["std"])}


def from_transformers(name, args, classes):
    import transformers
    config = transformers.AutoConfig.from_pretrained(name)
    names = [config.id2label[i] for i in sorted(config.id2label)]
    if classes:
        config.num_labels = args.classes
    segment = any("Segmentation" in a for a in config.architectures or ())
    auto = (transformers.AutoModelForSemanticSegmentation if segment
            else transformers.AutoModelForImageClassification)
    size = getattr(config, "image_size", 224)
    size = size if isinstance(size, int) else size[0]
    if not args.pretrained:
        return Only(auto.from_config(config), "logits"), size, {}
    net = auto.from_pretrained(name, config=config, ignore_mismatched_sizes=True)
    p = transformers.AutoImageProcessor.from_pretrained(name)
    extra = {"input": prepared(p.image_mean, p.image_std)}
    if not classes:
        extra["classes"] = names
    return Only(net, "logits"), size, extra


def from_file(path, name, classes):
    spec = importlib.util.spec_from_file_location("network", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)(**classes), 224, {}


KINDS = dict(timm=from_timm, tv=from_torchvision, tvseg=from_torchvision_segmentation,
             smp=from_smp, hf=from_transformers)


def export(net, images, path, extra):
    batch = torch.export.Dim("batch", max=1 << 20)
    with torch.no_grad():
        program = torch.export.export(net, (images,), strict=False, dynamic_shapes=({0: batch},))
    torch.export.save(program, path, extra_files={k: json.dumps(v) for k, v in extra.items()})
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
    parser.add_argument("--no-aux", action="store_true",
                        help="without auxiliary classifiers, which only training reads")
    parser.add_argument("--pair", action="store_true",
                        help="also write NAME_eval.pt2, for trainc --model-eval")
    args = parser.parse_args()
    kind, _, name = args.net.rpartition(":") if args.net.count(":") else ("", "", args.net)
    classes = {"num_classes": args.classes} if args.classes else {}
    if kind in KINDS:
        net, size, extra = KINDS[kind](name, args, classes)
    elif kind.endswith(".py"):
        net, size, extra = from_file(kind, name, classes)
    else:
        parser.error(f"unknown network '{args.net}': expected {', '.join(k + ':NAME' for k in KINDS)}, "
                     "or FILE.py:CALLABLE")
    size = args.size or size
    out = pathlib.Path(args.out or name.split("/")[-1] + ".pt2")
    images = torch.randn(2, args.channels, size, size)
    export(net.train(), images, out, extra)
    if args.pair:
        export(net.eval(), images, out.with_name(out.stem + "_eval.pt2"), extra)


if __name__ == "__main__":
    main()
