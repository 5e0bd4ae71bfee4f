"""Location and digests of model files, and error messages for missing files."""

import errno
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vlgauge.checkpoints import hub
from vlgauge.checkpoints.hub import NOT_FOUND, Announcer, host_of, unreachable
from vlgauge.core.errors import NetworkError, WeightsNotFoundError
from vlgauge.core.files import open_file
from vlgauge.core.lru_cache import LRUCache
from vlgauge.core.progress import announce, with_size

# Age after which changes of a file are detectable, in nanoseconds. A file written more recently could be rewritten with
# the same timestamps, because file system clocks are coarse and differ between machines.
_SETTLED_NS = 2_000_000_000
_CHUNK = 2**20


class FileState(NamedTuple):
    """State of a file that changes whenever the file is written or replaced.

    Size and modification time can be preserved deliberately, but the change time of the inode cannot.
    """

    path: str
    device: int
    inode: int
    n_bytes: int
    written_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "FileState":
        """Return the current state of a file."""
        found = path.stat()
        where = (str(path.resolve()), found.st_dev, found.st_ino)
        return cls(*where, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    @property
    def is_settled(self) -> bool:
        """Whether any later change of the file will change its state."""
        return time.time_ns() - max(self.written_ns, self.changed_ns) > _SETTLED_NS


_DIGESTS: LRUCache[FileState, str] = LRUCache(2**14)


def cache_folder() -> Path:
    """Return the cache folder of this package: ``VLGAUGE_HOME``, or ``~/.cache/vlgauge`` by default."""
    chosen = os.environ.get("VLGAUGE_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "vlgauge"


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 hex digest of a file, cached as long as the state of the file does not change.

    At most the size of the file is read, so that a file that grows has an end.

    Raises:
        ValueError: If the file waits for data, like a file of the kernel.
        OSError: If the file does not exist, or is not a regular file and may be endless.
    """
    state = FileState.of(path)
    known = _DIGESTS.get(state)
    if known is None:
        if not path.is_file():
            raise OSError(errno.EINVAL, "must be a regular file, got a folder, a pipe or a device", str(path))
        is_settled = state.is_settled
        digest, left = hashlib.sha256(), state.n_bytes
        with open_file(path) as file:
            while left > 0 and (piece := file.read(min(_CHUNK, left))):
                digest.update(piece)
                left -= len(piece)
        known = digest.hexdigest()
        if is_settled:
            _DIGESTS.put(state, known)
    return known


def joint_digest(paths: Sequence[Path]) -> str:
    """Compute one SHA-256 hex digest for several files, from their concatenated hex digests.

    For a single file, the result is its digest.
    """
    digests = [sha256_of(path) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


class SourcesMissingError(WeightsNotFoundError):
    """Raised if a metric requires sources that were not passed or do not exist."""


def hub_file_at(
    repository: str,
    files: Sequence[str],
    revision: str | None,
    remedy: str,
    sha256: str | None = None,
) -> Path:
    """Return the path of a file in a Hub repository, downloading it unless it is cached or an offline switch is set.

    Args:
        repository: Id of the repository.
        files: Possible names of the file. The first one that exists is used.
        revision: Commit, branch or tag. None for the newest commit.
        remedy: Last part of the error message, alternatives for the user.
        sha256: Expected digest of a downloaded file, if it is known.

    Raises:
        WeightsNotFoundError: If the file is not available.
    """
    here = hub_file_here(repository, files, revision, remedy)
    if here is not None:
        return here
    why = ""
    for file in files:
        try:
            return hub.hub_file(
                repository, file, revision, sha256=sha256, announce=_create_announcer(f"{repository}/{file}")
            )
        except NetworkError as error:
            why = str(error)
            if error.status != NOT_FOUND:
                break
    raise _missing(repository, revision, f"file {' or '.join(files)}", why, remedy)


def _create_announcer(what: str) -> Announcer:
    """Return a function that announces an implicit download before its first byte, so that no download is silent."""
    from huggingface_hub import constants

    where = f"Downloading {what} from {host_of(constants.ENDPOINT)} to {constants.HF_HUB_CACHE}"
    return lambda n_bytes: announce(f"{with_size(where, n_bytes)} (HF_HUB_OFFLINE=1 prevents it)", always=True)


def hub_file_here(repository: str, files: Sequence[str], revision: str | None, remedy: str) -> Path | None:
    """Return the file of `hub_file_at` if it is cached, without downloading it. None if the Hub can be asked for it.

    Raises:
        WeightsNotFoundError: If the file is not cached and the Hub cannot be reached.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = (try_to_load_from_cache(repository, filename=file, revision=revision) for file in files)
        here = next((Path(path) for path in found if isinstance(path, str)), None)
        why = unreachable() if here is None else None
    except HFValidationError as error:
        why = f"that is not a valid Hub id ({error})"
    if why:
        raise _missing(repository, revision, f"file {' or '.join(files)}", why, remedy)
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
    """Return a folder with files of a Hub repository, downloading them unless they are cached or downloads are off.

    Args:
        repository: Id such as ``"sentence-transformers/all-MiniLM-L6-v2"``.
        revision: Commit. None for the newest commit.
        patterns: File names with wildcards.
        metric_hint: Last clause of the error message, an alternative for the user.
        sha256: Expected digests of downloaded files by name, if they are known.
        asked: Whether the user requested these files explicitly. If not, a download is announced.

    Raises:
        WeightsNotFoundError: If the files are not available. The message names repository, revision, files and searched
            folder.
    """
    here = hub_folder_here(repository, revision, patterns, metric_hint)
    if here is not None:
        return here
    try:
        return hub.hub_folder(repository, revision, patterns, sha256, None if asked else _create_announcer(repository))
    except NetworkError as error:
        raise _missing_folder(repository, revision, patterns, str(error), metric_hint) from error


def hub_folder_here(repository: str, revision: str | None, patterns: Sequence[str], metric_hint: str) -> Path | None:
    """Return the folder of `hub_folder` if it is cached, without downloading it. None if the Hub can be asked for it.

    Raises:
        WeightsNotFoundError: If the folder is not cached and the Hub cannot be reached.
    """
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    # A folder that is complete according to its cached file list needs no network access.
    listed = _is_listed(repository, revision)
    why = None if listed else unreachable()
    try:
        if listed or why is not None:
            return hub.hub_folder_here(repository, revision, patterns)
        hub.check_repository(repository)
        return None
    except (LocalEntryNotFoundError, HFValidationError) as error:
        if isinstance(error, HFValidationError):
            why = f"that is not a valid Hub id ({error})"
        why = why or unreachable()
        if why is None:
            return None
        raise _missing_folder(repository, revision, patterns, why, metric_hint) from error


def _missing_folder(
    repository: str, revision: str | None, patterns: Sequence[str], why: str, metric_hint: str
) -> WeightsNotFoundError:
    command = f"hf download {repository}{f' --revision {revision}' if revision else ''}"
    remedy = f"download it on a machine with network: {command}, {metric_hint}"
    return _missing(repository, revision, f"files {', '.join(patterns)}", why, remedy)


def _missing(repository: str, revision: str | None, what: str, why: str, remedy: str) -> WeightsNotFoundError:
    from huggingface_hub import constants

    return WeightsNotFoundError(
        f"{repository} (revision {revision or 'newest'}, {what}) is not in {constants.HF_HUB_CACHE} and {why}; {remedy}"
    )


def _is_listed(repository: str, revision: str | None) -> bool:
    """Return whether the file list of a commit is cached, so that the client can check the cached files against it."""
    try:
        from huggingface_hub import get_cached_repo_tree
    except ImportError:  # huggingface_hub before version 2
        return False
    from huggingface_hub.errors import CachedRepoTreeNotFoundError, HFValidationError

    if revision is None:
        return False
    try:
        return bool(get_cached_repo_tree(repository, revision=revision))
    except (CachedRepoTreeNotFoundError, HFValidationError):
        return False
