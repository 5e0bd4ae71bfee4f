"""Requests to a chat completion server chosen by the user, sent to its host only with the `openai` client."""

import json
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from vlgauge.checkpoints.hub import host_of, offline
from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.core.optional_dependencies import importing

# Retries after a connection error or the status 408, 409, 429 or 5xx.
MAX_RETRIES = 3
# Maximum bytes of a response. An answer with the 20 most likely tokens has about 2 KB per token.
MAX_RESPONSE = 2**24
_HEADERS = ("host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type")
_CLIENT_HEADERS = ("user-agent", "x-stainless-")
# Shorter keys, such as "EMPTY", are placeholders and not secret.
_MIN_SECRET_LENGTH = 8


def check_url(url: Any) -> str:
    """Return the URL of a server without a slash at its end.

    Raises:
        ValueError: If it is not a URL of http or https, or contains a password, a query or a fragment.
    """
    expected = "must be a URL such as http://127.0.0.1:8000/v1, without password, `?` and `#`"
    # The URL is not repeated, because it may contain a password.
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError.about("url", f"{expected}, got an invalid one")
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError.about("url", f"{expected}, got one of another form")
    return url.rstrip("/")


def complete(url: str, body: Mapping[str, Any], *, key_from: str | None, seconds: float) -> Any:
    """Return the parsed JSON of a chat completion.

    Args:
        url: URL of the protocol, as `check_url` returns it.
        body: Fields of the request, with `model` and `messages`.
        key_from: Environment variable that holds the key, read for each request. None sends no key.
        seconds: Timeout of the connection, of each read, and of the whole body of a response.

    Returns:
        The response, a dictionary of the OpenAI protocol if the server follows it. It is not validated.

    Raises:
        ImportError: If `openai` is not installed.
        NetworkError: If there is no answer. The message is a clause and never repeats the key.
    """
    with importing('a judge on a server requires openai; run: pip install "vlgauge[openai]"'):
        import openai
    host, key = host_of(url), _key(key_from)
    _check_route(url)
    # Omit headers that the client would fill from the environment.
    headers: dict[str, Any] = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    headers["Authorization"] = f"Bearer {key}" if key else openai.Omit()
    required = {"model": body["model"], "messages": body["messages"]}
    rest = {name: value for name, value in body.items() if name not in required}
    # A proxy or the target of a redirect would receive the key.
    with openai.DefaultHttpxClient(
        verify=_certificates(),
        trust_env=False,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"request": [_drop_other_headers], "response": [_bound_response(host, seconds)]},
    ) as transport:
        client = openai.OpenAI(
            api_key=key or "none", base_url=url, http_client=transport, timeout=seconds, max_retries=MAX_RETRIES
        )
        try:
            answer = client.chat.completions.with_raw_response.create(
                **required, extra_body=rest, extra_headers=headers
            )
            return _without_key(json.loads(answer.http_response.content), key)
        except openai.OpenAIError as error:
            why, status = _reason(error, host, key_from, key, seconds), getattr(error, "status_code", None)
        except NetworkError as error:
            why, status = str(error), None
        except (ValueError, RecursionError):
            why, status = f"{host} returned no JSON although an answer was requested", None
    # Outside of the block, because the client's error holds the request, and so the key.
    raise NetworkError(why, status)


def _drop_other_headers(request: Any) -> None:
    """Remove headers that the client takes from the environment, which may hold other keys."""
    for name in list(request.headers):
        if name.lower() not in _HEADERS and not name.lower().startswith(_CLIENT_HEADERS):
            del request.headers[name]


def _client_library() -> Any:
    """Return the module httpx or httpx2, depending on which of them the installed version of `openai` uses."""
    import openai

    return import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])


@cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted certificate authorities, cached because loading them takes about 25 ms."""
    return _client_library().create_ssl_context(trust_env=False)


def _bound_response(host: str, seconds: float) -> Callable[[Any], None]:
    """Return a hook that bounds the size of a response and the time to read it."""

    class Bounded(_client_library().SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            end, left = time.monotonic() + seconds, MAX_RESPONSE
            for chunk in self._stream:
                left -= len(chunk)
                if left < 0:
                    raise NetworkError(f"{host} returned more than {MAX_RESPONSE:,} bytes")
                if time.monotonic() > end:
                    raise NetworkError(f"{host} returned no complete answer within {seconds:g} s")
                yield chunk

        def close(self) -> None:
            self._stream.close()

    def bound(response: Any) -> None:
        # A few packed bytes can unpack to gigabytes.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise NetworkError(f"{host} returned a compressed response, but none was requested")
        response.stream = Bounded(response.stream)

    return bound


def _reason(error: Exception, host: str, key_from: str | None, key: str, seconds: float) -> str:
    import openai

    if isinstance(error, openai.APITimeoutError):
        return f"{host} returned no complete answer within {seconds:g} s"
    if isinstance(error.__cause__, NetworkError):
        return str(error.__cause__)
    if not isinstance(error, openai.APIStatusError):
        return f"{host} cannot be reached ({type(error.__cause__ or error).__name__})"
    status = error.status_code
    if status in (401, 403):
        todo = (
            "pass the name of the environment variable with the key as `key_from`"
            if key_from is None
            else f"check the key in {key_from}"
        )
        return f"{host} rejects the key (status {status}); {todo}"
    if 300 <= status < 400:
        return (
            f"{host} redirects to another URL (status {status}), which is not followed; pass the correct one as `url`"
        )
    if status == 429 or status >= 500:
        return f"{host} is busy or has an internal error (status {status}); try again later"
    # The text of the server may repeat the key in any spelling.
    text = "not shown, because it may repeat the key" if key else error.response.text[:2000]
    printable = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:200]
    return f"{host} rejects the request (status {status}): {printable or 'without a reason'}"


def _without_key(content: Any, key: str) -> Any:
    """Replace the key in JSON by asterisks, because texts of a server are part of results and signatures."""
    if len(key) < _MIN_SECRET_LENGTH:
        return content
    return json.loads(json.dumps(content).replace(json.dumps(key)[1:-1], "***"))


def _check_route(url: str) -> None:
    """Check that plain http stays in private networks, and everything if an offline switch is set."""
    parts = urlsplit(url)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        found = socket.getaddrinfo(str(parts.hostname), port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NetworkError(f"{host_of(url)} cannot be reached ({error.strerror or 'unknown host'})") from None
    if all(_is_private(str(address[0])) for *_, address in found):
        return
    if parts.scheme == "http":
        raise NetworkError(f"{host_of(url)} is not on this machine or in a private network; use https")
    if offline():
        raise NetworkError("offline mode is enabled, and the server is not in a private network")


def _is_private(address: str) -> bool:
    read = ip_address(address.partition("%")[0])
    read = (read.ipv4_mapped or read) if isinstance(read, IPv6Address) else read
    return read.is_loopback or read.is_private or read.is_link_local


def _key(key_from: str | None) -> str:
    if key_from is None:
        return ""
    key = os.environ.get(key_from, "")
    if not key:
        raise NetworkError(f"the environment variable {key_from}, which `key_from` names, is not set")
    if not re.fullmatch("[!-~]+", key):
        raise NetworkError(
            f"the environment variable {key_from} contains spaces or other characters that are invalid in a key"
        )
    return key
