"""Sandbox for untrusted files, which are decoded in worker processes so that a crash does not affect this process.

A worker is started as ``python -P -m vlgauge.inputs.sandbox.worker MODULE SCRATCH`` and runs the functions of that
module. Its environment contains no token. Its memory and time are limited, and it is killed if it exceeds them. The
caller then gets a message of one sentence, and the next call a new worker. The sandbox protects against decompression
bombs, hangs and crashes. It does not protect against a file that takes control of its decoder, because such code has
the rights of the user of this process.
"""

from vlgauge.inputs.sandbox.setting import is_sandboxed, use_sandbox
from vlgauge.inputs.sandbox.workers import MEGABYTE, EvictedError, Part, SandboxError, run, start, stream

__all__ = [
    "MEGABYTE",
    "EvictedError",
    "Part",
    "SandboxError",
    "is_sandboxed",
    "run",
    "start",
    "stream",
    "use_sandbox",
]
