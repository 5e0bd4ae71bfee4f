"""The one reader of what others made: regular files, unpacked and parsed within bounds that can be raised.

Messages call a file by the argument that names it, such as FILE or `idf`, and tell the line.
"""

import csv
import gzip
import json
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias, TypeVar

from vlgauge.errors import UsageError

FilePath: TypeAlias = str | PathLike[str]
Item = TypeVar("Item")

# What comes with the package.
DATA = Path(__file__).resolve().parent / "data"

MAX_DEPTH = 64
_SHALLOW = f"have lists and objects at most {MAX_DEPTH} deep within each other, got more"
STDIN = "-"

# What a packed file may unpack to however small it is, and per byte of it: text is packed to a tenth, a bomb to a
# thousandth.
_UNPACKED_PER_BYTE = 16
# Larger numbers are no floats.
_MAX_DIGITS = 308
_CHUNK = 2**20
# What a list, an object, a value and a cell take in memory beside their characters, about.
_BYTES_PER_LIST, _BYTES_PER_OBJECT, _BYTES_PER_VALUE, BYTES_PER_CELL = 88, 200, 32, 64
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]+://|data:)", re.IGNORECASE)
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

# How files begin that no editor can save as text.
_NO_TEXT = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"PK\x03\x04": "an archive or a spreadsheet",
    b"\x1f\x8b": "a file packed by gzip",
    b"%PDF": "a PDF file",
    b"PAR1": "a Parquet file",
}

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


@dataclass(frozen=True)
class Limits:
    """How much may be read.

    Attributes:
        max_bytes: Bytes of a file.
        max_unpacked: Bytes that a packed file may unpack to, and the lists, objects and cells of a table; a large one
            may sixteen times its own. Half as many may stand in JSON that is no JSONL.
        max_rows: Rows of a table.
        max_row: Characters of a row of a table; in memory they may become fifty times as many bytes.
    """

    max_bytes: int = 2**30
    max_unpacked: int = 2**28
    max_rows: int = 10**6
    max_row: int = 2**23


_LIMITS: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039 (frozen)


class TooMuch(UsageError):
    """A file that goes beyond the limits."""


@contextmanager
def limits(
    *,
    max_bytes: int | None = None,
    max_unpacked: int | None = None,
    max_rows: int | None = None,
    max_row: int | None = None,
) -> Iterator[None]:
    """Read more, or less, than usual inside the block.

    Args:
        max_bytes: Bytes of a file; None for what holds outside the block, as below.
        max_unpacked: Bytes that a packed file may unpack to.
        max_rows: Rows of a table.
        max_row: Characters of a row of a table.

    Raises:
        ValueError: If one is less than 1.
    """
    given = {"max_bytes": max_bytes, "max_unpacked": max_unpacked, "max_rows": max_rows, "max_row": max_row}
    chosen = {name: value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        if value < 1:
            raise UsageError(f"`{name}` must be a whole number of at least 1, got {value}")
    token = _LIMITS.set(replace(current_limits(), **chosen))
    try:
        yield
    finally:
        _LIMITS.reset(token)


def current_limits() -> Limits:
    """The limits that hold here."""
    return _LIMITS.get()


def unpacked_limit(size: int) -> int:
    """Bytes that a packed file of that size may unpack to."""
    return max(current_limits().max_unpacked, _UNPACKED_PER_BYTE * size)


def refuse(name: str, limit: int, what: str, option: str, shown: object) -> NoReturn:
    """Say that a file goes beyond a limit, and how to raise that."""
    raise TooMuch(
        f"{name} must have at most {limit:,} {what}, got more in {str(shown)!r}; raise the limit with "
        f"--{option.replace('_', '-')}, in Python with vlgauge.files.limits({option}=...)"
    )


def is_address(text: str) -> bool:
    """Whether a text is an address such as ``"https://..."`` or ``"data:..."`` rather than a path."""
    return _ADDRESS.match(text) is not None


def open_file(path: FilePath, name: str = "`path`") -> IO[bytes]:
    """Open a regular file; a pipe or a device could be read for ever.

    Raises:
        ValueError: If it is anything else, or the path can be none.
        OSError: If it cannot be opened.
    """
    try:
        status = os.stat(path)
    except ValueError as error:
        raise UsageError(f"{name} must be the path of a file, got {os.fspath(path)!r} ({error})") from None
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a device")
        raise UsageError(f"{name} must be a regular file, got {kind}: {os.fspath(path)!r}; save it as a file first")
    # What took its place meanwhile must not block either.
    waiting = getattr(os, "O_NONBLOCK", 0)
    return open(path, "rb", buffering=_CHUNK, opener=lambda file, flags: os.open(file, flags | waiting))


def read_bytes(path: FilePath, name: str = "`path`") -> bytes:
    """The content of a regular file, or for ``"-"`` of standard input where `name` is FILE.

    Raises:
        ValueError: If it is too large, no regular file, or changes while it is read.
        OSError: If it cannot be read.
    """
    limit = current_limits().max_bytes
    if name == "FILE" and path == STDIN:
        data = sys.stdin.buffer.read(limit + 1)
        if len(data) > limit:
            refuse(name, limit, "bytes", "max_bytes", path)
        return data
    with open_file(path, name) as file:
        before = os.fstat(file.fileno())
        if before.st_size > limit:
            refuse(name, limit, "bytes", "max_bytes", path)
        try:
            data = file.read(before.st_size + 1)
        except OSError as error:  # which names no file, unlike that of opening it
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        after = os.fstat(file.fileno())
    if len(data) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise UsageError(f"{name} must stay as it is while it is read, got {os.fspath(path)!r} changed")
    return data


def read_text(path: FilePath, name: str = "`path`") -> str:
    """The text of a file in UTF-8, without a byte order mark.

    Raises:
        ValueError: If it is none, too large, or no regular file.
        OSError: If it cannot be read.
    """
    return decoded(read_bytes(path, name), name, path)


def decoded(data: bytes, name: str, shown: object) -> str:
    """The text of bytes in UTF-8, without a byte order mark.

    Raises:
        ValueError: If they are none, or hold the zero bytes of UTF-16 and of binary files; a picture, an archive or the
            like is called by its name, since no other way of saving makes it text.
    """
    if kind := next((kind for start, kind in _NO_TEXT.items() if data.startswith(start)), ""):
        raise UsageError(f"{name} must be UTF-8 text, got {kind} in {str(shown)!r}; choose a file of text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Of a file with a mark the error counts from behind it.
        position = error.start + (len(data) - len(error.object))
        found = f"byte {error.object[error.start]:#04x}"
    else:
        position = text.find("\0")
        if position < 0:
            return text
        found, data = "a zero byte", text.encode()
    line = data.count(b"\n", 0, position) + 1
    raise UsageError(f"{name} must be UTF-8 text, got {found} in line {line} of {str(shown)!r}; save it as UTF-8")


@contextmanager
def unpacking(path: FilePath, name: str = "`path`") -> Iterator[Iterator[bytes]]:
    """Pieces of what a gzip file holds, as far as the limit goes.

    Raises:
        ValueError: If it unpacks to more, or is damaged.
        OSError: If it cannot be read.
    """
    with open_file(path, name) as packed, gzip.GzipFile(fileobj=packed) as file:
        yield _pieces(file, unpacked_limit(os.fstat(packed.fileno()).st_size), path, name)


def _pieces(file: gzip.GzipFile, limit: int, path: FilePath, name: str) -> Iterator[bytes]:
    left = limit
    try:
        while piece := file.read(_CHUNK):
            left -= len(piece)
            if left < 0:
                refuse(name, limit, "bytes when it is unpacked", "max_unpacked", path)
            yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{name} must be a whole gzip file, got {os.fspath(path)!r} ({error})") from None


def unpacked_lines(path: FilePath, name: str = "`path`", longest: int = 2**24) -> Iterator[bytes]:
    """Lines of a gzip file, without their ends.

    Raises:
        ValueError: If it unpacks to too much, is damaged, or has a longer line.
        OSError: If it cannot be read.
    """
    rest = b""
    with unpacking(path, name) as pieces:
        for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
            if len(rest) > longest:
                raise UsageError(f"{name} must have lines, got one of over {longest:,} bytes in {os.fspath(path)!r}")
    if rest:
        yield rest


def read_unpacked(path: FilePath, name: str = "`path`") -> bytes:
    """The content of a file, unpacked if its name ends in .gz.

    Raises:
        ValueError: If it is too large, also when it is unpacked, or damaged.
        OSError: If it cannot be read.
    """
    if not os.fspath(path).endswith(".gz"):
        return read_bytes(path, name)
    with unpacking(path, name) as pieces:
        return b"".join(pieces)


def read_json(path: FilePath, name: str = "`path`") -> Any:
    """The value in a JSON file; see `parse_json`."""
    return parse_json(read_text(path, name), name, path)


class _Refused(UsageError):
    """JSON that is not accepted; the message says what it must be instead."""


def parse_json(text: str, name: str, shown: object, first_line: int = 1) -> Any:
    """The value of a JSON text, which may have NaN in the place of numbers.

    Raises:
        ValueError: If it is broken, has a key twice, is nested too deeply, or has a number of thousands of digits.
    """
    place = f"line {first_line} of {str(shown)!r}"
    try:
        value = json.loads(text, object_pairs_hook=_without_repeated, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise UsageError(
            f"{name} must hold JSON, got {error.msg} in line {line}, column {error.colno} of {str(shown)!r}"
        ) from None
    except _Refused as error:
        wanted = str(error)
    except RecursionError:
        wanted = _SHALLOW
    else:
        if text.count("[") + text.count("{") <= MAX_DEPTH or depth_of(value) <= MAX_DEPTH:
            return value
        wanted = _SHALLOW
    # Where the text begins is all that is known of several lines.
    where = f"the text from {place} on" if "\n" in text.strip() else place
    raise UsageError(f"{name} must {wanted} in {where}")


def _whole_number(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Refused(f"have whole numbers of at most {_MAX_DIGITS} digits, got more")
    return int(text)


def _without_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused(f"have each key once, got {first_repeated([key for key, _ in pairs])!r:.60} more than once")
    return found


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that comes more than once; None if each comes once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def depth_of(value: Any) -> int:
    """How many lists and objects stand within each other."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, (list, dict))]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def limited(rows: Iterable[Item], name: str, shown: object) -> Iterator[Item]:
    """The rows, up to the limit of their number.

    Raises:
        ValueError: If there are more.
    """
    limit = current_limits().max_rows
    for number, row in enumerate(rows):
        if number >= limit:
            refuse(name, limit, "rows", "max_rows", shown)
        yield row


def check_row(n_characters: int, name: str, shown: object, line: int) -> None:
    """Refuse a row that is too long.

    Raises:
        ValueError: If it is.
    """
    limit = current_limits().max_row
    if n_characters > limit:
        refuse(name, limit, "characters in a row", "max_row", f"{shown}, line {line}")


def json_bytes(text: str, most: int) -> int:
    """About what the lists, objects and values of a JSON text take in memory, found before it is parsed.

    Args:
        text: JSON, or lines of it.
        most: That they may take; up to that the signs in strings are counted too, which is faster.
    """
    found = _signs_bytes(text)
    return found if found <= most else _signs_bytes(_STRING.sub("", text))


def _signs_bytes(text: str) -> int:
    return _BYTES_PER_LIST * text.count("[") + _BYTES_PER_OBJECT * text.count("{") + _BYTES_PER_VALUE * text.count(",")


def check_objects(n_bytes: int, limit: int, name: str, shown: object) -> None:
    """Refuse a table of very many small lists, objects or cells.

    Raises:
        ValueError: If they take more than the limit.
    """
    if n_bytes > limit:
        refuse(name, limit, "bytes of lists, objects and cells in memory", "max_unpacked", shown)


def csv_rows(
    text: str, name: str, shown: object, *, delimiter: str = ",", strict: bool = False, skipinitialspace: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, titles included, with the number of the line at which each ends.

    Raises:
        ValueError: If it is broken, has too many rows or too long a row.
    """
    length = 0

    def pieces() -> Iterator[str]:
        # A cell in quotes may have several lines.
        nonlocal length
        for number, line in enumerate(_LINE.finditer(text), 1):
            length += line.end() - line.start()
            check_row(length, name, shown, number)
            yield line[0]

    # A story may be longer than the default limit of 131,072 characters.
    csv.field_size_limit(2**31 - 1)
    lines = csv.reader(pieces(), delimiter=delimiter, strict=strict, skipinitialspace=skipinitialspace)
    try:
        # One row is that of the titles.
        titles = next(lines, None)
        if titles is not None:
            length = 0
            yield lines.line_num, titles
        for row in limited(lines, name, shown):
            length = 0
            yield lines.line_num, row
    except csv.Error as error:
        raise UsageError(f"{name} must be CSV, got {error} in line {lines.line_num} of {str(shown)!r}") from None
