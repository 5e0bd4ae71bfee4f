"""How long something takes yet, told from how long it took so far."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Heard = Callable[[int, int], None]

_PAUSE = 0.3  # seconds between two tellings
_SOON = 1.5  # seconds from which on a forecast is made
_LISTENER: ContextVar[Heard | None] = ContextVar("workbench_progress", default=None)


def time_left(began: float, done: int, total: int | None) -> str:
    """In words what is left of what began then by `time.monotonic`, with a comma before; empty while not known."""
    took = time.monotonic() - began
    if not done or total is None or done >= total or took < _SOON:
        return ""
    seconds = took / done * (total - done)
    if seconds < 90:
        return f", about {max(1, round(seconds))} s left"
    return f", about {round(seconds / 60)} min left" if seconds < 5400 else f", about {seconds / 3600:.1f} h left"


def heard(done: int, total: int) -> None:
    """What metrics of the workbench are given as `progress`: it tells who listens here, if anybody does."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(done, total)


@contextmanager
def listening(tell: Callable[[int, int, str], None]) -> Iterator[None]:
    """Context in which the work of a metric is told: how much is done of how much, and in words what is left."""
    began: dict[int, float] = {}
    last = 0.0

    def listener(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done <= 0 or total not in began:  # a step of its own, such as the reading of pictures
            began[total] = now
        if now - last >= _PAUSE:
            last = now
            tell(done, total, time_left(began[total], done, total))

    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
