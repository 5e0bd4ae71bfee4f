"""What was found out before, up to a bound: a process that runs for weeks must not grow."""

import threading
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Generic, TypeVar

MOST_WORDS = 2**16
# No word of WordNet is as long; a few texts without a space, kept among the words, would fill the memory.
LONGEST_WORD = 64

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by key, of which the least recently used ones go; safe in threads.

    Args:
        most: How many values are kept, or how much of them, by `size`.
        size: How much a value counts.

    Attributes:
        total: How much is kept.
    """

    def __init__(self, most: int, size: Callable[[V], int] = lambda value: 1) -> None:
        self.most = most
        self.total = 0
        self._size = size
        self._values: dict[K, V] = {}  # the least recently used first
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of a key; None if it is not, or no longer, known."""
        with self._lock:
            if key in self._values:
                self._values[key] = self._values.pop(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self.pop(key)
            self._values[key] = value
            self.total += self._size(value)
            while self.total > self.most:
                self.pop(next(iter(self._values)))

    def pop(self, key: K) -> V | None:
        """Hand a value out and forget it; None if it is not, or no longer, known."""
        with self._lock:
            value = self._values.pop(key, None)
            self.total -= 0 if value is None else self._size(value)
            return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()
            self.total = 0


def remembered_for_words(call: Callable[[str], V]) -> Callable[[str], V]:
    """A function of one word that keeps what it gave for the last words, but for those that are too long."""
    kept = lru_cache(maxsize=MOST_WORDS)(call)

    @wraps(call)
    def remembered(word: str) -> V:
        return kept(word) if len(word) <= LONGEST_WORD else call(word)

    return remembered
