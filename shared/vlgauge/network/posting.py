"""Questions to a server that the user named: JSON by POST, within bounds of time, bytes and tries, and to it alone.

No proxy is asked and no redirect followed, so that a key goes to nobody else. Plain http is spoken on this machine and
in private networks only.
"""

import html
import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from vlgauge.errors import NetworkError, UsageError
from vlgauge.network.answers import SERVER_ERRORS, in_words, offline
from vlgauge.network.limits import host_of

# Before the second try, the third and the fourth, in seconds, unless the server asks for more or less.
PAUSES = (1.0, 4.0, 10.0)
_LONGEST_PAUSE = 60.0
MOST_BYTES = 32_000_000  # 1,024 tokens with 20 others each are 2 MB
_OK, _TOO_MANY = 200, 429
_REDIRECTS = range(300, 400)
_NO_KEY = (401, 403)
_PIECE = 65_536
# Letters of a key; a word such as "EMPTY" stands for none and hides nothing.
_LEAST_SECRET = 8
_PART = 6  # letters, by which a part of a key is known
_HIDDEN = "***"
_UNSHOWN = "words that may repeat the key, which are not shown"
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class Answered(NamedTuple):
    """What a server answered once."""

    status: int
    retry_after: str
    content: bytes


def check_address(url: Any) -> str:
    """The address of a server, without a slash at its end.

    Raises:
        ValueError: If it is none, or holds what does not belong into it, such as a password.
    """
    expected = "`url` must be an address such as http://127.0.0.1:8000/v1, without password, `?` and `#`"
    # What is wrong is not repeated: it may hold a password.
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{expected}, got none")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(f"{expected}, got another one")
    return url.rstrip("/")


def ask_server(url: str, fields: Mapping[str, Any], *, key_from: str | None, seconds: float) -> Any:
    """What a server answers to a question, as read from JSON; asked again where it is busy or has a fault.

    The key is read here from the variable of the environment, and kept nowhere.

    Raises:
        NetworkError: If it gives none; the message says why, as the clause of a sentence.
    """
    body = json.dumps(fields, allow_nan=False).encode()
    host, key = host_of(url), _key_of(key_from)
    for pause in (*PAUSES, None):
        answered = _posted(url, body, key, seconds)
        if answered.status == _OK:
            try:
                return _without(key, json.loads(answered.content))
            except (ValueError, RecursionError):
                raise NetworkError(f"{host} gave no JSON where an answer was asked for") from None
        is_passing = answered.status == _TOO_MANY or answered.status >= SERVER_ERRORS
        if not is_passing:
            break
        wanted = float(answered.retry_after) if re.fullmatch("[0-9]{1,9}", answered.retry_after) else pause
        if wanted is not None and wanted > _LONGEST_PAUSE:
            raise NetworkError(f"{host} wants {wanted:g} s to pass (status {answered.status})", answered.status)
        if pause is None or wanted is None:
            break
        time.sleep(wanted)
    raise NetworkError(_refusal(answered, host, key_from, key), answered.status)


def _without(key: str, told: Any) -> Any:
    """JSON without the key, which may have been spelled by escapes."""
    if len(key) < _LEAST_SECRET:
        return told
    return json.loads(json.dumps(told).replace(json.dumps(key)[1:-1], _HIDDEN))


def _may_repeat(words: str, key: str) -> bool:
    """Whether words may hold a part of the key, with other signs between its letters, or by escapes."""
    own, told = _letters(key), _letters(words)
    parts = (own[start : start + _PART] for start in range(max(1, len(own) - _PART + 1)))
    return len(key) >= _LEAST_SECRET and any(part in told for part in parts)


def _letters(words: str) -> str:
    plain = html.unescape(unquote(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), words)))
    return re.sub(r"[\W_]", "", plain).casefold()


def _refusal(answered: Answered, host: str, key_from: str | None, key: str) -> str:
    """Why a server gave no answer, with some of its own words."""
    status = answered.status
    if status in _NO_KEY:
        todo = "name the variable that holds one as `key_from`" if key_from is None else f"look at that in {key_from}"
        return f"{host} wants another key (status {status}); {todo}"
    if status in _REDIRECTS:
        return f"{host} sends to another address (status {status}), which is not followed; pass the right one as `url`"
    if status == _TOO_MANY or status >= SERVER_ERRORS:
        return f"{host} is busy or has a fault of its own after {1 + len(PAUSES)} tries (status {status})"
    words = answered.content[:2000].decode(errors="replace")
    told = " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())[:200]
    if _may_repeat(words, key):
        told = _UNSHOWN
    return f"{host} refuses the question (status {status}): {told or 'without a word'}"


def _posted(url: str, body: bytes, key: str, seconds: float) -> Answered:
    """One try, in a thread that is left behind where no answer comes: names and drops of bytes have no limit."""
    host = host_of(url)
    came: Future[Answered] = Future()
    opened: list[socket.socket] = []

    def ask() -> None:
        try:
            with _connected(url, seconds) as connected:
                opened.append(connected)
                if not came.cancelled():
                    came.set_result(_exchanged(url, body, key, connected))
        except BaseException as error:
            with suppress(InvalidStateError):
                came.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        wait([came], seconds)
    finally:
        is_left = came.cancel()
        for one in opened:  # wakes the thread, if it still waits
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
    if is_left:
        raise NetworkError(f"{host} gave no whole answer within {seconds:g} s")
    error = came.exception()
    if isinstance(error, NetworkError):
        raise error
    if isinstance(error, Exception):
        # Without its cause, which may hold what was sent.
        told = in_words(error, host)
        raise NetworkError(f"{host} gave {_UNSHOWN}" if _may_repeat(str(error), key) else told) from None
    return came.result()


def _exchanged(url: str, body: bytes, key: str, connected: socket.socket) -> Answered:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port)
    connection.sock = connected
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "vlgauge"}
    headers |= {"Host": parts.netloc, "Connection": "close"} | ({"Authorization": f"Bearer {key}"} if key else {})
    connection.request("POST", parts.path, body, headers)
    content = bytearray()
    with connection.getresponse() as response:
        while piece := response.read1(_PIECE):
            content += piece
            if len(content) > MOST_BYTES:
                words = "where a short answer was asked for"
                raise NetworkError(f"{host_of(url)} gave more than {MOST_BYTES} bytes {words}")
        return Answered(response.status, response.getheader("Retry-After", "").strip(), bytes(content))


def _connected(url: str, seconds: float) -> socket.socket:
    """A connection to the server, encrypted for https."""
    parts = urlsplit(url)
    name, is_open = str(parts.hostname), parts.scheme == "http"
    port = parts.port or (80 if is_open else 443)
    found = [str(address[0]) for *_, address in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]
    if not all(map(_is_near, found)):
        if is_open:
            raise NetworkError(f"{host_of(url)} is not on this machine or in a private network: use https")
        if offline():
            raise NetworkError("an offline switch is set, and the server is not in a private network")
    for last, address in enumerate(found, start=1 - len(found)):
        try:
            made = socket.create_connection((address, port), seconds)
        except OSError:
            if last == 0:
                raise
            continue
        return made if is_open else ssl.create_default_context().wrap_socket(made, server_hostname=name)
    raise NetworkError(f"{host_of(url)} has no address")


def _is_near(address: str) -> bool:
    """Whether an address is of this machine or of a private network."""
    read = ip_address(address.partition("%")[0])
    read = (read.ipv4_mapped or read) if isinstance(read, IPv6Address) else read
    return read.is_loopback or read.is_private or read.is_link_local


def _key_of(key_from: str | None) -> str:
    """The key, from the environment.

    Raises:
        NetworkError: If there is none, or it cannot be sent; it is not shown.
    """
    if key_from is None:
        return ""
    key = os.environ.get(key_from, "")
    if not key:
        raise NetworkError(f"the variable {key_from} of the environment, which `key_from` names, holds no key")
    if not re.fullmatch("[!-~]+", key):
        raise NetworkError(f"the variable {key_from} holds blanks or signs that no key has")
    return key
