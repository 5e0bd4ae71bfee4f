"""One image from an https address, for scripts that ask for it: bounded, from public hosts only, nothing followed.

The address of the host is looked up once, checked, and connected to, so that no second look-up can name another one.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import SplitResult
from urllib.parse import urljoin
from urllib.parse import urlsplit

MAX_BYTES = 20 * 10**6
SECONDS = 10.0

_MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)

# IPv4 addresses in the clothes of IPv6: a gateway on the way would lead to the inner one.
_TRANSLATED = tuple(ipaddress.ip_network(text) for text in ("::ffff:0:0/96", "64:ff9b::/32", "2002::/16", "2001::/32"))


def is_public(address: str) -> bool:
    """Whether a numeric address is one of the public internet."""
    number = ipaddress.ip_address(address)
    translated = any(number in network for network in _TRANSLATED if network.version == number.version)
    return number.is_global and not number.is_multicast and not translated


def downloaded_image(url: str, place: str) -> bytes:
    """Bytes behind an https address: at most 20 MB, within 10 s, from no other host.

    Proxies are not used. A redirect is followed to the same host and port only. The look-up of the host's name has the
    time limit of the system.

    Args:
        url: The address.
        place: Where it stands, for messages.

    Raises:
        ValueError: If the address is not https, its host is not public, or it does not give at most 20 MB in time.
    """
    deadline = time.monotonic() + SECONDS
    first = _parts(url, place)
    current = first
    for _ in range(_MAX_REDIRECTS + 1):
        with _answer(current, place, deadline) as answer:
            if answer.status not in _REDIRECTS:
                return _content(answer, current, place)
            goal = answer.headers.get("Location", "")
        current = _parts(urljoin(current.geturl(), goal), place)
        if (current.hostname, current.port) != (first.hostname, first.port):
            raise ValueError(
                f"`{place}` must be at the host that its address names, got {_shown(first)}, which redirects to "
                f"{current.hostname!r}; check and pass that address"
            )
    raise ValueError(f"`{place}` must be an image, got {_shown(first)}, which redirects {_MAX_REDIRECTS} times")


def _parts(url: str, place: str) -> SplitResult:
    wanted = f"`{place}` must be an address such as https://host/image.png without user, got {url[:60]!r}"
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{wanted} (error: {error})") from error
    if parts.scheme.lower() != "https" or not parts.hostname or parts.username is not None or port == 0:
        raise ValueError(wanted)
    if not url.strip().isascii() or any(ord(letter) <= ord(" ") for letter in url.strip()):
        raise ValueError(f"{wanted}; percent-encode everything but ASCII letters, digits and signs")
    return parts


def _shown(parts: SplitResult) -> str:
    return repr(parts.geturl()[:60])


def _public_address(parts: SplitResult, place: str) -> str:
    """The numeric address of a host, all of whose addresses are public."""
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or http.client.HTTPS_PORT, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"`{place}` must have a host that is known, got {_shown(parts)} (error: {error})") from error
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not is_public(address):
            raise ValueError(
                f"`{place}` must have a host of the public internet, got {_shown(parts)}, which is at {address}; "
                "download it yourself"
            )
    return addresses[0]


class _CheckedConnection(http.client.HTTPConnection):
    """A connection by TLS to a numeric address whose certificate must be that of the named host."""

    default_port = http.client.HTTPS_PORT

    def __init__(self, parts: SplitResult, address: str, context: ssl.SSLContext) -> None:
        super().__init__(str(parts.hostname), parts.port, timeout=SECONDS)
        self._address = address
        self._context = context
        self._wire: socket.socket | None = None

    def connect(self) -> None:
        self._wire = socket.create_connection((self._address, self.port), self.timeout)
        self._wire = self.sock = self._context.wrap_socket(self._wire, server_hostname=self.host)

    def cut(self) -> None:
        """End a read or write that another thread waits in."""
        # `sock` is gone as soon as the answer has begun, and shutdown of TLS itself would wait for the other side.
        if self._wire is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._wire, socket.SHUT_RDWR)


@contextmanager
def _answer(parts: SplitResult, place: str, deadline: float) -> Iterator[http.client.HTTPResponse]:
    """The answer to one request; whatever the host does, it ends in time."""
    connection = _CheckedConnection(parts, _public_address(parts, place), ssl.create_default_context())
    late = threading.Event()

    def stop() -> None:
        late.set()
        connection.cut()

    # A host that sends a byte now and then would never meet the time limit of a single read.
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), stop)
    timer.daemon = True
    timer.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"User-Agent": "vlgauge", "Accept": "image/*"})
        yield connection.getresponse()
        if late.is_set():
            raise TimeoutError
    except (OSError, http.client.HTTPException) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise ValueError(
                f"`{place}` must be an image that comes within {SECONDS:g} s, got {_shown(parts)}; download it yourself"
            ) from error
        raise ValueError(f"`{place}` must be an image to download, got {_shown(parts)} (error: {error!r})") from error
    finally:
        timer.cancel()
        connection.close()


def _content(answer: http.client.HTTPResponse, parts: SplitResult, place: str) -> bytes:
    if answer.status != http.client.OK:
        raise ValueError(f"`{place}` must be an image to download, got {_shown(parts)}, which answers {answer.status}")
    data = b"" if (answer.length or 0) > MAX_BYTES else answer.read(MAX_BYTES + 1)
    if (answer.length or 0) + len(data) > MAX_BYTES:
        raise ValueError(f"`{place}` must be at most {MAX_BYTES} bytes, got more from {_shown(parts)}")
    if answer.length:
        raise http.client.IncompleteRead(data, answer.length)
    return data
