"""The one writer: a file appears, or is replaced, when it is complete; on a full disk the old one stays."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations
from os import PathLike
from pathlib import Path

from vlgauge.errors import UsageError

PART = re.compile(r"\..*\.[0-9a-f]{8}\.[0-9a-f]{16}\.part", re.DOTALL)
"""Names of files that are being written, or were when their process died."""

# Older ones are left of processes that were killed.
STALE_SECONDS = 24 * 60 * 60
# What the disk says, and not the caller's own files.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DISK = {*_FULL, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ENOENT}
# Libraries in Rust and C++ tell the number in words.
_NUMBER = re.compile(r"os error (\d+)|errno (\d+)", re.IGNORECASE)


class Unwritable(UsageError):
    """A path at which no file can be written."""


def checked_target(
    path: str | PathLike[str],
    name: str = "`path`",
    sources: Iterable[str | PathLike[str]] = (),
    source_name: str = "FILE",
) -> Path:
    """Where a file is to be written, links followed; checked before the work, and again when it is written.

    Args:
        path: The file.
        name: How messages call it.
        sources: Files that are read, which it must not be: under another name, or by a link, neither.
        source_name: How messages call these.

    Raises:
        Unwritable: If no file can be written there.
    """
    shown = os.fspath(path)
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a zero byte, or half of a character
        raise Unwritable(f"{name} must be the path of a file, got {shown!r} ({error})") from None
    if target.is_symlink():
        raise Unwritable(
            f"{name} must be a file in an existing folder, got a link that leads back to itself: {shown!r}"
        )
    for source in sources:
        if _is_same(target, source):
            raise Unwritable(f"{name} must be another file than {source_name}, got {shown!r} for both")
    if not target.parent.is_dir() or target.is_dir() or not target.name:
        raise Unwritable(f"{name} must be a file in an existing folder, got {shown!r}")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise Unwritable(f"{name} must be a regular file, got a pipe or a device: {shown!r}")
    if not os.access(target.parent, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise Unwritable(f"{name} must be a file that may be written, got {shown!r}")
    return target


def refuse_shared(targets: Sequence[tuple[str, str]]) -> None:
    """Refuse two targets that are one file, of which the second would take the place of the first.

    Args:
        targets: How messages call each, and its path.

    Raises:
        Unwritable: If two are one, also by a link.
    """
    for (first, path), (name, other) in combinations(targets, 2):
        if first != name and _is_same(path, other):
            raise Unwritable(f"{name} must be another file than that of {first}, got {other!r} for both")


def _is_same(one: str | PathLike[str], other: str | PathLike[str]) -> bool:
    """Whether both are one file, there or not, as hard links are."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


@contextmanager
def replacing(
    path: str | PathLike[str], name: str = "`path`", *, mode: int | None = None, in_folder: bool = False
) -> Iterator[Path]:
    """A new file beside the target, which takes its place when the block ends, and goes if that fails.

    Args:
        path: The target; what a link leads to is replaced, not the link.
        name: How messages call it.
        mode: Who may read and write the file, such as ``0o600``, also while it is written; None for who might before,
            or the umask for a new one.
        in_folder: Whether the new file gets a folder of its own, for libraries that make others beside it, as
            safetensors does: what a killed process leaves of these has a name that tells whose it was.

    Raises:
        Unwritable: If no file can be written there.
        OSError: If the disk is full or fails; the message names the target, and what stood there stays.
    """
    target = checked_target(path, name)
    for entry in parts_of(target):
        with suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
                remove_part(entry)
    made = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.part")
    part = made / "part" if in_folder else made
    try:
        if in_folder:
            made.mkdir(mode=0o700)
        # The name cannot be foreseen, and must not exist: nobody can lay a link there.
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode))
        if mode is None:
            mode = stat.S_IMODE((target if target.exists() else part).stat().st_mode)
        yield part
        # safetensors makes files that nobody but their owner can read.
        part.chmod(mode)
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(part, target)
    except Exception as error:
        if (number := _disk_error(error, part)) is not None:
            what = "the disk is full" if number in _FULL else os.strerror(number)
            kept = "; what stood there stays" if target.exists() else ""
            raise OSError(number, f"{name} could not be written, {what}{kept}", os.fspath(path)) from error
        raise
    finally:
        remove_part(made)


def write(path: str | PathLike[str], content: str | bytes, name: str = "`path`", *, mode: int | None = None) -> None:
    """Write a file, text as UTF-8; see `replacing`.

    Raises:
        UsageError: If the text has a lone surrogate, half of a broken character, which UTF-8 cannot hold.
        Unwritable: If no file can be written there.
    """
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 20) : error.start + 20]
        raise UsageError(
            f"{name} must get texts of valid Unicode, got the lone surrogate U+{ord(error.object[error.start]):04X} in "
            f"{around!r}; replace it in the input"
        ) from None
    with replacing(path, name, mode=mode) as part:
        part.write_bytes(data)


def parts_of(path: str | PathLike[str]) -> list[os.DirEntry[str]]:
    """What is being written to take the place of a file, or was when its process died; none if there is no folder."""
    target = Path(os.path.realpath(path))
    prefix = _prefix(target)
    with suppress(OSError), os.scandir(target.parent) as entries:
        return [entry for entry in entries if entry.name.startswith(prefix) and PART.fullmatch(entry.name)]
    return []


def remove_part(part: str | PathLike[str]) -> None:
    """Remove a file that was being written, or its folder, as far as it is there and may be removed."""
    path = Path(part)
    with suppress(OSError):
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _prefix(target: Path) -> str:
    """Begin of the names of new files for a target and for no other one, short enough to have something behind it."""
    return f".{target.name[:40]}.{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}."


def _disk_error(error: Exception, part: Path) -> int | None:
    """The number of an error of the disk; None for any other, such as that of a file that the block reads."""
    if isinstance(error, OSError) and error.filename not in (None, str(part), os.fsencode(part)):
        return None
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (told := _NUMBER.search(str(error))):
        number = int(told[1] or told[2])
    return number if number in _DISK else None
