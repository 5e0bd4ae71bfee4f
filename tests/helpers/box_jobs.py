"""Jobs for a box, good and bad ones, each named by what it does."""

import os
import socket
import subprocess
import sys
import threading
import time

from vlgauge.files import TooMuch


def open_file(path):
    with open(path) as file:
        file.read(1)


def print_much():
    sys.stdout.write("x" * 10_000)
    sys.stdout.flush()
    os.write(1, b"y" * 10_000)


def raise_(error):
    raise error


def fill():
    held = []
    while True:
        held.append(bytes(2**20))


def touch():
    with open(os.path.join(os.environ["TMPDIR"], "own"), "w") as file:
        file.write("x")


def in_a_thread():
    threads = [threading.Thread(target=int) for _ in range(4)]
    for thread in threads:
        thread.start()
        thread.join()


def spin():
    while True:
        pass


DEEDS = {
    "nothing": lambda: None,
    "passwd": lambda: open_file("/etc/passwd"),
    "write": lambda: os.open("/tmp/vlgauge-box-was-here", os.O_CREAT | os.O_WRONLY),
    "listen": lambda: socket.socket(),
    "resolve": lambda: socket.getaddrinfo("huggingface.co", 443),
    "program": lambda: subprocess.run(["true"], check=False),
    "fork": os.fork,
    "kill": lambda: os.kill(os.getppid(), 0),
    "print": print_much,
    "thread": in_a_thread,
    "touch": touch,
    "at once": lambda: bytes(600 * 2**20),
    "fill": fill,
    "sleep": lambda: time.sleep(60),
    "spin": spin,
    "die": lambda: os._exit(1),
    "value": lambda: raise_(ValueError("`x` must be y")),
    "too much": lambda: raise_(TooMuch("too much")),
    "os": lambda: raise_(OSError("gone")),
    "odd": lambda: raise_(KeyError("k")),
    "environment": lambda: raise_(ValueError(" ".join(sorted(os.environ)))),
}


def do(settings, content, ask):
    """What the settings say; answers with the number of bytes and the content."""
    if "path" in settings:
        open_file(settings["path"])
    DEEDS[settings["do"]]()
    yield {"n": len(content)}, bytes(content)


def flood(settings, content, ask):
    while True:
        yield {}, bytes(2**20)


def fetch(settings, content, ask):
    answer = ask("part", start=3)
    yield answer.head, answer.body


def deep(settings, content, ask):
    head = inner = {}
    for _ in range(settings["depth"]):
        inner["a"] = {}
        inner = inner["a"]
    yield head, b""
