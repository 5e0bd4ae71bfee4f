"""Bounded, thread-safe caches, for processes that run for weeks."""

import threading
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Generic, TypeVar

MOST_WORDS = 2**16
# Maximum length of a cached word. WordNet has no longer one, and a few long texts without spaces would fill the memory.
LONGEST_WORD = 64

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """Thread-safe cache that evicts the least recently used values.

    Args:
        most: Maximum number of values, or maximum total size if `size` is passed.
        size: Function that returns the size of a value.

    Attributes:
        total: Total size of the cached values.
    """

    def __init__(self, most: int, size: Callable[[V], int] = lambda value: 1) -> None:
        self.most = most
        self.total = 0
        self._size = size
        self._values: dict[K, V] = {}  # least recently used first
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of a key. None if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values[key] = self._values.pop(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Add a value, and evict old values until the total size is within the limit."""
        with self._lock:
            self.pop(key)
            self._values[key] = value
            self.total += self._size(value)
            while self.total > self.most:
                self.pop(next(iter(self._values)))

    def pop(self, key: K) -> V | None:
        """Remove and return the value of a key. None if it is not cached."""
        with self._lock:
            value = self._values.pop(key, None)
            self.total -= 0 if value is None else self._size(value)
            return value

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self.total = 0


def cache_per_word(call: Callable[[str], V]) -> Callable[[str], V]:
    """Cache the results of a function of one word for the most recent words, except words that are too long."""
    kept = lru_cache(maxsize=MOST_WORDS)(call)

    @wraps(call)
    def remembered(word: str) -> V:
        return kept(word) if len(word) <= LONGEST_WORD else call(word)

    return remembered
