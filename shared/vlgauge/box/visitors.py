"""Whose jobs they are: one visitor holds at most one child, and pauses after three that were lost to him."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vlgauge.errors import UsageError

MOST_LOST = 3
PAUSE_SECONDS = 60.0
_MOST_KNOWN = 10_000

_visitor: ContextVar[str | None] = ContextVar("visitor", default=None)


class Paused(UsageError):
    """Children were lost to a visitor, who has to wait."""


class _Known:
    """What is known of a visitor: his turn, and when children were lost to him."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.lost: list[float] = []


_known: OrderedDict[str, _Known] = OrderedDict()
_guard = threading.Lock()


@contextmanager
def visitor(name: str | None) -> Iterator[None]:
    """Jobs inside the block are those of a visitor; None for nobody's, which do not wait for each other."""
    token = _visitor.set(name)
    try:
        yield
    finally:
        _visitor.reset(token)


def current_visitor() -> str | None:
    """Whose jobs they are here."""
    return _visitor.get()


@contextmanager
def turn() -> Iterator[None]:
    """Wait until no other job of the visitor holds a child.

    Raises:
        Paused: If too many were lost to him.
    """
    name = _visitor.get()
    if name is None:
        yield
        return
    known = _of(name)
    with known.turn:
        left = PAUSE_SECONDS - (time.monotonic() - known.lost[-MOST_LOST]) if len(known.lost) >= MOST_LOST else 0.0
        if left > 0:
            raise Paused(
                f"{MOST_LOST} files of yours could not be read within their bounds, so others wait; try again in "
                f"{left:.0f} s"
            )
        yield


def note_lost() -> None:
    """Remember that a child was lost to the visitor whose turn it is."""
    name = _visitor.get()
    if name is not None:
        known = _of(name)
        known.lost = [*known.lost, time.monotonic()][-MOST_LOST:]


def _of(name: str) -> _Known:
    with _guard:
        known = _known.setdefault(name, _Known())
        _known.move_to_end(name)
        while len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
        return known
