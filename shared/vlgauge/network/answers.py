"""One request: content that is checked, and faults in words."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from vlgauge.errors import NetworkError
from vlgauge.network.limits import host_of, session
from vlgauge.progress import progress_bar
from vlgauge.writing import replacing

NOT_THERE = 404
SERVER_ERRORS = 500  # and above: of the Hub, or of a proxy that has no way to it
_LIST_BYTES = 50_000_000
_WEB_PAGE = (b"<!doctype html", b"<html")
_FAULTS = {
    "TooManyRedirects": "sends from one address to the next without end",
    "UnsupportedProtocol": "leads to an address that is neither http nor https",
    "ProxyError": "cannot be reached through the proxy",
    "ConnectError": "cannot be reached",
    "ConnectTimeout": "cannot be reached in time",
    "TimeoutException": "fell silent",
    "gaierror": "has a name that nobody knows",
    "SSLError": "has no certificate that is trusted here, or does not speak https",
    "ConnectionRefusedError": "cannot be reached",
    "ConnectionError": "cut the connection",
    "TimeoutError": "cannot be reached in time",
    "HTTPException": "cut the connection or does not speak HTTP",
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


def offline() -> bool:
    """Whether one of the two offline switches is set; read from the environment at each call."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"))
    return any(switch.strip().upper() in ("1", "ON", "YES", "TRUE") for switch in switches)


class _Head(NamedTuple):
    """Begin of an answer: the headers of each hop, of which the last is the answer itself."""

    status: int
    hops: Sequence[Mapping[str, str]]
    next_page: str | None

    def first(self, name: str) -> str | None:
        """A header, of the first hop that has it."""
        return next((hop[name] for hop in self.hops if name in hop), None)


class Exchange:
    """The answer to a request."""

    def __init__(self, response: Any, host: str) -> None:
        self.host = host
        hops = [dict(hop.headers) for hop in (*response.history, response)]
        self.head = _Head(response.status_code, hops, response.links.get("next", {}).get("url"))
        self._response = response

    def parts(self) -> Iterator[bytes]:
        """The content, as it comes."""
        with _faults_of(self.host):
            yield from self._response.iter_bytes()

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
    if offline():
        raise NetworkError("an offline switch is set")
    headers = {"User-Agent": "vlgauge"} | (_token_header(token) if hub else {})
    host = host_of(url)
    own = session()  # reads certificates the first time, which is no fault of the server
    with ExitStack() as stack:
        with _faults_of(host):
            asked = own.stream("GET", url, headers=headers, follow_redirects=True)
            answer = Exchange(stack.enter_context(asked), host)
        head = answer.head
        if head.status != 200:
            why = status_in_words(head.status, head.first("x-error-code") or "", host)
            raise NetworkError(why, head.status)
        if head.hops[-1].get("content-type", "").lower().startswith("text/html"):
            raise NetworkError(_is_web_page(host))
        yield answer


def hub_answer(method: str, path: str, headers: Mapping[str, str], body: bytes, token: str | bool | None) -> Any:
    """The begun answer of the Hub to a request that its client made in another process; who asks closes it.

    Args:
        method: GET, HEAD or POST.
        path: Path at the Hub, from a slash on.
        headers: Of the request, without a token.
        body: Of the request.
        token: As of `exchange`.
    """
    from huggingface_hub import constants

    own = session()
    every = {"User-Agent": "vlgauge", **headers} | _token_header(token)
    request = own.build_request(method, f"{constants.ENDPOINT.rstrip('/')}{path}", headers=every, content=body or None)
    # The head of a large file is that of the Hub itself.
    return own.send(request, stream=True, follow_redirects=method != "HEAD")


@contextmanager
def _faults_of(host: str) -> Iterator[None]:
    """Whatever a server can provoke becomes words."""
    try:
        yield
    except NetworkError:
        raise
    except Exception as error:
        raise NetworkError(in_words(error, host)) from error


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
