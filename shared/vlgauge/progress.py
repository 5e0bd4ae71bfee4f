"""The bar on long work, and a line on what is loaded: shown on a terminal, or as the caller wishes.

Where a command writes to no terminal, as on a cluster, lines take the place of the bar.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeAlias, TypeVar

from vlgauge.errors import UsageError
from vlgauge.settings import plain_number, shown, warn

Progress: TypeAlias = bool | Callable[[int, int], None] | None
"""True: always a bar; False: never; None: on a terminal, after half a second; callable: gets (done, total)."""

T = TypeVar("T")

DELAY_SECONDS = 0.5
# Of the lines in a log: the first of a step comes after so long, the others so long after one another.
FIRST_LINE_SECONDS, LINE_SECONDS = 1.0, 30.0

# The setting of the metric that is at work, or that of the command.
_CHOSEN: ContextVar[Progress] = ContextVar("progress", default=None)
# Whether lines are written where there is no terminal.
_LOGGED: ContextVar[bool] = ContextVar("logged", default=False)


def checked_progress(value: object) -> Progress:
    """The value, if it says how to show a bar; a text such as ``"False"`` would count as true.

    Raises:
        ValueError: If it is not.
    """
    chosen = plain_number(value)
    if chosen is None or isinstance(chosen, bool):
        return chosen
    if callable(value):
        return value
    raise UsageError(f"`progress` must be True, False, None or a function of (done, total), got {shown(value)}")


@contextmanager
def progress_chosen(progress: Progress) -> Iterator[None]:
    """Context in which bars and `announce` keep to a setting; None leaves the one around it."""
    token = _CHOSEN.set(_CHOSEN.get() if progress is None else progress)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


@contextmanager
def lines_in_logs(wanted: bool = True) -> Iterator[None]:
    """Context of a command, in which lines take the place of bars where standard error is no terminal."""
    token = _LOGGED.set(wanted)
    try:
        yield
    finally:
        _LOGGED.reset(token)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def announce(text: str, *, logged: bool = True, always: bool = False) -> None:
    """Say on standard error what is waited for, where bars or lines are shown.

    Args:
        text: What it is.
        logged: Whether it takes long enough to be said in a log.
        always: Whether it is a warning elsewhere.
    """
    chosen = _CHOSEN.get()
    if chosen is True or (chosen is None and (_on_terminal() or (logged and _LOGGED.get()))):
        _write(f"{text} ...")
    elif always:
        warn(text)


def with_size(name: str, n_bytes: int | None) -> str:
    """A name with the size of its files, such as "CLIP ViT-B/32, 605 MB"."""
    if n_bytes is None:
        return f"{name}, size unknown"
    megabytes = n_bytes / 1e6
    if megabytes < 0.1:
        return f"{name}, {n_bytes:,} bytes"
    return f"{name}, {megabytes:.0f} MB" if megabytes >= 10 else f"{name}, {megabytes:.1f} MB"


@contextmanager
def progress_bar(total: int, description: str, progress: Progress = None) -> Iterator[Callable[[int], object]]:
    """Context in which calling the yielded function with a number of finished items moves the bar.

    Args:
        total: Number of items of the whole work.
        description: What is being done, shown left of the bar.
        progress: See `Progress`; None never shows one within `progress_chosen(False)`.
    """
    if progress is None and _CHOSEN.get() is False:
        progress = False
    if callable(progress):
        done = 0

        def report(items: int) -> None:
            nonlocal done
            done += items
            progress(done, total)

        yield report
        return
    if progress is None and _LOGGED.get() and not _on_terminal():
        yield _line_by_line(total, description)
        return
    from tqdm.auto import tqdm

    # disable=None lets tqdm look whether standard error is a terminal.
    disable = None if progress is None else not progress
    delay = DELAY_SECONDS if progress is None else 0.0
    with tqdm(total=total, desc=description, disable=disable, delay=delay, leave=False) as bar:
        yield bar.update


def reported(
    items: Iterable[T], total: int, description: str, progress: Progress = None, *, block: int = 500
) -> Iterator[T]:
    """Yield items, and report progress after each block of them.

    Args:
        items: What is yielded.
        total: How many there are; a single block is not reported.
        description: What is being done, shown left of the bar.
        progress: See `Progress`.
        block: Items between two reports.
    """
    if total <= block:
        yield from items
        return
    with progress_bar(total, description, progress) as report:
        for number, item in enumerate(items, 1):
            yield item
            if number % block == 0:
                report(block)
        report(total % block)


def _line_by_line(total: int, description: str) -> Callable[[int], object]:
    """What counts finished items and writes a line now and then, such as "Scoring stories: 1,000 of 5,000"."""
    done, told, pause = 0, monotonic(), FIRST_LINE_SECONDS

    def report(items: int) -> None:
        nonlocal done, told, pause
        done += items
        now = monotonic()
        if now - told >= pause:
            _write(f"{description}: {done:,} of {total:,}" if total else f"{description}: {done:,}")
            told, pause = now, LINE_SECONDS

    return report


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Context without the bars and remarks of the library transformers; our own messages say what is wrong."""
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
