"""A file of which a child process has only the parts that it asks the other side for."""

import io
import os
from typing import Any

from vlgauge.box import Ask


class AskedFile(io.RawIOBase):
    """The file, as the other side gives parts of it.

    Args:
        ask: Asks the other side for the part that begins at a byte.
        size: Bytes of the file; None if they are not known, and then nobody can seek its end.
    """

    def __init__(self, ask: Ask, size: int | None = None) -> None:
        self._ask, self._size, self._at = ask, size, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Where the next part begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        if whence == os.SEEK_END and self._size is None:
            raise io.UnsupportedOperation("the end of the file is not known")
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size or 0}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        if self._size is not None and self._at >= self._size:
            return 0
        found = self._ask("part", start=self._at).body[: len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)
