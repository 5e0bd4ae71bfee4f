"""Process-wide pool with one instance of each encoder, created on first use."""

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any

from vlgauge.core.progress import announce

Key = tuple[Hashable, ...]


class EncoderPool:
    """Process-wide cache of encoders.

    Keys consist of resolved values (family, digest of the files, device and so on), so that different names of the same
    files share one entry. Threads that request the same key build the encoder once, without blocking other keys.

    Attributes:
        encoders: Encoders by key.
    """

    def __init__(self) -> None:
        self.encoders: dict[Key, Any] = {}
        self._building: dict[Key, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Key, build: Callable[[], Any], what: str = "") -> Any:
        """Return the encoder of a key, building it if needed.

        Args:
            key: Key of the encoder.
            build: Function that builds the encoder.
            what: Name of the encoder to announce before it is built. Empty for no announcement.

        Returns:
            The result of `build`, which is called once per key, even from several threads.
        """
        with self._guard:
            lock = self._building.setdefault(key, threading.Lock())
        with lock:
            encoder = self.encoders.get(key)
            if encoder is None:
                if what:
                    announce(f"Loading {what}")
                encoder = self.encoders[key] = build()
            return encoder

    def unload(self) -> None:
        """Remove all encoders from the pool. Metrics in use keep their references."""
        self.encoders.clear()

    def _after_fork(self) -> None:
        # Create new locks, because locks held by threads of the parent process are never released in the child.
        self.__init__()  # type: ignore[misc]


pool = EncoderPool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool._after_fork)
