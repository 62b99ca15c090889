"""Writes the golden file of tests/io/test_safetensors.c, and checks a file of trainc.

  io_safetensors.py write        makes tests/golden/io/python.safetensors
  io_safetensors.py check FILE   reads a file of trainc with Python's safetensors and
                                 recomputes its checksum (the test keeps its file
                                 if KEEP is set to a path)

Needs safetensors, numpy, xxhash.
"""
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

GOLDEN = "tests/golden/io/python.safetensors"


def write():
    tensors = {
        "f32": (np.arange(6, dtype=np.float32) / 4).reshape(2, 3),
        "f16": np.array([1.5, -2.0, 65504.0], np.float16),
        "i64": np.array([-(2**63), 2**63 - 1], np.int64),
        "u8": np.arange(5, dtype=np.uint8),
        "scalar": np.array(0.1, np.float64),
        "empty": np.zeros((0, 3), np.float32),
    }
    save_file(tensors, GOLDEN, metadata={"format": "np", "note": "caf\u00e9 \"x\""})


def check(path):
    import xxhash

    with safe_open(path, "np") as f:
        meta = f.metadata()
        assert meta["note"] == "caf\u00e9 \"x\"\n", meta
        np.testing.assert_array_equal(
            f.get_tensor("f32"), (np.arange(6, dtype=np.float32) / 4).reshape(2, 3))
        np.testing.assert_array_equal(f.get_tensor("i64"), [-(2**63), 2**63 - 1])
        assert f.get_tensor("scalar").shape == () and f.get_tensor("scalar") == 0.1
        assert f.get_tensor("empty").shape == (0, 3)
        assert sorted(f.keys()) == ["bf16", "empty", "f32", "i64", "scalar", "u8"]
    data = open(path, "rb").read()
    digits = meta["xxh3"].encode()
    assert data.count(digits) == 1
    assert xxhash.xxh3_64_hexdigest(data.replace(digits, b"0" * 16)) == meta["xxh3"]
    print("ok")


if __name__ == "__main__":
    write() if sys.argv[1] == "write" else check(sys.argv[2])
