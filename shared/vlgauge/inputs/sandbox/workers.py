"""Parent side of the sandbox: worker processes, their limits, and the transfer of their results."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from vlgauge.core.errors import UsageError
from vlgauge.inputs.sandbox.messages import OUT_OF_MEMORY, receive, send

MEGABYTE = 2**20
MEMORY = 512 * MEGABYTE
"""Memory limit of a task in bytes, in addition to the memory of its worker after the imports."""
SECONDS = 10.0
"""CPU time limit of a task in seconds."""
MOST_SECONDS = 60.0
"""Maximum wall-clock time of a task in seconds. A task may take three times its CPU time on a loaded machine."""

_START_SECONDS = 60.0
_MOST_FREE, _MOST_STREAMS = 4, 4
_NO_START = "a worker process that decodes untrusted files could not be started"

# Environment variables that a program requires to start. They contain no token and no proxy.
_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
# Use one thread and reserve no address space, because the address space is limited.
_SET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PYTHONPATH = str(Path(__file__).parents[3])


class SandboxError(UsageError):
    """Raised if a file crashes its worker, or its worker exceeds the memory or time limit."""


class EvictedError(Exception):
    """Raised if a waiting stream was ended in favor of other streams."""


class Part(NamedTuple):
    """Part of the result of a task.

    Attributes:
        facts: JSON value.
        body: Bytes, such as pixels or an Arrow stream.
    """

    facts: Any
    body: bytes


class _Worker:
    """Worker process.

    Attributes:
        key: Module, and the environment variables in addition to `_PASSED` and `_SET`.
        is_late: Whether the process was killed after its time limit.
        scratch: Folder for temporary files.
    """

    def __init__(self, key: tuple[str, ...]) -> None:
        self.key, self.is_late = key, False
        module, *more = key
        try:
            self.scratch = scratch = tempfile.mkdtemp(prefix="vlgauge-sandbox-")
        except OSError as error:
            raise UsageError(
                "untrusted files are decoded in worker processes, which require a folder for temporary files "
                f"({error.strerror or error}); set TMPDIR to a writable folder"
            ) from error
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        environment |= _SET | {"HOME": scratch, "TMPDIR": scratch, "TEMP": scratch, "PYTHONPATH": PYTHONPATH}
        environment |= {"HF_HOME": os.path.join(scratch, "hub"), **dict(one.split("=", 1) for one in more)}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "vlgauge.inputs.sandbox.worker", module, scratch],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=scratch,
            )
        except OSError as error:
            shutil.rmtree(scratch, ignore_errors=True)
            raise UsageError(f"{_NO_START} ({error.strerror or error})") from error
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.tasks, self.answers = self.process.stdin, self.process.stdout
        self.end = weakref.finalize(self, _end, self.process, scratch)
        _workers.add(self)

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer."""
        timer = threading.Timer(seconds, self._kill)
        timer.name, timer.daemon = "vlgauge-sandbox", True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _kill(self) -> None:
        self.is_late = True
        self.process.kill()


def _end(process: "subprocess.Popen[bytes]", scratch: str) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # if a task was not written completely
                stream.close()
    process.wait()
    shutil.rmtree(scratch, ignore_errors=True)


# -- Tasks ------------------------------------------------------------------------------------------------------------
def run(
    task: str,
    settings: dict[str, Any],
    content: bytes | bytearray | memoryview = b"",
    *,
    subject: str,
    most_bytes: int = MEGABYTE,
    memory: int = MEMORY,
    seconds: float | None = None,
) -> Generator[Part]:
    """Run a task in a worker and yield the parts of its result, which must be consumed immediately.

    The worker is released with the last part or by ``close``. If an error can end the caller earlier, use
    `contextlib.closing`, because the frames of a kept error keep the generator.

    Args:
        task: Task as ``"module:function"``.
        settings: JSON value for the function.
        content: Content of a file for the function.
        subject: Name of the file in messages, such as ``"`images[0]`"``.
        most_bytes: Maximum total size of all parts, in bytes.
        memory: Memory limit in bytes, in addition to the memory of the worker after its imports.
        seconds: CPU time limit in seconds. The default is `SECONDS`.

    Raises:
        SandboxError: If the worker exceeded its memory or time, or ended.
        UsageError: If the function raised an error, with its message.
        OSError: If the function raised one.
    """
    module, _, function = task.partition(":")
    seconds = SECONDS if seconds is None else seconds
    request = {"function": function, "settings": settings, "memory": memory, "seconds": seconds, "is_stream": False}
    with _turns:
        worker = _begin_task((module,), request, subject, content)
        with _keep_worker(worker), worker.deadline(_wall_clock(seconds)):
            yield from _parts(worker, request, subject, most_bytes)


def stream(
    task: str,
    settings: dict[str, Any],
    *,
    subject: str,
    most_bytes: int,
    memory: int = MEMORY,
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Part]:
    """Run a task in a worker that waits while each part is consumed, with separate limits for each part.

    Args:
        task: Task as ``"module:function"``.
        settings: JSON value for the function.
        subject: Name of the file in messages, such as ``"`images[0]`"``.
        most_bytes: Maximum size of a part, in bytes.
        memory: Memory limit in bytes, in addition to the memory of the worker after its imports.
        seconds: CPU time limit of a part in seconds. The default is `SECONDS`.
        environment: Environment variables of the worker in addition to the default ones.

    Raises:
        EvictedError: If too many streams waited, and this one waited longest.
        SandboxError: If the worker exceeded its memory or time, or ended.
        UsageError: If the function raised an error, with its message.
        OSError: If the function raised one.
    """
    module, _, function = task.partition(":")
    seconds = SECONDS if seconds is None else seconds
    request = {"function": function, "settings": settings, "memory": memory, "seconds": seconds, "is_stream": True}
    worker = _begin_task(_key(module, environment), request, subject)
    with _keep_worker(worker):
        parts = _parts(worker, request, subject, most_bytes)
        while True:
            with worker.deadline(_wall_clock(seconds)):
                part = next(parts, None)
            if part is None:
                return
            _add(_waiting, worker, _MOST_STREAMS)
            yield part
            with _guard:
                if worker not in _waiting:
                    raise EvictedError
                _waiting.remove(worker)


def start(module: str, environment: Mapping[str, str] | None = None) -> None:
    """Start a worker for a task that follows soon, unless a worker is free."""
    key = _key(module, environment)
    if not any(one.key == key for one in _free):
        with suppress(OSError, UsageError):  # reported by the task
            _add(_free, _Worker(key), _MOST_FREE)


def _wall_clock(seconds: float) -> float:
    return min(3 * seconds, MOST_SECONDS)


def _begin_task(
    key: tuple[str, ...], task: Mapping[str, Any], subject: str, content: bytes | bytearray | memoryview = b""
) -> _Worker:
    """Send a task to a worker that confirms it after its imports, before it reads the content.

    A kept worker may have ended since its last task, so the task is sent to another one.

    Raises:
        SandboxError: If a new worker has too little memory for the content.
        UsageError: If a new worker does not start.
    """
    while True:
        worker, is_kept = _free_worker(key)
        try:
            with worker.deadline(_START_SECONDS):
                send(worker.tasks, task, content)
                receive(worker.answers, 0)
            return worker
        except (EOFError, OSError):
            worker.end()
            if not is_kept and worker.process.returncode == OUT_OF_MEMORY:
                raise _create_exceeded(task, subject) from None
            if not is_kept:
                raise UsageError(
                    f"{_NO_START}; close other programs if there is not enough memory, and try again"
                ) from None
        except BaseException:
            worker.end()
            raise


def _create_exceeded(task: Mapping[str, Any], subject: str) -> SandboxError:
    problem = f"cannot be read within {task['memory'] // MEGABYTE:,} MB and {task['seconds']:g} s"
    argument = subject.strip("`")
    return SandboxError.about(argument, problem) if subject == f"`{argument}`" else SandboxError(f"{subject} {problem}")


def _parts(worker: _Worker, task: Mapping[str, Any], subject: str, most_bytes: int) -> Iterator[Part]:
    left = most_bytes
    try:
        head, body = receive(worker.answers, left)
        while "part" in head:
            yield Part(head["part"], body)
            left -= 0 if task["is_stream"] else len(body)
            head, body = receive(worker.answers, left)
    except (EOFError, OSError):
        raise _create_exceeded(task, subject) from None
    if (error := head["end"]) is not None:
        if error["kinds"] == ["MemoryError"]:
            raise _create_exceeded(task, subject)
        raise _rebuild_error(error)


def _rebuild_error(error: Mapping[str, Any]) -> Exception:
    """Return the error of a function as an instance of its most specific class that is known here."""
    known: dict[str, type[Exception]] = {kind.__name__: kind for kind in _usage_errors(UsageError)}
    known["OSError"] = OSError
    made = next((known[name] for name in error["kinds"] if name in known), UsageError)(error["message"])
    vars(made).update(error["facts"])
    return made


def _usage_errors(kind: type[UsageError]) -> Iterator[type[UsageError]]:
    yield kind
    for own in kind.__subclasses__():
        yield from _usage_errors(own)


# -- Workers ----------------------------------------------------------------------------------------------------------
_workers: weakref.WeakSet[_Worker] = weakref.WeakSet()
_free: list[_Worker] = []
_waiting: list[_Worker] = []
_guard = threading.Lock()
_turns = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))


def _key(module: str, environment: Mapping[str, str] | None) -> tuple[str, ...]:
    return (module, *(f"{name}={value}" for name, value in sorted((environment or {}).items())))


def _free_worker(key: tuple[str, ...]) -> tuple[_Worker, bool]:
    """Return the most recently used free worker, or start one, and whether it was free."""
    with _guard:
        worker = next((one for one in reversed(_free) if one.key == key), None)
        if worker is not None:
            _free.remove(worker)
    if worker is None or not os.path.isdir(worker.scratch):
        return _Worker(key), False
    return worker, True


@contextmanager
def _keep_worker(worker: _Worker) -> Iterator[None]:
    """Keep the worker if the block succeeds or the function raises an error, and end it otherwise."""
    is_well = False
    try:
        yield
        is_well = True
    except (UsageError, OSError) as error:
        is_well = not isinstance(error, SandboxError)
        raise
    finally:
        with _guard:
            _waiting[:] = [one for one in _waiting if one is not worker]
        if is_well and not worker.is_late:
            _add(_free, worker, _MOST_FREE)
        else:
            worker.end()


def _add(workers: list[_Worker], worker: _Worker, most: int) -> None:
    """Add a worker without a task, or whose stream waits for its reader, and end the oldest ones of too many."""
    with _guard:
        workers.append(worker)
        ended, workers[:] = workers[:-most], workers[-most:]
    for one in ended:
        one.end()


def _forget() -> None:
    """Release the workers, which belong to the parent process, in a forked process."""
    global _guard, _turns
    for worker in _workers:
        worker.end.detach()
        worker.process.returncode = 0
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (worker.tasks, worker.answers):
            os.dup2(nothing, pipe.fileno())
        os.close(nothing)
    _free.clear()
    _waiting.clear()
    _guard, _turns = threading.Lock(), threading.BoundedSemaphore(max(2, os.cpu_count() or 1))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
