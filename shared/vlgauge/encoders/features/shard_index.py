"""The shards of a folder as one table of vectors, each opened once per process."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from vlgauge.encoders.features.shards import (
    BrokenShard,
    Shard,
    as_keys,
    bytes_of,
    list_shards,
    open_shard,
    shard_bytes,
    write_shard,
)

_MAX_FOLDERS = 64

_warned: set[tuple[Path, str]] = set()


class ShardIndex:
    """Where the vectors of a folder are; safe in threads.

    Args:
        folder: The folder.
        metadata: What every shard must say about itself.
    """

    def __init__(self, folder: Path, metadata: tuple[tuple[str, str], ...]) -> None:
        self.folder = folder
        self._metadata = dict(metadata)
        self._shards: dict[Path, Shard] = {}
        self._lock = threading.Lock()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors of those keys that are known."""
        found: dict[bytes, np.ndarray] = {}
        with self._lock:
            # A second look finds what other processes have written, or merged, since the first.
            for _ in range(2):
                missing = [key for key in dict.fromkeys(keys) if key not in found]
                if missing:
                    self._list()
                    self._look_up(missing, found)
        return found

    def absent(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those keys that no shard has; no vector is read."""
        wanted = as_keys(keys)
        there = np.zeros(len(keys), bool)
        with self._lock:
            self._list()
            for shard in self._shards.values():
                there[shard.find(wanted)[0]] = True
        return [key for key, known in zip(keys, there, strict=True) if not known]

    def _list(self) -> None:
        """Read the index of every shard that is new, forget those that are gone."""
        try:
            there = {entry.path for entry in list_shards(self.folder)}
        except OSError as error:
            warn_once(
                self.folder, "read", f"features cannot be read from {self.folder}, scoring goes on without: {error}"
            )
            return
        self._shards = {path: shard for path, shard in self._shards.items() if path in there}
        for path in sorted(there - set(self._shards)):
            try:
                self._shards[path] = open_shard(path, self._metadata)
            except BrokenShard as error:
                self._remove_broken(path, error)
            except OSError:
                continue  # gone since it was listed, or not ours to read

    def _look_up(self, keys: list[bytes], found: dict[bytes, np.ndarray]) -> None:
        """Add what the known shards have."""
        wanted = as_keys(keys)
        open_places = np.ones(len(keys), bool)
        for shard in list(self._shards.values()):
            (left,) = np.nonzero(open_places)
            if not len(left):
                return
            hits, places = shard.find(wanted[left])
            if not len(hits):
                continue
            try:
                values, whole = shard.read(places)
                if not whole.all():
                    self._salvage(shard)
            except BrokenShard as error:
                self._remove_broken(shard.path, error)
                continue
            except OSError:  # another process removed it
                self._shards.pop(shard.path, None)
                continue
            with contextlib.suppress(OSError):  # read-only: it keeps its age
                os.utime(shard.path)
            good = left[hits[whole]]
            found.update((keys[place], value.copy()) for place, value in zip(good, values[whole], strict=True))
            open_places[good] = False

    def _salvage(self, shard: Shard) -> None:
        """Write what is whole in a shard to another one, and remove it."""
        values, whole = shard.read(np.arange(len(shard.keys)))
        kept = {key: row for key, row, good in zip(bytes_of(shard.keys), values, whole, strict=True) if good}
        self._shards.pop(shard.path, None)
        warn_once(
            self.folder,
            "altered",
            f"{len(whole) - len(kept)} of {len(whole)} vectors in {shard.path} were altered after they were written; "
            "they are computed again",
        )
        try:
            if kept:
                write_shard(self.folder, shard_bytes(kept, self._metadata))
            remove([shard.path])
        except OSError as error:
            warn_once(
                self.folder, "write", f"features cannot be kept in {self.folder}, scoring goes on without: {error}"
            )

    def _remove_broken(self, path: Path, error: BrokenShard) -> None:
        self._shards.pop(path, None)
        remove([path])
        message = f"{path} {error}; it was removed, and what it held is computed again"
        warn_once(self.folder, "broken", message)


@lru_cache(maxsize=_MAX_FOLDERS)
def index_of(folder: Path, metadata: tuple[tuple[str, str], ...]) -> ShardIndex:
    """The index of a folder, the same for every store of this process."""
    return ShardIndex(folder, metadata)


if hasattr(os, "register_at_fork"):
    # A child may have got a lock that nobody will release.
    os.register_at_fork(after_in_child=index_of.cache_clear)


def warn_once(folder: Path, kind: str, message: str) -> None:
    """Warn of something about a folder, once per process."""
    if (folder, kind) not in _warned:
        _warned.add((folder, kind))
        warnings.warn(message, stacklevel=4)


def remove(paths: Iterable[Path]) -> None:
    """Remove files as far as they are there and may be removed."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
