"""Files in zip archives: a child process reads the directory, and a member is unpacked here, up to so many bytes."""

import io
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vlgauge.box import Ask, Beyond, Box, Part
from vlgauge.errors import UsageError
from vlgauge.files import current_limits, open_file
from vlgauge.media.asked_files import AskedFile

BOX = Box({"directory": "vlgauge.media.zips:directory"})

_MOST_PART, _MOST_NAME = 2**16, 2**12
_MOST_ASKED = 2**28  # bytes of the directory
_HEADER = 30  # bytes of the header of a member before its name
_STORED, _DEFLATED = 0, 8
_LINK = 0o120000


class ZipMember(NamedTuple):
    """A file in an archive.

    Attributes:
        name: Its name there.
        n_bytes: Its size when unpacked, as the archive says.
        packed: Its size in the archive.
        header: Where in the archive its header begins.
        crc: CRC-32 of what is in it, as the archive says.
        method: How it is packed; None for what is not read, a link or what a password locks.
    """

    name: str
    n_bytes: int
    packed: int
    header: int
    crc: int
    method: int | None

    def content(self, path: str, most_bytes: int) -> bytes:
        """What is in it, at most so many bytes."""
        what = f"`{self.name[-60:]}`"
        if self.method not in (_STORED, _DEFLATED):
            raise UsageError(f"{what} must be a file packed by deflate or not at all, without a password, got another")
        if self.n_bytes > most_bytes or self.packed > most_bytes + _MOST_PART:
            raise UsageError(f"{what} must be a file of at most {most_bytes:,} bytes, got a larger one")
        with open_file(path, "FILE") as file:
            file.seek(self.header)
            head = file.read(_HEADER)
            file.seek(
                self.header + _HEADER + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
            )
            packed = file.read(self.packed)
        try:
            found = packed
            if self.method == _DEFLATED:
                found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, self.n_bytes + 1)
        except zlib.error as error:
            raise UsageError(f"{what} must be a whole file, got a damaged one ({error})") from error
        if head[:4] != b"PK\x03\x04" or len(found) != self.n_bytes or zlib.crc32(found) != self.crc:
            raise UsageError(f"{what} must be a whole file, got a damaged one")
        return found


# -- Here -------------------------------------------------------------------------------------------------------------
def zip_members(path: str) -> list[ZipMember]:
    """Files of an archive; folders are left out."""
    most = current_limits().max_rows
    with open_file(path, "FILE") as file:
        size, left = os.fstat(file.fileno()).st_size, _MOST_ASKED

        def part(question: dict[str, Any]) -> tuple[Mapping[str, Any], bytes]:
            nonlocal left
            left -= _MOST_PART
            if left < 0:
                raise UsageError(f"FILE must be a whole zip archive, got {path!r} (its directory is too long)")
            file.seek(max(0, int(question["start"])))
            return {}, file.read(_MOST_PART)

        what = f"FILE, {path!r},"
        told = {"path": path, "size": size, "most": most}
        found: list[ZipMember] = []
        try:
            for one in BOX.run("directory", told, what=what, most=0, asked=part):
                member = one.head["part"]
                n_bytes, packed, header, crc = (int(member[key]) for key in ("n_bytes", "packed", "header", "crc"))
                if min(n_bytes, packed, header) < 0 or header + packed > size:
                    raise UsageError(f"FILE must be a whole zip archive, got {path!r} (a member is outside of it)")
                name, method = str(member["name"])[:_MOST_NAME], member["method"]
                found.append(ZipMember(name, n_bytes, packed, header, crc, method))
        except (KeyError, TypeError, OverflowError) as error:
            raise Beyond(f"{what} cannot be read ({error})") from None
    if len(found) > most:
        raise UsageError(f"FILE must have at most {most:,} files, got more; raise the limit with --max-rows")
    return found


# -- In the box -------------------------------------------------------------------------------------------------------
def directory(settings: dict[str, Any], content: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """The members, one more than may be at most."""
    path = settings["path"]
    try:
        with zipfile.ZipFile(io.BufferedReader(AskedFile(ask, settings["size"]), _MOST_PART)) as archive:
            members = archive.infolist()
    except MemoryError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"FILE must be a whole zip archive, got {path!r} ({why})") from error
    for member in members[: settings["most"] + 1]:
        if member.is_dir():
            continue
        is_plain = not member.flag_bits & 1 and (member.external_attr >> 16) & 0o170000 != _LINK
        yield (
            {
                "name": member.filename,
                "n_bytes": member.file_size,
                "packed": member.compress_size,
                "header": member.header_offset,
                "crc": member.CRC,
                "method": member.compress_type if is_plain else None,
            },
            b"",
        )
