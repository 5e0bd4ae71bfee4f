"""Where the host library keeps what it needs for a call, on a machine whose home cannot be written to."""

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

# Of `evaluate.config`: copies of scripts, and rows of calls.
_FOLDERS = ("HF_MODULES_CACHE", "HF_METRICS_CACHE")


def use_writable_folders(host: ModuleType) -> None:
    """Put what lasts no longer than this process into a temporary folder, where its own place cannot be had.

    Nothing is looked for there: weights stay where they are, and processes of one run need a `cache_dir` of theirs.

    Args:
        host: The module `evaluate`.
    """
    for name in _FOLDERS:
        if not _can_write(os.path.expanduser(getattr(host.config, name))):
            setattr(host.config, name, Path(_temporary(), name.lower()))


def _can_write(folder: str) -> bool:
    if folder.startswith("~"):  # nobody's
        return False
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


@cache
def _temporary() -> str:
    """A folder of this process, which goes with it."""
    folder = tempfile.mkdtemp(prefix="vlgauge-home-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
