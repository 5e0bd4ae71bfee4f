"""The bar on long work: shown on a terminal after two seconds, or as the caller wishes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = bool | Callable[[int, int], None] | None
"""True: always a bar; False: never; None: on a terminal, after two seconds; callable: gets (done, total)."""

DELAY_SECONDS = 2.0


def checked_progress(value: object) -> Progress:
    """The value, if it says how to show a bar; a text such as ``"False"`` would count as true.

    Raises:
        ValueError: If it is not.
    """
    if value is None or isinstance(value, bool):
        return value
    if callable(value):
        return value
    raise ValueError(f"`progress` must be True, False, None or a function of (done, total), got {value!r}")


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
