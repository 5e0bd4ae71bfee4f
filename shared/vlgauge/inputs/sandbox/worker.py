"""Worker process of the sandbox, started as `python -P -m vlgauge.inputs.sandbox.worker MODULE SCRATCH`.

A task names a function of the module. The function accepts the bytes of a file and, as keyword arguments, settings
(JSON). It yields parts of its result, which are pairs of facts (JSON) and bytes. The folder SCRATCH is removed when the
process ends with its parent.
"""

import os
import queue
import shutil
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from vlgauge.core.errors import UsageError
from vlgauge.inputs.sandbox.messages import OUT_OF_MEMORY, receive, send

_LONGEST_MESSAGE = 2000  # maximum characters of an error message


def main(module: str, scratch: str) -> None:
    """Run tasks until the parent process ends.

    Args:
        module: Name of the module of the functions.
        scratch: Folder for temporary files, which is removed at the end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # printed output must not mix with the answers
        os.dup2(nothing, descriptor)
    functions = import_module(module)
    waiting: queue.SimpleQueue[tuple[int, dict[str, Any], bytes]] = queue.SimpleQueue()
    threading.Thread(target=_receive_all, args=(tasks, waiting, scratch), daemon=True).start()
    while True:
        own_bytes, task, content = waiting.get()
        send(answers, {})
        _run(functions, task, content, own_bytes, answers)


def _receive_all(
    tasks: IO[bytes], waiting: "queue.SimpleQueue[tuple[int, dict[str, Any], bytes]]", scratch: str
) -> None:
    """Receive tasks, and end this process with its parent, even during a task."""
    code = 1
    try:
        # Before a task arrives, but in this thread, because its stack and heap count.
        own_bytes = _address_space()
        while True:
            waiting.put((own_bytes, *receive(tasks)))
    except EOFError:
        code = 0
    except MemoryError:  # a new worker has no limit of its own yet
        code = OUT_OF_MEMORY
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(code)


def _run(functions: ModuleType, task: dict[str, Any], content: bytes, own_bytes: int, answers: IO[bytes]) -> None:
    limits = own_bytes + task["memory"], task["memory"], task["seconds"]
    last: dict[str, Any] = {"end": None}
    _limit(*limits)
    try:
        for facts, body in getattr(functions, task["function"])(content, **task["settings"]):
            send(answers, {"part": facts}, body)
            if task["is_stream"]:
                _limit(*limits)
    except MemoryError:
        last["end"] = {"kinds": ["MemoryError"]}
    except Exception as error:
        last["end"] = {
            "kinds": [kind.__name__ for kind in type(error).__mro__],
            "message": (str(error) or type(error).__name__)[:_LONGEST_MESSAGE],
            "facts": vars(error) if isinstance(error, UsageError) else {},
        }
    send(answers, last)


def _address_space() -> int:
    """Return the address space of this process in bytes, or 0 if it is not limited on this platform."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _limit(address_space: int, file_bytes: int, seconds: float) -> None:
    """Limit memory, file sizes and CPU time from now on."""
    if sys.platform != "linux":
        return
    import resource

    limits = {
        resource.RLIMIT_AS: address_space,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_CPU: int(time.process_time() + seconds) + 1,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main(*sys.argv[1:])
