"""Binary table of a large file of word vectors, written once and memory-mapped afterwards.

A table is one immutable file with the vectors, one entry per word that contains its digest, and a trailer that
describes both. It is written under a temporary name and renamed. Processes that write the same table at the same time
do not interfere, and the last one wins.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.writing import atomic_write

SUFFIX = ".vectors"
SCHEMA = b"vlgauge-word-table-2"

# Entry per word: digest, row, and CRC-32 of the row. NumPy strips trailing zero bytes of byte strings, but from all
# keys alike.
_ENTRY = np.dtype([("key", "S16"), ("row", "<u4"), ("check", "<u4")])
_PACKED = struct.Struct("<16sII")
_END = np.dtype(
    [("schema", "S20"), ("source", "S64"), ("entries", "S64"), ("rows", "<u8"), ("width", "<u8"), ("words", "<u8")]
)


class BrokenTableError(UsageError):
    """Raised if a file is truncated, altered, or not a table of these word vectors."""


class WordTable:
    """Entries of a table. Its vectors stay on disk.

    Args:
        path: File of the table.
        source: SHA-256 of the text from which the table must have been made.

    Attributes:
        shape: Number of rows, and number of values per row.

    Raises:
        BrokenTableError: If the file is truncated, altered, or not a table of that text.
        OSError: If the file cannot be read.
    """

    def __init__(self, path: Path, source: str) -> None:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _END.itemsize))
            last = stream.read()
            end = np.frombuffer(last, _END)[0] if len(last) == _END.itemsize else np.zeros((), _END)
            self.shape = int(end["rows"]), int(end["width"])
            start, n_bytes = 4 * self.shape[0] * self.shape[1], _ENTRY.itemsize * int(end["words"])
            if end["schema"] != SCHEMA or start + n_bytes + _END.itemsize != size or not start or not n_bytes:
                raise BrokenTableError("is truncated or not a table of word vectors")
            if end["source"] != source.encode():
                raise BrokenTableError("was created from other word vectors")
            stream.seek(start)
            content = stream.read(n_bytes)
        if hashlib.sha256(content).hexdigest().encode() != end["entries"]:
            raise BrokenTableError("has corrupted entries")
        entries = np.frombuffer(content, _ENTRY)
        self._path = path
        self._keys, self._rows, self._checks = (np.ascontiguousarray(entries[name]) for name in _ENTRY.names or ())

    def rows(self, words: Collection[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors of the words that the table has.

        Returns:
            Vectors by word, shape ``(width,)``, float32. NaN if the text has values that are not finite numbers.

        Raises:
            BrokenTableError: If a vector differs from its checksum.
            OSError: If the file does not exist any more.
        """
        wanted = np.array([_key(word.encode("utf-8", "surrogatepass")) for word in words], self._keys.dtype)
        index = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        mapped = np.memmap(self._path, "<f4", "r", 0, self.shape)
        found = {}
        for word, i, is_known in zip(words, index, self._keys[index] == wanted, strict=True):
            if is_known:
                found[word] = np.array(mapped[self._rows[i]], dtype=np.float32)
                if zlib.crc32(found[word].tobytes()) != self._checks[i]:
                    raise BrokenTableError("has a corrupted vector")
        return found


def write_table(path: Path, source: str, rows: Iterable[tuple[bytes, npt.NDArray[np.float32]]]) -> None:
    """Write a table.

    Args:
        path: File of the table. Its folder is created.
        source: SHA-256 of the text, as a hexadecimal string.
        rows: Words in UTF-8 with their vectors, shape ``(d,)`` each. The first of several vectors of a word counts.

    Raises:
        OSError: If the disk is full or the folder cannot be created.
        NotWritableError: If no file can be written in the folder.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entries, n_rows, width = bytearray(), 0, 0
    with atomic_write(path, "the table", mode=0o600) as part, part.open("wb", buffering=2**20) as stream:
        for word, row in rows:
            content = row.astype("<f4").tobytes()
            stream.write(content)
            entries += _PACKED.pack(_key(word), n_rows, zlib.crc32(content))
            n_rows, width = n_rows + 1, len(row)
        table = np.frombuffer(entries, _ENTRY)
        # `unique` returns the first of equal keys.
        index = table[np.unique(table["key"], return_index=True)[1]].tobytes()
        end = (SCHEMA, source, hashlib.sha256(index).hexdigest(), n_rows, width, len(index) // _ENTRY.itemsize)
        stream.write(index + np.array(end, _END).tobytes())


def _key(word: bytes) -> bytes:
    return hashlib.blake2b(word, digest_size=16).digest()
