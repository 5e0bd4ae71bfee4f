"""Where the files of a model are, what they hash to, and what to say when they are missing."""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vlgauge import network
from vlgauge.errors import NetworkError, WeightsNotFoundError
from vlgauge.network import NOT_FOUND, Tell, host_of, unreachable
from vlgauge.progress import announce, with_size
from vlgauge.remembered import Remembered

# The clock of a file system may stand still for a while, and other machines' clocks differ: a file that was written
# less than this ago could be written again and look the same.
_SETTLED_NS = 2_000_000_000


class FileState(NamedTuple):
    """What is not the same once a file was written, or another one put in its place.

    Size and time of writing can be kept on purpose; the time of change of the file's entry cannot.
    """

    path: str
    device: int
    inode: int
    n_bytes: int
    written_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "FileState":
        """The state of a file now."""
        found = path.stat()
        where = (str(path.resolve()), found.st_dev, found.st_ino)
        return cls(*where, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    @property
    def is_settled(self) -> bool:
        """Whether any later change of the file will show."""
        return time.time_ns() - max(self.written_ns, self.changed_ns) > _SETTLED_NS


_DIGESTS: Remembered[FileState, str] = Remembered(2**14)


def cache_folder() -> Path:
    """Folder of what this package keeps for a user: ``VLGAUGE_HOME``, else ``~/.cache/vlgauge``."""
    chosen = os.environ.get("VLGAUGE_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "vlgauge"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in hexadecimal digits; that of a file in the same state as before is remembered.

    Raises:
        OSError: If there is none, or a pipe or a device, which may have no end.
    """
    state = FileState.of(path)
    known = _DIGESTS.get(state)
    if known is None:
        if not path.is_file():
            raise OSError(errno.EINVAL, "must be a regular file, got a folder, a pipe or a device", str(path))
        is_settled = state.is_settled
        with path.open("rb") as file:
            known = hashlib.file_digest(file, "sha256").hexdigest()
        if is_settled:
            _DIGESTS.put(state, known)
    return known


def joint_digest(paths: Sequence[Path]) -> str:
    """SHA-256 of one file as it is; of several, of their digests in hexadecimal digits."""
    digests = [sha256_of(path) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


class SourcesMissing(WeightsNotFoundError):
    """Something that a metric needs was not given, or is not there."""


def hub_file_at(
    repository: str,
    files: Sequence[str],
    revision: str | None,
    missing: Callable[[str, str], str],
    sha256: str | None = None,
) -> Path:
    """One file of a Hub repository, fetched unless it is there or an offline switch is set.

    Of the names that it may have, the first that exists is taken. A digest is asked of what is fetched. `missing` makes
    the message of the error from the folder that was searched and the reason.
    """
    here = hub_file_here(repository, files, revision, missing)
    if here is not None:
        return here
    from huggingface_hub import constants

    why = ""
    for file in files:
        try:
            return network.hub_file(repository, file, revision, sha256=sha256, tell=_told(f"{repository}/{file}"))
        except NetworkError as error:
            why = str(error)
            if error.status != NOT_FOUND:
                break
    raise WeightsNotFoundError(missing(constants.HF_HUB_CACHE, why))


def _told(what: str) -> Tell:
    """What tells of a fetch that nobody asked for by name, before its first byte: it is never silent."""
    from huggingface_hub import constants

    where = f"Fetching {what} from {host_of(constants.ENDPOINT)} to {constants.HF_HUB_CACHE}"
    return lambda n_bytes: announce(f"{with_size(where, n_bytes)} (HF_HUB_OFFLINE=1 forbids it)", always=True)


def hub_file_here(
    repository: str, files: Sequence[str], revision: str | None, missing: Callable[[str, str], str]
) -> Path | None:
    """The file as `hub_file_at` gives it, if it is here; None if the Hub can be asked for it. Fetches nothing."""
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = (try_to_load_from_cache(repository, filename=file, revision=revision) for file in files)
        here = next((Path(path) for path in found if isinstance(path, str)), None)
        why = unreachable() if here is None else None
    except HFValidationError as error:
        why = f"that is no id of the Hub ({error})"
    if why:
        raise WeightsNotFoundError(missing(constants.HF_HUB_CACHE, why))
    return here


def hub_folder(
    repository: str,
    revision: str | None,
    patterns: Sequence[str],
    metric_hint: str,
    sha256: Mapping[str, str] | None = None,
    *,
    asked: bool = False,
) -> Path:
    """Folder with the files of a Hub repository, fetched unless they are there or an offline switch is set.

    Args:
        repository: Id such as ``"sentence-transformers/all-MiniLM-L6-v2"``.
        revision: Commit; None for the newest.
        patterns: Names of the files that are wanted, with wildcards.
        metric_hint: Last clause of the error, what else could be done.
        sha256: What files that are fetched must hash to, where it is known.
        asked: Whether the user asked for these files, so that a fetch need not be told.

    Raises:
        WeightsNotFoundError: If the files cannot be had; names repository, revision, files and folder searched.
    """
    here = hub_folder_here(repository, revision, patterns, metric_hint)
    if here is not None:
        return here
    try:
        return network.hub_folder(repository, revision, patterns, sha256, None if asked else _told(repository))
    except NetworkError as error:
        raise WeightsNotFoundError(_folder_missing(repository, revision, patterns, metric_hint, str(error))) from error


def hub_folder_here(repository: str, revision: str | None, patterns: Sequence[str], metric_hint: str) -> Path | None:
    """The folder as `hub_folder` gives it, if it is here; None if the Hub can be asked for it. Fetches nothing.

    Raises:
        WeightsNotFoundError: If it is not here, and the Hub cannot be asked.
    """
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    # A folder that the list shows to be complete needs no network.
    listed = _is_listed(repository, revision)
    why = None if listed else unreachable()
    try:
        if listed or why is not None:
            return network.hub_folder_here(repository, revision, patterns)
        network.check_repository(repository)
        return None
    except (LocalEntryNotFoundError, HFValidationError) as error:
        if isinstance(error, HFValidationError):
            why = f"that is no id of the Hub ({error})"
        why = why or unreachable()
        if why is None:
            return None
        raise WeightsNotFoundError(_folder_missing(repository, revision, patterns, metric_hint, why)) from error


def _folder_missing(repository: str, revision: str | None, patterns: Sequence[str], metric_hint: str, why: str) -> str:
    from huggingface_hub import constants

    return (
        f"{repository} (revision {revision or 'newest'}; files {', '.join(patterns)}) is not in "
        f"{constants.HF_HUB_CACHE} and {why}; fetch it on a machine with network: "
        f"hf download {repository}{f' --revision {revision}' if revision else ''}, {metric_hint}"
    )


def _is_listed(repository: str, revision: str | None) -> bool:
    """Whether a list of the files of a commit was kept, against which the client checks what is here."""
    try:
        from huggingface_hub import get_cached_repo_tree
    except ImportError:  # before version 2
        return False
    from huggingface_hub.errors import CachedRepoTreeNotFoundError, HFValidationError

    if revision is None:
        return False
    try:
        return bool(get_cached_repo_tree(repository, revision=revision))
    except (CachedRepoTreeNotFoundError, HFValidationError):
        return False
