"""What many tests read and none changes: made once per run, and shared by all pytest workers."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


def made_once(tmp_path_factory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, which `make` fills for the first worker that asks, while the others wait."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / f"{name}.complete").exists():
            folder.mkdir()
            make(folder)
            (base / f"{name}.complete").touch()
    return folder
