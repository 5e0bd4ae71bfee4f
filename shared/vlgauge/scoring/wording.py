"""What messages call rows and columns: options on the command line, arguments in Python."""

import json
import shlex
from functools import partial

from vlgauge.media.tables import FILE, name_of_rows, rows_called

words_of_python = partial(rows_called, "`rows`")
"""Context in which messages name the arguments of `vlgauge.score` and `vlgauge.compare`, not options of commands."""


def option(name: str, value: str = "") -> str:
    """What chooses something, such as ``--predictions COLUMN``, in Python ``predictions="COLUMN"``."""
    if name_of_rows() == FILE:
        return f"--{name.replace('_', '-')}" + (f" {shlex.quote(value)}" if value else "")
    return f"{name}={json.dumps(value, ensure_ascii=False)}" if value else f"`{name}`"
