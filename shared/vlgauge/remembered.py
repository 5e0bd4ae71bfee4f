"""What was found out before, up to a bound: a process that runs for weeks must not grow."""

import threading
from collections import OrderedDict
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
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of a key; None if it is not, or no longer, known."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self._discard(key)
            self._values[key] = value
            self.total += self._size(value)
            while self.total > self.most:
                self._discard(next(iter(self._values)))

    def pop(self, key: K) -> V | None:
        """Hand a value out and forget it; None if it is not, or no longer, known."""
        with self._lock:
            return self._discard(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()
            self.total = 0

    def _discard(self, key: K) -> V | None:
        if key not in self._values:
            return None
        value = self._values.pop(key)
        self.total -= self._size(value)
        return value


def remembered_for_words(call: Callable[[str], V]) -> Callable[[str], V]:
    """A function of one word that keeps what it gave for the last words, but for those that are too long."""
    kept = lru_cache(maxsize=MOST_WORDS)(call)

    @wraps(call)
    def remembered(word: str) -> V:
        return kept(word) if len(word) <= LONGEST_WORD else call(word)

    return remembered
