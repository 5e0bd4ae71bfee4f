"""Work that ends at its next step of progress once its visitor stops it or leaves the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import wraps
from itertools import count
from threading import Event, RLock, Thread
from typing import Any, ParamSpec

import gradio as gr

_LOOK_SECONDS = 0.05  # between two looks whether the work has ended
_TURN_SECONDS = 0.1  # between two looks whether work that waits for its turn was stopped
_LOOKS_PER_MESSAGE = 10  # Gradio notices only between two messages that the visitor has left

P = ParamSpec("P")


class Cancelled(BaseException):
    """Work was stopped. Not an `Exception`, since a metric may record one as the fault of a row."""


class Work:
    """A call in a thread of its own.

    Attributes:
        stopped: Set once nobody wants the result.
        done: Items that are finished.
        total: Items in all; 0 before the first report.
        result: What the call returned.
        error: What it raised; None for nothing.
    """

    def __init__(self) -> None:
        self.stopped = Event()
        self.done = self.total = 0
        self.result: Any = None
        self.error: BaseException | None = None

    def report(self, done: int, total: int) -> None:
        """Take note of progress.

        Raises:
            Cancelled: If nobody wants the result.
        """
        self.done, self.total = done, total
        if self.stopped.is_set():
            raise Cancelled

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call a function, whose metrics report to this work."""
        _WORK.set(self)
        try:
            self.result = function(*args, **kwargs)
        except BaseException as error:
            self.error = error


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


def heard(done: int, total: int) -> None:
    """Report progress to the work of this thread, if it has one; the setting `progress` of every metric here."""
    if work := _WORK.get():
        work.report(done, total)


def this_work() -> Work | None:
    """The work of this thread, if it has one."""
    return _WORK.get()


def end_if_stopped() -> None:
    """End the work of this thread here if nobody wants its result.

    Raises:
        Cancelled: If so.
    """
    if (work := _WORK.get()) is not None and work.stopped.is_set():
        raise Cancelled


@contextmanager
def turn_at(lock: RLock) -> Iterator[None]:
    """Hold a lock, for which work waits only until it is stopped.

    Raises:
        Cancelled: If it was stopped meanwhile.
    """
    while not lock.acquire(timeout=_TURN_SECONDS):
        end_if_stopped()
    try:
        yield
    finally:
        lock.release()


def _unchanged(work: Work, *args: Any) -> Any:
    return gr.skip()


def stoppable(function: Callable[P, Any], told: Callable[..., Any] = _unchanged) -> Callable[P, AsyncIterator[Any]]:
    """Make an event handler of a function that runs in a thread.

    When Gradio closes the handler, because the event was cancelled or its visitor left the page, the work ends at its
    next report of progress, and the handler waits for that.

    Args:
        function: What is called.
        told: What the outputs show meanwhile, from the work and the arguments.

    Returns:
        An asynchronous generator, whose last value is the result.
    """

    @wraps(function)
    async def worked(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Any]:
        work = Work()
        call = copy_context().run
        thread = Thread(target=call, args=(work.run, function, *args), kwargs=kwargs, daemon=True)
        thread.start()
        try:
            for look in count(1):
                await asyncio.sleep(_LOOK_SECONDS)
                if not thread.is_alive():
                    break
                if look % _LOOKS_PER_MESSAGE == 0:
                    yield told(work, *args)
        finally:
            work.stopped.set()
            while thread.is_alive():
                await asyncio.sleep(_LOOK_SECONDS)
        if work.error is not None:
            raise work.error
        yield work.result

    return worked
