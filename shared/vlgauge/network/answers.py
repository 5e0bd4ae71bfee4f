"""One request: a limit of time on each part of its answer, content that is checked, and faults in words.

The session is that of the Hub's client, which knows proxies and certificates.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from vlgauge.progress import progress_bar
from vlgauge.writing import replacing

NOT_THERE = 404
SERVER_ERRORS = 500  # and above: of the Hub, or of a proxy that has no way to it
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


class _Head(NamedTuple):
    """Begin of an answer: the headers of each hop, of which the last is the answer itself."""

    status: int
    hops: Sequence[Mapping[str, str]]
    next_page: str | None

    def first(self, name: str) -> str | None:
        """A header, of the first hop that has it."""
        return next((hop[name] for hop in self.hops if name in hop), None)


class Exchange:
    """A request in a thread of its own, which can be left behind there.

    Names, proxies and the head of an answer that comes byte by byte have no limit of their own in any client.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.host = host_of(url)
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
            raise NetworkError(in_words(part, self.host)) from part
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
def exchange(url: str, *, hub: bool = False, token: str | bool | None = None) -> Iterator[Exchange]:
    """An answer that is no error and no web page.

    The Hub is told a token: the given one, that of this machine for None, none for False.
    """
    from huggingface_hub.utils import get_session

    if offline():
        raise NetworkError("an offline switch is set")
    headers = {"Accept-Encoding": "identity", "User-Agent": "vlgauge"} | (_token_header(token) if hub else {})
    get_session()  # reads certificates the first time, which is no fault of the server
    answer = Exchange(url, headers)
    try:
        head = answer.head
        if head.status != 200:
            why = status_in_words(head.status, head.first("x-error-code") or "", answer.host)
            raise NetworkError(why, head.status)
        if head.hops[-1].get("content-type", "").lower().startswith("text/html"):
            raise NetworkError(_is_web_page(answer.host))
        yield answer
    finally:
        answer.leave()


def _token_header(given: str | bool | None) -> dict[str, str]:
    """What tells the Hub who asks; the function of its client that makes headers may send a request first."""
    from huggingface_hub import constants, get_token

    if given is False:
        return {}
    is_silent = given is None and constants.HF_HUB_DISABLE_IMPLICIT_TOKEN
    token = given if isinstance(given, str) else None if is_silent else get_token()
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def save(answer: Exchange, target: Path, name: str, n_bytes: int | None, sha256: str | None) -> None:
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


def read_list(url: str) -> tuple[Any, str | None]:
    """An answer of the Hub's API, and the address of the next page, if there is one."""
    with exchange(url, hub=True) as answer:
        content = whole(answer, "a list", _LIST_BYTES)
        page = None if answer.head.next_page is None else urljoin(url, answer.head.next_page)
        if page is not None and urlsplit(page)[:2] != urlsplit(url)[:2]:
            raise NetworkError(f"{answer.host} has the next page of its list on another server")
        try:
            return json.loads(content), page
        except (ValueError, RecursionError):
            raise NetworkError(f"{answer.host} gave no JSON where a list was asked for") from None


def whole(answer: Exchange, name: str, most_bytes: int) -> bytes:
    """The content of an answer, which is kept nowhere."""
    content = bytearray()
    for part in answer.parts():
        content += part
        if len(content) > most_bytes:
            raise NetworkError(f"{answer.host} gave {name} of more than {most_bytes} bytes")
    if bytes(content[:64]).lstrip().lower().startswith(_WEB_PAGE):
        raise NetworkError(_is_web_page(answer.host))
    return bytes(content)


def _is_web_page(host: str) -> str:
    return f"{host} gave a web page instead of a file; a network that wants a login does so"


def status_in_words(status: int, code: str, host: str) -> str:
    """An answer that is no content; the Hub adds a code to its status."""
    words = _ERROR_CODES.get(code) or _STATUS.get(status) or "gave no file"
    if status >= SERVER_ERRORS:
        words = "has a fault of its own; try again later"
    return f"{host} {words} (status {status})"


def in_words(error: Exception, host: str) -> str:
    """A fault of the transport; its classes are told by name, because two libraries have them."""
    names = [kind.__name__ for kind in type(error).__mro__]
    words = next((_FAULTS[name] for name in names if name in _FAULTS), "gave what is no answer")
    detail = "".join(letter if letter.isprintable() else " " for letter in str(error))[:120].strip()
    return f"{host} {words} ({detail or names[0]})"


def host_of(url: str) -> str:
    """Name and port of a server, without what may be secret in an address."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "the address"
