"""Reading MATLAB files that strangers made, of version 5 to 7: cells, structures, texts and numbers, within bounds.

The reader of scipy is no choice here: one changed byte in the type of a text lets it crash the process.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vlgauge.files import read_bytes, refuse, unpacked_limit

# What a number, a text or a cell takes in memory, at least.
_BYTES_PER_VALUE = 32

_HEADER_BYTES, _MAX_DEPTH = 128, 16
# MATLAB writes few dimensions, and names of up to 63 letters.
_MAX_DIMENSIONS, _MAX_NAME = 32, 1000
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCTURE, _TEXT, _NUMBERS = 1, 2, 4, range(6, 16)
_NUMBER_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CODECS = {1: "latin1", 2: "latin1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}

Order = Literal["big", "little"]

_TAGS = {"big": struct.Struct(">II").unpack_from, "little": struct.Struct("<II").unpack_from}


def read_matlab(path: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    """Variables of a MATLAB file, each flat, column by column.

    Numbers are floats, texts are strings, cell arrays are lists, structures are tuples of their fields. Other variables
    are passed over.

    Args:
        path: File.
        names: Names of the variables.

    Raises:
        ValueError: If one is missing or of another kind, or the file is too large, of another version, or broken.
        OSError: If it cannot be read.
    """
    data = read_bytes(path, f"`{path}`")
    if data[124:128] in (b"\x00\x02IM", b"\x02\x00MI"):
        raise ValueError(f"`{path}` must be a MATLAB file of version 7 at most, got 7.3; save it with -v7")
    if len(data) < _HEADER_BYTES or data[126:128] not in (b"IM", b"MI"):
        raise ValueError(f"`{path}` must be a MATLAB file of version 5 to 7, got something else")
    order: Order = "little" if data[126:128] == b"IM" else "big"
    found: dict[str, list[Any]] = {}
    there: set[str] = set()
    room = _Room(unpacked_limit(len(data)))
    try:
        for body in _variables(memoryview(data)[_HEADER_BYTES:], order, room):
            matrix = _Matrix(body, order, room)
            room.take(_BYTES_PER_VALUE)
            if matrix.name in there:
                raise ValueError(f"the variable {matrix.name!r} twice")
            there.add(matrix.name)
            if matrix.name in names:
                value = matrix.value()
                found[matrix.name] = value if isinstance(value, list) else [value]
    except _Full:
        refuse(f"`{path}`", room.limit, "bytes when it is unpacked", "max_unpacked", path)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"`{path}` must be a MATLAB file, got one that fails with: {error}") from None
    for name in names:
        if name not in found:
            raise ValueError(
                f"`{path}` must have the variable {name!r}, got {', '.join(sorted(there))[:200] or 'none'}"
            )
    return found


class _Full(Exception):
    """A file that fills more than the room it is given."""


class _Room:
    """What a file may fill in memory.

    Attributes:
        limit: Bytes.
        left: Bytes that are left.
    """

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, n_bytes: int) -> None:
        """Fill so many bytes."""
        self.left -= n_bytes
        if self.left < 0:
            raise _Full


def _variables(data: memoryview, order: Order, room: _Room) -> Iterator[memoryview]:
    """Bytes of the matrices of a file, unpacked."""
    parts = _Parts(data, order, padded=False)
    while parts.offset < len(data):
        kind, body = parts.take()
        if kind == _COMPRESSED:
            unpacked = zlib.decompressobj().decompress(body, room.left + 1)
            room.take(len(unpacked))
            kind, body = _Parts(memoryview(unpacked), order).take()
        if kind == _MATRIX:
            yield body


class _Parts:
    """Parts of a file, one after the other: a type, a length, bytes."""

    __slots__ = ("data", "offset", "order", "padded")

    def __init__(self, data: memoryview, order: Order, *, padded: bool = True) -> None:
        self.data, self.order, self.padded, self.offset = data, order, padded, 0

    def take(self) -> tuple[int, memoryview]:
        """Type and bytes of the next part."""
        start = self.offset
        if start + 8 > len(self.data):
            raise ValueError("it is cut short")
        word, size = _TAGS[self.order](self.data, start)
        if word >> 16:  # up to four bytes have their length beside the type
            self.offset = start + 8
            return word & 0xFFFF, self.data[start + 4 : start + 4 + min(word >> 16, 4)]
        end = start + 8 + size
        if end > len(self.data):
            raise ValueError("it is cut short")
        self.offset = end + (-size % 8 if self.padded else 0)
        return word, self.data[start + 8 : end]


class _Matrix:
    """An array of MATLAB: its name and, when asked, what it holds."""

    __slots__ = ("depth", "kind", "name", "order", "parts", "room", "shape")

    def __init__(self, body: memoryview, order: Order, room: _Room, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} arrays within each other")
        self.order, self.depth, self.room, self.parts = order, depth, room, _Parts(body, order)
        flags = int.from_bytes(self.parts.take()[1][:4], order)
        self.kind = flags & 0xFF
        shape = self.parts.take()[1]
        if len(shape) > 4 * _MAX_DIMENSIONS:
            raise ValueError(f"an array of {len(shape) // 4:,} dimensions")
        self.shape = [int.from_bytes(shape[i : i + 4], order) for i in range(0, len(shape), 4)]
        if len(self.shape) < 2:
            raise ValueError("an array without a shape")
        name = self.parts.take()[1]
        if len(name) > _MAX_NAME:
            raise ValueError(f"a name of {len(name):,} letters")
        self.name = bytes(name).decode("latin1")

    def value(self) -> Any:
        """A text, or a list of numbers, of cells, or of structures."""
        n = math.prod(self.shape)
        readers: dict[int, Callable[[int], Any]] = {_CELL: self._cells, _STRUCTURE: self._structures, _TEXT: self._text}
        if self.kind in readers:
            return readers[self.kind](n)
        if self.kind in _NUMBERS:
            return self._numbers(n)
        raise ValueError(f"an array of class {self.kind}, which is none of cells, structures, texts and numbers")

    def _member(self) -> Any:
        kind, body = self.parts.take()
        self.room.take(_BYTES_PER_VALUE)
        if kind != _MATRIX:
            raise ValueError(f"a part of type {kind} in the place of an array")
        return _Matrix(body, self.order, self.room, self.depth + 1).value() if len(body) else []

    def _cells(self, n: int) -> list[Any]:
        return [self._member() for _ in range(n)]

    def _structures(self, n: int) -> list[tuple[Any, ...]]:
        length = int.from_bytes(self.parts.take()[1], self.order)
        names = len(self.parts.take()[1])
        if not 0 < length <= names:
            raise ValueError("a structure without fields")
        return [tuple(self._member() for _ in range(names // length)) for _ in range(n)]

    def _text(self, n: int) -> str | list[str]:
        kind, body = self.parts.take()
        codec = _CODECS.get(kind)
        if codec is None:
            raise ValueError(f"a text of type {kind}")
        if codec == "utf-16":
            codec += "-le" if self.order == "little" else "-be"
        n_rows = 1 if n == 0 else self.shape[0]
        self.room.take(len(body) + _BYTES_PER_VALUE * n_rows)
        text = str(body, codec)
        if n_rows == 1:
            return text
        if len(text) != n:
            raise ValueError(f"{len(text)} characters in the place of {n}")
        return [text[row::n_rows] for row in range(n_rows)]

    def _numbers(self, n: int) -> list[float]:
        kind, body = self.parts.take()
        if kind not in _NUMBER_TYPES:
            raise ValueError(f"numbers of type {kind}")
        sign = "<" if self.order == "little" else ">"
        stored = np.frombuffer(body, dtype=sign + _NUMBER_TYPES[kind])
        if len(stored) != n:
            raise ValueError(f"{len(stored)} numbers in the place of {n}")
        self.room.take(_BYTES_PER_VALUE * n)
        values: list[float] = stored.astype(np.float64).tolist()
        return values


def members(value: Any) -> list[Any]:
    """The fields of a structure in their order, or the members of a cell array."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], tuple):
        value = value[0]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def text_of(value: Any, place: str) -> str:
    """A text out of the cells around it, with single spaces between its words.

    Raises:
        ValueError: If there is no single text.
    """
    inner = _inner(value)
    if inner == []:
        return ""
    if not isinstance(inner, str):
        raise ValueError(f"{place} must be a text, got {_kind(inner)}")
    return " ".join(inner.split())


def number_of(value: Any, place: str) -> float:
    """A number out of the cells around it.

    Raises:
        ValueError: If there is no single number.
    """
    inner = _inner(value)
    if not isinstance(inner, float):
        raise ValueError(f"{place} must be a number, got {_kind(inner)}")
    return inner


def _inner(value: Any) -> Any:
    """What lists of one member hold in the end."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _kind(value: Any) -> str:
    names = {str: "a text", float: "a number", tuple: "a structure"}
    return f"{len(value)} of them" if isinstance(value, list) else names.get(type(value), type(value).__name__)
