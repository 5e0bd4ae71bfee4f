"""The session of the Hub's client, with limits for every answer.

The client and `datasets` send requests of their own by it, wait without end for what comes byte by byte, and take whole
answers of any size into memory. Proxies and certificates stay those of the client, or of who set its session up.
"""

import contextvars
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from vlgauge.errors import NetworkError
from vlgauge.installed import too_old

# The client has spoken through httpx since then, whose sessions can get limits. What is in its cache, any finds.
FETCHING = ("huggingface_hub", "1.0", "fetching from the network")
# What a server answers that has no time now.
_BUSY = (429, 503)
# What is sent up takes as long as it takes.
_SMALL_REQUEST = 100_000


@dataclass(frozen=True)
class Limits:
    """How long is waited, and how much is taken; a whole file may take as long as it takes.

    Attributes:
        answer_seconds: For a connection and the head of an answer, redirects included.
        window_seconds: In which at least `window_bytes` of the content must come.
        window_bytes: See above.
        most_bytes: Of an answer that lies in memory as a whole, unless a longer part of a file was asked for.
    """

    answer_seconds: float = 10.0
    window_seconds: float = 30.0
    window_bytes: int = 30_000
    most_bytes: int = 64_000_000


LIMITS = Limits()


def answer_seconds() -> float:
    """How long an answer may take to begin: as the variable HF_HUB_ETAG_TIMEOUT of the Hub's client says, or 10 s."""
    told = os.environ.get("HF_HUB_ETAG_TIMEOUT", "")
    return float(min(int(told), 3600)) if re.fullmatch("[1-9][0-9]*", told) else LIMITS.answer_seconds


def host_of(url: str) -> str:
    """Name and port of a server, without what may be secret in an address."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "the address"


# Whether a request is one of ours; what others send in this process may be told to wait as long as they like.
is_ours: ContextVar[bool] = ContextVar("is_ours", default=False)
_RESET = re.compile(r";\s*r\s*=\s*0\s*;\s*t\s*=\s*(\d+)")


def _refuse_long_wait(response: Any, host: str) -> None:
    """Raise where a server asks for more patience than an answer may take; the Hub's client would sleep as long.

    Raises:
        NetworkError: If it does.
    """
    reset = _RESET.search(response.headers.get("ratelimit", ""))
    told = reset[1] if reset else response.headers.get("retry-after", "").strip()
    if response.status_code in _BUSY and re.fullmatch("[0-9]+", told) and float(told) > answer_seconds():
        response.close()
        raise NetworkError(
            f"{host} was asked too often and wants {told:.20} s to pass (status {response.status_code}); "
            "try again later",
            response.status_code,
        )


def session() -> Any:
    """The session of the Hub's client; from the first call on, each that it makes in this process has the limits.

    Raises:
        NetworkError: If the client is of a version whose sessions cannot get them.
    """
    if told := too_old(*FETCHING):
        raise NetworkError(told)
    from huggingface_hub import constants
    from huggingface_hub.utils import _http, get_session, set_client_factory

    if not isinstance(_http._GLOBAL_CLIENT_FACTORY, _Limited):
        set_client_factory(_Limited(_http._GLOBAL_CLIENT_FACTORY))
        # Else it asks, at every start, for a list of programs that may have started it, to tell them by their names.
        constants.HF_HUB_DISABLE_TELEMETRY = True
    return get_session()


class _Limited:
    """Makes sessions as before, with limits."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        client = self._make()
        hooks = client.event_hooks
        client.event_hooks = hooks | {"response": [_limit_content, *hooks["response"]]}
        client.send = partial(_send, client.send)
        return client


def _send(send: Callable[..., Any], request: Any, *, stream: bool = False, **how: Any) -> Any:
    """Send a request from a thread, which is left behind if no head of an answer comes.

    Names, proxies and the head of an answer that comes byte by byte have no limit of their own in any client.
    """
    _limit_request(request, in_memory=not stream)
    n_bytes = request.headers.get("content-length", "0")
    is_small = n_bytes.isdigit() and int(n_bytes) <= _SMALL_REQUEST and "transfer-encoding" not in request.headers
    seconds = answer_seconds()
    came: Future[Any] = Future()
    # What the client marks a download by is a variable of the context.
    work = partial(contextvars.copy_context().run, partial(send, request, stream=True, **how))
    threading.Thread(target=_ask, args=(work, came), daemon=True).start()
    try:
        wait([came], seconds if is_small else None)
    finally:
        is_left = came.cancel()
    if is_left:
        raise NetworkError(f"{host_of(str(request.url))} gave no answer within {seconds:g} s")
    response = came.result()
    if not stream:
        try:
            response.read()
        except BaseException:
            response.close()
            raise
    return response


def _ask(work: Callable[[], Any], came: Future[Any]) -> None:
    """Hand an answer, or whatever a server provokes, to who waits for it; close it if nobody does any more."""
    try:
        response = work()
    except BaseException as error:
        with suppress(InvalidStateError):
            came.set_exception(error)
        return
    try:
        came.set_result(response)
    except InvalidStateError:
        response.close()


def _limit_request(request: Any, *, in_memory: bool) -> None:
    """Time-outs to connect, to read, to write, and for a free connection; and what the hops of the answer may be."""
    limit, window = answer_seconds(), LIMITS.window_seconds
    given = request.extensions.get("timeout") or {}
    known = {"connect": limit, "read": window, "write": window, "pool": limit}
    timeout = {name: min(value, given.get(name) or value) for name, value in known.items()}
    part = re.fullmatch(r"bytes=(\d{1,15})-(\d{1,15})", request.headers.get("range", ""))
    n_asked = int(part[2]) - int(part[1]) + 1 if part else 0
    request.headers["Accept-Encoding"] = "identity"
    limits = {"in_memory": in_memory, "most_bytes": max(LIMITS.most_bytes, n_asked)}
    request.extensions = dict(request.extensions) | {"timeout": timeout, "vlgauge": limits}


def _limit_content(response: Any) -> None:
    """Let the content of an answer end where it is too slow, too long, or not what was asked for."""
    limits = response.request.extensions["vlgauge"]
    host = host_of(str(response.request.url))
    if is_ours.get():
        _refuse_long_wait(response, host)
    # Packed content could be of any size, once it is unpacked.
    if response.request.method != "HEAD" and response.headers.get("content-encoding", "identity") != "identity":
        response.close()
        raise NetworkError(f"{host} packs what was asked for as it is")
    # Whatever is no success is read as a whole.
    is_read = limits["in_memory"] or not response.is_success
    response.stream = _limited(response.stream, host, limits["most_bytes"] if is_read else None)


def _limited(stream: Any, host: str, most_bytes: int | None) -> Any:
    # httpx or httpx2, by the version of the Hub's client
    base: Any = next(kind for kind in type(stream).__mro__ if kind.__name__ == "SyncByteStream")

    class Stream(base):
        def __iter__(self) -> Iterator[bytes]:
            return _parts(stream, host, most_bytes)

        def close(self) -> None:
            stream.close()

    return Stream()


def _parts(stream: Iterable[bytes], host: str, most_bytes: int | None) -> Iterator[bytes]:
    """The content, as it comes; only the time that is waited for the network counts."""
    limits = LIMITS
    waited, n_bytes, n_all = 0.0, 0, 0
    parts = iter(stream)
    while True:
        begun = time.monotonic()
        part = next(parts, None)
        waited += time.monotonic() - begun
        if part is None:
            return
        n_bytes, n_all = n_bytes + len(part), n_all + len(part)
        if most_bytes is not None and n_all > most_bytes:
            raise NetworkError(f"{host} gave more than {most_bytes} bytes where a short answer was asked for")
        if n_bytes >= limits.window_bytes:
            waited, n_bytes = 0.0, 0
        elif waited > limits.window_seconds:
            raise NetworkError(f"{host} gave less than {limits.window_bytes} bytes within {limits.window_seconds:g} s")
        yield part
