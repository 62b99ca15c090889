#!/usr/bin/env python3
"""Writes the golden files of Swin-MoE for tests/models/test_transformer_golden.c, from Microsoft's
own code: models/swin_transformer_moe.py of Swin-Transformer, and Tutel.

    python3 -m pip install torch timm numpy
    git clone https://github.com/microsoft/Swin-Transformer swin
    git clone https://github.com/microsoft/tutel
    python3 scripts/golden/model_swin_moe.py tests/golden/models swin tutel
    python3 scripts/golden/model_swin_moe.py --counts swin tutel    rows of model_counts.inc

model_resnet.py computes weights, input, and digests; parameters have timm's names, as in trainc. The loss
is the sum of cross entropy and the balance loss. Tutel needs no compiler here: its kernels that
move rows of tokens are written below. The noise of the gates is trainc's (src/ops/add_noise.h).
Capacities are small, so tokens are dropped. Routing jumps where two scores are equal: the script
takes the first input whose results hardly change if it is scaled by a few rounding errors.
"""
import importlib.util
import json
import pathlib
import sys
import types

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import functional as F

import model_resnet as common
from model_counts import Counter
from model_transformer import ADAMW, DECAY, STEPS

SEED = 0
PHILOX_DROPOUT = 5
MASK = np.uint64(0xFFFFFFFF)
NEAR = (1e-6, -1e-6, 3e-6, -3e-6)


def philox(seed, stream, step, element):
    """src/base/philox.h for an array of elements."""
    element = np.asarray(element, np.uint64)
    high = step ^ stream << 56
    c = [element & MASK, element >> np.uint64(32), np.full_like(element, high & 0xFFFFFFFF),
         np.full_like(element, high >> 32)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p = [np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]]
        c = [p[1] >> np.uint64(32) ^ c[1] ^ np.uint64(key[0]), p[1] & MASK,
             p[0] >> np.uint64(32) ^ c[3] ^ np.uint64(key[1]), p[0] & MASK]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def normal(layer, step, shape):
    at = np.arange(int(np.prod(shape)), dtype=np.uint64)
    salt = (common.name_hash(layer) & 0x7FFFFFFF) << 32
    r = philox(SEED, PHILOX_DROPOUT, step, np.uint64(salt) ^ at // np.uint64(2))
    odd = at % np.uint64(2) == 1
    a, b = np.where(odd, r[2], r[0]), np.where(odd, r[3], r[1])
    u, t = (a + 1.0) / 2.0**32, b / 2.0**32
    x = np.sqrt(-2 * np.log(u)) * np.cos(6.283185307179586 * t)
    return torch.from_numpy(x.astype(np.float32).reshape(shape))


def move_rows(inputs, extra, kind):
    """Tutel's kernels for the CPU: to the slots, back, and the gradient of the gates."""
    gates, experts, places, rows, slots = inputs
    capacity, slots = extra[2], slots.view(-1, slots.shape[-1])
    taken = (places < capacity).nonzero().flatten()
    at = (experts.long() * capacity + places)[taken]
    if kind == 0:
        slots[at] = gates.flatten()[taken, None] * rows[taken]
    elif kind == 1:
        rows.zero_()
        rows[taken] = gates.flatten()[taken, None] * slots[at]
    else:
        gates.zero_()
        gates[taken] = (slots[at] * rows[taken]).sum(1)


def load(swin, tutel):
    kernel = types.ModuleType("tutel_custom_kernel")
    kernel.__file__ = "none"
    kernel.invoke_cpu_fp32 = move_rows
    sys.modules["tutel_custom_kernel"] = kernel
    torch.ops.load_library = lambda path: None
    sys.path.insert(0, tutel)
    path = pathlib.Path(swin) / "models" / "swin_transformer_moe.py"
    spec = importlib.util.spec_from_file_location("swin_transformer_moe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SwinTransformerMoE


def timm_name(name):
    part = name.split(".")
    if part[0] == "layers" and part[2] == "downsample":
        part[1] = str(int(part[1]) + 1)
    if part[0] == "head":
        part.insert(1, "fc")
    return ".".join(part)


# name: batch, classes, options. The test has the same.
NETS = {
    "swin_moe": (2, 5, dict(
        moe_blocks=[[1], [0, 1]], top_value=1, capacity_factor=1.0, use_bpr=True,
        is_gshard_loss=False, gate_noise=1.0, num_local_experts=4, aux_loss_weight=0.5)),
    "swin_moe_cosine": (2, 3, dict(
        moe_blocks=[[-1], [1]], top_value=2, capacity_factor=0.8, use_bpr=False,
        is_gshard_loss=True, gate_noise=0.0, num_local_experts=3, aux_loss_weight=0.25,
        cosine_router=True, cosine_router_dim=6, normalize_gate=True,
        pretrained_window_sizes=[3, 6])),
    "swin_moe_two": (3, 4, dict(
        moe_blocks=[[0], [1]], top_value=2, capacity_factor=0.6, use_bpr=True,
        is_gshard_loss=False, gate_noise=0.5, num_local_experts=5, aux_loss_weight=1.0)),
}


class Noise:
    """Replaces torch.randn_like while a net runs."""

    def __init__(self, model):
        self.step, self.layer = 0, None
        for name, m in model.named_modules():
            if type(m).__name__ == "MOELayer":
                m.register_forward_pre_hook(lambda m, a, name=name: self.enter(name))
        torch.randn_like = lambda x: normal(self.layer, self.step, tuple(x.shape))

    def enter(self, name):
        self.layer = f"{name}.gates.0.noise"


def golden(Net, batch, classes, options, number, scale):
    torch.manual_seed(0)
    model = Net(img_size=32, patch_size=2, num_classes=classes, embed_dim=16, depths=[2, 2],
                num_heads=[2, 4], window_size=4, drop_path_rate=0, **options).train()
    noise = Noise(model)
    x = scale * common.pixels(batch, 32, number)
    y = torch.from_numpy((common.hash32(np.arange(batch)) % np.uint32(classes)).astype(np.int64))
    named = [(timm_name(n), p) for n, p in model.named_parameters()]
    with torch.no_grad():
        for n, p in named:
            p.copy_(common.formula(n, tuple(p.shape)))
    words = model.no_weight_decay_keywords() | model.no_weight_decay()
    decays = lambda n, p: (p.ndim > 1 and not n.endswith(".bias")
                           and not any(word in n for word in words))
    optimizer = torch.optim.AdamW(
        [dict(params=[p for n, p in named if decays(n, p)], weight_decay=DECAY),
         dict(params=[p for n, p in named if not decays(n, p)], weight_decay=0)], **ADAMW)
    losses = []
    for noise.step in range(STEPS):
        optimizer.zero_grad()
        logits, balance = model(x)
        loss = F.cross_entropy(logits, y) + balance
        loss.backward()
        if not losses:
            first = logits.detach().flatten().tolist()
            share = (balance / loss).item()
            grads = {n: p.grad.clone() for n, p in named}
        optimizer.step()
        losses.append(loss.item())
    print(f"input {number}: the balance loss is {share:.1%}", file=sys.stderr)
    return dict(batch=batch, side=32, classes=classes, input=number, loss_adamw=losses,
                logits=[float(f"{v:.8g}") for v in first],
                grad={n: common.digest(n, g) for n, g in grads.items()},
                adamw={n: common.digest(n, p) for n, p in named})


def search(Net, batch, classes, options):
    for number in range(100):
        out = golden(Net, batch, classes, options, number, 1)
        if all(common.same(out, golden(Net, batch, classes, options, number, 1 + e))
               for e in NEAR):
            return out
    sys.exit("no input is far from a jump")


def counts(Net):
    """Returns a row per configuration. To count the multiply-accumulates, the MLPs of some blocks
    of the dense net are replaced by a gate and the slots of the experts."""
    dense = [[-1]] * 4
    sparse = [[-1], [-1], list(range(1, 18, 2)), [1]]
    for size, dim, heads in (("small", 96, [3, 6, 12, 24]), ("base", 128, [4, 8, 16, 32])):
        net = dict(img_size=192, num_classes=21841, embed_dim=dim, depths=[2, 2, 18, 2],
                   num_heads=heads, window_size=12, mlp_fc2_bias=False)
        with torch.no_grad(), Counter() as c:
            Net(**net, moe_blocks=dense).eval()(torch.zeros(1, 3, 192, 192))
        for name, experts, shared, cosine in (
                ("densebaseline", 0, 1, False), ("8expert_32gpu", 8, 4, False),
                ("16expert_32gpu", 16, 2, False), ("32expert_32gpu", 32, 1, False),
                ("64expert_64gpu", 64, 1, False), ("cosine_router_32expert_32gpu", 32, 1, True)):
            if experts == 64 and size == "base":
                continue
            # one expert, counted as many times
            model = Net(**net, moe_blocks=sparse if experts else dense, num_local_experts=1,
                        cosine_router=cosine)
            times = lambda n, p: p.numel() * (experts if (
                ".experts." in n or "sim_matrix" in n or "gates.0.wg" in n) else 1)
            words = model.no_weight_decay_keywords() | model.no_weight_decay()
            named = list(model.named_parameters())
            decayed = sum(times(n, p) for n, p in named if p.ndim > 1 and not n.endswith(".bias")
                          and not any(word in n for word in words))
            macs, outputs = c.macs, c.outputs
            for tokens, width in ([(144, 4 * dim)] * 9 + [(36, 8 * dim)] if experts else []):
                slots = int(1.25 * -(-tokens // experts))
                slots = experts * (-(-slots // shared) * shared)
                gate = 256 * (width + experts) if cosine else width * experts
                macs += (slots - tokens) * 8 * width**2 + tokens * gate
                outputs += (slots - tokens) * 5 * width + tokens * (experts + 256 * cosine)
            numbers = (21841, 192, sum(times(n, p) for n, p in named), len(named), len(named),
                       decayed, macs, outputs)
            print(f'{{"swin_moe_{size}_patch4_window12_192_{name}_22k", '
                  f'{", ".join(map(str, numbers))}}},', flush=True)


def main(folder, swin, tutel):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    Net = load(swin, tutel)
    if folder == "--counts":
        counts(Net)
        return
    for name, net in NETS.items():
        text = json.dumps(search(Net, *net), separators=(",", ":"))
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(text.replace('],"', '],\n"') + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(*sys.argv[1:])
