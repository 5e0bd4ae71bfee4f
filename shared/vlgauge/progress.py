"""The bar on long work, and a line on what is loaded: shown on a terminal, or as the caller wishes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from vlgauge.settings import plain_number, shown

Progress: TypeAlias = bool | Callable[[int, int], None] | None
"""True: always a bar; False: never; None: on a terminal, after half a second; callable: gets (done, total)."""

DELAY_SECONDS = 0.5

# What `announce` keeps to: the setting of the metric that is at work, or that of the command.
_CHOSEN: ContextVar[Progress] = ContextVar("progress", default=None)


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
    raise ValueError(f"`progress` must be True, False, None or a function of (done, total), got {shown(value)}")


@contextmanager
def progress_chosen(progress: Progress) -> Iterator[None]:
    """Context in which `announce` keeps to a setting."""
    token = _CHOSEN.set(progress)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def announce(text: str) -> None:
    """Say on standard error what is waited for: where it is a terminal, or always or never if that was chosen."""
    chosen = _CHOSEN.get()
    if chosen is True or (chosen is None and sys.stderr is not None and sys.stderr.isatty()):
        sys.stderr.write(f"{text} ...\n")
        sys.stderr.flush()


def with_size(name: str, path: Path) -> str:
    """A name with the size of its file, such as "CLIP ViT-B/32, 605 MB"."""
    megabytes = path.stat().st_size / 1e6
    return f"{name}, {megabytes:.0f} MB" if megabytes >= 10 else f"{name}, {megabytes:.1f} MB"


@contextmanager
def progress_bar(total: int, description: str, progress: Progress = None) -> Iterator[Callable[[int], object]]:
    """Context in which calling the yielded function with a number of finished items moves the bar.

    Args:
        total: Number of items of the whole work.
        description: What is being done, shown left of the bar.
        progress: See `Progress`.
    """
    if callable(progress):
        done = 0

        def report(items: int) -> None:
            nonlocal done
            done += items
            progress(done, total)

        yield report
        return
    from tqdm.auto import tqdm

    # disable=None lets tqdm look whether standard error is a terminal.
    disable = None if progress is None else not progress
    delay = DELAY_SECONDS if progress is None else 0.0
    with tqdm(total=total, desc=description, disable=disable, delay=delay, leave=False) as bar:
        yield bar.update


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
