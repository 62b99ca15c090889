"""trainc trains image models from one binary and one YAML file; `python -m trainc` runs it."""

import os
import sysconfig


def find_binary():
    """Returns the path of the binary that was installed with this package."""
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", "posix_user"),
        # of pip install --target
        os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"),
    ]
    for folder in folders:
        path = os.path.join(folder, "trainc")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise FileNotFoundError("no trainc in " + ", ".join(folders) + ": install the wheel again")
