"""The one door to the network: one try, limits of time, checked content, and faults in words.

The client of the Hub tries again up to five times, waits without end for a body that drips, and builds the name of a
file in its cache from an ETag as it comes, so that `../../x` is written outside of it (huggingface_hub 2.4). Its
session is used here, which knows proxies and certificates; requests, checks and names of files are our own. Its cache
keeps its layout: others find in it what is fetched here.
"""

import hashlib
import json
import os
import re
import secrets
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from vlgauge.errors import NetworkError
from vlgauge.installed import too_old
from vlgauge.network.answers import (
    SERVER_ERRORS,
    Exchange,
    exchange,
    in_words,
    offline,
    read_list,
    save,
    status_in_words,
    whole,
)
from vlgauge.network.limits import FETCHING, answer_seconds, host_of, is_ours, session
from vlgauge.writing import write

Tell: TypeAlias = Callable[[int | None], object]
"""Called once before the content of files comes, with their bytes; None where the server tells no size."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# What may name a file of the cache: never a path.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def unreachable() -> str | None:
    """Why nothing can be fetched from the Hub, in words; None if it answers."""
    if offline():
        return "an offline switch is set"
    if told := too_old(*FETCHING):
        return told
    limit = answer_seconds()
    return None if hub_answers(limit) else f"the Hub does not answer (one try of at most {limit:g} s)"


def hub_answers(limit: float) -> bool:
    """Whether the Hub says anything within a number of seconds: one request, and nothing is printed."""
    from huggingface_hub import constants

    said: list[int] = []

    def knock() -> None:
        # Without network nearly anything may be raised: by names, proxies, certificates.
        with suppress(Exception):
            said.append(session().head(constants.ENDPOINT, timeout=limit, follow_redirects=False).status_code)

    # In a thread, because looking up the address of a name has no limit of its own.
    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(limit)
    return bool(said) and said[0] < SERVER_ERRORS


# -- Files ------------------------------------------------------------------------------------------------------------
def download(url: str, target: Path, sha256: str) -> None:
    """Fetch a file; what is at the target stays unless the new one is complete and right.

    Args:
        url: Where it is.
        target: Where it goes, in an existing folder.
        sha256: Its SHA-256 in hexadecimal digits, or how it begins.

    Raises:
        NetworkError: If it cannot be had, or is another one.
    """
    with exchange(url) as answer:
        save(answer, target, target.name, answer.n_bytes, sha256)


def hub_file(
    repository: str,
    file: str,
    revision: str | None = None,
    *,
    kind: str = "model",
    sha256: str | None = None,
    n_bytes: int | None = None,
    tell: Tell | None = None,
) -> Path:
    """Fetch a file of the Hub into the Hub's cache.

    Args:
        repository: Its id.
        file: Its path there.
        revision: Commit, branch or tag; None for the newest.
        kind: "model" or "dataset".
        sha256: Its SHA-256, if it is known; else that which the Hub announces counts, for large files.
        n_bytes: Its size, if it is known.
        tell: Told before the file comes.

    Raises:
        NetworkError: If it cannot be had, or is another one; no file is left then.
    """
    wanted = revision or "main"
    for name in (file, wanted):
        _refuse_way_out(name)
    storage = _storage(repository, kind)
    prefix = "" if kind == "model" else f"{kind}s/"
    with exchange(_hub_url(f"{prefix}{repository}/resolve/{quote(wanted, safe='')}/{quote(file)}"), hub=True) as answer:
        commit, digest = _commit_told(answer, wanted), _name_told(answer)
        announced = digest if _SHA256.fullmatch(digest) else None
        blob = storage / "blobs" / digest
        blob.parent.mkdir(parents=True, exist_ok=True)
        if not _is_whole(blob, sha256 or announced):
            size = answer.n_bytes if n_bytes is None else n_bytes
            if tell is not None:
                tell(size)
            save(answer, blob, file, size, sha256 or announced)
    pointer = storage / "snapshots" / commit / file
    _point(pointer, blob)
    if not _COMMIT.fullmatch(wanted):
        reference = storage / "refs" / wanted
        reference.parent.mkdir(parents=True, exist_ok=True)
        write(reference, commit)
    return pointer


def hub_content(
    repository: str, file: str, commit: str, *, kind: str, most_bytes: int, token: str | bool | None = None
) -> bytes:
    """Content of a file of the Hub, which no cache keeps: what a visitor's token opens is for that visitor alone.

    Args:
        repository: Its id.
        file: Its path there.
        commit: Of 40 hexadecimal digits.
        kind: "model" or "dataset".
        most_bytes: How large it may be.
        token: That of a visitor, None for that of this machine, False for none.

    Raises:
        NetworkError: If it cannot be had, is larger, or is of another commit.
    """
    check_repository(repository)
    _refuse_way_out(file)
    prefix = "" if kind == "model" else f"{kind}s/"
    url = _hub_url(f"{prefix}{repository}/resolve/{quote(commit, safe='')}/{quote(file)}")
    with exchange(url, hub=True, token=token) as answer:
        _commit_told(answer, commit)
        return whole(answer, file, most_bytes)


class ListedFile(NamedTuple):
    """What the Hub tells of a file before it is fetched."""

    n_bytes: int
    sha256: str | None


def hub_listing(
    repository: str, revision: str | None, patterns: Sequence[str], known: Iterable[str] = ()
) -> tuple[str, dict[str, ListedFile]]:
    """Commit of a model's repository, and its files whose names match a pattern. The list of all is kept in the cache.

    Args:
        repository: Its id.
        revision: Commit, branch or tag; None for the newest.
        patterns: Names, with wildcards.
        known: Files that are there for sure, if a pattern matches them.

    Raises:
        NetworkError: If they cannot be had, a name leads out of the repository, or nothing is there or less than known.
    """
    storage = _storage(repository, "model")
    wanted = revision or "main"
    _refuse_way_out(wanted)
    address = f"api/models/{repository}"
    if _COMMIT.fullmatch(wanted):
        commit = wanted
    else:
        about, _ = read_list(_hub_url(f"{address}/revision/{quote(wanted, safe='')}"))
        commit = _checked_commit(about.get("sha") if isinstance(about, dict) else None, wanted)
    entries: dict[str, dict[str, Any]] = {}
    page: str | None = _hub_url(f"{address}/tree/{commit}?recursive=true&expand=false")
    asked: set[str] = set()
    while page is not None and page not in asked:
        asked.add(page)
        rows, page = read_list(page)
        entries.update(_entries(rows))
    chosen = {name for name in entries if _matches(name, patterns)}
    lacking = [name for name in known if _matches(name, patterns) and name not in chosen]
    if lacking or not chosen:
        raise NetworkError(f"the Hub's list of its files lacks {', '.join(lacking or patterns)}")
    listed = {name: _listed(entries[name]) for name in sorted(chosen)}
    for name in listed:
        _refuse_way_out(name)
    _keep_listing(storage / "trees" / f"{commit}.json", entries)
    return commit, listed


def hub_folder(
    repository: str,
    revision: str | None,
    patterns: Sequence[str],
    sha256: Mapping[str, str] | None = None,
    tell: Tell | None = None,
) -> Path:
    """Fetch those files of a model's repository whose names match a pattern; returns the folder that has them.

    Args:
        repository: Its id.
        revision: Commit, branch or tag; None for the newest.
        patterns: Names, with wildcards.
        sha256: Digests that are known, by file.
        tell: Told before the files come that are not there.

    Raises:
        NetworkError: If a file cannot be had, or is another one.
    """
    commit, listed = hub_listing(repository, revision, patterns, sha256 or ())
    folder = _storage(repository, "model") / "snapshots" / commit
    lacking = {name: file for name, file in listed.items() if not (folder / name).is_file()}
    if lacking and tell is not None:
        tell(sum(file.n_bytes for file in lacking.values()))
    for name, file in lacking.items():
        known = (sha256 or {}).get(name) or file.sha256
        hub_file(repository, name, commit, sha256=known, n_bytes=file.n_bytes)
    folder.mkdir(parents=True, exist_ok=True)
    if revision != commit:
        reference = folder.parents[1] / "refs" / (revision or "main")
        reference.parent.mkdir(parents=True, exist_ok=True)
        write(reference, commit)
    return folder


def hub_folder_here(repository: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """The folder as `hub_folder` left it; asks nobody.

    Raises:
        LocalEntryNotFoundError: If it is not there, or known to be incomplete.
    """
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(repository, revision=revision, allow_patterns=list(patterns), local_files_only=True))


def check_repository(repository: str) -> None:
    """HFValidationError for what is no id of a repository."""
    from huggingface_hub.utils import validate_repo_id

    validate_repo_id(repository)


@contextmanager
def hub_requests(about: str = "") -> Iterator[None]:
    """Requests that the Hub's client makes by itself get the limits of `session`, and its errors become words.

    Args:
        about: What is asked about, for messages.

    Raises:
        NetworkError: If one of them fails, or its answer is no answer of a Hub.
    """
    from huggingface_hub import constants

    session()
    token = is_ours.set(True)
    try:
        yield
    except Exception as error:
        if (unreadable := misread(error, about)) is not None:
            raise unreadable from error
        # httpx or httpx2, by the version of the Hub's client
        if not any(kind.__module__.partition(".")[0] in ("httpx", "httpx2") for kind in type(error).__mro__):
            raise
        host = host_of(constants.ENDPOINT)
        response = getattr(error, "response", None)
        if response is None:
            raise NetworkError(in_words(error, host)) from error
        code = response.headers.get("X-Error-Code", "")
        raise NetworkError(status_in_words(response.status_code, code, host), response.status_code) from error
    finally:
        is_ours.reset(token)


def misread(error: Exception, about: str = "") -> NetworkError | None:
    """What to raise where the Hub's client stumbled over an answer, no JSON or of an unexpected shape; else None.

    Args:
        error: What came out of the client.
        about: What was asked about, for the message.
    """
    if type(error).__module__ not in ("builtins", "json.decoder") or isinstance(error, (OSError, ImportError)):
        return None
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    if all(name.partition(".")[0] != "huggingface_hub" for name in frames):
        return None
    named = f" about {about}" if about else ""
    return NetworkError(f"the Hub's answer{named} is not what its client can read")


# -- What a server tells, checked -------------------------------------------------------------------------------------
def _checked_commit(told: object, wanted: str) -> str:
    """The commit that the Hub names; it becomes the name of a folder."""
    if not isinstance(told, str) or not _COMMIT.fullmatch(told):
        raise NetworkError("the server is no Hub: it names no commit (X-Repo-Commit or sha, 40 hexadecimal digits)")
    if _COMMIT.fullmatch(wanted) and told != wanted:
        raise NetworkError(f"the Hub gave the commit {told} instead of {wanted}")
    return told


def _commit_told(answer: Exchange, wanted: str) -> str:
    return _checked_commit(answer.head.first("x-repo-commit"), wanted)


def _name_told(answer: Exchange) -> str:
    """Name of a file in the cache: the ETag, which is a digest, of the hop that is the Hub's own."""
    hop = next(hop for hop in answer.head.hops if "x-repo-commit" in hop)
    name = (answer.head.first("x-linked-etag") or hop.get("etag", "")).removeprefix("W/").strip('"')
    if not _PLAIN_NAME.fullmatch(name):
        raise NetworkError("the server is no Hub: its ETag names no file, or leads out of the cache")
    return name


def _refuse_way_out(name: str) -> None:
    """NetworkError for a name that is no path inside a repository."""
    parts = PurePosixPath(name).parts
    is_plain = name.isprintable() and not set(name) & set("\\:") and not name.startswith("/")
    if not is_plain or not parts or ".." in parts or parts != tuple(name.split("/")):
        raise NetworkError(f"{name[:80]!r} is no path inside a repository")


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _entries(rows: object) -> dict[str, dict[str, Any]]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NetworkError("the server is no Hub: its list of files is none")
    return {str(row.get("path")): row for row in rows if row.get("type") == "file"}


def _listed(entry: Mapping[str, Any]) -> ListedFile:
    large = entry.get("lfs")
    digest = large.get("oid") if isinstance(large, dict) else None
    size = large.get("size") if isinstance(large, dict) else entry.get("size")
    if not isinstance(size, int) or not (digest is None or (isinstance(digest, str) and _SHA256.fullmatch(digest))):
        raise NetworkError("the server is no Hub: its list has no size or no digest of a file")
    return ListedFile(size, digest)


# -- The cache of the Hub ---------------------------------------------------------------------------------------------
def _hub_url(path: str) -> str:
    from huggingface_hub import constants

    return f"{constants.ENDPOINT.rstrip('/')}/{path}"


def _storage(repository: str, kind: str) -> Path:
    from huggingface_hub import constants

    check_repository(repository)
    return Path(constants.HF_HUB_CACHE).expanduser().absolute() / f"{kind}s--{repository.replace('/', '--')}"


def _is_whole(blob: Path, sha256: str | None) -> bool:
    """Whether a file is there, and what it should be, as far as that is known."""
    if not blob.is_file():
        return False
    if sha256 is None:
        return True
    with blob.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == sha256


def _point(pointer: Path, blob: Path) -> None:
    """Let a name in a snapshot lead to a file, as a link where the system has links."""
    pointer.parent.mkdir(parents=True, exist_ok=True)
    link = pointer.with_name(f".{secrets.token_hex(8)}")
    try:
        link.symlink_to(os.path.relpath(blob, pointer.parent))
    except OSError:
        os.replace(blob, pointer)
    else:
        os.replace(link, pointer)


def _keep_listing(path: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep a list in the form of huggingface_hub 2, by which it and we know whether a folder is complete."""
    files: dict[str, dict[str, Any]] = {}
    for name in sorted(entries):
        files[name] = {"size": entries[name].get("size"), "blob_id": entries[name].get("oid")}
        if isinstance(large := entries[name].get("lfs"), dict):
            files[name] |= {"lfs_sha256": large.get("oid"), "lfs_size": large.get("size")}
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, json.dumps({"format_version": 1, "files": files}, indent=1))
