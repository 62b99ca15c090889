#!/usr/bin/env python3
"""Writes a Python wheel of trainc and its libraries (make wheel). Needs no network.

    scripts/wheel.py [FOLDER]       default build/wheel; prints the wheel's path

The binary goes to the environment's bin, its libraries to lib/trainc, and configurations and
manual pages to share: the folders of scripts/bundle.sh. Python runs only for `python -m trainc`.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
METADATA = """\
Metadata-Version: 2.1
Name: trainc
Version: {version}
Summary: Trains image models from one binary and one YAML file
Requires-Python: >=3.7
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering :: Image Recognition
Provides-Extra: cuda13
Requires-Dist: nvidia-cudnn-cu13 ; extra == 'cuda13'
Requires-Dist: nvidia-cublas >=13,<14 ; extra == 'cuda13'
Requires-Dist: nvidia-cuda-nvrtc >=13,<14 ; extra == 'cuda13'
Requires-Dist: nvidia-nccl-cu13 ; extra == 'cuda13'
Description-Content-Type: text/markdown

{readme}"""


def c_library(files):
    """Returns the newest C library version that any of the ELF files requires."""
    newest = (2, 17)
    for path in files:
        text = subprocess.run(["readelf", "-V", path], check=True, capture_output=True, text=True)
        for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text.stdout):
            newest = max(newest, tuple(map(int, version)))
    return newest


def members(tree, info, data):
    """Yields (path in the wheel, file) for everything in the wheel except its metadata."""
    for path in sorted((HERE / "packaging/python/trainc").glob("*.py")):
        yield f"trainc/{path.name}", path
    for path in sorted(tree.rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(tree).as_posix()
        if name.startswith("bin/"):
            yield f"{data}/scripts/{path.name}", path
        elif name.startswith("share/licenses/trainc/"):
            yield f"{info}/licenses/{path.name}", path
        else:
            yield f"{data}/data/{name}", path


def write(wheel, tree, version, tag):
    info, data = f"trainc-{version}.dist-info", f"trainc-{version}.data"
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    record = []

    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(name, content, mode=0o644):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}")

        for name, path in members(tree, info, data):
            add(name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
        readme = (HERE / "README.md").read_text()
        add(f"{info}/METADATA", METADATA.format(version=version, readme=readme).encode())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: trainc {version}\n"
                             f"Root-Is-Purelib: false\nTag: {tag}\n".encode())
        record.append(f"{info}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", date), "\n".join(record) + "\n",
                         zipfile.ZIP_DEFLATED)


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "build/wheel")
    out.mkdir(parents=True, exist_ok=True)
    built = subprocess.run([HERE / "scripts/bundle.sh", "tree"], stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit(built.returncode)
    tree = Path(built.stdout.split()[-1])
    version = re.search(r'TRAINC_VERSION "(.*)"', (HERE / "src/base/version.h").read_text())[1]
    libc = c_library([tree / "bin/trainc", *(tree / "lib/trainc").iterdir()])
    tag = f"py3-none-manylinux_{libc[0]}_{libc[1]}_{os.uname().machine}"
    wheel = out / f"trainc-{version}-{tag}.whl"
    write(wheel, tree, version, tag)
    print(wheel)


main()
