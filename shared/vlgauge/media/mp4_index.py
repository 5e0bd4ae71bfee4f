"""How many frames and sounds an MP4 file says that it has: FFmpeg makes a table of them before it reads any."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO

# What every file may claim; a larger one as many as it has bytes.
_FREE = 2**20
_MOST_BOXES = 2**18
_MOST_DEEP = 16
# Boxes that hold boxes, as FFmpeg reads them; of "meta" behind four bytes.
_HOLDERS = frozenset(
    b"moov trak mdia minf stbl edts moof traf mvex udta dinf meta wave tref gmhd sinf schi ilst iprp ipco".split()
)
# Where the number stands in a box: of samples of a track, of those of a fragment.
_COUNTS = {b"stsz": 8, b"stz2": 8, b"trun": 4}


def check_index(file: IO[bytes]) -> None:
    """Refuse a file whose table of frames would be far larger than itself.

    Args:
        file: Any file; one of another kind is left alone.

    Raises:
        ValueError: If it claims too much, or its header is packed.
    """
    size = os.fstat(file.fileno()).st_size
    if file.read(8)[4:] not in (b"ftyp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide", b"styp", b"sidx"):
        return
    most, claimed, samples, edits = max(_FREE, size), 0, 0, 0
    for number, (kind, at, end) in enumerate(_boxes(file, 0, size)):
        if kind == b"cmov" or number >= _MOST_BOXES:
            raise ValueError("a header that is packed" if kind == b"cmov" else f"more than {_MOST_BOXES:,} boxes")
        if kind in (b"trak", b"moof"):
            claimed, samples, edits = claimed + samples * max(1, edits), 0, 0
        elif kind in _COUNTS:
            file.seek(at + _COUNTS[kind])
            samples += _integer(file)
        elif kind == b"elst":
            edits += _edits(file, at, end)
        if claimed + samples * max(1, edits) > most:
            raise ValueError(f"an index of more than {most:,} frames and sounds in {size:,} bytes")


def _edits(file: IO[bytes], at: int, end: int) -> int:
    """How many parts of a track an edit list shows; those that only wait show none."""
    file.seek(at)
    wide = file.read(4)[:1] == b"\1"
    count = _integer(file)
    form = struct.Struct(">QqI" if wide else ">IiI")
    there = max(0, end - at - 8) // form.size
    told = file.read(form.size * min(count, there))
    whole = told[: len(told) // form.size * form.size]
    return count - sum(start == -1 for _, start, _ in form.iter_unpack(whole))


def _integer(file: IO[bytes]) -> int:
    (number,) = struct.unpack(">I", file.read(4).rjust(4, b"\0"))
    return int(number)


def _boxes(file: IO[bytes], at: int, end: int, depth: int = 0) -> Iterator[tuple[bytes, int, int]]:
    """Kind of each box and where its content begins and ends, those within it behind it."""
    if depth > _MOST_DEEP:
        raise ValueError(f"boxes more than {_MOST_DEEP} deep within each other")
    while at + 8 <= end:
        file.seek(at)
        length, kind = struct.unpack(">I4s", file.read(8).ljust(8, b"\0"))
        start = at + 8
        if length == 1:
            (length,) = struct.unpack(">Q", file.read(8).rjust(8, b"\0"))
            start += 8
        behind = end if length == 0 else at + length
        if behind < start:
            return
        yield kind, start, min(behind, end)
        if kind in _HOLDERS:
            yield from _boxes(file, start + 4 * (kind == b"meta"), min(behind, end), depth + 1)
        at = behind
