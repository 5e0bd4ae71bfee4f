"""Temporary files for videos and images during a run, because videos are decoded from files and to save memory."""

import shutil
import tempfile
import weakref
from pathlib import Path

from vlgauge.core.errors import UsageError


class RunTooLargeError(UsageError):
    """Raised if the images and videos of a run exceed its limits."""


class KeptFiles:
    """Temporary files in a private folder, which is created with the first file and removed with this object."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._clear: weakref.finalize | None = None
        self._n_files = 0
        self._of_row: dict[str, int] = {}  # sizes of the files of one row

    def add(self, content: bytes) -> str:
        """Write a new file and return its path.

        Raises:
            RunTooLargeError: If there is not enough disk space.
        """
        self._n_files += 1
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="vlgauge-rows-"))
                self._clear = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            path = self._folder / str(self._n_files)
            path.write_bytes(content)
        except OSError as error:
            raise RunTooLargeError(
                f"the folder for temporary files must have room for {len(content):,} bytes more, got: {error.strerror}"
            ) from error
        self._of_row[str(path)] = len(content)
        return str(path)

    def start_row(self) -> None:
        """Begin a new row. The files of the previous one are kept."""
        self._of_row = {}

    def discard_row(self, message: str) -> str:
        """Remove the files of a row, and replace their paths in a message with sizes, because paths differ by row."""
        for path, size in self._of_row.items():
            Path(path).unlink(missing_ok=True)
            message = message.replace(repr(path), f"{size:,} bytes")
        return message

    def clear(self) -> None:
        """Remove all files."""
        if self._clear is not None:
            self._clear()
        self._folder = self._clear = None
