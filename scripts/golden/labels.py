"""Writes tests/golden/labels: containers with labels of every kind, four images each.

    scripts/golden/labels.py OUT

Needs numpy, h5py, and Pillow. TFRecord and RecordIO are written by hand, as documented by
TensorFlow and MXNet.
"""
import io
import os
import struct
import sys

import h5py
import numpy as np
from PIL import Image

LABEL = [1, 0, 2, 1]
N = len(LABEL)
PIXELS = np.arange(N * 4 * 4 * 3, dtype=np.uint8).reshape(N, 4, 4, 3)


def path(name, file):
    os.makedirs(os.path.join(sys.argv[1], name), exist_ok=True)
    return os.path.join(sys.argv[1], name, file)


def png(i):
    out = io.BytesIO()
    Image.fromarray(PIXELS[i]).save(out, "PNG")
    return out.getvalue()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def varint(v):
    out = b""
    while v > 0x7f:
        out += bytes([v & 0x7f | 0x80])
        v >>= 7
    return out + bytes([v])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def ints(*v):
    return field(3, field(1, b"".join(varint(x) for x in v)))


def floats(*v):
    return field(2, field(1, struct.pack(f"<{len(v)}f", *v)))


def texts(*v):
    return field(1, b"".join(field(1, x) for x in v))


def tfrecord(name, label, key=b"label"):
    with open(path(name, "train.tfrecord"), "wb") as f:
        for i in range(N):
            entries = [(b"image", texts(png(i))), (key, label(LABEL[i]))]
            data = field(1, b"".join(field(1, field(1, k) + field(2, v))
                                     for k, v in entries))
            head = struct.pack("<Q", len(data))
            f.write(head + crc32c(head) + data + crc32c(data))


def one_hot(i):
    return [int(k == i) for k in range(3)]


NAMES = [b"cat", b"dog", b"eel"]
tfrecord("tf_int", lambda i: ints(i))
tfrecord("tf_float", lambda i: floats(i))
tfrecord("tf_one_hot", lambda i: ints(*one_hot(i)))
tfrecord("tf_one_hot_float", lambda i: floats(*one_hot(i)), b"image/class/label")
tfrecord("tf_digits", lambda i: texts(b"%d" % i))
tfrecord("tf_text", lambda i: texts(NAMES[i]))
tfrecord("tf_class_text", lambda i: texts(NAMES[i]), b"image/class/text")
tfrecord("tf_soft", lambda i: floats(.25, .75))
tfrecord("tf_two", lambda i: texts(b"a", b"b"))
tfrecord("tf_none", lambda i: ints(i), b"height")


def hdf5(name, labels, **images):
    with h5py.File(path(name, "train.h5"), "w", libver=("earliest", "v110")) as f:
        f.create_dataset("images", data=PIXELS, **images)
        f["labels"] = labels


CHUNK = (1, 4, 4, 3)
hdf5("h5_one_hot", np.eye(3)[LABEL])
hdf5("h5_one_hot_deep", np.eye(3, dtype=np.int64)[LABEL].reshape(N, 1, 3, 1))
hdf5("h5_booleans", np.eye(3, dtype=bool)[LABEL])
hdf5("h5_bytes", np.array(NAMES)[LABEL])
hdf5("h5_texts", [NAMES[i].decode() for i in LABEL])
hdf5("h5_soft", np.eye(3)[LABEL] * .5)
hdf5("h5_lzf", LABEL, chunks=CHUNK, compression="lzf")
hdf5("h5_gzip", LABEL, chunks=CHUNK, compression="gzip", shuffle=True)
with h5py.File(path("h5_group", "train.h5"), "w", libver=("earliest", "v110")) as f:
    f.create_group("images")


def recordio():
    """As in insightface: record 0 and one record per identity have labels and no image."""
    def record(flag, label, more, image):
        data = struct.pack("<IfQQ", flag, label, 0, 0) + more + image
        return (struct.pack("<II", 0xced7230a, len(data)) + data +
                b"\0" * (-len(data) % 4))

    with open(path("rec_faces", "train.rec"), "wb") as f:
        f.write(record(2, 0, struct.pack("<2f", N + 1, N + 4), b""))
        for i in range(N):
            f.write(record(2, 0, struct.pack("<2f", LABEL[i], 0), png(i)))
        for i in range(3):
            f.write(record(2, 0, struct.pack("<2f", i, i + 1), b""))
        f.write(record(0, 0, b"", b""))


recordio()
