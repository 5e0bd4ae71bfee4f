"""Wrapping of printed lines at the width of the terminal. Lines in files and pipes are not wrapped."""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from vlgauge.core.results import tables_within

_LEAST = 40  # minimum number of characters per line, even in a narrower terminal
_READ = (None, "text", "table")  # formats for reading, as opposed to formats for programs and papers
_INDENT = "    "
# Lines end after a space, or within a signature after a field.
_PIECES = re.compile(r"[^ |]*[ |]?")


@contextmanager
def within_terminal(options: argparse.Namespace) -> Iterator[None]:
    """Wrap lines at the width of the terminal."""
    is_read = getattr(options, "format", None) in _READ and not getattr(options, "json", False)
    if not (is_read and sys.stdout.isatty()):
        yield
        return
    width = max(_LEAST, shutil.get_terminal_size().columns)
    folded: Any = _Folded(sys.stdout, width)
    with redirect_stdout(folded), tables_within(width):
        yield


class _Folded:
    """Stream that wraps long lines with an indent."""

    def __init__(self, stream: Any, width: int) -> None:
        self._stream, self._width = stream, width

    def write(self, text: str) -> int:
        """Write text with long lines wrapped."""
        self._stream.write("\n".join(wrap_line(line, self._width) for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def wrap_line(line: str, width: int) -> str:
    """Wrap a line at a width, after a space or a field of a signature if possible."""
    if len(line) <= width:
        return line
    lines, own = [], ""
    for piece in _PIECES.findall(line):
        if len(own) + len(piece.rstrip()) > width and own.strip():
            lines.append(own.rstrip())
            own = _INDENT
        while len(own) + len(piece.rstrip()) > width:
            room = width - len(own)
            lines.append(own + piece[:room])
            own, piece = _INDENT, piece[room:]
        own += piece
    return "\n".join([*lines, own.rstrip()] if own.strip() else lines)
