"""Progress bars for long operations and messages about loading, on terminals or as configured.

Commands whose standard error is not a terminal, for example on a cluster, write lines instead of a bar.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeAlias, TypeVar

from vlgauge.core.context_values import context_value
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import plain_number, short_repr, warn

Progress: TypeAlias = bool | Callable[[int, int], None] | None
"""True for a bar, False for none, None for a bar on terminals after half a second, or a function of (done, total)."""

T = TypeVar("T")

DELAY_SECONDS = 0.5
# Delay of the first line of a step in a log, and interval between its further lines.
FIRST_LINE_SECONDS, LINE_SECONDS = 1.0, 30.0

# Setting of the metric in use, or of the command.
_CHOSEN: ContextVar[Progress] = ContextVar("progress", default=None)
# Whether lines are written if standard error is not a terminal.
_LOGGED: ContextVar[bool] = ContextVar("logged", default=False)


def check_progress(value: object) -> Progress:
    """Validate a progress setting. Strings such as ``"False"``, which would count as true, are rejected.

    Raises:
        ValueError: If the value is not True, False, None or callable.
    """
    chosen = plain_number(value)
    if chosen is None or isinstance(chosen, bool):
        return chosen
    if callable(value):
        return value
    raise UsageError.about(
        "progress", f"must be True, False, None or a function of (done, total), got {short_repr(value)}"
    )


def progress_chosen(progress: Progress) -> AbstractContextManager[None]:
    """Apply a progress setting to the bars and announcements inside the context. None keeps the outer setting."""
    return context_value(_CHOSEN, _CHOSEN.get() if progress is None else progress)


def lines_in_logs(wanted: bool = True) -> AbstractContextManager[None]:
    """Write lines instead of bars inside the context if standard error is not a terminal.

    Args:
        wanted: Whether to write lines.
    """
    return context_value(_LOGGED, wanted)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def announce(text: str, *, logged: bool = True, always: bool = False) -> None:
    """Write a line about a slow step to standard error, if bars or lines are shown.

    Args:
        text: Description of the step.
        logged: Whether the step is slow enough for a line in a log.
        always: Whether to issue a warning if no line is written.
    """
    chosen = _CHOSEN.get()
    if chosen is True or (chosen is None and (_on_terminal() or (logged and _LOGGED.get()))):
        _write(f"{text} ...")
    elif always:
        warn(text)


def with_size(name: str, n_bytes: int | None) -> str:
    """Return a name with the size of its files, such as "CLIP ViT-B/32, 605 MB".

    Args:
        name: Name of the files.
        n_bytes: Size in bytes. None if unknown.
    """
    if n_bytes is None:
        return f"{name}, size unknown"
    megabytes = n_bytes / 1e6
    if megabytes < 0.1:
        return f"{name}, {n_bytes:,} bytes"
    return f"{name}, {megabytes:.0f} MB" if megabytes >= 10 else f"{name}, {megabytes:.1f} MB"


@contextmanager
def progress_bar(total: int, description: str, progress: Progress = None) -> Iterator[Callable[[int], object]]:
    """Show a progress bar, and provide a function that advances it by a number of items.

    Args:
        total: Number of items.
        description: Description of the work, shown to the left of the bar.
        progress: See `Progress`. None never shows a bar inside `progress_chosen(False)`.
    """
    if progress is None and _CHOSEN.get() is False:
        progress = False
    if progress is None and _LOGGED.get() and not _on_terminal():
        progress = _line_writer(description)
    if callable(progress):
        done = 0

        def report(items: int) -> None:
            nonlocal done
            done += items
            progress(done, total)

        yield report
        return
    from tqdm.auto import tqdm

    # With disable=None, tqdm checks whether standard error is a terminal.
    disable = None if progress is None else not progress
    delay = DELAY_SECONDS if progress is None else 0.0
    with tqdm(total=total, desc=description, disable=disable, delay=delay, leave=False) as bar:
        yield bar.update


def report_progress(
    items: Iterable[T], total: int, description: str, progress: Progress = None, *, block: int = 500
) -> Iterator[T]:
    """Yield items and report progress after each block.

    Args:
        items: Items to yield.
        total: Number of items. Progress of a single block is not reported.
        description: Description of the work, shown to the left of the bar.
        progress: See `Progress`.
        block: Number of items between two reports.
    """
    if total <= block:
        yield from items
        return
    with progress_bar(total, description, progress) as report:
        for number, item in enumerate(items, 1):
            yield item
            if number % block == 0:
                report(block)
        if rest := total % block:
            report(rest)


def _line_writer(description: str) -> Callable[[int, int], None]:
    """Return a function of (done, total) that sometimes writes a line such as "Scoring stories: 1,000 of 5,000"."""
    last_written, pause = monotonic(), FIRST_LINE_SECONDS

    def write_line(done: int, total: int) -> None:
        nonlocal last_written, pause
        now = monotonic()
        if now - last_written >= pause:
            _write(f"{description}: {done:,} of {total:,}" if total else f"{description}: {done:,}")
            last_written, pause = now, LINE_SECONDS

    return write_line


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Disable progress bars and log messages of transformers inside the context. Our messages explain the errors."""
    from transformers.utils import logging

    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
