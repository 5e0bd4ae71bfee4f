"""Readers of untrusted regular files, with adjustable limits for unpacking and parsing.

Messages name a file by its argument, such as FILE or `idf`, and include the line.
"""

import csv
import gzip
import io
import json
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias, TypeVar

from vlgauge.core.context_values import context_value
from vlgauge.core.errors import MissingFileError, UsageError, UsageTypeError
from vlgauge.core.validation import check_int, short_repr

FilePath: TypeAlias = str | PathLike[str]
Item = TypeVar("Item")

# Folder of the data files of the package.
DATA = Path(__file__).resolve().parents[1] / "data"

MAX_DEPTH = 64
_SHALLOW = f"nest lists and objects at most {MAX_DEPTH} deep, got more"
STDIN = "-"

# Maximum unpacked size per byte of a packed file, if this is more than the fixed limit. Text is compressed to about a
# tenth of its size, decompression bombs to a thousandth.
_UNPACKED_PER_BYTE = 16
# Maximum number of digits of an integer, because larger ones exceed the range of floats.
_MAX_DIGITS = 308
_CHUNK = 2**20
# Approximate memory of a list, an object, a value and a cell in addition to their characters, in bytes. A value that is
# a string needs more, and so does a key when it first occurs, because the parser keeps equal keys once.
_BYTES_PER_LIST, _BYTES_PER_OBJECT, _BYTES_PER_VALUE, BYTES_PER_CELL = 88, 200, 32, 64
_MORE_PER_STRING, _MORE_PER_KEY = 32, 64
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]+://|data:)", re.IGNORECASE)
# A string without an end also matches. Otherwise the search would begin again at each of its escaped quotes.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STRING_OR_KEY = re.compile(rf"({_STRING.pattern})(\s*+:)?", re.DOTALL)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

# First bytes of file formats that no editor can save as text.
_NO_TEXT = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"PK\x03\x04": "an archive or a spreadsheet",
    b"\x1f\x8b": "a gzip file",
    b"%PDF": "a PDF file",
    b"PAR1": "a Parquet file",
}

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


@dataclass(frozen=True)
class Limits:
    """Limits of file sizes and tables.

    Attributes:
        max_bytes: Maximum file size in bytes.
        max_unpacked: Maximum unpacked size of a packed file in bytes, and maximum memory of the lists, objects and
            cells of a table. For large packed files, the limit is 16 times the packed size. JSON other than JSONL is
            limited to half of it.
        max_rows: Maximum number of rows of a table.
        max_row: Maximum number of characters in a row of a table. They may use up to 50 times as many bytes in memory.
    """

    max_bytes: int = 2**30
    max_unpacked: int = 2**28
    max_rows: int = 10**6
    max_row: int = 2**23


_LIMITS: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039 (frozen)


class FileLimitError(UsageError):
    """Raised if a file exceeds a limit.

    Attributes:
        excess: The message without the last part, how to raise the limit, which users of a served page cannot do.
    """

    excess: str = ""


def limits(**chosen: int | None) -> AbstractContextManager[None]:
    """Change the limits of file sizes and tables inside the context.

    Args:
        **chosen: Attributes of `Limits`, such as ``max_rows``. None keeps the current limit.

    Raises:
        ValueError: If a limit is less than 1.
    """
    given = {name: value for name, value in chosen.items() if value is not None}
    for name, value in given.items():
        check_int(name, value, 1)
    return context_value(_LIMITS, replace(current_limits(), **given))


def current_limits() -> Limits:
    """Return the limits that apply in the current context."""
    return _LIMITS.get()


def limit_unpacked_size(size: int) -> int:
    """Return the maximum unpacked size of a packed file of `size` bytes."""
    return max(current_limits().max_unpacked, _UNPACKED_PER_BYTE * size)


def refuse(name: str, limit: int, what: str, option: str, got: object) -> NoReturn:
    """Raise an error about a file that exceeds a limit, with a message that says how to raise the limit.

    Args:
        name: Name of the argument in the message.
        limit: The limit.
        what: Unit of the limit, such as "rows".
        option: Name of the limit in `limits`, such as "max_rows".
        got: Path of the file in the message.

    Raises:
        FileLimitError: Always.
    """
    excess = f"{name} must have at most {limit:,} {what}, got more in {str(got)!r}"
    error = FileLimitError(
        f"{excess}; raise the limit with --{option.replace('_', '-')}, or in Python with "
        f"vlgauge.core.files.limits({option}=...)"
    )
    error.excess = excess
    raise error


def is_address(text: str) -> bool:
    """Return whether a string is a URL such as ``"https://..."`` or ``"data:..."`` instead of a path."""
    return _ADDRESS.match(text) is not None


def existing_file(argument: str, path: Any, expected: str = "an existing file", hint: str | None = None) -> Path:
    """Return the path of a file that a user names, with the home folder expanded.

    Args:
        argument: Name of the argument that names it.
        path: Value passed by the user.
        expected: Description of valid values.
        hint: Suggested fix.

    Raises:
        UsageTypeError: If the value is not a path.
        MissingFileError: If there is no file with this path.
    """
    if not isinstance(path, str | PathLike):
        got = f"{short_repr(path)} of type {type(path).__name__}"
        raise UsageTypeError.about(argument, f"must be {expected}, got {got}", hint)
    file = Path(path).expanduser()
    if not file.is_file():
        raise MissingFileError.about(argument, f"must be {expected}, got {os.fspath(path)!r}", hint)
    return file


class _NeverBlockingFile(io.FileIO):
    """File whose `readinto`, and thus `read` of a buffer around it, raises an error instead of waiting for data."""

    def __init__(self, path: FilePath, name: str) -> None:
        waiting = getattr(os, "O_NONBLOCK", 0)
        super().__init__(path, "rb", opener=lambda file, flags: os.open(file, flags | waiting))
        self._got = f"{name} must be a regular file, got one that waits for data: {os.fspath(path)!r}"

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return the number of bytes."""
        n_bytes = super().readinto(buffer)
        # Files of the kernel count as regular, but may wait like a pipe.
        if n_bytes is None:
            raise UsageError(f"{self._got}; save it as a file first")
        return n_bytes


def open_file(path: FilePath, name: str = "`path`") -> IO[bytes]:
    """Open a regular file. Pipes and devices are rejected, because reading them may never end.

    Reading never blocks. If the file has no data yet, it raises a `UsageError`.

    Raises:
        ValueError: If the path is invalid, or is not a regular file.
        OSError: If the file cannot be opened.
    """
    try:
        status = os.stat(path)
    except ValueError as error:
        raise UsageError(f"{name} must be the path of a file, got {os.fspath(path)!r} ({error})") from None
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a device")
        raise UsageError(f"{name} must be a regular file, got {kind}: {os.fspath(path)!r}; save it as a file first")
    # Do not block on a pipe that replaced the file since the check.
    return io.BufferedReader(_NeverBlockingFile(path, name), _CHUNK)


def read_bytes(path: FilePath, name: str = "`path`") -> bytes:
    """Read a regular file, or standard input if the path is ``"-"`` and `name` is FILE.

    Raises:
        ValueError: If the file is too large, is not a regular file, or changes while it is read.
        OSError: If the file cannot be read.
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
        except OSError as error:  # the error of `read`, unlike `open`, has no file name
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        after = os.fstat(file.fileno())
    if len(data) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise UsageError(f"{name} must not change while it is read, got changes in {os.fspath(path)!r}")
    return data


def read_text(path: FilePath, name: str = "`path`") -> str:
    """Read a UTF-8 text file, without its byte order mark.

    Raises:
        ValueError: If the file is not UTF-8 text, is too large, or is not a regular file.
        OSError: If the file cannot be read.
    """
    return decode_text(read_bytes(path, name), name, path)


def decode_text(data: bytes, name: str, got: object) -> str:
    """Decode UTF-8 text, without its byte order mark.

    Raises:
        ValueError: If the bytes are not UTF-8 text, or contain zero bytes as UTF-16 and binary files do. The message
            names known binary formats such as images and archives, which cannot be saved as text.
    """
    if kind := next((kind for start, kind in _NO_TEXT.items() if data.startswith(start)), ""):
        raise UsageError(f"{name} must be UTF-8 text, got {kind} in {str(got)!r}; choose a text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Error positions do not include a byte order mark.
        position = error.start + (len(data) - len(error.object))
        found = f"byte {error.object[error.start]:#04x}"
    else:
        position = text.find("\0")
        if position < 0:
            return text
        found, data = "a zero byte", text.encode()
    line = data.count(b"\n", 0, position) + 1
    raise UsageError(f"{name} must be UTF-8 text, got {found} in line {line} of {str(got)!r}; save it as UTF-8")


def unpack(path: FilePath, name: str = "`path`") -> Generator[bytes, None, None]:
    """Yield chunks of the unpacked content of a gzip file, up to the limit.

    Raises:
        ValueError: If the unpacked content is too large, or the file is damaged.
        OSError: If the file cannot be read.
    """
    with open_file(path, name) as packed, gzip.GzipFile(fileobj=packed) as file:
        left = limit = limit_unpacked_size(os.fstat(packed.fileno()).st_size)
        try:
            while piece := file.read(_CHUNK):
                left -= len(piece)
                if left < 0:
                    refuse(name, limit, "bytes when it is decompressed", "max_unpacked", path)
                yield piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UsageError(f"{name} must be a complete gzip file, got {os.fspath(path)!r} ({error})") from None


def read_gzip_lines(path: FilePath, name: str = "`path`", longest: int = 2**24) -> Iterator[bytes]:
    """Yield the lines of a gzip file, without line ends.

    Raises:
        ValueError: If the unpacked content is too large, the file is damaged, or a line is longer than `longest` bytes.
        OSError: If the file cannot be read.
    """
    rest = b""
    for piece in unpack(path, name):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > longest:
            raise UsageError(
                f"{name} must have lines of at most {longest:,} bytes, got a longer one in {os.fspath(path)!r}"
            )
    if rest:
        yield rest


def read_unpacked(path: FilePath, name: str = "`path`") -> bytes:
    """Read a file, and unpack it if its name ends in .gz.

    Raises:
        ValueError: If the file or its unpacked content is too large, or the file is damaged.
        OSError: If the file cannot be read.
    """
    return b"".join(unpack(path, name)) if os.fspath(path).endswith(".gz") else read_bytes(path, name)


def read_json(path: FilePath, name: str = "`path`") -> Any:
    """Read a JSON file, in which numbers may be NaN.

    Args:
        path: Path of the file.
        name: Name of the argument in error messages.

    Returns:
        The content: dictionaries, lists, strings, numbers, bools and None.

    Raises:
        ValueError: If the file is too large or not UTF-8, or its content is not valid for `parse_json`.
        OSError: If the file cannot be read.
    """
    return parse_json(read_text(path, name), name, path)


class _RefusedError(UsageError):
    """Raised if valid JSON is not accepted. The message is the requirement."""


def parse_json(text: str, name: str, got: object, first_line: int = 1) -> Any:
    """Parse a JSON text, in which numbers may be NaN.

    Args:
        text: The JSON text.
        name: Name of the argument in error messages.
        got: Path of the file in error messages.
        first_line: Number of the line at which the text begins.

    Returns:
        The content: dictionaries, lists, strings, numbers, bools and None.

    Raises:
        ValueError: If the text is invalid, repeats a key, is nested more than `MAX_DEPTH` levels deep, or has an
            integer of more than 308 digits.
    """
    place = f"line {first_line} of {str(got)!r}"
    try:
        value = json.loads(text, object_pairs_hook=_without_repeated, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise UsageError(
            f"{name} must contain JSON, got {error.msg} in line {line}, column {error.colno} of {str(got)!r}"
        ) from None
    except _RefusedError as error:
        wanted = str(error)
    except RecursionError:
        wanted = _SHALLOW
    else:
        if text.count("[") + text.count("{") <= MAX_DEPTH or depth_of(value) <= MAX_DEPTH:
            return value
        wanted = _SHALLOW
    # Only the first line of a text of several lines is known.
    where = f"the text from {place} on" if "\n" in text.strip() else place
    raise UsageError(f"{name} must {wanted} in {where}")


def _whole_number(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _RefusedError(f"have integers of at most {_MAX_DIGITS} digits, got more")
    return int(text)


def _without_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RefusedError(f"have each key once, got {first_repeated([key for key, _ in pairs])!r:.60} more than once")
    return found


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once. None if all are distinct."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def depth_of(value: Any) -> int:
    """Return the nesting depth of lists and dictionaries in a value."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, (list, dict))]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def limit_rows(rows: Iterable[Item], name: str, got: object) -> Iterator[Item]:
    """Yield rows up to the row limit.

    Raises:
        ValueError: If there are more rows.
    """
    limit = current_limits().max_rows
    for number, row in enumerate(rows):
        if number >= limit:
            refuse(name, limit, "rows", "max_rows", got)
        yield row


def check_row(n_characters: int, name: str, got: object, line: int) -> None:
    """Check the length of a row.

    Raises:
        ValueError: If the row has more characters than `Limits.max_row`.
    """
    limit = current_limits().max_row
    if n_characters > limit:
        refuse(name, limit, "characters in a row", "max_row", f"{got}, line {line}")


def json_bytes(text: str, most: int) -> int:
    """Estimate the memory of the lists, objects and values of a JSON text, without parsing it.

    Args:
        text: JSON, or lines of JSON.
        most: Memory limit in bytes. An estimate up to the limit also counts keys and punctuation inside strings, which
            is faster. An estimate above the limit may omit keys.
    """
    if (found := _signs_bytes(text, n_keys=0) + _MORE_PER_KEY * text.count(":")) <= most:
        return found
    signs = _STRING.sub('""', text)
    found = _signs_bytes(signs, n_keys=signs.count(":"))
    keys: set[int] = set()
    for string, colon in (match.groups() for match in _STRING_OR_KEY.finditer(text)):
        # Stop at the limit, because the keys need memory here too.
        if found + _MORE_PER_KEY * len(keys) > most:
            break
        if colon:
            keys.add(hash(string))
    return found + _MORE_PER_KEY * len(keys)


def _signs_bytes(text: str, n_keys: int) -> int:
    n_strings = max(0, text.count('"') // 2 - n_keys)
    found = _BYTES_PER_LIST * text.count("[") + _BYTES_PER_OBJECT * text.count("{") + _BYTES_PER_VALUE * text.count(",")
    return found + _MORE_PER_STRING * n_strings


def check_objects(n_bytes: int, limit: int, name: str, got: object) -> None:
    """Check the memory of the lists, objects and cells of a table.

    Raises:
        ValueError: If they need more than `limit` bytes.
    """
    if n_bytes > limit:
        refuse(name, limit, "bytes of lists, objects and cells in memory", "max_unpacked", got)


def check_json_objects(text: str, limit: int, name: str, got: object) -> None:
    """Check the memory of the lists, objects and values of a JSON text, or of lines of JSON, before it is parsed.

    Raises:
        ValueError: If they need more than `limit` bytes.
    """
    check_objects(json_bytes(text, limit), limit, name, got)


def csv_rows(
    text: str, name: str, got: object, *, delimiter: str = ",", strict: bool = False, skipinitialspace: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV table, including the header, each with the number of its last line.

    Raises:
        ValueError: If the table is malformed, has too many rows, or has a row that is too long.
    """
    length = 0

    def pieces() -> Iterator[str]:
        # Check the length after every line, because a quoted cell may have several lines.
        nonlocal length
        for number, line in enumerate(_LINE.finditer(text), 1):
            length += line.end() - line.start()
            check_row(length, name, got, number)
            yield line[0]

    # Raise the limit, because a story may be longer than the default of 131,072 characters.
    csv.field_size_limit(2**31 - 1)
    lines = csv.reader(pieces(), delimiter=delimiter, strict=strict, skipinitialspace=skipinitialspace)
    try:
        # The header does not count as a row.
        titles = next(lines, None)
        if titles is not None:
            length = 0
            yield lines.line_num, titles
        for row in limit_rows(lines, name, got):
            length = 0
            yield lines.line_num, row
    except csv.Error as error:
        raise UsageError(f"{name} must be CSV, got {error} in line {lines.line_num} of {str(got)!r}") from None
