"""What commands print, within the width of the terminal; in a file or a pipe every line stays whole."""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vlgauge.results import tables_within

_LEAST = 40  # characters of a line, however narrow the terminal
_READ = (None, "text", "table")  # forms for people; the others are for programs and papers
_INDENT = "    "
# Where a line may end: behind a blank, and within a signature behind a field.
_PIECES = re.compile(r"[^ |]*[ |]?")


@contextmanager
def within_terminal(options: argparse.Namespace) -> Iterator[None]:
    """Let no line on a terminal be wider than it is."""
    is_read = getattr(options, "format", None) in _READ and not getattr(options, "json", False)
    if not (is_read and sys.stdout.isatty()):
        yield
        return
    width, real = max(_LEAST, shutil.get_terminal_size().columns), sys.stdout
    sys.stdout = _Folded(real, width)
    try:
        with tables_within(width):
            yield
    finally:
        sys.stdout = real


class _Folded:
    """A stream whose long lines go on below, indented."""

    def __init__(self, stream: Any, width: int) -> None:
        self._stream, self._width = stream, width

    def write(self, text: str) -> int:
        """Write lines, the long ones folded."""
        self._stream.write("\n".join(folded(line, self._width) for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def folded(line: str, width: int) -> str:
    """A line in lines of a width, which end behind a blank or a field of a signature where there is one."""
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
