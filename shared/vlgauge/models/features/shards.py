"""Shards of the feature store on disk: immutable files of features by key."""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.version import __version__

SCHEMA = "vlgauge-features-2"
KEY_BYTES = 32

Keys = npt.NDArray[np.bytes_]
Rows = npt.NDArray[np.intp]


class BrokenShardError(UsageError):
    """Raised if a file is not a valid shard of its folder, such as a truncated one or one of other weights."""


@dataclass(frozen=True, eq=False)
class Shard:
    """Index of a shard.

    Attributes:
        path: Path of the file.
        keys: Sorted keys, shape ``(n,)``.
        rows: Row of each sorted key in the file, shape ``(n,)``.
        checks: CRC-32 of each row, in the order of the file, shape ``(n,)``. See `checks_of`.
        offset: Position of the features in the file, in bytes.
        width: Width of the features.
        n_bytes: Size of the file in bytes.
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
        """Read the index of a shard, and check its metadata.

        Raises:
            BrokenShardError: If the file is invalid, or its metadata differ.
            OSError: If the file cannot be read.
        """
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
                        raise BrokenShardError("is truncated, or has another layout")
                    begins[name] = start + begin
                stream.seek(begins["keys"])
                keys = np.frombuffer(stream.read(n * KEY_BYTES), f"S{KEY_BYTES}")
                stream.seek(begins["checks"])
                checks = np.frombuffer(stream.read(4 * n), "<u4").astype(np.uint32)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise (
                error if isinstance(error, BrokenShardError) else BrokenShardError("has a header that cannot be read")
            ) from error
        if any(found.get(name) != value for name, value in {**metadata, "schema": SCHEMA}.items()):
            raise BrokenShardError("was created with other weights, preprocessing or another version")
        order = np.argsort(keys, kind="stable")
        return cls(path, keys[order], order, checks, begins["values"], width, size)

    def find(self, wanted: Keys) -> tuple[Rows, Rows]:
        """Look up keys in the shard.

        Returns:
            Indices of the wanted keys that are in the shard, and their indices among the sorted keys.
        """
        index = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        (found,) = np.nonzero(self.keys[index] == wanted)
        return found, index[found]

    def read(self, index: Rows | None = None) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Read features, and verify their checksums.

        Args:
            index: Indices among the sorted keys. None for all.

        Returns:
            Copy of the features, shape ``(n_keys, width)``, float32, and whether each row is unchanged, shape
            ``(n_keys,)``.

        Raises:
            BrokenShardError: If the size of the file has changed.
            OSError: If the file cannot be read.
        """
        if self.path.stat().st_size != self.n_bytes:
            raise BrokenShardError("was altered after it was written")
        index = np.arange(len(self.keys)) if index is None else index
        table = np.memmap(self.path, "<f4", "r", self.offset, (len(self.keys), self.width))
        values = np.array(table[self.rows[index]], np.float32)
        return values, checks_of(bytes_of(self.keys[index]), values) == self.checks[self.rows[index]]


def shard_bytes(vectors: Mapping[bytes, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """Return the content of a shard with these features.

    Args:
        vectors: Features by key, shape ``(width,)`` each. Keys have 32 bytes.
        metadata: Metadata of the shard, as strings.
    """
    from safetensors.numpy import save

    keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), KEY_BYTES)
    values = np.stack([np.asarray(vector, np.float32) for vector in vectors.values()])
    checks = checks_of(list(vectors), values)
    about = {**metadata, "schema": SCHEMA, "vlgauge": __version__}
    return save({"keys": keys, "checks": checks, "values": values}, metadata=about)


def checks_of(keys: Sequence[bytes], values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Return the CRC-32 of each key followed by its features, which detects bits that changed on the disk.

    Args:
        keys: Keys of 32 bytes.
        values: Features, shape ``(n, width)``.

    Returns:
        Shape ``(n,)``, uint32.
    """
    pairs = zip(keys, values.astype("<f4", copy=False), strict=True)
    return np.fromiter((zlib.crc32(row, zlib.crc32(key)) for key, row in pairs), np.uint32, len(keys))


def bytes_of(keys: Keys) -> list[bytes]:
    """Convert an array of keys to bytes of full length, because items of NumPy lose trailing zeros."""
    return [row.tobytes() for row in np.ascontiguousarray(keys).view(np.uint8).reshape(-1, KEY_BYTES)]


def as_keys(keys: Sequence[bytes]) -> Keys:
    """Convert keys of 32 bytes to an array."""
    return np.array(keys, dtype=f"S{KEY_BYTES}")
