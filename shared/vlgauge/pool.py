"""The pool: one copy of each encoder per process, built at first use."""

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any

from vlgauge.progress import announce

Key = tuple[Hashable, ...]


class EncoderPool:
    """Process-wide dictionary of encoders.

    Keys are made of resolved values (family, digest of the files, device, ...), so that two names of the same bytes
    meet in one entry. Two threads that ask for the same key build it once; other keys do not wait for them.
    """

    def __init__(self) -> None:
        self._encoders: dict[Key, Any] = {}
        self._hits: dict[Key, int] = {}
        self._building: dict[Key, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Key, build: Callable[[], Any], what: str = "") -> Any:
        """The encoder of a key; ``build`` is called if there is none yet, and ``what`` is loaded is announced."""
        with self._guard:
            lock = self._building.setdefault(key, threading.Lock())
        with lock:
            with self._guard:
                if key in self._encoders:
                    self._hits[key] += 1
                    return self._encoders[key]
            if what:
                announce(f"Loading {what}")
            encoder = build()
            with self._guard:
                self._encoders[key] = encoder
                self._hits[key] = 0
            return encoder

    def unload(self) -> None:
        """Forget all encoders; metrics in use keep what they hold."""
        with self._guard:
            self._encoders.clear()
            self._hits.clear()

    def info(self) -> list[dict[str, Any]]:
        """One entry per encoder: its key, how often it was asked for again, and its size in bytes where known."""
        with self._guard:
            entries = list(self._encoders.items())
            hits = dict(self._hits)
        return [
            {"key": key, "hits": hits.get(key, 0), "bytes": getattr(encoder, "n_bytes", None)}
            for key, encoder in entries
        ]

    def _after_fork(self) -> None:
        # Threads of the parent do not exist in the child, so a lock they held would never be released.
        self.__init__()  # type: ignore[misc]


pool = EncoderPool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool._after_fork)
