#!/usr/bin/env python3
"""Exports networks, and writes how PyTorch trains them: the golden files of
tests/pt2/test_pt2_golden.c, and the same for a survey of larger networks.

    python3 -m pip install torch timm torchvision numpy
    python3 scripts/golden/pt2.py tests/golden/pt2                     the small ones
    python3 scripts/golden/pt2.py /tmp/survey timm:resnet10t tv:vgg11_bn ...

For each network it writes NAME.pt2, an archive of torch.export.save in train mode with a
symbolic batch, and NAME.json: the losses of three updates of SGD, the logits of the first and
of an evaluation after the last one, and for each tensor a digest of its gradient and of
its value after three updates (scripts/golden/model_resnet.py). The test trains the weights of
the archive. Dropout and drop path are off, because no two programs draw the same numbers.
"""
import copy
import gc
import json
import os
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from model_resnet import digest, hash32, uniform  # noqa: E402

STEPS = 3
SGD = dict(lr=1e-4, momentum=0.9, nesterov=True)  # the test has the same
DECAY = 0.05
BATCH = 4


class Residual(nn.Module):
    """A residual block with its activation in place, concatenation, and a gate."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, bias=False, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1, groups=2)
        self.gate = nn.Conv2d(6, 6, 1)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = F.relu_(self.bn1(self.conv1(x)))
        y = self.conv2(x) + x
        y = y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))
        return self.fc(torch.cat([F.max_pool2d(y, 2), F.avg_pool2d(x, 2)], 1).mean((2, 3)))


class Tokens(nn.Module):
    """A class token, positions, attention, and an MLP."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, 4)
        self.cls = nn.Parameter(torch.randn(1, 1, 8))
        self.pos = nn.Parameter(torch.randn(1, 5, 8))
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.proj = nn.Linear(8, 8)
        self.gamma = nn.Parameter(torch.ones(8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
        return self.head((x + F.gelu(self.proj(y)) * self.gamma)[:, 0])


class Moves(nn.Module):
    """What moves elements: flatten of an image, chunks, a channel shuffle, an upsampling."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.fc = nn.Linear(128, 5)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, 1)
        x = torch.cat([F.silu(a), F.hardswish(b)], 1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        x = F.interpolate(x, scale_factor=2, mode="nearest")[:, :, ::2, 1::2]
        return self.fc(x.flatten(1))


class General(nn.Module):
    """Products, softmax, attention with a bias, windows that are rolled, norms, padding."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2)
        self.q, self.kv = nn.Linear(8, 8), nn.Linear(8, 16)
        self.bias = nn.Parameter(torch.randn(1, 2, 16, 16))
        self.mix = nn.Parameter(torch.randn(2, 2))
        self.gain = nn.Parameter(torch.ones(1, 1, 1, 8))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.conv(F.pad(x, (1, 0, 1, 0))).permute(0, 2, 3, 1)  # [N, 4, 4, 8]
        x = torch.roll(x, (1, -1), (1, 2)) * self.gain
        n, h, w, c = x.shape
        t = x.reshape(n, 2, 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(n, 16, c)
        q = self.q(t).view(n, 16, 2, 4).transpose(1, 2)
        k, v = self.kv(t).view(n, 16, 2, 2, 4).permute(2, 0, 3, 1, 4)
        a = ((q * 0.5) @ k.transpose(-2, -1) + self.bias).softmax(-1)
        a = (a.permute(0, 2, 3, 1) @ self.mix).permute(0, 3, 1, 2)
        t = t + (a @ v).transpose(1, 2).reshape(n, 16, c)
        y = F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, attn_mask=self.bias)
        t = t + y.transpose(1, 2).flatten(2)
        return self.fc(t.sum(1) / t.norm(dim=1))


class Strides(nn.Module):
    """Parameters that are transposed, that start within a storage, and that share one."""

    def __init__(self):
        super().__init__()
        self.transposed = nn.Parameter(torch.randn(48, 5).t())
        storage = torch.randn(20)
        self.first = nn.Parameter(storage[2:7])
        self.every = nn.Parameter(storage[8::2][:5])

    def forward(self, x):
        x = F.linear(x.permute(0, 2, 3, 1).flatten(1), self.transposed, self.first)
        return x * torch.sigmoid(self.every)


class Tied(nn.Module):
    """Two names for the same weights."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(12, 12)
        self.b = nn.Linear(12, 12)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x.flatten(1)))


def small():
    yield "residual", Residual(), 8
    yield "tokens", Tokens(), 8
    yield "moves", Moves(), 8
    yield "general", General(), 8
    yield "strides", Strides(), 4
    yield "tied", Tied(), 2


def named(spec):
    """Returns the network KIND:NAME and the side of its images, SIDE if that is set, which
    networks of convolutions permit."""
    kind, name = spec.split(":")
    side = int(os.environ.get("SIDE", 0))
    if kind == "timm":
        import timm
        model = timm.create_model(name, num_classes=10)
        return model, side or model.pretrained_cfg.get("input_size", (3, 224, 224))[-1]
    if kind == "smp":
        import segmentation_models_pytorch as smp
        encoder = "mit_b0" if name == "Segformer" else "resnet18"
        return getattr(smp, name)(encoder, encoder_weights=None, classes=10), side or 128
    import torchvision
    if kind == "tvseg":
        return torchvision.models.get_model(name, weights=None, weights_backbone=None,
                                            num_classes=10), side or 128
    sides = {"inception_v3": 299, "swin_v2_t": 256}
    return (torchvision.models.get_model(name, weights=None, num_classes=10),
            side or sides.get(name, 224))


def calm(model):
    """Turns off what is random."""
    for m in model.modules():
        if isinstance(m, (nn.Dropout, nn.Dropout2d)):
            m.p = 0.0
        for name in ("drop_prob", "p"):
            if type(m).__name__ in ("DropPath", "StochasticDepth") and hasattr(m, name):
                setattr(m, name, 0.0)


def export(model, path, side):
    x = torch.randn(2, 3, side, side)
    with torch.no_grad():
        program = torch.export.export(
            model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
    for node in program.graph.nodes:  # most of a small file
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path)


def loss_of(logits):
    n = logits.shape[0] * logits.shape[2] * logits.shape[3] if logits.ndim == 4 else BATCH
    y = hash32(np.arange(n, dtype=np.uint32)) % np.uint32(logits.shape[1])
    y = torch.from_numpy(y.astype(np.int64))
    return F.cross_entropy(logits, y.reshape(logits.shape[0], *logits.shape[2:]))


def short(t):
    return [float(f"{v:.8g}") for v in t.detach().flatten().tolist()]


def digests(model):
    """Returns a digest of each gradient; parameters that are not used have none in PyTorch."""
    return {n: digest(n, p.grad if p.grad is not None else torch.zeros_like(p))
            for n, p in model.named_parameters()}


def train(model, side):
    """Returns the figures of three updates, in the type of the model's weights."""
    x = 2 * uniform("input0", BATCH * 3 * side * side).reshape(BATCH, 3, side, side)
    x = torch.from_numpy(x).to(next(model.parameters()).dtype)
    decays = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD([dict(params=decays, weight_decay=DECAY),
                                 dict(params=rest, weight_decay=0)], **SGD)
    out = dict(batch=BATCH, side=side, input=0, loss_sgd=[])
    out["start"] = {n: digest(n, t) for n, t in model.state_dict().items()
                    if t.is_floating_point()}
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(x)
        loss = loss_of(logits)
        loss.backward()
        if step == 0:
            out["classes"] = logits.shape[1]
            out["logits"] = short(logits if logits.ndim == 2 else logits[:, :, ::37, ::31])
            out["grad"] = digests(model)
        optimizer.step()
        out["loss_sgd"].append(loss.item())
    state = {n: t for n, t in model.state_dict().items() if t.is_floating_point()}
    buffers = dict(model.named_buffers())
    out["stats"] = {n: digest(n, t) for n, t in state.items() if n in buffers}
    out["sgd"] = {n: digest(n, t) for n, t in state.items()}
    model.eval()
    with torch.no_grad():
        logits = model(x)
    out["eval"] = short(logits if logits.ndim == 2 else logits[:, :, ::37, ::31])
    return out


def apart(got, want, sizes, floor):
    """Returns how far digests differ, as the test compares them."""
    worst = 0
    for name in want:
        w = np.array(want[name])
        scale = 5 * (np.abs(w) + w[0] / np.sqrt(sizes[name]))
        scale[0] = w[0]
        gap = np.maximum(np.abs(np.array(got[name]) - w) - floor, 0)
        worst = max(worst, (gap / (scale + floor)).max())
    return worst


def noise(out, exact, sizes):
    """Returns how far PyTorch's figures in fp32 are from those in fp64: a value that rounding
    moves over the kink of a ReLU changes more than rounding, and each update more still."""
    def vector(key):
        a, b = np.array(out[key]), np.array(exact[key])
        return np.abs(a - b).max() / np.abs(b).max()
    floor = 1e-6 * max(d[0] for d in exact["grad"].values())
    found = {key: vector(key) for key in ("logits", "eval")}
    found["grad"] = apart(out["grad"], exact["grad"], sizes, floor)
    for key in ("stats", "sgd"):
        found[key] = apart(out[key], exact[key], sizes, 1e-7)
    found = {key: float(f"{v:.3g}") for key, v in found.items()}
    found["loss"] = [float(f"{abs(a - b) / abs(b):.3g}")
                     for a, b in zip(out["loss_sgd"], exact["loss_sgd"])]
    return found


def write(folder, name, model, side):
    calm(model)
    model.train()
    path = folder / f"{name}.pt2"
    export(model, path, side)
    exact = copy.deepcopy(model).double()
    out = train(model, side)
    sizes = {n: t.numel() for n, t in model.state_dict().items()}
    out["noise"] = noise(out, train(exact, side), sizes)
    text = json.dumps(out, separators=(",", ":"))
    (folder / f"{name}.json").write_text(text.replace('],"', '],\n"') + "\n")
    print(path, path.stat().st_size, flush=True)


def main(folder, *names):
    torch.use_deterministic_algorithms(True, warn_only=True)
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    if not names:
        torch.manual_seed(0)
        for name, model, side in small():
            write(folder, name, model, side)
    for spec in names:
        torch.manual_seed(0)
        try:
            model, side = named(spec)
            write(folder, spec.replace(":", "_"), model, side)
        except Exception as e:
            print(f"{spec}: {type(e).__name__}: {str(e).splitlines()[0][:200]}", flush=True)
        gc.collect()


if __name__ == "__main__":
    main(*sys.argv[1:])
