"""Access to the network: the Hub through public functions of `huggingface_hub`, and files on other servers.

Retries, resumed downloads, proxies and the layout of the cache are left to `huggingface_hub`. This package adds the
comparison with a SHA-256, a timeout for requests without one, and one sentence for each error.
"""

import hashlib
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from vlgauge.core.errors import NetworkError
from vlgauge.core.writing import atomic_write

Announcer: TypeAlias = Callable[[int | None], object]
"""Called once before the first byte of a file, with the size in bytes, or None if it is not known."""

NOT_FOUND = 404
_SERVER_ERRORS = 500  # and above
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REASONS: Mapping[int | str, str] = {
    "GatedRepo": "requires that you accept the terms on the page of the repository and use your token",
    "EntryNotFound": "has no such file",
    "RevisionNotFound": "has no such revision",
    "RepoNotFound": "has no such repository, or keeps it private",
    401: "requires a token: run hf auth login or set HF_TOKEN, if the name is correct",
    403: "denies access",
    NOT_FOUND: "has nothing at this URL",
    429: "received too many requests; try again later",
}
# Exceptions that the client raises if it cannot parse an answer.
_PARSE_ERRORS = (KeyError, TypeError, AttributeError, IndexError, AssertionError, RecursionError, ValueError)


# -- State of the network ---------------------------------------------------------------------------------------------
def offline() -> bool:
    """Return whether one of the two offline switches is set in the environment now."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"))
    return any(switch.strip().upper() in ("1", "ON", "YES", "TRUE") for switch in switches)


def answer_seconds() -> float:
    """Return the timeout of a request: the variable HF_HUB_ETAG_TIMEOUT of the Hub's client, or 10 seconds."""
    seconds = os.environ.get("HF_HUB_ETAG_TIMEOUT", "")
    return float(min(int(seconds), 3600)) if re.fullmatch("[1-9][0-9]*", seconds) else 10.0


def unreachable() -> str | None:
    """Return why nothing can be fetched from the Hub, or None if it answers."""
    if offline():
        return "offline mode is enabled (HF_HUB_OFFLINE or HF_EVALUATE_OFFLINE)"
    limit = answer_seconds()
    return None if hub_answers(limit) else f"the Hub does not respond (one attempt of at most {limit:g} s)"


def hub_answers(limit: float) -> bool:
    """Return whether the Hub answers one request within a number of seconds."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    try:
        return bool(get_session().head(constants.ENDPOINT, timeout=limit).status_code < _SERVER_ERRORS)
    except Exception:
        # Host names, proxies and certificates can raise nearly any exception.
        return False


def host_of(url: str) -> str:
    """Return the host name and port of a URL, without parts that may be secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "the address"


# -- Files ------------------------------------------------------------------------------------------------------------
def download(url: str, target: Path, sha256: str) -> None:
    """Download a file. The target is replaced only if the download is complete and has the digest.

    Args:
        url: URL of the file.
        target: Path of the file, in an existing folder.
        sha256: Its SHA-256 in hexadecimal digits, or their beginning.

    Raises:
        NetworkError: If the file cannot be downloaded or has another digest.
    """
    from huggingface_hub.file_download import http_get

    host = host_of(url)
    with atomic_write(target, f"the file for {target.name}") as part:
        with _requests(host), part.open("wb") as stream:
            http_get(url, stream, displayed_filename=target.name)
        _check_digest(part, sha256, target.name, host)


def hub_file(
    repository: str,
    file: str,
    revision: str | None = None,
    *,
    kind: str = "model",
    sha256: str | None = None,
    announce: Announcer | None = None,
) -> Path:
    """Download a file of the Hub into the cache of the Hub's client, unless it is there.

    Args:
        repository: Id of the repository.
        file: Path in the repository.
        revision: Commit, branch or tag. None is the newest commit.
        kind: "model" or "dataset".
        sha256: Known SHA-256. Without it, a large file must have the digest that the Hub announces.
        announce: Called before the download.

    Raises:
        NetworkError: If the file cannot be downloaded, or has another commit or digest. It is removed then.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache

    host = host_of(constants.ENDPOINT)
    with hub_requests():
        url = hf_hub_url(repository, file, repo_type=kind, revision=revision)
        found = get_hf_file_metadata(url, timeout=answer_seconds())
        if _COMMIT.fullmatch(revision or "") and found.commit_hash != revision:
            raise NetworkError(f"{host} returned the commit {found.commit_hash} instead of {revision}")
        commit = str(found.commit_hash or "")
        is_here = isinstance(try_to_load_from_cache(repository, file, revision=commit, repo_type=kind), str)
        if announce is not None and not is_here:
            announce(found.size)
        path = Path(hf_hub_download(repository, file, revision=revision, repo_type=kind, etag_timeout=answer_seconds()))
    if not is_here and (expected := sha256 or find_announced_digest(path)) is not None:
        _check_digest(path, expected, file, host)
    return path


def find_announced_digest(path: Path) -> str | None:
    """Return the SHA-256 that the Hub announced for a file of its cache, or None for a small file."""
    # The name of a large file's blob. The blob itself may be a link into a store with other names.
    name = Path(os.readlink(path)).name if path.is_symlink() else ""
    return name if _SHA256.fullmatch(name) else None


def remove_file(path: Path) -> None:
    """Remove a file of the Hub's cache with its blob, so that it is downloaded again."""
    blob = path.parent / os.readlink(path) if path.is_symlink() else path
    for one in (path.resolve(), blob, path):
        one.unlink(missing_ok=True)


def _check_digest(path: Path, expected: str, name: str, host: str) -> None:
    """Compare a file with its digest and remove it if they differ, or if the comparison is interrupted."""
    found = ""
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    finally:
        if not found.startswith(expected):
            remove_file(path)
    if not found.startswith(expected):
        raise NetworkError(
            f"{host} returned {name} with the SHA-256 {found[:16]} instead of {expected[:16]}, so it was discarded"
        )


def hub_content(
    repository: str, file: str, commit: str, *, kind: str, most_bytes: int, token: str | bool | None = None
) -> bytes:
    """Read a file of the Hub without caching it, because a user's token must not open it for other users.

    Args:
        repository: Id of the repository.
        file: Path in the repository.
        commit: Commit of 40 hexadecimal digits.
        kind: "model" or "dataset".
        most_bytes: Maximum size.
        token: Token of a user, None for the token of this machine, False for none.

    Raises:
        NetworkError: If the file cannot be read or is larger.
    """
    from huggingface_hub import HfFileSystem, constants

    prefix = "" if kind == "model" else f"{kind}s/"
    with hub_requests():
        files = HfFileSystem(token=token, skip_instance_cache=True)
        with files.open(f"{prefix}{repository}@{commit}/{file}") as stream:
            content: bytes = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise NetworkError(f"{host_of(constants.ENDPOINT)} returned {file} of more than {most_bytes} bytes")
    return content


# -- Folders ----------------------------------------------------------------------------------------------------------
class ListedFile(NamedTuple):
    """Size and announced SHA-256 of a file of the Hub. Small files have no SHA-256."""

    n_bytes: int
    sha256: str | None


def hub_listing(
    repository: str, revision: str | None, patterns: Sequence[str], known: Iterable[str] = ()
) -> tuple[str, dict[str, ListedFile]]:
    """Return the commit of a model's repository, and its files whose names match a pattern.

    Args:
        repository: Id of the repository.
        revision: Commit, branch or tag. None is the newest commit.
        patterns: Names with wildcards.
        known: Files that must be listed if a pattern matches them.

    Returns:
        The commit, and size and SHA-256 digest of each file by its path in the repository.

    Raises:
        NetworkError: If the Hub cannot be asked, or nothing matches, or a known file is missing.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with hub_requests(repository):
        commit = revision if _COMMIT.fullmatch(revision or "") else None
        commit = str(commit or api.model_info(repository, revision=revision, timeout=answer_seconds()).sha)
        entries: Iterable[Any] = api.list_repo_tree(repository, recursive=True, revision=commit)
        files = {entry.path: entry for entry in entries if hasattr(entry, "size")}
    # Some versions of the client store such files outside of their folder.
    if leading_out := [name for name in files if name.startswith("/") or ".." in PurePosixPath(name).parts]:
        raise NetworkError(f"the Hub's list of its files must name files of its own, got {leading_out[0]!r}")
    chosen = sorted(name for name in files if _matches(name, patterns))
    lacking = [name for name in known if _matches(name, patterns) and name not in chosen]
    if lacking or not chosen:
        raise NetworkError(f"the Hub's list of its files lacks {', '.join(lacking or patterns)}")
    large = {name: files[name].lfs for name in chosen}
    return commit, {name: ListedFile(files[name].size, large[name] and large[name].sha256) for name in chosen}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def hub_folder(
    repository: str,
    revision: str | None,
    patterns: Sequence[str],
    sha256: Mapping[str, str] | None = None,
    announce: Announcer | None = None,
) -> Path:
    """Download the files of a model's repository whose names match a pattern, and return their folder.

    Args:
        repository: Id of the repository.
        revision: Commit, branch or tag. None is the newest commit.
        patterns: Names with wildcards.
        sha256: Known digests by file.
        announce: Called before the download of the files that are not here.

    Raises:
        NetworkError: If a file cannot be downloaded or has another digest.
    """
    from huggingface_hub import snapshot_download, try_to_load_from_cache
    from tqdm import tqdm

    class NoBar(tqdm):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **{**settings, "disable": True})

    commit, listed = hub_listing(repository, revision, patterns, sha256 or ())
    lacking = [
        name for name in listed if not isinstance(try_to_load_from_cache(repository, name, revision=commit), str)
    ]
    if lacking and announce is not None:
        announce(sum(listed[name].n_bytes for name in lacking))
    # Each file is compared with its digest before the next one is downloaded.
    for name in lacking:
        hub_file(repository, name, commit, sha256=(sha256 or {}).get(name) or listed[name].sha256)
    # Downloads nothing any more, but stores the list of files, by which a folder is known to be complete.
    with hub_requests(repository):
        settings: dict[str, Any] = {"allow_patterns": list(patterns), "tqdm_class": NoBar}
        return Path(snapshot_download(repository, revision=revision, **settings))


def hub_folder_here(repository: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """Return the folder as `hub_folder` left it, without a request.

    Raises:
        LocalEntryNotFoundError: If it is not there, or known to be incomplete.
    """
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(repository, revision=revision, allow_patterns=list(patterns), local_files_only=True))


def check_repository(repository: str) -> None:
    """Raise HFValidationError if a string is not an id of a repository."""
    from huggingface_hub.utils import validate_repo_id

    validate_repo_id(repository)


# -- Errors -----------------------------------------------------------------------------------------------------------
@contextmanager
def hub_requests(about: str = "") -> Iterator[None]:
    """Convert the errors of the Hub's client, and limit its requests that have no timeout.

    Args:
        about: Subject of the requests, for error messages.

    Raises:
        NetworkError: If an offline switch is set, or a request fails.
    """
    from huggingface_hub import constants

    with _requests(host_of(constants.ENDPOINT), about):
        yield


@contextmanager
def _requests(host: str, about: str = "") -> Iterator[None]:
    if offline():
        raise NetworkError("offline mode is enabled (HF_HUB_OFFLINE or HF_EVALUATE_OFFLINE)")
    from huggingface_hub.utils import get_session

    session: Any = get_session()
    before = getattr(session, "timeout", None)
    session.timeout = answer_seconds()
    try:
        yield
    except Exception as error:
        if (network_error := _network_error(error, host, about)) is None:
            raise
        raise network_error from error
    finally:
        session.timeout = before


def _network_error(error: Exception, host: str, about: str) -> NetworkError | None:
    """Return the error for a failed request, or None if it is another error."""
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    if isinstance(error, (NetworkError, HFValidationError)):
        return None
    # The client looks for a file in its cache if a request fails.
    cause = error.__cause__ if isinstance(error, LocalEntryNotFoundError) and error.__cause__ else error
    if (response := getattr(cause, "response", None)) is not None:
        status = response.status_code
        reason = _REASONS.get(response.headers.get("X-Error-Code", "")) or _REASONS.get(status) or "returned no file"
        reason = "has an internal error; try again later" if status >= _SERVER_ERRORS else reason
        return NetworkError(f"{host} {reason} (status {status})", status)
    if isinstance(cause, OfflineModeIsEnabled):
        return NetworkError("offline mode was enabled when huggingface_hub was imported")
    if (unreadable := _misread(error, about)) is not None:
        return unreadable
    modules = {kind.__module__.partition(".")[0] for kind in type(cause).__mro__}
    of_client = modules & {"httpx", "httpx2", "requests", "huggingface_hub"}
    # Errors of the disk have a number.
    if of_client or (isinstance(cause, OSError) and (cause.errno is None or isinstance(cause, ConnectionError))):
        if isinstance(cause, FileNotFoundError):
            return NetworkError(f"{host} has no such file", NOT_FOUND)
        detail = " ".join(str(cause).split())[:120]
        return NetworkError(f"{host} cannot be reached or closed the connection ({type(cause).__name__}: {detail})")
    return None


def _misread(error: Exception, about: str) -> NetworkError | None:
    """Return the error for an answer that the Hub's client cannot parse, or None if it is another error."""
    if not isinstance(error, _PARSE_ERRORS) or type(error).__module__ not in ("builtins", "json.decoder"):
        return None
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    if all(name.partition(".")[0] != "huggingface_hub" for name in frames):
        return None
    named = f" about {about}" if about else ""
    return NetworkError(f"the Hub's response{named} cannot be parsed by huggingface_hub")
