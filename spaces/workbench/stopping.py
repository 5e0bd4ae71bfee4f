"""Background work that ends at its next progress report after the user stops it or leaves the page."""

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

_LOOK_SECONDS = 0.05  # between two checks whether the work has ended
_TURN_SECONDS = 0.1  # between two checks whether waiting work was stopped
_LOOKS_PER_MESSAGE = 10  # Gradio checks only between two messages whether the user has left

P = ParamSpec("P")


class Cancelled(BaseException):
    """Raised if work was stopped. It is not an `Exception`, because a metric may record one as the error of a row."""


class Work:
    """Call in a separate thread.

    Attributes:
        stopped: Event that is set when the result is no longer needed.
        done: Number of finished items.
        total: Total number of items. 0 before the first report.
        result: Return value of the call.
        error: Exception raised by the call. None for none.
    """

    def __init__(self) -> None:
        self.stopped = Event()
        self.done = self.total = 0
        self.result: Any = None
        self.error: BaseException | None = None

    def report(self, done: int, total: int) -> None:
        """Record progress.

        Raises:
            Cancelled: If the work was stopped.
        """
        self.done, self.total = done, total
        if self.stopped.is_set():
            raise Cancelled

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call a function. Metrics that it runs report their progress to this work."""
        _WORK.set(self)
        try:
            self.result = function(*args, **kwargs)
        except BaseException as error:
            self.error = error


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


def report(done: int, total: int) -> None:
    """Report progress to the work of this thread, if any. It is the setting `progress` of every metric here."""
    if work := _WORK.get():
        work.report(done, total)


def this_work() -> Work | None:
    """Return the work of this thread. None if there is none."""
    return _WORK.get()


def end_if_stopped() -> None:
    """End the work of this thread here if it was stopped.

    Raises:
        Cancelled: If it was.
    """
    if (work := _WORK.get()) is not None and work.stopped.is_set():
        raise Cancelled


@contextmanager
def turn_at(lock: RLock) -> Iterator[None]:
    """Hold a lock. Waiting for the lock ends when the work of this thread is stopped.

    Raises:
        Cancelled: If the work was stopped while it waited.
    """
    while not lock.acquire(timeout=_TURN_SECONDS):
        end_if_stopped()
    try:
        yield
    finally:
        lock.release()


def _skip(work: Work, *args: Any) -> Any:
    return gr.skip()


def stoppable(function: Callable[P, Any], interim: Callable[..., Any] = _skip) -> Callable[P, AsyncIterator[Any]]:
    """Convert a function to an event handler that runs it in a thread.

    If Gradio closes the handler, because the event was cancelled or the user left the page, the work ends at its next
    progress report, and the handler waits for that.

    Args:
        function: Function to run.
        interim: Function that returns the interim outputs from the work and the arguments.

    Returns:
        An asynchronous generator function whose last value is the result.
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
                    yield interim(work, *args)
        finally:
            work.stopped.set()
            while thread.is_alive():
                await asyncio.sleep(_LOOK_SECONDS)
        if work.error is not None:
            raise work.error
        yield work.result

    return worked
