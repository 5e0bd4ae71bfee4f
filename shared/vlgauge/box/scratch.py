"""Folders of child processes: they are gone when this process is, however that ends.

Behind its walls a child cannot remove its own folder. All of them lie in one folder of this process, which a shell
removes as soon as the pipe to it ends.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress

_SWEEP = 'read -r _; rm -rf -- "$1"'  # `read` waits for the end of the pipe
_ENOUGH_SECONDS = 5.0


class _Common:
    """The folder of this process in which those of its children lie, and who removes it."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.path = ""
        self.sweeper: subprocess.Popen[bytes] | None = None

    def new_folder(self) -> str:
        """An empty folder for one child, which its owner removes.

        Raises:
            OSError: If none can be made.
        """
        with self.guard:
            try:
                if not os.path.isdir(self.path):
                    self.make()
                return tempfile.mkdtemp(dir=self.path)
            except OSError as error:
                raise OSError(
                    error.errno,
                    "files of others are read in child processes, which need a folder for temporary files, got none "
                    f"that can be written to ({error.strerror or error}); set TMPDIR to one",
                ) from error

    def make(self) -> None:
        """Make a folder, and let somebody wait who removes it."""
        self.remove()
        self.path = tempfile.mkdtemp(prefix="vlgauge-box-")
        if sys.platform != "win32":
            with suppress(OSError):  # no shell: then it is removed at an end that this process sees
                self.sweeper = subprocess.Popen(
                    ["/bin/sh", "-c", _SWEEP, "sh", self.path],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # an interrupt from the keyboard is not for it
                    cwd="/",
                )

    def remove(self) -> None:
        """Remove the folder now."""
        path, self.path = self.path, ""
        sweeper, self.sweeper = self.sweeper, None
        if path:
            shutil.rmtree(path, ignore_errors=True)
        if sweeper is not None and sweeper.stdin is not None:
            with suppress(OSError, subprocess.TimeoutExpired):
                sweeper.stdin.close()
                sweeper.wait(_ENOUGH_SECONDS)


_common = _Common()
new_folder = _common.new_folder


def forget() -> None:
    """In a fork of this process: the folder is that of the other one."""
    sweeper = _common.sweeper
    if sweeper is not None:
        sweeper.returncode = 0  # no child of this process, which has nothing to wait for
        if sweeper.stdin is not None:
            sweeper.stdin.close()  # else it would wait for the fork, too
    _common.__init__()  # type: ignore[misc]


atexit.register(_common.remove)
