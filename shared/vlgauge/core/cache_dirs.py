"""Temporary cache folders for `evaluate` on machines without a writable home folder."""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

# Settings in `evaluate.config` for copies of scripts and for rows of calls.
_FOLDERS = ("HF_MODULES_CACHE", "HF_METRICS_CACHE")


def use_writable_folders(host: ModuleType) -> None:
    """Redirect the per-process caches of `evaluate` to a temporary folder if their configured folders are not writable.

    No persistent files are affected. Weights stay in their folders, and the processes of a distributed run need an
    explicit, shared `cache_dir`.

    Args:
        host: The module `evaluate`.
    """
    for name in _FOLDERS:
        folder = os.path.expanduser(getattr(host.config, name))
        with suppress(OSError):
            if not folder.startswith("~"):  # no home folder is known
                os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            setattr(host.config, name, Path(_temporary(), name.lower()))


@cache
def _temporary() -> str:
    """Create a folder that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="vlgauge-home-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
