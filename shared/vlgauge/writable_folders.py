"""Where the host library keeps what it needs for a call, on a machine whose home cannot be written to."""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
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
        folder = os.path.expanduser(getattr(host.config, name))
        with suppress(OSError):
            if not folder.startswith("~"):  # of a user without a home
                os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            setattr(host.config, name, Path(_temporary(), name.lower()))


@cache
def _temporary() -> str:
    """Make a folder that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="vlgauge-home-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
