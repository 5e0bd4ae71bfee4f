"""A large file of word vectors as a binary table, made once and memory-mapped from then on.

A table is one immutable file: rows, index, checksums, and a footer that says what they are. It appears whole under its
name, so that processes that make the same one at the same time do not disturb each other: the last one stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

SCHEMA = "vlgauge-word-table-1"
SUFFIX = ".vectors"
_MAGIC = b"vlgwords"
_TAIL = len(_MAGIC) + 4  # the length of the footer, and the magic
_KEY_BYTES = 16
_ENTRY_BYTES = _KEY_BYTES + 4 + 4  # of the index, per word: key, row, checksum of the row


class BrokenTable(ValueError):
    """A file that is no table of these word vectors: cut, altered, or made of others."""


@dataclass(frozen=True, eq=False)
class WordTable:
    """The index of a table; its rows stay on disk.

    Attributes:
        path: Its file.
        keys: Digests of the words, sorted, shape ``(n_words,)``.
        places: Row of each key.
        checks: CRC-32 of the row of each key.
        shape: Number of rows, and of values per row.
    """

    path: Path
    keys: npt.NDArray[np.bytes_]
    places: npt.NDArray[np.uint32]
    checks: npt.NDArray[np.uint32]
    shape: tuple[int, int]

    @property
    def n_bytes(self) -> int:
        """Bytes of the index."""
        return self.keys.nbytes + self.places.nbytes + self.checks.nbytes

    def rows(self, words: Collection[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Vectors of those words that the table has; NaN where the text has anything but finite numbers.

        Raises:
            BrokenTable: If a row is not what was written.
            OSError: If the file is gone.
        """
        asked = list(words)
        wanted = np.array([_key(word.encode("utf-8", "surrogatepass")) for word in asked], dtype=f"S{_KEY_BYTES}")
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        (there,) = np.nonzero(self.keys[at] == wanted)
        mapped = np.memmap(self.path, "<f4", "r", 0, self.shape)
        found = {}
        for i in there:
            row = np.array(mapped[self.places[at[i]]], dtype=np.float32)
            if zlib.crc32(row.tobytes()) != self.checks[at[i]]:
                raise BrokenTable("has a row that is not what was written")
            found[asked[i]] = row
        return found


def write_table(path: Path, source: str, rows: Iterable[tuple[bytes, npt.NDArray[np.float32]]]) -> None:
    """Write a table under a temporary name and give it its name when it is whole.

    Args:
        path: The file; its folder is made for this user only.
        source: SHA-256 of the text that the rows come from.
        rows: Words and their vectors, of one width; of a word that stands twice, the first counts.

    Raises:
        OSError: If the disk is full or the folder cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb", buffering=2**20) as stream:
            _write(stream, source, rows)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _write(stream: IO[bytes], source: str, rows: Iterable[tuple[bytes, npt.NDArray[np.float32]]]) -> None:
    keys, checks, width = bytearray(), [], 0
    for word, row in rows:
        content = row.astype("<f4").tobytes()
        stream.write(content)
        keys += _key(word)
        checks.append(zlib.crc32(content))
        width = len(row)
    # Of equal keys, `unique` finds the first.
    own, places = np.unique(np.frombuffer(bytes(keys), f"S{_KEY_BYTES}"), return_index=True)
    index = b"".join(
        (own.tobytes(), places.astype("<u4").tobytes(), np.array(checks, dtype="<u4")[places].tobytes()),
    )
    about = {"schema": SCHEMA, "source": source, "rows": len(checks), "width": width, "words": len(own)}
    footer = json.dumps(about | {"index": hashlib.sha256(index).hexdigest()}).encode()
    stream.write(index + footer + len(footer).to_bytes(4, "little") + _MAGIC)


def open_table(path: Path, source: str) -> WordTable:
    """Read the index of a table; it must have been made of that text.

    Raises:
        BrokenTable: If it is cut, altered, or anything else than a table of that text.
        FileNotFoundError: If there is none.
    """
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        counts, texts, n_footer = _footer(stream, size)
        n_rows, width, n_words = counts["rows"], counts["width"], counts["words"]
        if texts["source"] != source:
            raise BrokenTable("was made of other word vectors")
        start = 4 * n_rows * width
        if start + _ENTRY_BYTES * n_words + n_footer + _TAIL != size or not n_words or not width:
            raise BrokenTable("is cut short")
        stream.seek(start)
        index = stream.read(_ENTRY_BYTES * n_words)
    if hashlib.sha256(index).hexdigest() != texts["index"]:
        raise BrokenTable("has an index that is not what was written")
    ends = (_KEY_BYTES * n_words, (_KEY_BYTES + 4) * n_words)
    return WordTable(
        path,
        np.frombuffer(index[: ends[0]], f"S{_KEY_BYTES}"),
        np.frombuffer(index[ends[0] : ends[1]], "<u4"),
        np.frombuffer(index[ends[1] :], "<u4"),
        (n_rows, width),
    )


def _footer(stream: IO[bytes], size: int) -> tuple[dict[str, int], dict[str, str], int]:
    """Numbers and texts of the footer, and its length."""
    stream.seek(max(0, size - _TAIL))
    tail = stream.read()
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length + _TAIL > size:
        raise BrokenTable("is cut short, or no table of word vectors")
    stream.seek(size - _TAIL - length)
    try:
        about = json.loads(stream.read(length))
        counts = {name: int(about[name]) for name in ("rows", "width", "words")}
        texts = {name: str(about[name]) for name in ("schema", "source", "index")}
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        raise BrokenTable("has a footer that is not what was written") from None
    if texts["schema"] != SCHEMA or min(counts.values()) < 0:
        raise BrokenTable("is of another version")
    return counts, texts, length


def _key(word: bytes) -> bytes:
    # Arrays of bytes lose zero bytes at the end of an item, but of all items alike.
    return hashlib.blake2b(word, digest_size=_KEY_BYTES).digest()
