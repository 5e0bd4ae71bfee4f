"""Vectors that were computed before, kept on disk and shared by processes, for loops that score again and again.

There are no lock files and no database: shards are immutable, appear whole, and may vanish at any time. Two processes
that compute the same vector both store it, and both are right.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.encoders.features.shard_index import index_of, remove, warn_once
from vlgauge.encoders.features.shards import (
    BrokenShard,
    Entry,
    as_keys,
    bytes_of,
    list_parts,
    list_shards,
    open_shard,
    shard_bytes,
    write_shard,
)
from vlgauge.version import __version__

LAYOUT = "v1"
MAX_BYTES = 2 * 2**30

# Where the bound is passed, the oldest shards go until this share of it is left.
_FILLED = 0.9
_SMALL_BYTES = 2**20
_MAX_SMALL = 64
_STALE_NS = 24 * 3600 * 10**9


def preprocess_id(settings: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits for everything about preprocessing that changes a vector."""
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class DiskStore:
    """Vectors of one side of one encoder in a folder.

    Args:
        root: Folder of all stores; made, for this user only, at the first write.
        family: Kind of encoder, such as ``"clip"``.
        weights_digest: SHA-256 of the weights in hexadecimal digits.
        side: What the vectors are of, such as ``"image"`` or ``"text"``.
        preprocess_id: See `preprocess_id`.
        dtype: Type that the encoder computes in; vectors are kept as float32.
        max_bytes: Bound on all stores below `root`.
    """

    def __init__(
        self,
        root: str | PathLike[str],
        *,
        family: str = "clip",
        weights_digest: str,
        side: str,
        preprocess_id: str,
        dtype: str,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        self.folder = self.root / LAYOUT / f"{family}-{weights_digest[:16]}" / f"{side}-{preprocess_id}-{dtype}"
        self.max_bytes = max_bytes
        about = {"family": family, "weights_sha256": weights_digest, "side": side, "preprocessing": preprocess_id}
        self._metadata = {**about, "dtype": dtype}
        self._index = index_of(self.folder, tuple(self._metadata.items()))

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors of those keys that are known, float32.

        Args:
            keys: Digests of 32 bytes.

        Raises:
            ValueError: If a key is of another length.
        """
        return self._index.get(keys)

    def absent(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those keys that are not known; no vector is read.

        Raises:
            ValueError: If a key is of another length.
        """
        return self._index.absent(keys)

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Keep vectors, in one shard; those that are not finite are left out.

        A full or read-only disk costs one warning, and nothing is kept.

        Raises:
            ValueError: If a key is not 32 bytes long, or the vectors are of different widths.
        """
        as_keys(list(vectors))
        finite = {key: vector for key, vector in vectors.items() if np.isfinite(vector).all()}
        if len({np.shape(vector) for vector in finite.values()}) > 1:
            raise ValueError("`vectors` must all be of one width, got several")
        if not finite:
            return
        try:
            self._make_folder()
            content = shard_bytes(finite, self._about())
            if self._make_room(len(content)):
                write_shard(self.folder, content)
                self._merge()
        except OSError as error:
            warn_once(
                self.folder, "write", f"features cannot be kept in {self.folder}, scoring goes on without: {error}"
            )

    def _about(self) -> dict[str, str]:
        return {**self._metadata, "vlgauge": __version__}

    def _make_folder(self) -> None:
        # `mkdir(parents=True)` gives its mode to the last folder only.
        for folder in (*reversed(self.folder.parents), self.folder):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)

    def _make_room(self, n_bytes: int) -> bool:
        """Remove parts of dead processes and, if the bound would be passed, the oldest shards; False if in vain."""
        if n_bytes > self.max_bytes:
            warn_once(
                self.folder,
                "bound",
                f"features of {n_bytes} bytes are over the bound of {self.max_bytes}, and are not kept",
            )
            return False
        now = time.time_ns()
        remove(entry.path for entry in all_entries(self.root, list_parts) if now - entry.used > _STALE_NS)
        shards = sorted(all_entries(self.root, list_shards), key=lambda entry: entry.used)
        total = sum(entry.n_bytes for entry in shards) + n_bytes
        if total > self.max_bytes:
            for entry in shards:
                if total <= _FILLED * self.max_bytes:
                    break
                remove([entry.path])
                total -= entry.n_bytes
        return True

    def _merge(self) -> None:
        """Make one shard of many small ones."""
        small = [entry.path for entry in list_shards(self.folder) if entry.n_bytes < _SMALL_BYTES]
        if len(small) <= _MAX_SMALL:
            return
        merged: dict[bytes, np.ndarray] = {}
        read = []
        for path in small:
            try:
                shard = open_shard(path, self._metadata)
                values, whole = shard.read(np.arange(len(shard.keys)))
            except (BrokenShard, OSError):
                continue  # the next reader tells
            width = next(iter(merged.values())).shape if merged else values.shape[1:]
            if whole.all() and values.shape[1:] == width:  # of altered ones the next reader tells
                merged.update(zip(bytes_of(shard.keys), values, strict=True))
                read.append(path)
        if len(read) > 1:
            write_shard(self.folder, shard_bytes(merged, self._about()))
            remove(read)


def all_entries(root: Path, listing: Any) -> list[Entry]:
    """What a listing finds in every store below a folder."""
    return [entry for folder in store_folders(root) for entry in listing(folder)]


def store_folders(root: Path) -> list[Path]:
    """The folders of all stores below a folder."""
    return sorted(folder for folder in (root / LAYOUT).glob("*/*") if folder.is_dir())


def clear(root: Path) -> int:
    """Remove every store below a folder, and nothing else; bytes that were freed."""
    entries = all_entries(root, list_shards) + all_entries(root, list_parts)
    remove(entry.path for entry in entries)
    for folder in (*store_folders(root), *(root / LAYOUT).glob("*"), root / LAYOUT):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return sum(entry.n_bytes for entry in entries)
