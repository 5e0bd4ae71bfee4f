"""Atomic file writing, which creates or replaces a file only when it is complete and keeps the old one on errors."""

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

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr

PART = re.compile(r"\..*\.[0-9a-f]{8}\.[0-9a-f]{16}\.part", re.DOTALL)
"""Pattern of names of partially written files, including files of dead processes."""

# Minimum age of files left by killed processes.
STALE_SECONDS = 24 * 60 * 60
# Errors of the disk or the target, as opposed to errors of files that the caller reads.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DISK = {*_FULL, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ENOENT}
# Error numbers in messages of Rust and C++ libraries.
_NUMBER = re.compile(r"os error (\d+)|errno (\d+)", re.IGNORECASE)


class NotWritableError(UsageError):
    """Raised if no file can be written to a path."""


def resolve_target(
    path: str | PathLike[str],
    name: str = "`path`",
    sources: Iterable[str | PathLike[str]] = (),
    source_name: str = "FILE",
) -> Path:
    """Resolve and check the path of a file to write, before the work that produces its content.

    `atomic_write` repeats the check when it writes the file.

    Args:
        path: Path of the file. Links are followed.
        name: Name of the path in error messages.
        sources: Files that are read. None of them may be the target, under any name or link.
        source_name: Name of the sources in error messages.

    Returns:
        The path without links.

    Raises:
        NotWritableError: If no file can be written there.
    """
    if not isinstance(path, (str, PathLike)):
        raise NotWritableError(f"{name} must be the path of a file, got {short_repr(path)}")
    given = os.fspath(path)
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # null byte or lone surrogate
        raise NotWritableError(f"{name} must be the path of a file, got {given!r} ({error})") from None
    if target.is_symlink():
        raise NotWritableError(f"{name} must be a file in an existing folder, got a link to itself: {given!r}")
    for source in sources:
        if _is_same(target, source):
            raise NotWritableError(f"{name} must be a different file from {source_name}, got {given!r} for both")
    if not target.parent.is_dir() or target.is_dir() or not target.name:
        raise NotWritableError(f"{name} must be a file in an existing folder, got {given!r}")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise NotWritableError(f"{name} must be a regular file, got a pipe or a device: {given!r}")
    if not os.access(target.parent, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise NotWritableError(f"{name} must be a writable file, got {given!r}")
    return target


def check_distinct_targets(targets: Sequence[tuple[str, str]]) -> None:
    """Check that all targets are different files, because one would otherwise overwrite another.

    Args:
        targets: Name in error messages, and path, of each target.

    Raises:
        NotWritableError: If two targets are the same file, including through links.
    """
    for (first, path), (name, other) in combinations(targets, 2):
        if first != name and _is_same(path, other):
            raise NotWritableError(f"{name} must be a different file from that of {first}, got {other!r} for both")


def _is_same(one: str | PathLike[str], other: str | PathLike[str]) -> bool:
    """Return whether two paths refer to the same file, existing or not, including through hard links."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


@contextmanager
def atomic_write(
    path: str | PathLike[str], name: str = "`path`", *, mode: int | None = None, in_folder: bool = False
) -> Iterator[Path]:
    """Provide a new file next to the target, which atomically replaces the target at the end of the context.

    The new file is removed if the context raises an exception.

    Args:
        path: Path of the target. For a link, the file that it leads to is replaced.
        name: Name of the path in error messages.
        mode: File permissions such as ``0o600``, which also apply during writing. None for the permissions of the
            existing file, or of the umask for a new file.
        in_folder: Whether to create the new file in a temporary folder, for libraries such as safetensors that create
            more files next to it. If the process is killed, the name of the folder identifies the target.

    Raises:
        NotWritableError: If no file can be written there.
        OSError: If the disk is full or fails. The message names the target, and the existing file is kept.
    """
    target = resolve_target(path, name)
    for entry in parts_of(target):
        with suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
                remove_part(entry)
    made = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.part")
    part = made / "part" if in_folder else made
    try:
        if in_folder:
            made.mkdir(mode=0o700)
        # The name is unpredictable and must not exist, so that no other process can place a link there.
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode))
        if mode is None:
            mode = stat.S_IMODE((target if target.exists() else part).stat().st_mode)
        yield part
        # safetensors creates files that only their owner can read.
        part.chmod(mode)
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(part, target)
    except Exception as error:
        if (number := _disk_error(error, part)) is not None:
            what = "the disk is full" if number in _FULL else os.strerror(number)
            kept = "; its previous content is unchanged" if target.exists() else ""
            raise OSError(number, f"{name} could not be written, {what}{kept}", os.fspath(path)) from error
        raise
    finally:
        remove_part(made)


def write(path: str | PathLike[str], content: str | bytes, name: str = "`path`") -> None:
    """Write a file atomically, with text encoded as UTF-8. See `atomic_write`.

    Raises:
        UsageError: If the text has a lone surrogate, half of a broken character pair, which UTF-8 cannot encode.
        NotWritableError: If no file can be written there.
        OSError: If the disk is full or fails. The existing file is kept.
    """
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 20) : error.start + 20]
        raise UsageError(
            f"{name} must contain valid Unicode, got the lone surrogate U+{ord(error.object[error.start]):04X} "
            f"in {around!r}; replace it in the input"
        ) from None
    with atomic_write(path, name) as part:
        part.write_bytes(data)


def parts_of(path: str | PathLike[str]) -> list[os.DirEntry[str]]:
    """Return the partially written files for a target, including files of dead processes. Empty without a folder."""
    target = Path(os.path.realpath(path))
    return parts_in(target.parent, _prefix(target))


def parts_in(folder: Path, prefix: str = "") -> list[os.DirEntry[str]]:
    """Return the partially written files in a folder whose names have a prefix. Empty without a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry for entry in entries if entry.name.startswith(prefix) and PART.fullmatch(entry.name)]
    return []


def remove_part(part: str | PathLike[str]) -> None:
    """Remove a partially written file or its folder, ignoring errors."""
    path = Path(part)
    with suppress(OSError):
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _prefix(target: Path) -> str:
    """Return the prefix of the names of partial files, unique to the target and short enough for a suffix."""
    return f".{target.name[:40]}.{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}."


def _disk_error(error: Exception, part: Path) -> int | None:
    """Return the number of a disk error. None for other errors, such as errors of files read inside the context."""
    if isinstance(error, OSError) and error.filename not in (None, str(part), os.fsencode(part)):
        return None
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (stated := _NUMBER.search(str(error))):
        number = int(stated[1] or stated[2])
    return number if number in _DISK else None
