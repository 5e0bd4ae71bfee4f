"""Options of the files that commands read."""

from __future__ import annotations

import argparse

from vlgauge.files import Limits


def add_limits(parser: argparse.ArgumentParser) -> None:
    """The options that raise or lower what may be read."""
    usual = Limits()
    for option, what in (
        ("max_bytes", "bytes of a file"),
        ("max_unpacked", "bytes that a packed file may unpack to"),
        ("max_rows", "rows of a table"),
    ):
        words = f"most {what} (default: {getattr(usual, option):,})".replace("%", "%%")
        parser.add_argument(f"--{option.replace('_', '-')}", type=int, metavar="N", help=words)
