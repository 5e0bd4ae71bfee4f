"""Files in tar archives: a child process reads the headers, and asks for the parts of the file where they may be."""

import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

from vlgauge.box import Ask, Beyond, Box, Part
from vlgauge.errors import UsageError
from vlgauge.files import current_limits, open_file
from vlgauge.media.asked_files import AskedFile

BOX = Box({"members": "vlgauge.media.archives:members"})

# Of members: the first ones tell what columns there are, and often nobody wants more.
_AT_FIRST, _AT_A_TIME = 50, 1000
_MOST_PART, _MOST_NAME = 2**14, 2**12
# Of the headers of one step: names and attributes of members, which are some hundred bytes each.
_MOST_ASKED = 2**28


class Member(NamedTuple):
    """A file in an archive, and where in it the file begins; None for a link or a device."""

    name: str
    n_bytes: int
    first: int | None


# -- Here -------------------------------------------------------------------------------------------------------------
def archive_members(path: str) -> Iterator[Member]:
    """Files of an archive, as they follow one another; folders are left out."""
    n_left = current_limits().max_rows
    with open_file(path, "FILE") as file:
        size = os.fstat(file.fileno()).st_size
        start: int | None = 0
        while start is not None:
            at_a_time = _AT_A_TIME if start else _AT_FIRST
            found, n_members, start = _step(file, path, size, {"path": path, "start": start, "most": at_a_time})
            if n_members > n_left:
                found = found[:n_left]
            yield from found
            n_left -= n_members
            if n_left < 0:
                raise UsageError(
                    f"FILE must have at most {current_limits().max_rows:,} files, got more; raise the limit with "
                    "--max-rows"
                )


def _step(file: IO[bytes], path: str, size: int, told: Mapping[str, Any]) -> tuple[list[Member], int, int | None]:
    """Some members from a place on, how many there were with folders, and where the next ones begin."""
    left = _MOST_ASKED

    def part(question: dict[str, Any]) -> tuple[Mapping[str, Any], bytes]:
        nonlocal left
        left -= _MOST_PART
        if left < 0:
            raise UsageError(f"FILE must be a whole tar archive, not packed, got {path!r} (its headers are too long)")
        file.seek(max(0, int(question["start"])))
        return {}, file.read(_MOST_PART)

    found: list[Member] = []
    what = f"FILE, {path!r},"
    parts = BOX.run("members", told, what=what, most=0, asked=part)
    try:
        *listed, last = (one.head["part"] for one in parts)
        for one in listed:
            name, n_bytes, first = str(one["name"])[:_MOST_NAME], int(one["size"]), one["first"]
            if n_bytes < 0 or (first is not None and not 0 <= int(first) <= size - n_bytes):
                raise UsageError("a member outside of the file")
            found.append(Member(name, n_bytes, None if first is None else int(first)))
        n_members, after = int(last["n_members"]), last["next"]
        if after is not None and not told["start"] < int(after) <= size:
            raise UsageError("members that do not go on")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Beyond(f"{what} cannot be read ({error})") from None
    return found, n_members, after


# -- In the box -------------------------------------------------------------------------------------------------------
def members(settings: dict[str, Any], content: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """Members from a place on, then how many there were, and where the next ones begin."""
    path = settings["path"]
    stream = io.BufferedReader(AskedFile(ask), _MOST_PART)
    stream.seek(settings["start"])
    archive = _read_header(path, lambda: tarfile.TarFile(fileobj=stream))
    for number in range(settings["most"]):
        member = _read_header(path, archive.next)
        if member is None:
            yield {"n_members": number, "next": None}, b""
            return
        if member.size < 0:
            raise UsageError(f"FILE must be a whole tar archive, not packed, got {path!r} (a member of negative size)")
        archive.members = []  # it would keep all of them
        if not member.isdir():
            first = member.offset_data if member.isreg() and not member.issparse() else None
            yield {"name": member.name, "size": member.size, "first": first}, b""
    yield {"n_members": settings["most"], "next": archive.offset}, b""


def _read_header(path: str, read: Any) -> Any:
    """What a function of `tarfile` gives."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:
        # The reader trusts the inside of the file: thousands of headers of one member, sizes beyond the end.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"FILE must be a whole tar archive, not packed, got {path!r} ({why})") from error
