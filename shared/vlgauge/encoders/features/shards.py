"""Shards: immutable files of vectors by key, the unit of the store on disk."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

SCHEMA = "vlgauge-features-2"
KEY_BYTES = 32

# Only files of such names are read, counted or removed; whatever else lies in a folder is somebody else's.
_SHARD = re.compile(r"\d+-\d+-[0-9a-f]{32}\.safetensors")
_PART = re.compile(r"\.\d+-\d+-[0-9a-f]{32}\.part")

Keys = npt.NDArray[np.bytes_]


class BrokenShard(ValueError):
    """A file that is no shard of this folder: cut, of another schema, or for other weights."""


@dataclass(frozen=True)
class Entry:
    """A file in a store: its path, size in bytes and time of last use in nanoseconds."""

    path: Path
    n_bytes: int
    used: int


@dataclass(frozen=True, eq=False)
class Shard:
    """The index of a shard.

    Attributes:
        path: Its file.
        keys: Sorted, shape ``(n,)``.
        rows: Row of each sorted key.
        checks: CRC-32 of each row, in the order of the file; see `checks_of`.
        offset: Where the values begin in the file.
        width: Numbers per vector.
        n_bytes: Size of the file.
    """

    path: Path
    keys: Keys
    rows: npt.NDArray[np.intp]
    checks: npt.NDArray[np.uint32]
    offset: int
    width: int
    n_bytes: int

    def find(self, wanted: Keys) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Which of the wanted keys are here, and their places among the sorted keys."""
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        (found,) = np.nonzero(self.keys[places] == wanted)
        return found, places[found]

    def read(self, places: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Vectors of some keys, and whether they are as they were written.

        Args:
            places: Places among the sorted keys.

        Returns:
            Vectors, copied, shape ``(n_places, width)``; whether each is whole, shape ``(n_places,)``.

        Raises:
            BrokenShard: If the file is not as long as it was.
            FileNotFoundError: If another process removed the file.
        """
        if self.path.stat().st_size != self.n_bytes:
            raise BrokenShard("was altered after it was written")
        table = np.memmap(self.path, "<f4", "r", self.offset, (len(self.keys), self.width))
        values = np.array(table[self.rows[places]], np.float32)
        return values, checks_of(bytes_of(self.keys[places]), values) == self.checks[self.rows[places]]


def checks_of(keys: Sequence[bytes], values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """CRC-32 of each key and the vector behind it; a bit that turns over on the disk changes it."""
    pairs = zip(keys, values.astype("<f4", copy=False), strict=True)
    return np.fromiter((zlib.crc32(row, zlib.crc32(key)) for key, row in pairs), np.uint32, len(keys))


def bytes_of(keys: Keys) -> list[bytes]:
    """Keys, each of full length; numpy's own items lose trailing zeros."""
    return [row.tobytes() for row in np.ascontiguousarray(keys).view(np.uint8).reshape(len(keys), -1)]


def as_keys(keys: Sequence[bytes]) -> Keys:
    """Keys as an array.

    Raises:
        ValueError: If one is not 32 bytes long.
    """
    if any(len(key) != KEY_BYTES for key in keys):
        raise ValueError(f"`keys` must be digests of {KEY_BYTES} bytes, got one of another length")
    return np.array(keys, dtype=f"S{KEY_BYTES}")


def shard_bytes(vectors: Mapping[bytes, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The content of a shard with these vectors, of one width, by keys of 32 bytes."""
    from safetensors.numpy import save

    keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), KEY_BYTES)
    values = np.stack([np.asarray(vector, np.float32) for vector in vectors.values()])
    checks = checks_of(list(vectors), values)
    return save({"keys": keys, "checks": checks, "values": values}, metadata={**metadata, "schema": SCHEMA})


def write_shard(folder: Path, content: bytes) -> None:
    """Write a new shard under a temporary name and give it its name when it is whole.

    Raises:
        OSError: If the disk is full or the folder cannot be written.
    """
    name = f"{time.time_ns()}-{os.getpid()}-{uuid.uuid4().hex}"
    part = folder / f".{name}.part"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, folder / f"{name}.safetensors")
    finally:
        part.unlink(missing_ok=True)


def open_shard(path: Path, metadata: Mapping[str, str]) -> Shard:
    """Read the index of a shard; its metadata must be these.

    Raises:
        BrokenShard: If it is cut, or anything else than a shard of these weights.
        FileNotFoundError: If another process removed the file.
    """
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if length > size:
                raise BrokenShard("is cut short")
            header = json.loads(stream.read(length))
            start = 8 + length
            found = dict(header["__metadata__"])
            parts = [header[name] for name in ("keys", "checks", "values")]
            n, width = header["values"]["shape"]
            layout = [("U8", [n, KEY_BYTES]), ("U32", [n]), ("F32", [n, width])]
            lengths = [part["data_offsets"][1] - part["data_offsets"][0] for part in parts]
            fits = [(part["dtype"], part["shape"]) for part in parts] == layout and n > 0 < width
            if not fits or lengths != [n * KEY_BYTES, 4 * n, 4 * n * width]:
                raise BrokenShard("has another layout")
            if start + max(part["data_offsets"][1] for part in parts) > size:
                raise BrokenShard("is cut short")
            offsets = [start + part["data_offsets"][0] for part in parts]
            stream.seek(offsets[0])
            table = np.frombuffer(stream.read(n * KEY_BYTES), f"S{KEY_BYTES}")
            stream.seek(offsets[1])
            checks = np.frombuffer(stream.read(4 * n), "<u4").astype(np.uint32)
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise error if isinstance(error, BrokenShard) else BrokenShard("has a header that cannot be read") from error
    if any(found.get(name) != value for name, value in {**metadata, "schema": SCHEMA}.items()):
        raise BrokenShard("was made by other weights, preprocessing or another version")
    order = np.argsort(table, kind="stable")
    return Shard(path, table[order], order, checks, offsets[2], width, size)


def list_shards(folder: Path) -> list[Entry]:
    """The shards of a folder by name, and so by age; none if there is no such folder."""
    return _entries(folder, _SHARD)


def list_parts(folder: Path) -> list[Entry]:
    """Files that are being written, or were when their process died."""
    return _entries(folder, _PART)


def _entries(folder: Path, pattern: re.Pattern[str]) -> list[Entry]:
    found = []
    try:
        with os.scandir(folder) as files:
            for file in files:
                if pattern.fullmatch(file.name):
                    try:
                        status = file.stat(follow_symlinks=False)
                    except FileNotFoundError:  # gone since it was listed
                        continue
                    found.append(Entry(Path(file.path), status.st_size, status.st_mtime_ns))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found, key=lambda entry: entry.path.name)
