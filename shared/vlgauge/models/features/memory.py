"""Bounded feature stores in memory."""

import os
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from vlgauge.core.lru_cache import LRUCache
from vlgauge.models.features.disk import DiskStore

PROCESS_BYTES = 2**30

# Maximum size of the features that wait for the next write to the disk, in bytes. When it is exceeded, they are written
# before the end of the call.
_PENDING_BYTES = 64 * 2**20


class MemoryStore(LRUCache[Hashable, np.ndarray]):
    """Thread-safe cache of features by key, which evicts the least recently used ones beyond a size in bytes."""

    def __init__(self, max_bytes: int = 256 * 2**20) -> None:
        super().__init__(max_bytes, lambda vector: vector.nbytes)

    def get_all(self, keys: Iterable[Hashable]) -> dict[Hashable, np.ndarray]:
        """Return the stored features of these keys, shape ``(width,)`` each. Unknown keys are omitted."""
        return {key: vector for key in keys if (vector := self.get(key)) is not None}

    def put_all(self, vectors: Mapping[Hashable, np.ndarray]) -> None:
        """Store features, shape ``(width,)`` each, and evict the least recently used ones beyond the limit."""
        for key, vector in vectors.items():
            self.put(key, vector)

    def forget(self, scope: Hashable) -> None:
        """Remove all features whose key is a tuple that begins with the scope."""
        for key in list(self._values):
            if isinstance(key, tuple) and key[0] == scope:
                self.pop(key)

    def clear_after_fork(self) -> None:
        """Remove all features in a forked process, where the lock may be locked forever."""
        self._lock = threading.RLock()
        self.clear()


process_memory = MemoryStore(PROCESS_BYTES)
"""Embeddings of all image encoders, by (encoder, kind, digest)."""

if hasattr(os, "register_at_fork"):
    # A thread of the parent process may hold the lock.
    os.register_at_fork(after_in_child=process_memory.clear_after_fork)


class LayeredStore:
    """Features of one kind of one encoder, in the shared memory of all encoders and optionally on disk.

    The disk is read for keys that are not in memory, and new features are written to it at `flush`.
    """

    def __init__(self, memory: MemoryStore, scope: tuple[Hashable, ...], disk: DiskStore | None) -> None:
        self._memory = memory
        self._scope = scope
        self._disk = disk
        self._pending: dict[bytes, np.ndarray] = {}
        self._pending_bytes = 0

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Return the stored features of these keys, shape ``(width,)`` each. Unknown keys are omitted."""
        held = self._memory.get_all([(*self._scope, key) for key in keys])
        found = {key: held[name] for key in keys if (name := (*self._scope, key)) in held}
        if self._disk is not None and found:
            # Write features to this folder that were computed without a folder or with another one.
            self._wait({key: found[key] for key in self._disk.absent(list(found))})
        missing = [key for key in keys if key not in found]
        if self._disk is not None and missing:
            read = self._disk.get(missing)
            self._memory.put_all({(*self._scope, key): vector for key, vector in read.items()})
            found.update(read)
        return found

    def put(self, values: Mapping[bytes, np.ndarray]) -> None:
        """Store new features, shape ``(width,)`` each, in memory and, if there is a folder, on disk."""
        # Copy, because a view of one row would keep the whole batch in memory.
        own = {key: vector.copy() for key, vector in values.items()}
        self._memory.put_all({(*self._scope, key): vector for key, vector in own.items()})
        if self._disk is not None:
            self._wait(own)

    def flush(self) -> None:
        """Write new features to the disk."""
        if self._disk is not None and self._pending:
            self._disk.put(self._pending)
            self._pending, self._pending_bytes = {}, 0

    def _wait(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        self._pending.update(vectors)
        self._pending_bytes += sum(vector.nbytes for vector in vectors.values())
        if self._pending_bytes > _PENDING_BYTES:
            self.flush()
