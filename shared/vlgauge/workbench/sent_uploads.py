"""Uploads are bounded while they arrive, and hold files alone."""

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException
from starlette.types import Message, Receive, Scope


def bounded_upload(scope: Scope, receive: Receive, most_bytes: int) -> Receive:
    """What Gradio reads an upload by; a fault ends it there, so that the files that it began are removed.

    Gradio 6.31 bounds each of a thousand files, keeps fields that are none in memory without a bound, and leaves the
    files of an upload that was cut.
    """
    parts = _Parts(Headers(scope=scope).get("content-type", ""))
    n_bytes = 0

    async def received() -> Message:
        nonlocal n_bytes
        message = await receive()
        if message["type"] != "http.request":
            if not parts.is_done:
                raise MultiPartException("The upload was cut.")
            return message
        chunk = message.get("body", b"")
        n_bytes += len(chunk)
        if n_bytes > most_bytes:
            raise MultiPartException(f"The files together exceed the maximum allowed size of {most_bytes} bytes.")
        parts.take(chunk)
        parts.is_done = not message.get("more_body", False)
        return message

    return received


class _Parts:
    """Whether each part of an upload is a file in the field that Gradio reads."""

    def __init__(self, content_type: str) -> None:
        _, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        self.is_done = False
        self._name, self._value, self._disposition = b"", b"", b""
        told = {
            "on_part_begin": self._begun,
            "on_header_field": self._named,
            "on_header_value": self._valued,
            "on_header_end": self._ended,
            "on_headers_finished": self._checked,
        }
        self._parser = MultipartParser(boundary, told) if boundary else None  # type: ignore[arg-type]

    def take(self, chunk: bytes) -> None:
        """Look at what arrived."""
        if self._parser is not None:
            try:
                self._parser.write(chunk)
            except MultipartParseError:
                raise MultiPartException("The upload is none.") from None

    def _begun(self) -> None:
        self._name, self._value, self._disposition = b"", b"", b""

    def _named(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _valued(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _ended(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name, self._value = b"", b""

    def _checked(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != b"files" or b"filename" not in options:
            raise MultiPartException("An upload must hold files alone.")
