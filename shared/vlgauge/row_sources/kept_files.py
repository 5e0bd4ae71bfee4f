"""Clips and pictures of rows in files while a run lasts: clips are decoded from files, and memory is dear."""

import shutil
import tempfile
import weakref
from pathlib import Path

from vlgauge.errors import UsageError


class RunTooLarge(UsageError):
    """Pictures and clips that do not fit into a run."""


class KeptFiles:
    """Files in a private folder, which comes with the first of them and goes with this object or the process."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._clear: weakref.finalize | None = None
        self._n_files = 0

    def add(self, content: bytes) -> str:
        """Path of a new file.

        Raises:
            RunTooLarge: If there is no room for it.
        """
        self._n_files += 1
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="vlgauge-rows-"))
                self._clear = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            path = self._folder / str(self._n_files)
            path.write_bytes(content)
        except OSError as error:
            raise RunTooLarge(
                f"the folder for temporary files must have room for {len(content):,} bytes more, got: {error.strerror}"
            ) from error
        return str(path)

    def clear(self) -> None:
        """Remove them all."""
        if self._clear is not None:
            self._clear()
        self._folder = self._clear = None
