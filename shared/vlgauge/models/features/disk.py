"""Feature store on disk, shared by processes, for repeated scoring of the same inputs.

It uses neither lock files nor a database. Shards are immutable, are created atomically, and may be deleted at any time.
If two processes compute the same features, both store them, which is harmless.
"""

import contextlib
import hashlib
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core.validation import warn
from vlgauge.core.writing import PART, STALE_SECONDS, NotWritableError, write
from vlgauge.models.features.shards import BrokenShardError, Shard, as_keys, bytes_of, shard_bytes

LAYOUT = "v1"
MAX_BYTES = 2 * 2**30

# If the limit is exceeded, the oldest shards are removed until this share of it is left.
_FILLED = 0.9
_SMALL_BYTES = 2**20
_MAX_SMALL = 64
_MAX_FOLDERS = 64

# Only files with this name, and such files while they are being written, are read, counted or removed. All other files
# belong to other programs.
SHARD = re.compile(r"\d+-\d+-[0-9a-f]{32}\.safetensors")

_warned: set[tuple[Path, str]] = set()


def preprocess_id(settings: Mapping[str, Any]) -> str:
    """Return sixteen hexadecimal digits that identify all preprocessing settings that affect the features."""
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class DiskStore:
    """Features of one side of one encoder in a folder. Safe for threads and processes.

    Args:
        root: Folder of all stores. It is created at the first write, accessible to this user only.
        weights_digest: SHA-256 of the weights in hexadecimal digits.
        side: Kind of input, such as ``"image"`` or ``"text"``.
        preprocess_id: See `preprocess_id`.
        dtype: Data type of the computation. Features are stored as float32.
        max_bytes: Maximum size of all stores below `root` in bytes.
    """

    def __init__(
        self,
        root: str | PathLike[str],
        *,
        weights_digest: str,
        side: str,
        preprocess_id: str,
        dtype: str,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        self.folder = self.root / LAYOUT / f"clip-{weights_digest[:16]}" / f"{side}-{preprocess_id}-{dtype}"
        self.max_bytes = max_bytes
        about = {"family": "clip", "weights_sha256": weights_digest, "side": side, "preprocessing": preprocess_id}
        self._metadata = {**about, "dtype": dtype}
        self._opened = _open_store(self.folder, tuple(self._metadata.items()))

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Return the stored features of these keys, shape ``(width,)`` each, float32. Unknown keys are omitted."""
        found: dict[bytes, np.ndarray] = {}
        with self._opened.lock:
            # The second pass finds shards that other processes have written or merged since the first one.
            for _ in range(2):
                if missing := [key for key in dict.fromkeys(keys) if key not in found]:
                    self._look_up(missing, found)
        return found

    def absent(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return the keys that are not stored, without reading features."""
        wanted = as_keys(keys)
        there = np.zeros(len(keys), bool)
        with self._opened.lock:
            for shard in self._shards():
                there[shard.find(wanted)[0]] = True
        return [key for key, known in zip(keys, there, strict=True) if not known]

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store features in one shard, except for rows that are not finite.

        If the disk is full or read-only, nothing is stored and one warning is issued.

        Args:
            vectors: Features by key, shape ``(width,)`` each.
        """
        finite = {key: vector for key, vector in vectors.items() if np.isfinite(vector).all()}
        if not finite:
            return
        with self._writing():
            # `mkdir(parents=True)` applies the mode only to the last folder.
            for folder in (*reversed(self.folder.parents), self.folder):
                if not folder.exists():
                    folder.mkdir(mode=0o700, exist_ok=True)
            content = shard_bytes(finite, self._metadata)
            if self._make_room(len(content)):
                self._write(content)
                if sum(file.st_size < _SMALL_BYTES for file in files_in([self.folder], SHARD).values()) > _MAX_SMALL:
                    self._merge()

    def _shards(self) -> list[Shard]:
        """Return the shards of the folder, after opening new ones and forgetting removed ones."""
        known = self._opened.shards
        try:
            there = files_in([self.folder], SHARD)
        except OSError as error:
            self._warn("read", f"features cannot be read from {self.folder}, so they are computed again: {error}")
            return list(known.values())
        for path in known.keys() - there.keys():
            del known[path]
        for path in sorted(there.keys() - known.keys()):
            with self._reading(path):
                known[path] = Shard.opened(path, self._metadata)
        return list(known.values())

    def _look_up(self, keys: list[bytes], found: dict[bytes, np.ndarray]) -> None:
        """Add the features with valid checksums to `found`."""
        wanted = as_keys(keys)
        is_missing = np.ones(len(keys), bool)
        for shard in self._shards():
            (left,) = np.nonzero(is_missing)
            hits, index = shard.find(wanted[left])
            if not len(hits):
                continue
            with self._reading(shard.path):
                values, whole = shard.read(index)
                if whole.all():
                    with contextlib.suppress(OSError):  # read-only folder: the modification time stays
                        os.utime(shard.path)
                else:
                    self._rewrite([shard])
                good = left[hits[whole]]
                found.update((keys[row], value.copy()) for row, value in zip(good, values[whole], strict=True))
                is_missing[good] = False

    def _merge(self) -> None:
        """Merge small shards into one, except for shards of another width than the newest."""
        with self._opened.lock:
            small = [shard for shard in self._shards() if shard.n_bytes < _SMALL_BYTES]
            self._rewrite([shard for shard in small if shard.width == small[-1].width])

    def _rewrite(self, shards: Sequence[Shard]) -> None:
        """Replace shards by a new one with their valid features."""
        kept: dict[bytes, np.ndarray] = {}
        read = []
        for shard in shards:
            with self._reading(shard.path):
                values, whole = shard.read()
                kept.update(zip(bytes_of(shard.keys[whole]), values[whole], strict=True))
                read.append(shard.path)
                if not whole.all():
                    n_altered = f"{(~whole).sum()} of {len(whole)} embeddings in {shard.path}"
                    self._warn("altered", f"{n_altered} were altered after they were written; they are computed again")
        with self._writing():
            if kept:
                self._write(shard_bytes(kept, self._metadata))
            remove(read)

    def _write(self, content: bytes) -> None:
        name = f"{time.time_ns()}-{os.getpid()}-{uuid.uuid4().hex}.safetensors"
        write(self.folder / name, content, "a shard", mode=0o600)

    def _make_room(self, n_bytes: int) -> bool:
        """Remove temporary files of dead processes and, if the limit would be exceeded, the oldest shards.

        Returns:
            False if the new shard alone exceeds the limit.
        """
        if n_bytes > self.max_bytes:
            self._warn(
                "bound",
                f"features of {n_bytes} bytes exceed the limit of {self.max_bytes} bytes, so they are not stored",
            )
            return False
        folders = store_folders(self.root)
        stale = time.time() - STALE_SECONDS
        remove(path for path, part in files_in(folders, PART).items() if part.st_mtime < stale)
        shards = files_in(folders, SHARD)
        total = sum(shard.st_size for shard in shards.values()) + n_bytes
        if total > self.max_bytes:
            for path, shard in sorted(shards.items(), key=lambda file: file[1].st_mtime_ns):
                if total <= _FILLED * self.max_bytes:
                    break
                remove([path])
                total -= shard.st_size
        return True

    @contextlib.contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        """Remove a shard that is broken, and forget one that is missing or not readable."""
        try:
            yield
        except BrokenShardError as error:
            self._opened.shards.pop(path, None)
            remove([path])
            self._warn("broken", f"{path} {error}; it was removed, and its features are computed again")
        except OSError:
            self._opened.shards.pop(path, None)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Warn instead of raising an error if the disk is not writable."""
        try:
            yield
        except (OSError, NotWritableError) as error:
            self._warn("write", f"features cannot be stored in {self.folder}, so scoring continues without: {error}")

    def _warn(self, kind: str, message: str) -> None:
        """Warn about the folder, once per process and kind of message."""
        if (self.folder, kind) not in _warned:
            _warned.add((self.folder, kind))
            warn(message)


class _Opened:
    """Shards of a folder that this process has opened, and their lock."""

    def __init__(self) -> None:
        self.shards: dict[Path, Shard] = {}
        self.lock = threading.RLock()


@lru_cache(maxsize=_MAX_FOLDERS)
def _open_store(folder: Path, metadata: tuple[tuple[str, str], ...]) -> _Opened:
    """Return the object shared by all stores of this process with the same folder."""
    return _Opened()


if hasattr(os, "register_at_fork"):
    # A child process may have copied a lock in the locked state.
    os.register_at_fork(after_in_child=_open_store.cache_clear)


# -- All stores below a folder ----------------------------------------------------------------------------------------
def store_folders(root: Path) -> list[Path]:
    """Return the folders of all stores below a folder."""
    return sorted(folder for folder in (root / LAYOUT).glob("*/*") if folder.is_dir())


def files_in(folders: Iterable[Path], names: re.Pattern[str]) -> dict[Path, os.stat_result]:
    """Return the files in folders whose names match, sorted by name and thus by age. Missing folders are skipped."""
    found = {}
    for folder in folders:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as files:
            for file in files:
                if names.fullmatch(file.name):
                    with contextlib.suppress(FileNotFoundError):  # removed since it was listed
                        found[Path(file.path)] = file.stat(follow_symlinks=False)
    return dict(sorted(found.items()))


def remove(paths: Iterable[Path]) -> None:
    """Remove files, ignoring missing files and files that cannot be removed."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def clear(root: Path) -> int:
    """Remove all stores below a folder and nothing else, and return the number of bytes freed."""
    folders = store_folders(root)
    found = files_in(folders, SHARD) | files_in(folders, PART)
    remove(found)
    for folder in (*folders, *(root / LAYOUT).glob("*"), root / LAYOUT):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return sum(file.st_size for file in found.values())
