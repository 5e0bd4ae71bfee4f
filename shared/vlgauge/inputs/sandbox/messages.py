"""Messages between a sandbox worker and its parent process.

A message is a line of JSON, followed by the number of bytes that the line states.
"""

import json
from collections.abc import Mapping
from typing import IO, Any

OUT_OF_MEMORY = 3
"""Exit code of a worker that has too little memory for the content of a file."""

_LONGEST_HEAD = 2**24


def send(stream: IO[bytes], head: Mapping[str, Any], body: bytes | bytearray | memoryview = b"") -> None:
    """Write a message."""
    stream.write(json.dumps({**head, "n_bytes": memoryview(body).nbytes}).encode() + b"\n")
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes], most_bytes: float = float("inf")) -> tuple[dict[str, Any], bytes]:
    """Read a message.

    Returns:
        Header of the message without the number of bytes, and its body.

    Raises:
        EOFError: If the other process ended, the header has more than 16 MiB, or the body more bytes than `most_bytes`.
    """
    line = stream.readline(_LONGEST_HEAD)
    if not line.endswith(b"\n"):
        raise EOFError
    head = json.loads(line)
    n_bytes = head.pop("n_bytes")
    if n_bytes > most_bytes:
        raise EOFError
    body = stream.read(n_bytes)
    if len(body) < n_bytes:
        raise EOFError
    return head, body
