"""Valid and invalid tasks for workers of the sandbox, named by their action."""

import os
import sys
import threading
import time

from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.core.files import FileLimitError


def _print_much():
    sys.stdout.write("x" * 10_000)
    sys.stdout.flush()
    os.write(1, b"y" * 10_000)


def _raise(error):
    raise error


def _fill():
    held = []
    while True:
        held.append(bytes(2**20))


def _touch():
    with open(os.path.join(os.environ["TMPDIR"], "own"), "w") as file:
        file.write("x")


def _fill_disk():
    with open(os.path.join(os.environ["TMPDIR"], "large"), "wb") as file:
        file.seek(600 * 2**20)
        file.write(b"x")


def _thread():
    threads = [threading.Thread(target=int) for _ in range(4)]
    for thread in threads:
        thread.start()
        thread.join()


def _spin():
    while True:
        pass


DEEDS = {
    "nothing": lambda: None,
    "print": _print_much,
    "thread": _thread,
    "touch": _touch,
    "at once": lambda: bytes(600 * 2**20),
    "fill": _fill,
    "fill the disk": _fill_disk,
    "sleep": lambda: time.sleep(60),
    "spin": _spin,
    "die": lambda: os._exit(1),
    "abort": os.abort,
    "value": lambda: _raise(ValueError("`x` must be y")),
    "too much": lambda: _raise(FileLimitError("too much")),
    "os": lambda: _raise(OSError("gone")),
    "odd": lambda: _raise(KeyError("k")),
    "network": lambda: _raise(NetworkError("the server is silent", 503)),
    "about": lambda: _raise(UsageError.about("x", "must be y", "write z")),
    "environment": lambda: _raise(ValueError(" ".join(sorted(os.environ)))),
}


def do(content, deed):
    """Run an action, and yield the number of bytes and the content."""
    DEEDS[deed]()
    yield {"n": len(content), "process": os.getpid(), "scratch": os.environ["TMPDIR"]}, content


def label(content, n):
    """Yield facts of many characters."""
    yield "x" * n, b""


def flood(content):
    """Yield messages without end."""
    while True:
        yield None, bytes(2**20)


def count(content, n, bad=None, deed=""):
    """Yield numbers, and run an action at the number `bad`."""
    for number in range(n):
        if number == bad:
            DEEDS[deed]()
        yield number, b"abc"


def decode(content, **how):
    """Yield an image without the facts that its reader needs, and wait for it to read the next part."""
    yield {}, b""
    yield {}, b""
