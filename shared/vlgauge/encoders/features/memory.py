"""Vectors that were computed before, kept in memory up to a bound."""

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from vlgauge.encoders.features.disk import DiskStore

PROCESS_BYTES = 2**30

# Vectors that wait for one shard on the disk; beyond this they go there before the call ends.
_PENDING_BYTES = 64 * 2**20


class MemoryStore:
    """Least recently used vectors by key, bounded in bytes and safe in threads."""

    def __init__(self, max_bytes: int = 256 * 2**20) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        self._vectors: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        # Reentrant, because an encoder may be collected, and forgotten, while this thread is in here.
        self._lock = threading.RLock()

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

    def forget(self, scope: Hashable) -> None:
        """Forget every vector whose key is a tuple that begins with the scope."""
        with self._lock:
            for key in [key for key in list(self._vectors) if isinstance(key, tuple) and key[0] == scope]:
                self.n_bytes -= self._vectors.pop(key).nbytes

    def bytes_of(self, scope: Hashable) -> int:
        """Bytes of the vectors whose key is a tuple that begins with the scope."""
        with self._lock:
            known = list(self._vectors.items())
        return sum(vector.nbytes for key, vector in known if isinstance(key, tuple) and key[0] == scope)

    def clear_after_fork(self) -> None:
        """Forget everything in a new process, whoever held the lock in the old one."""
        self._lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._vectors.clear()
            self.n_bytes = 0


process_memory = MemoryStore(PROCESS_BYTES)
"""The vectors of all encoders of images, by (encoder, kind, digest)."""

if hasattr(os, "register_at_fork"):
    # A thread of the parent may have been inside.
    os.register_at_fork(after_in_child=process_memory.clear_after_fork)


class LayeredStore:
    """Vectors of one kind of one encoder: in the memory of all encoders, and perhaps also on the disk.

    The disk is asked for what the memory does not know, and gets what is new at `flush`.
    """

    def __init__(self, memory: MemoryStore, scope: tuple[Hashable, ...], disk: DiskStore | None) -> None:
        self._memory = memory
        self._scope = scope
        self._disk = disk
        self._pending: dict[bytes, np.ndarray] = {}
        self._pending_bytes = 0

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors of those keys that are known."""
        held = self._memory.get([(*self._scope, key) for key in keys])
        found = {key: held[name] for key in keys if (name := (*self._scope, key)) in held}
        if self._disk is not None and found:
            # Computed before the folder was named, or for another one.
            self._wait({key: found[key] for key in self._disk.absent(list(found))})
        missing = [key for key in keys if key not in found]
        if self._disk is not None and missing:
            read = self._disk.get(missing)
            self._memory.put({(*self._scope, key): vector for key, vector in read.items()})
            found.update(read)
        return found

    def put(self, values: Mapping[bytes, np.ndarray]) -> None:
        """Keep new vectors."""
        # A row of a batch would keep the whole batch alive.
        own = {key: vector.copy() for key, vector in values.items()}
        self._memory.put({(*self._scope, key): vector for key, vector in own.items()})
        if self._disk is not None:
            self._wait(own)

    def flush(self) -> None:
        """Write what is new to the disk."""
        if self._disk is not None and self._pending:
            self._disk.put(self._pending)
            self._pending, self._pending_bytes = {}, 0

    def _wait(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        self._pending.update(vectors)
        self._pending_bytes += sum(vector.nbytes for vector in vectors.values())
        if self._pending_bytes > _PENDING_BYTES:
            self.flush()
