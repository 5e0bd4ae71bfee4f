"""The side of a box that asks: children that are started once and kept, watched, and replaced when they are lost."""

import os
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeAlias

from vlgauge.box import frames, scratch, visitors, walls
from vlgauge.errors import UsageError
from vlgauge.files import TooMuch

MEGABYTE = 2**20
ADDED_BYTES = 512 * MEGABYTE
SECONDS = 10.0
_START_SECONDS = 120.0
_LOOK_SECONDS = 0.02
_PATIENCE = 2.0  # how often a job may stand in line for a processor as long as it has time
_MOST_PARTS = 10**6
# Answers to what a child asks.
Asked: TypeAlias = Callable[[dict[str, Any]], tuple[Mapping[str, Any], bytes]]

_bounds: ContextVar[tuple[int, float]] = ContextVar("bounds", default=(ADDED_BYTES, SECONDS))

# Of the environment, what a program needs to start; no token, no proxy.
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
# One thread, and no address space in advance: it is what is limited.
_SET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Beyond(UsageError):
    """A file that takes more memory or time than a child may have."""


@contextmanager
def bounds(*, added_bytes: int | None = None, seconds: float | None = None) -> Iterator[None]:
    """Let each job inside the block add so much memory and take so long; None for what holds outside of it."""
    before = _bounds.get()
    token = _bounds.set((added_bytes or before[0], seconds or before[1]))
    try:
        yield
    finally:
        _bounds.reset(token)


class _Child:
    """One process and its pipes.

    Attributes:
        holds: Which walls hold there.
        resident: Memory in bytes that it has without a job.
        why: What was beyond its bounds when it was ended; None if it was not.
        name: Of the last job.
        refused: The last error that it was told of when it asked for something.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self.why: str | None = None
        self.refused: Exception | None = None
        self.name = ""
        self.scratch = place = scratch.new_folder()
        own = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        places = {"HOME": place, "TMPDIR": place, "HF_HOME": os.path.join(place, "hub")}
        package = str(Path(__file__).parents[2])
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "vlgauge.box.child", place, *(f"{name}={at}" for name, at in table.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**own, **_SET, **places, "PYTHONPATH": package},
            cwd=place,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.jobs, self.answers = self.process.stdin, self.process.stdout
        for stream in (self.jobs, self.answers):
            frames.widen(stream)
        # With the box, or at the end of the program; the child of a killed program sees the pipe end.
        self._end = weakref.finalize(self, _ended, self.process, place)

    def wait_until_ready(self) -> None:
        """Wait until it has imported all that it needs.

        Raises:
            RuntimeError: If it does not get there.
        """
        try:
            with _watched(self, sys.maxsize, _START_SECONDS):
                told = frames.receive(self.answers, 0).head
        except (EOFError, OSError, frames.Garbled):
            self.end()
            raise RuntimeError("a child process that reads files could not be started") from None
        self.holds: dict[str, bool] = told["holds"]
        self.resident = int(told["resident"])

    def end(self) -> None:
        """Kill it, and remove what it left."""
        self._end()


def _ended(process: subprocess.Popen[bytes], place: str) -> None:
    with suppress(OSError):
        process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # what was not written goes nowhere
                stream.close()
    process.wait()
    shutil.rmtree(place, ignore_errors=True)


class Box:
    """Child processes that read what others made.

    Args:
        table: The only functions that they call, ``module:function`` by the name of a job.
        n_children: How many there may be.
    """

    def __init__(self, table: Mapping[str, str], n_children: int | None = None) -> None:
        self._table = dict(table)
        self._n_children = n_children or min(4, max(2, os.cpu_count() or 1))
        self._forget()
        _boxes.add(self)

    def _forget(self) -> None:
        self._free: list[_Child] = []
        self._n_there = 0
        self._changed = threading.Condition()

    def run(
        self,
        job: str,
        settings: Mapping[str, Any],
        content: bytes | bytearray | memoryview = b"",
        *,
        what: str,
        most: int,
        asked: Asked | None = None,
        take: Callable[[frames.Answer], object] | None = None,
        prefer: str = "",
    ) -> list[frames.Answer]:
        """Let a child do a job.

        Args:
            job: Its name in the table.
            settings: What it is told, in JSON.
            content: Bytes of the file.
            what: What messages call the file: "`images[0]`".
            most: Bytes that all parts of the answer may have.
            asked: Answers what the child asks meanwhile; an OSError or ValueError of it is told to the child.
            prefer: A name; the child that had a job of that name last gets this one, if it is free.
            take: Takes each part as it comes, and raises `Garbled` for what is none.

        Returns:
            The parts of the answer that were not taken.

        Raises:
            Beyond: If the child took too much memory or time, died, or answered something else.
            Paused: If too many children were lost to this visitor.
            ValueError: With what the function raised.
            OSError: If that was one, or nothing could be asked for.
        """
        added, seconds = _bounds.get()
        told = {"job": job, "settings": dict(settings), "added": added, "seconds": seconds}
        with visitors.turn():
            child = self._taken(prefer)
            child.refused, child.name = None, prefer
            try:
                with _watched(child, child.resident + added, seconds):
                    frames.send(child.jobs, told, content)
                    parts = _answers(child, most, asked, take)
                    last = parts.pop().head
            except (EOFError, OSError, frames.Garbled):
                self._lost(child)
                raise _beyond(what, added, seconds) from None
            except BaseException:
                self._lost(child, is_fault=False)
                raise
            if child.why is not None:  # it was ended behind its last word
                self._lost(child, is_fault=False)
            else:
                self._put_back(child)
            if "failed" in last:
                if last["failed"] == "MemoryError":
                    raise _beyond(what, added, seconds)
                if last["failed"] == "AskedError" and child.refused is not None:
                    raise child.refused
                # Of what a function may raise, the other side has a few kinds.
                kinds: dict[str, type[Exception]] = {"TooMuch": TooMuch, "OSError": OSError}
                error = kinds.get(str(last["failed"]), UsageError)(str(last["why"]))
                vars(error).update({name: str(told) for name, told in last["facts"].items() if told is not None})
                raise error
            return parts

    def start(self) -> None:
        """Let a child start meanwhile, if there is none."""
        with self._changed:
            if self._n_there:
                return
            self._n_there += 1
        try:
            child = _Child(self._table)
        except OSError:  # which a job will tell
            self._one_less()
        else:
            self._put_back(child)

    def holds(self) -> dict[str, bool]:
        """Which walls hold on this platform: ``files``, ``network``, ``programs`` and ``memory``."""
        child = self._taken()
        self._put_back(child)
        return child.holds

    def close(self) -> None:
        """End the children that have no job."""
        with self._changed:
            ended, self._free = self._free, []
            self._n_there -= len(ended)
        for child in ended:
            child.end()

    def _taken(self, prefer: str = "") -> _Child:
        with self._changed:
            while not self._free and self._n_there >= self._n_children:
                self._changed.wait()
            named = [one for one in self._free if prefer and one.name == prefer]
            child = named[0] if named else self._free[-1] if self._free else None
            if child is not None:
                self._free.remove(child)
            self._n_there += child is None
        try:
            child = child or _Child(self._table)
            if not hasattr(child, "holds"):
                child.wait_until_ready()
        except BaseException:
            self._one_less()
            raise
        # Somebody ended it meanwhile, or removed its folder, without which it can read nothing more.
        if child.process.poll() is not None or not os.path.isdir(child.scratch):
            child.end()
            self._one_less()
            return self._taken(prefer)
        return child

    def _put_back(self, child: _Child) -> None:
        with self._changed:
            self._free.append(child)
            self._changed.notify()

    def _lost(self, child: _Child, *, is_fault: bool = True) -> None:
        child.end()
        if is_fault:
            visitors.note_lost()
        self._one_less()

    def _one_less(self) -> None:
        with self._changed:
            self._n_there -= 1
            self._changed.notify()


def _answers(
    child: _Child, most: int, asked: Asked | None, take: Callable[[frames.Answer], object] | None
) -> list[frames.Answer]:
    """Parts of an answer that are not taken, and its end, which says that it is done or failed."""
    parts: list[frames.Answer] = []
    left = most
    for _ in range(_MOST_PARTS):
        answer = frames.receive(child.answers, left)
        left -= len(answer.body)
        if "ask" in answer.head:
            _tell(child, answer.head, asked)
        elif "part" not in answer.head:
            return [*parts, answer]
        elif take is None:
            parts.append(answer)
        else:
            with _patient(child):
                take(answer)
    raise frames.Garbled("too many parts")


def _tell(child: _Child, question: dict[str, Any], asked: Asked | None) -> None:
    """Answer what a child asks; it has as much time as before."""
    if asked is None:
        raise frames.Garbled("a question that nobody answers")
    try:
        with _patient(child):
            head, body = asked(question)
    except (OSError, ValueError) as error:
        child.refused = error
        head, body = {"error": str(error)}, b""
    frames.send(child.jobs, head, body)


def _beyond(what: str, added: int, seconds: float) -> Beyond:
    return Beyond(f"{what} cannot be read within {added // MEGABYTE:,} MB and {seconds:g} s")


# -- The watch --------------------------------------------------------------------------------------------------------
class _Watched:
    """A job and its bounds."""

    def __init__(self, child: _Child, most_bytes: int, seconds: float) -> None:
        self.child, self.most_bytes, self.seconds = child, most_bytes, seconds
        self.end = time.monotonic() + seconds
        self._begun: float | None = None  # of time in line, from the first look on: most jobs are over before

    def is_late(self) -> bool:
        """Whether its time is over, without that in which others kept it from a processor, up to a point."""
        if self._begun is None:
            self._begun = walls.seconds_in_line(self.child.process.pid)
        over = time.monotonic() - self.end
        if over < 0:
            return False
        in_line = walls.seconds_in_line(self.child.process.pid) - self._begun
        return over >= min(in_line, _PATIENCE * self.seconds)


class _Watch:
    """One thread that ends the children whose jobs take too much memory or time; it ends when there is no job."""

    def __init__(self) -> None:
        self.jobs: dict[_Child, _Watched] = {}
        self.guard = threading.Lock()
        self.is_running = False

    def add(self, job: _Watched) -> None:
        with self.guard:
            self.jobs[job.child] = job
            if not self.is_running:
                try:
                    threading.Thread(target=self._look, name="vlgauge-box", daemon=True).start()
                except BaseException:  # no memory, say: the next job tries again, and this one is not done unwatched
                    del self.jobs[job.child]
                    raise
                self.is_running = True

    def remove(self, child: _Child) -> None:
        with self.guard:
            self.jobs.pop(child, None)

    def _look(self) -> None:
        while True:
            with self.guard:
                if not self.jobs:
                    self.is_running = False
                    return
                for job in self.jobs.values():
                    if job.is_late():
                        job.child.why = "time"
                    elif walls.memory_of(job.child.process.pid)[1] > job.most_bytes:
                        job.child.why = "memory"
                    if job.child.why is not None:
                        job.child.process.kill()
            time.sleep(_LOOK_SECONDS)


_watch = _Watch()
_boxes: weakref.WeakSet[Box] = weakref.WeakSet()


@contextmanager
def _watched(child: _Child, most_bytes: int, seconds: float) -> Iterator[None]:
    _watch.add(_Watched(child, most_bytes, seconds))
    try:
        yield
    finally:
        _watch.remove(child)


@contextmanager
def _patient(child: _Child) -> Iterator[None]:
    """Do not count the time meanwhile: it is the network's."""
    job = _watch.jobs[child]
    left = job.end - time.monotonic()
    job.end = sys.float_info.max
    try:
        yield
    finally:
        job.end = time.monotonic() + left


def _forget_all() -> None:
    # Pipes, threads and locks of the parent are no good in a fork of it.
    _watch.__init__()  # type: ignore[misc]
    scratch.forget()
    for box in _boxes:
        box._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
