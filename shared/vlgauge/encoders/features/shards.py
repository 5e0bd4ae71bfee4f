"""Shards: immutable files of vectors by key, the unit of the store on disk."""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError
from vlgauge.version import __version__

SCHEMA = "vlgauge-features-2"
KEY_BYTES = 32

Keys = npt.NDArray[np.bytes_]
Rows = npt.NDArray[np.intp]


class BrokenShard(UsageError):
    """A file that is no shard of this folder: cut, of another schema, or for other weights."""


@dataclass(frozen=True, eq=False)
class Shard:
    """The index of a shard.

    Attributes:
        path: Its file.
        keys: Sorted, shape ``(n,)``.
        rows: Row of each sorted key in the file, shape ``(n,)``.
        checks: CRC-32 of each row, in the order of the file, shape ``(n,)``; see `checks_of`.
        offset: Where the vectors begin in the file.
        width: Numbers per vector.
        n_bytes: Size of the file.
    """

    path: Path
    keys: Keys
    rows: Rows
    checks: npt.NDArray[np.uint32]
    offset: int
    width: int
    n_bytes: int

    @classmethod
    def opened(cls, path: Path, metadata: Mapping[str, str]) -> "Shard":
        """Read the index of a shard; its metadata must be these."""
        try:
            with path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                start = 8 + int.from_bytes(stream.read(8), "little")
                header = json.loads(stream.read(min(start, size) - 8))
                found = dict(header["__metadata__"])
                n, width = map(int, header["values"]["shape"])
                begins = {}
                for name, n_bytes in (("keys", n * KEY_BYTES), ("checks", 4 * n), ("values", 4 * n * width)):
                    begin, end = header[name]["data_offsets"]
                    if not (n > 0 < width and 0 <= begin == end - n_bytes and start + end <= size):
                        raise BrokenShard("is cut short, or has another layout")
                    begins[name] = start + begin
                stream.seek(begins["keys"])
                keys = np.frombuffer(stream.read(n * KEY_BYTES), f"S{KEY_BYTES}")
                stream.seek(begins["checks"])
                checks = np.frombuffer(stream.read(4 * n), "<u4").astype(np.uint32)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise (
                error if isinstance(error, BrokenShard) else BrokenShard("has a header that cannot be read")
            ) from error
        if any(found.get(name) != value for name, value in {**metadata, "schema": SCHEMA}.items()):
            raise BrokenShard("was made by other weights, preprocessing or another version")
        order = np.argsort(keys, kind="stable")
        return cls(path, keys[order], order, checks, begins["values"], width, size)

    def find(self, wanted: Keys) -> tuple[Rows, Rows]:
        """Which of the wanted keys are here, and where each of these stands among the sorted keys."""
        index = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        (found,) = np.nonzero(self.keys[index] == wanted)
        return found, index[found]

    def read(self, index: Rows | None = None) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Vectors of some keys, and whether they are as they were written.

        Args:
            index: Where the keys stand among the sorted ones; None for all.

        Returns:
            Vectors, copied, shape ``(n_keys, width)``; whether each is whole, shape ``(n_keys,)``.
        """
        if self.path.stat().st_size != self.n_bytes:
            raise BrokenShard("was altered after it was written")
        index = np.arange(len(self.keys)) if index is None else index
        table = np.memmap(self.path, "<f4", "r", self.offset, (len(self.keys), self.width))
        values = np.array(table[self.rows[index]], np.float32)
        return values, checks_of(bytes_of(self.keys[index]), values) == self.checks[self.rows[index]]


def shard_bytes(vectors: Mapping[bytes, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The content of a shard with these vectors, of one width, by keys of 32 bytes."""
    from safetensors.numpy import save

    keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), KEY_BYTES)
    values = np.stack([np.asarray(vector, np.float32) for vector in vectors.values()])
    checks = checks_of(list(vectors), values)
    about = {**metadata, "schema": SCHEMA, "vlgauge": __version__}
    return save({"keys": keys, "checks": checks, "values": values}, metadata=about)


def checks_of(keys: Sequence[bytes], values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """CRC-32 of each key and the vector behind it; a bit that turns over on the disk changes it."""
    pairs = zip(keys, values.astype("<f4", copy=False), strict=True)
    return np.fromiter((zlib.crc32(row, zlib.crc32(key)) for key, row in pairs), np.uint32, len(keys))


def bytes_of(keys: Keys) -> list[bytes]:
    """Keys, each of full length; numpy's own items lose trailing zeros."""
    return [row.tobytes() for row in np.ascontiguousarray(keys).view(np.uint8).reshape(-1, KEY_BYTES)]


def as_keys(keys: Sequence[bytes]) -> Keys:
    """Keys of 32 bytes as an array."""
    return np.array(keys, dtype=f"S{KEY_BYTES}")
