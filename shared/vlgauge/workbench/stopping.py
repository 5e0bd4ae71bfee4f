"""Work that can be stopped: by its visitor, or because nobody waits for it any more."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import wraps
from threading import Event, Lock, Thread, get_ident
from typing import ParamSpec, TypeVar

import gradio as gr
from gradio.context import LocalContext

from vlgauge.workbench.visitors import VISITOR, TimeUsed

AGAIN_SECONDS, MOST_TIMES = 1.0, 30  # until the next exception, where a library lost the one before

P = ParamSpec("P")
R = TypeVar("R")

USED = TimeUsed()
_AT_WORK: set[Work] = set()


class Stopped(BaseException):
    """The work was stopped; not an `Exception`, as a library would take it for a failure of its own."""


class Work:
    """What a thread does, from when it is made until `close`.

    Python lets a thread raise an exception in another, where it runs next: within a step of a loop of Python or a call
    of a library, as when a program is interrupted from the keyboard, and as safe.
    """

    def __init__(self) -> None:
        request = LocalContext.request.get(None)
        self.session = None if request is None else request.session_hash
        self.event = LocalContext.event_id.get(None)
        scope = getattr(getattr(request, "request", None), "scope", None) or {}
        self.visitor = str(scope.get(VISITOR, ""))
        self._thread = get_ident()
        self._began = time.monotonic()
        self._lock = Lock()
        self._closed = Event()
        self.is_stopped = False

    def stop(self) -> None:
        """End it soon; again where it was told already."""
        with self._lock:
            if self._closed.is_set() or self.is_stopped:
                return
            self.is_stopped = True
        Thread(target=self._raised, daemon=True).start()

    def _raised(self) -> None:
        # An exception that strikes in the finalizer of an object is lost.
        for _ in range(MOST_TIMES):
            with self._lock:
                if self._closed.is_set():
                    return
                _raise_in(self._thread, Stopped)
            self._closed.wait(AGAIN_SECONDS)

    def close(self) -> None:
        """Take no more notice of `stop`."""
        while True:
            try:
                with self._lock:
                    self._closed.set()
                    _raise_in(self._thread, None)
                _AT_WORK.discard(self)
                return
            except Stopped:  # struck meanwhile
                continue

    @property
    def seconds(self) -> float:
        """How long ago it began."""
        return time.monotonic() - self._began


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Let a thread raise an exception where it runs next; None takes back one that it has not raised yet."""
    what = ctypes.py_object(kind) if kind is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


def stoppable(function: Callable[P, R], begun: Callable[..., object] | None = None) -> Callable[P, R]:
    """The function, whose calls can be stopped, and count as time that the visitor used."""

    @wraps(function)
    def worked(*args: P.args, **kwargs: P.kwargs) -> R:
        work = Work()
        try:
            _AT_WORK.add(work)
            try:
                if begun is not None:
                    begun(work, *args, **kwargs)
                return function(*args, **kwargs)
            finally:
                work.close()
        except Stopped:
            work.close()
            raise gr.Error("Stopped.", title="Not scored", print_exception=False) from None
        finally:
            USED.add(work.visitor, work.seconds)

    return worked


def stop(*, session: str | None = None, event: str | None = None) -> None:
    """Stop what is at work for a session, or for an event of the queue."""
    for work in list(_AT_WORK):
        if (session is not None and work.session == session) or (event is not None and work.event == event):
            work.stop()
