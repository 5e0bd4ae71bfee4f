"""Untrusted files are decoded in worker processes, whose crashes, hangs and memory do not harm this process.

A worker is started as ``python -P -m vlgauge.inputs.sandbox.worker MODULE`` and runs the functions of that module. Its
environment contains no token. Its memory and time are limited, and it is killed if it exceeds them: the caller gets one
sentence, and the next call a new worker. The sandbox guards against bombs, hangs and crashes. It does not guard against
a file that takes over its decoder, because such code has the rights of the user of this process.
"""

from vlgauge.inputs.sandbox.reading import Reading, checked_reading, is_boxed, reading
from vlgauge.inputs.sandbox.workers import MEGABYTE, EvictedError, Part, SandboxError, run, start, stop_idle, stream

__all__ = [
    "MEGABYTE",
    "EvictedError",
    "Part",
    "Reading",
    "SandboxError",
    "checked_reading",
    "is_boxed",
    "reading",
    "run",
    "start",
    "stop_idle",
    "stream",
]
