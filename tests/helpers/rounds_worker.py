"""Worker process of test_killed_processes.py, which runs commands and exits at requested points."""

import os
import signal

from vlgauge.core.lean_imports import lean_import
from vlgauge.families.base import distributed


def serve(connection):
    """Answer ``(action, ...)`` with a result or an error, until None arrives."""
    evaluate = lean_import("evaluate")
    connection.send("ready")
    metric = None
    while (job := connection.recv()) is not None:
        action, *arguments = job
        try:
            if action == "load":
                metric = None  # its locks first
                folder, settings = arguments
                metric = evaluate.load(folder, **settings)
                answer = None
            elif action == "die":
                die_at(metric, *arguments)
                answer = None
            else:
                answer = getattr(metric, action)(**arguments[0])
        except Exception as error:
            answer = error
        connection.send(answer)


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(metric, point):
    """Exit this process at a point that only this process can detect."""
    if point == "meeting":
        distributed.meet = die
    elif point == "answering":
        whole = distributed._tell
        # The other process receives the answer of this one, and nothing afterwards.
        distributed._tell = lambda path, value: (whole(path, value), die())
    elif point == "scoring":
        metric._compute = die
    elif point == "publishing":
        os.replace = lambda source, target: die() if target.suffix == ".rows" else os.rename(source, target)
    elif point == "published":
        whole_publish = distributed.publish
        distributed.publish = lambda *arguments: (whole_publish(*arguments), die())
    else:
        raise ValueError(point)
