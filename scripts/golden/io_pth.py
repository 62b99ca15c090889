"""Writes the golden files of tests/io/test_pth.c with torch.save.

  io_pth.py           makes tests/golden/io/*.pth

Needs torch and numpy.
"""
import argparse
import collections
import pickle
import zipfile

import numpy as np
import torch

FOLDER = "tests/golden/io/"


def weights(start):
    """Covers what the reader supports: types, views, shared storages, parameters."""
    shared = torch.arange(24, dtype=torch.float32) + start
    w = collections.OrderedDict()
    w["f32"] = (torch.arange(6, dtype=torch.float32) / 4 + start).reshape(2, 3)
    w["f16"] = torch.tensor([1.5, -2.0, 65504.0], dtype=torch.float16)
    w["bf16"] = torch.tensor([1.0, 2.0, float("-inf")], dtype=torch.bfloat16)
    w["scalar"] = torch.tensor(0.1, dtype=torch.float64)
    w["i64"] = torch.tensor([-(2**63), 2**63 - 1])
    w["bool"] = torch.tensor([True, False, True])
    w["empty"] = torch.zeros(0, 3)
    w["shared.rows"] = shared.view(4, 6)
    w["shared.part"] = shared[6:18].view(2, 6)
    w["shared.columns"] = shared.view(4, 6)[1:3, 1::2].t()
    w["shared.channels_last"] = shared.view(1, 2, 3, 4).permute(0, 3, 1, 2)
    w["parameter"] = torch.nn.Parameter(torch.full((2,), start + 0.5))
    return w


def save(name, what, **how):
    torch.save(what, FOLDER + name, **how)


def deflate(name):
    """Compresses the entries of the archive, which torch.save never does."""
    with zipfile.ZipFile(FOLDER + name) as old:
        entries = [(i.filename, old.read(i)) for i in old.infolist()]
    with zipfile.ZipFile(FOLDER + name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for entry, data in entries:
            new.writestr(zipfile.ZipInfo(entry), data, zipfile.ZIP_DEFLATED)


def checkpoint(weights_key, ema_key, prefix):
    model = {prefix + "w": torch.tensor([1.0, 2.0])}
    ema = {prefix + "w": torch.tensor([3.0, 4.0]), "n_averaged": torch.tensor(7)}
    return {
        "epoch": 3, "arch": "resnet20", "best_acc": np.float64(87.5), "scaler": None,
        weights_key: model, ema_key: ema,
        "optimizer": {"state": {0: {"momentum_buffer": torch.zeros(2)}},
                      "param_groups": [{"lr": 0.1, "params": [0]}]},
        "args": argparse.Namespace(lr=0.1, size=(224, 224), resume=""),
    }


def negative_stride(name):
    """Makes a stride of -3, which torch does not support: the pickle has the stride (3, 1) as K 03,
    K 01."""
    with zipfile.ZipFile(FOLDER + name) as old:
        entries = [(i.filename, old.read(i)) for i in old.infolist()]
    with zipfile.ZipFile(FOLDER + name, "w") as new:
        for entry, data in entries:
            new.writestr(zipfile.ZipInfo(entry), data.replace(b"K\x03K\x01", b"J\xfd\xff\xff\xffK\x01"))


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.w


def main():
    save("zip.pth", weights(0))
    save("stream.pth", weights(0), _use_new_zipfile_serialization=False)
    save("protocol5.pth", weights(0), pickle_protocol=5)
    save("timm.pth.tar", checkpoint("state_dict", "state_dict_ema", "module."))
    save("torchvision.pth", checkpoint("model", "model_ema", "module."),
         _use_new_zipfile_serialization=False)
    save("tutorial.pth", {"epoch": 3, "model_state_dict": {"module.w": torch.tensor([1.0, 2.0])},
                          "optimizer_state_dict": {"state": {0: {"step": torch.tensor(4.0)}},
                                                   "param_groups": [{"lr": 0.1}]}})
    save("compiled.pth", {"_orig_mod.module.w": torch.tensor([1.0, 2.0])})
    save("two.pth", {"net": {"w": torch.ones(2)}, "teacher": {"w": torch.ones(2)}})
    save("dino.pth", {"student": {"module.w": torch.tensor([1.0, 2.0])}, "teacher": {"module.w": torch.tensor([3.0, 4.0])},
                      "optimizer": {"state": {}, "param_groups": []}, "dino_loss": {"center": torch.ones(2)}, "epoch": 3})
    save("settings.pth", {"epoch": 3, "optimizer": {"state": {}}})
    save("module.pth", Scale())
    save("module_stream.pth", Scale(), _use_new_zipfile_serialization=False)
    save("numbers.pth", [1, 2, 3])
    save("tensor.pth", torch.ones(3))
    adam = torch.optim.AdamW(Scale().parameters())
    save("adam.pth", adam.state_dict())
    save("adam_of_run.pth", {"optimizer": adam.state_dict(), "epoch": 3})
    save("quantized.pth", {"w": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)})
    with open(FOLDER + "python.pkl", "wb") as f:
        pickle.dump({"a": np.zeros(3)}, f)
    np.savez(FOLDER + "arrays.npz", a=np.zeros(3))
    save("sparse.pth", {"w": torch.eye(2), "s": torch.eye(2).to_sparse()})
    save("float8.pth", {"w": torch.tensor([1.0, -0.5]).to(torch.float8_e4m3fn)})
    zeros = torch.zeros(1 << 20)
    save("aliases.pth", {f"w{i}": zeros for i in range(17)})
    deflate("aliases.pth")
    save("inflated.pth", {"w": torch.zeros(17 << 20)})
    deflate("inflated.pth")
    save("negative.pth", {"w": torch.ones(6).view(2, 3)})
    negative_stride("negative.pth")
    torch.jit.save(torch.jit.script(Scale()), FOLDER + "script.pth")


if __name__ == "__main__":
    main()
