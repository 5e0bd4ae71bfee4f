"""A child of a box: `python -m vlgauge.box.child SCRATCH NAME=MODULE:FUNCTION...`, which reads jobs and answers them.

A function of the table takes the job's settings, its bytes and `ask`, and gives parts of an answer: pairs of a head and
bytes. It is called in one thread, one job at a time.
"""

import gc
import os
import select
import shutil
import sys
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import IO, Any, TypeAlias

from vlgauge.box import frames, walls
from vlgauge.errors import UsageError
from vlgauge.files import TooMuch

Job: TypeAlias = Callable[[dict[str, Any], "bytes | bytearray", frames.Ask], Iterable[frames.Part]]

# Of what the other side hands in, which is trusted.
_MOST_IN = 2**40
_LONGEST_MESSAGE = 2000


def main(arguments: list[str]) -> None:
    """Serve until the other side is gone."""
    scratch, *table = arguments
    # What a library prints goes nowhere; no descriptor of the pipes has a number that it knows.
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    held = walls.close_in(scratch)
    threading.Thread(target=_end_with, args=(jobs.fileno(), scratch), daemon=True).start()
    functions = {name: _function(told) for name, _, told in (one.partition("=") for one in table)}
    gc.collect()
    gc.freeze()
    own_bytes, resident = walls.memory_of()
    held["memory"] = walls.bound(own_bytes, 2**40, 0) and own_bytes > 0
    try:
        frames.send(answers, {"ready": True, "holds": held, "resident": resident})
        while True:
            _serve(jobs, answers, functions, own_bytes)
    except (EOFError, OSError):
        _end(scratch)


def _end_with(descriptor: int, scratch: str) -> None:
    """Wait until nobody can send jobs any more, also where one is at work."""
    if hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(descriptor, 0)  # which tells of an end, and of nothing else
        waiting.poll()
        _end(scratch)


def _end(scratch: str) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _function(told: str) -> Job:
    module, _, name = told.partition(":")
    return getattr(import_module(module), name)


def _serve(jobs: IO[bytes], answers: IO[bytes], functions: dict[str, Job], own_bytes: int) -> None:
    """Read one job and answer it."""
    told, content = frames.receive(jobs, _MOST_IN)
    _LOCK.release()

    def ask(question: str, **settings: Any) -> frames.Answer:
        with _LOCK:
            frames.send(answers, {"ask": question, **settings})
            answer = frames.receive(jobs, _MOST_IN)
        if "error" in answer.head:
            raise AskedError(answer.head["error"])
        return answer

    walls.bound(own_bytes, told["added"], told["seconds"])
    try:
        for head, body in functions[told["job"]](told["settings"], content, ask):
            with _LOCK:
                frames.send(answers, {"part": head}, body)
    except MemoryError:
        last: dict[str, Any] = {"failed": "MemoryError", "why": ""}
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:
        last = {"failed": _known(error), "why": (str(error) or type(error).__name__)[:_LONGEST_MESSAGE]}
        last["facts"] = vars(error) if isinstance(error, UsageError) else {}
    else:
        last = {"done": True}
    _LOCK.acquire()  # whoever reads ahead meanwhile asks with the next job
    frames.send(answers, last)


# Held by who may use the pipes: a library asks from several threads, and nobody hears it between two jobs.
_LOCK = threading.Lock()
_LOCK.acquire()


class AskedError(OSError):
    """What was asked for cannot be had, as the other side says."""


def _known(error: Exception) -> str:
    """The nearest class that the other side knows."""
    classes = (AskedError, TooMuch, OSError)
    return next((kind.__name__ for kind in classes if isinstance(error, kind)), "ValueError")


if __name__ == "__main__":
    main(sys.argv[1:])
