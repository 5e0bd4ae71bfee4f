"""Vectors that were computed before, kept in memory up to a bound."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping

import numpy as np


class MemoryStore:
    """Least recently used vectors by key, bounded in bytes and safe in threads.

    Args:
        max_bytes: Bound on the bytes of the vectors.
    """

    def __init__(self, max_bytes: int = 256 * 2**20) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        self._vectors: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, keys: Iterable[Hashable]) -> dict[Hashable, np.ndarray]:
        """The vectors of those keys that are known."""
        found = {}
        with self._lock:
            for key in keys:
                if key in self._vectors:
                    self._vectors.move_to_end(key)
                    found[key] = self._vectors[key]
        return found

    def put(self, vectors: Mapping[Hashable, np.ndarray]) -> None:
        """Keep vectors; the least recently used ones go when the bound is passed."""
        with self._lock:
            for key, vector in vectors.items():
                if key not in self._vectors:
                    self._vectors[key] = vector
                    self.n_bytes += vector.nbytes
            while self.n_bytes > self.max_bytes:
                _, oldest = self._vectors.popitem(last=False)
                self.n_bytes -= oldest.nbytes

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._vectors.clear()
            self.n_bytes = 0
