"""What goes through the pipes between a box and its children: heads of JSON, each with bytes of an announced number."""

import json
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple, TypeAlias

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from vlgauge.errors import UsageError
from vlgauge.files import depth_of

# Of a head: names, sizes and one sentence.
MOST_HEAD = 2**20
MOST_DEEP = 8
_PIPE_BYTES = 2**20  # what Linux gives to everybody
_LENGTHS = struct.Struct("<IQ")


class Answer(NamedTuple):
    """What one side says: what it is, in JSON, and bytes: rows, pixels, parts of files."""

    head: dict[str, Any]
    body: bytes | bytearray


Part: TypeAlias = tuple[dict[str, Any], bytes | bytearray | memoryview]
"""Head and bytes of a part of an answer."""

Ask: TypeAlias = Callable[..., Answer]
"""Asks the other side of the box: what is asked, and settings; its answer."""


class Garbled(UsageError):
    """What is no frame, or a larger one than was allowed."""


def send(stream: IO[bytes], head: Mapping[str, Any], body: bytes | bytearray | memoryview = b"") -> None:
    """Write one frame."""
    told = json.dumps(head).encode()
    stream.write(_LENGTHS.pack(len(told), memoryview(body).nbytes) + told)
    if body:
        stream.write(body)
    stream.flush()


def receive(stream: IO[bytes], most_body: int) -> Answer:
    """Read one frame.

    Raises:
        EOFError: If the other side is gone.
        Garbled: If it is none, or too long or too deep.
    """
    n_head, n_body = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if n_head > MOST_HEAD or n_body > most_body:
        raise Garbled(f"an answer of {n_head + n_body:,} bytes, of at most {most_body:,}")
    head = bounded_json(_exactly(stream, n_head), MOST_DEEP)
    if not isinstance(head, dict):
        raise Garbled("an answer without a head")
    return Answer(head, _exactly(stream, n_body))


def widen(stream: IO[bytes]) -> None:
    """Let a pipe hold a whole picture where the platform can, so that neither side waits for the other at each part."""
    with suppress(OSError):  # of a user who has very many
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def bounded_json(data: bytes | bytearray, most_deep: int) -> Any:
    """The value of a JSON text of the other side.

    Raises:
        Garbled: If it is none, or has lists and objects deeper within each other.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Garbled(f"an answer that is no JSON ({type(error).__name__})") from None
    if depth_of(value) > most_deep:
        raise Garbled(f"an answer of more than {most_deep} lists and objects within each other")
    return value


def _exactly(stream: IO[bytes], n_bytes: int) -> bytearray:
    """So many bytes, taken into memory as they come: the number is a stranger's."""
    found = bytearray()
    while len(found) < n_bytes:
        part = stream.read(min(n_bytes - len(found), 2**20))
        if not part:
            raise EOFError
        found += part
    return found
