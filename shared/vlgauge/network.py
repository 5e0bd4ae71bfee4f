"""The one door to the network: one try, limits of time, checked content, and faults in words.

The client of the Hub tries again up to five times, waits without end for a body that drips, and builds the name of a
file in its cache from an ETag as it comes, so that `../../x` is written outside of it (huggingface_hub 2.4). Its
session is used here, which knows proxies and certificates; requests, checks and names of files are our own. Its cache
keeps its layout: others find in it what is fetched here.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from vlgauge.progress import progress_bar
from vlgauge.writing import replacing, write

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# What may name a file of the cache: never a path.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
NOT_THERE = 404
_SERVER_ERRORS = 500  # and above: of the Hub, or of a proxy that has no way to it
_LIST_BYTES = 50_000_000
_WEB_PAGE = (b"<!doctype html", b"<html")
# Parts of an answer that may lie in memory before they are written.
_AHEAD = 64
_FAULTS = {
    "TooManyRedirects": "sends from one address to the next without end",
    "UnsupportedProtocol": "leads to an address that is neither http nor https",
    "ProxyError": "cannot be reached through the proxy",
    "ConnectError": "cannot be reached",
    "ConnectTimeout": "cannot be reached in time",
    "TimeoutException": "fell silent",
    "NetworkError": "cut the connection",
    "RemoteProtocolError": "cut the connection or does not speak HTTP",
    "OfflineModeIsEnabled": "may not be asked, because an offline switch was set when the Hub's client was imported",
}
_STATUS = {
    401: "wants a token: run hf auth login or set HF_TOKEN, if the name is right",
    403: "refuses access",
    NOT_THERE: "has nothing there",
    429: "was asked too often; try again later",
}
_ERROR_CODES = {
    "GatedRepo": "wants its terms accepted on the page of the repository, and a token of who did so",
    "EntryNotFound": "has no such file",
    "RevisionNotFound": "has no such revision",
    "RepoNotFound": "has no such repository, or keeps it private",
}


@dataclass(frozen=True)
class Limits:
    """How long is waited; a whole file may take as long as it takes.

    Attributes:
        answer_seconds: For a connection and the head of an answer, redirects included.
        window_seconds: In which at least `window_bytes` of the content must come.
        window_bytes: See above.
    """

    answer_seconds: float = 10.0
    window_seconds: float = 30.0
    window_bytes: int = 30_000


LIMITS = Limits()


class NetworkError(OSError):
    """Something cannot be had from the network; the message says why, as the clause of a sentence.

    Attributes:
        status: What the server answered, if it did.
    """

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def offline() -> bool:
    """Whether one of the two offline switches is set; read from the environment at each call."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"))
    return any(switch.strip().upper() in ("1", "ON", "YES", "TRUE") for switch in switches)


def answer_seconds() -> float:
    """How long an answer may take to begin: as the variable HF_HUB_ETAG_TIMEOUT of the Hub's client says, or 10 s."""
    told = os.environ.get("HF_HUB_ETAG_TIMEOUT", "")
    return float(min(int(told), 3600)) if re.fullmatch("[1-9][0-9]*", told) else LIMITS.answer_seconds


def unreachable() -> str | None:
    """Why nothing can be fetched from the Hub, in words; None if it answers."""
    if offline():
        return "an offline switch is set"
    limit = answer_seconds()
    return None if hub_answers(limit) else f"the Hub does not answer (one try of at most {limit:g} s)"


def hub_answers(limit: float) -> bool:
    """Whether the Hub says anything within a number of seconds: one request, and nothing is printed."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    said: list[int] = []

    def knock() -> None:
        # Without network nearly anything may be raised: by names, proxies, certificates.
        with suppress(Exception):
            said.append(get_session().head(constants.ENDPOINT, timeout=limit, follow_redirects=False).status_code)

    # In a thread, because looking up the address of a name has no limit of its own.
    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(limit)
    return bool(said) and said[0] < _SERVER_ERRORS


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
    with _exchange(url) as answer:
        _save(answer, target, target.name, answer.n_bytes, sha256)


def hub_file(
    repository: str,
    file: str,
    revision: str | None = None,
    *,
    kind: str = "model",
    sha256: str | None = None,
    n_bytes: int | None = None,
) -> Path:
    """Fetch a file of the Hub into the Hub's cache.

    Args:
        repository: Its id.
        file: Its path there.
        revision: Commit, branch or tag; None for the newest.
        kind: "model" or "dataset".
        sha256: Its SHA-256, if it is known; else that which the Hub announces counts, for large files.
        n_bytes: Its size, if it is known.

    Raises:
        NetworkError: If it cannot be had, or is another one; no file is left then.
    """
    wanted = revision or "main"
    for name in (file, wanted):
        _refuse_way_out(name)
    storage = _storage(repository, kind)
    prefix = "" if kind == "model" else f"{kind}s/"
    with _exchange(
        _hub_url(f"{prefix}{repository}/resolve/{quote(wanted, safe='')}/{quote(file)}"), hub=True
    ) as answer:
        commit, digest = _commit_told(answer, wanted), _name_told(answer)
        announced = digest if _SHA256.fullmatch(digest) else None
        blob = storage / "blobs" / digest
        blob.parent.mkdir(parents=True, exist_ok=True)
        if not _is_whole(blob, sha256 or announced):
            _save(answer, blob, file, answer.n_bytes if n_bytes is None else n_bytes, sha256 or announced)
    pointer = storage / "snapshots" / commit / file
    _point(pointer, blob)
    if not _COMMIT.fullmatch(wanted):
        reference = storage / "refs" / wanted
        reference.parent.mkdir(parents=True, exist_ok=True)
        write(reference, commit)
    return pointer


class ListedFile(NamedTuple):
    """What the Hub tells of a file before it is fetched."""

    n_bytes: int
    sha256: str | None


def hub_listing(repository: str, revision: str | None, patterns: Sequence[str]) -> tuple[str, dict[str, ListedFile]]:
    """Commit of a model's repository, and its files whose names match a pattern. The list of all is kept in the cache.

    Raises:
        NetworkError: If they cannot be had, or a name leads out of the repository.
    """
    storage = _storage(repository, "model")
    wanted = revision or "main"
    _refuse_way_out(wanted)
    address = f"api/models/{repository}"
    if _COMMIT.fullmatch(wanted):
        commit = wanted
    else:
        about, _ = _json(_hub_url(f"{address}/revision/{quote(wanted, safe='')}"))
        commit = _checked_commit(about.get("sha") if isinstance(about, dict) else None, wanted)
    entries: dict[str, dict[str, Any]] = {}
    page: str | None = _hub_url(f"{address}/tree/{commit}?recursive=true&expand=false")
    asked: set[str] = set()
    while page is not None and page not in asked:
        asked.add(page)
        rows, page = _json(page)
        entries.update(_entries(rows))
    chosen = {name for name in entries if any(fnmatch(name, pattern) for pattern in patterns)}
    listed = {name: _listed(entries[name]) for name in sorted(chosen)}
    for name in listed:
        _refuse_way_out(name)
    _keep_listing(storage / "trees" / f"{commit}.json", entries)
    return commit, listed


def hub_folder(
    repository: str, revision: str | None, patterns: Sequence[str], sha256: Mapping[str, str] | None = None
) -> Path:
    """Fetch those files of a model's repository whose names match a pattern; returns the folder that has them.

    Args:
        repository: Its id.
        revision: Commit, branch or tag; None for the newest.
        patterns: Names, with wildcards.
        sha256: Digests that are known, by file.

    Raises:
        NetworkError: If a file cannot be had, or is another one.
    """
    commit, listed = hub_listing(repository, revision, patterns)
    folder = _storage(repository, "model") / "snapshots" / commit
    for name, file in listed.items():
        if not (folder / name).is_file():
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
def hub_requests() -> Iterator[None]:
    """Requests that the Hub's client makes by itself get its time-outs, and its errors become words.

    Raises:
        NetworkError: If one of them fails.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    session = get_session()
    before, session.timeout = session.timeout, constants.HF_HUB_DOWNLOAD_TIMEOUT
    try:
        yield
    except Exception as error:
        # httpx or httpx2, by the version of the Hub's client
        if not any(kind.__module__.partition(".")[0] in ("httpx", "httpx2") for kind in type(error).__mro__):
            raise
        host = _host(constants.ENDPOINT)
        response = getattr(error, "response", None)
        if response is None:
            raise NetworkError(_in_words(error, host)) from error
        code = response.headers.get("X-Error-Code", "")
        raise NetworkError(_status_in_words(response.status_code, code, host), response.status_code) from error
    finally:
        session.timeout = before


# -- One request ------------------------------------------------------------------------------------------------------
class _Head(NamedTuple):
    """Begin of an answer: the headers of each hop, of which the last is the answer itself."""

    status: int
    hops: Sequence[Mapping[str, str]]
    next_page: str | None

    def first(self, name: str) -> str | None:
        """A header, of the first hop that has it."""
        return next((hop[name] for hop in self.hops if name in hop), None)


class _Exchange:
    """A request in a thread of its own, which can be left behind there.

    Names, proxies and the head of an answer that comes byte by byte have no limit of their own in any client.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.host = _host(url)
        self._parts: queue.Queue[_Head | bytes | Exception | None] = queue.Queue(_AHEAD)
        self._is_left = threading.Event()
        self._limits = LIMITS
        threading.Thread(target=self._ask, args=(url, dict(headers), answer_seconds()), daemon=True).start()
        head = self._next(answer_seconds(), f"gave no answer within {answer_seconds():g} s")
        assert isinstance(head, _Head)
        self.head = head

    def _ask(self, url: str, headers: dict[str, str], limit: float) -> None:
        from huggingface_hub.utils import get_session

        window = self._limits.window_seconds
        try:
            # Time-outs to connect, to read, to write, and for a free connection.
            asked = get_session().stream(
                "GET", url, headers=headers, timeout=(limit, window, window, limit), follow_redirects=True
            )
            with asked as response:
                hops = [dict(hop.headers) for hop in (*response.history, response)]
                page = response.links.get("next", {}).get("url")
                going = self._give(_Head(response.status_code, hops, page))
                for part in response.iter_bytes() if going else ():
                    if not self._give(part):
                        return
            self._give(None)
        except Exception as error:  # whatever a server can provoke is told by who waits for it
            self._give(error)

    def _give(self, part: _Head | bytes | Exception | None) -> bool:
        """Hand something over; False if nobody waits for it any more."""
        while not self._is_left.is_set():
            with suppress(queue.Full):
                self._parts.put(part, timeout=0.1)
                return True
        return False

    def _next(self, seconds: float, fault: str) -> _Head | bytes | None:
        try:
            part = self._parts.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            self.leave()
            raise NetworkError(f"{self.host} {fault}") from None
        if isinstance(part, Exception):
            raise NetworkError(_in_words(part, self.host)) from part
        return part

    def parts(self) -> Iterator[bytes]:
        """The content, as it comes; only the time that is waited for the network counts."""
        limits = self._limits
        waited, n_bytes = 0.0, 0
        fault = f"gave less than {limits.window_bytes} bytes within {limits.window_seconds:g} s"
        while True:
            begun = time.monotonic()
            part = self._next(limits.window_seconds - waited, fault)
            waited += time.monotonic() - begun
            if part is None:
                return
            assert isinstance(part, bytes)
            n_bytes += len(part)
            if n_bytes >= limits.window_bytes:
                waited, n_bytes = 0.0, 0
            yield part

    def leave(self) -> None:
        """Let the thread end by itself."""
        self._is_left.set()

    @property
    def n_bytes(self) -> int | None:
        """Size of the content, as far as it is told."""
        last = self.head.hops[-1]
        encoded = last.get("content-encoding", "identity") != "identity"
        told = self.head.first("x-linked-size") or (None if encoded else last.get("content-length"))
        return int(told) if told is not None and told.isascii() and told.isdigit() else None


@contextmanager
def _exchange(url: str, *, hub: bool = False) -> Iterator[_Exchange]:
    """An answer that is no error and no web page."""
    from huggingface_hub.utils import get_session

    if offline():
        raise NetworkError("an offline switch is set")
    headers = {"Accept-Encoding": "identity", "User-Agent": "vlgauge"} | (_token_header() if hub else {})
    get_session()  # reads certificates the first time, which is no fault of the server
    exchange = _Exchange(url, headers)
    try:
        head = exchange.head
        if head.status != 200:
            why = _status_in_words(head.status, head.first("x-error-code") or "", exchange.host)
            raise NetworkError(why, head.status)
        if head.hops[-1].get("content-type", "").lower().startswith("text/html"):
            raise NetworkError(_is_web_page(exchange.host))
        yield exchange
    finally:
        exchange.leave()


def _token_header() -> dict[str, str]:
    """What tells the Hub who asks; the function of its client that makes headers may send a request first."""
    from huggingface_hub import constants, get_token

    token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _save(answer: _Exchange, target: Path, name: str, n_bytes: int | None, sha256: str | None) -> None:
    """Write the content of an answer to a file, if it is what it should be."""
    found, n_found, start = hashlib.sha256(), 0, b""
    with replacing(target, f"the file for {name}") as part, part.open("wb") as stream:
        with progress_bar(n_bytes or 0, f"{name}, bytes") as report:
            for piece in answer.parts():
                if len(start) < 64:
                    start = (start + piece[:64]).lstrip()
                n_found += len(piece)
                if n_bytes is not None and n_found > n_bytes:
                    break
                found.update(piece)
                stream.write(piece)
                report(len(piece))
        if start.lower().startswith(_WEB_PAGE):
            raise NetworkError(_is_web_page(answer.host))
        if n_bytes is not None and n_found != n_bytes:
            more = "more than " if n_found > n_bytes else f"{n_found} of "
            raise NetworkError(f"{answer.host} gave {more}{n_bytes} bytes of {name}")
        if sha256 is not None and not found.hexdigest().startswith(sha256):
            raise NetworkError(
                f"{answer.host} gave {name} with the SHA-256 {found.hexdigest()[:16]} instead of {sha256[:16]}, which "
                f"was not kept"
            )


def _json(url: str) -> tuple[Any, str | None]:
    """An answer of the Hub's API, and the address of the next page, if there is one."""
    with _exchange(url, hub=True) as answer:
        content = bytearray()
        for part in answer.parts():
            content += part
            if len(content) > _LIST_BYTES:
                raise NetworkError(f"{answer.host} gave a list of more than {_LIST_BYTES} bytes")
        page = None if answer.head.next_page is None else urljoin(url, answer.head.next_page)
        if page is not None and urlsplit(page)[:2] != urlsplit(url)[:2]:
            raise NetworkError(f"{answer.host} has the next page of its list on another server")
        if bytes(content[:64]).lstrip().lower().startswith(_WEB_PAGE):
            raise NetworkError(_is_web_page(answer.host))
        try:
            return json.loads(content), page
        except (ValueError, RecursionError):
            raise NetworkError(f"{answer.host} gave no JSON where a list was asked for") from None


# -- What a server tells, checked -------------------------------------------------------------------------------------
def _checked_commit(told: object, wanted: str) -> str:
    """The commit that the Hub names; it becomes the name of a folder."""
    if not isinstance(told, str) or not _COMMIT.fullmatch(told):
        raise NetworkError("what answers is no Hub: it names no commit (X-Repo-Commit or sha, 40 hexadecimal digits)")
    if _COMMIT.fullmatch(wanted) and told != wanted:
        raise NetworkError(f"the Hub gave the commit {told} instead of {wanted}")
    return told


def _commit_told(answer: _Exchange, wanted: str) -> str:
    return _checked_commit(answer.head.first("x-repo-commit"), wanted)


def _name_told(answer: _Exchange) -> str:
    """Name of a file in the cache: the ETag, which is a digest, of the hop that is the Hub's own."""
    hop = next(hop for hop in answer.head.hops if "x-repo-commit" in hop)
    name = (answer.head.first("x-linked-etag") or hop.get("etag", "")).removeprefix("W/").strip('"')
    if not _PLAIN_NAME.fullmatch(name):
        raise NetworkError("what answers is no Hub: its ETag names no file, or leads out of the cache")
    return name


def _refuse_way_out(name: str) -> None:
    """NetworkError for a name that is no path inside a repository."""
    parts = PurePosixPath(name).parts
    is_plain = name.isprintable() and not set(name) & set("\\:") and not name.startswith("/")
    if not is_plain or not parts or ".." in parts or parts != tuple(name.split("/")):
        raise NetworkError(f"{name[:80]!r} is no path inside a repository")


def _entries(rows: object) -> dict[str, dict[str, Any]]:
    """The files in a page of a list."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NetworkError("what answers is no Hub: its list of files is none")
    return {str(row.get("path")): row for row in rows if row.get("type") == "file"}


def _listed(entry: Mapping[str, Any]) -> ListedFile:
    large = entry.get("lfs")
    digest = large.get("oid") if isinstance(large, dict) else None
    size = large.get("size") if isinstance(large, dict) else entry.get("size")
    if not isinstance(size, int) or not (digest is None or (isinstance(digest, str) and _SHA256.fullmatch(digest))):
        raise NetworkError("what answers is no Hub: its list tells no size or no digest of a file")
    return ListedFile(size, digest)


def _is_web_page(host: str) -> str:
    return f"{host} gave a web page instead of a file; a network that wants a login does so"


def _status_in_words(status: int, code: str, host: str) -> str:
    words = _ERROR_CODES.get(code) or _STATUS.get(status) or "gave no file"
    if status >= _SERVER_ERRORS:
        words = "has a fault of its own; try again later"
    return f"{host} {words} (status {status})"


def _in_words(error: Exception, host: str) -> str:
    """A fault of the transport; its classes are told by name, because two libraries have them."""
    names = [kind.__name__ for kind in type(error).__mro__]
    words = next((_FAULTS[name] for name in names if name in _FAULTS), "gave what is no answer")
    detail = "".join(letter if letter.isprintable() else " " for letter in str(error))[:120].strip()
    return f"{host} {words} ({detail or names[0]})"


def _host(url: str) -> str:
    """Name and port of a server, without what may be secret in an address."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "the address"


# -- The cache of the Hub ---------------------------------------------------------------------------------------------
def _hub_url(path: str) -> str:
    from huggingface_hub import constants

    return f"{constants.ENDPOINT.rstrip('/')}/{path}"


def _storage(repository: str, kind: str) -> Path:
    """Folder of a repository."""
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
