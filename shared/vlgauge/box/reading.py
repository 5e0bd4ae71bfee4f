"""Whether all files are read in boxes, or those that their libraries read well enough here, which is faster."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias, cast, get_args

from vlgauge.settings import one_of

Reading: TypeAlias = Literal["direct", "boxed"]
"""``"boxed"`` reads every file in a child process; ``"direct"`` only what is rarely one's own."""

_reading: ContextVar[Reading] = ContextVar("reading", default="direct")


def checked_reading(how: Reading | None) -> Reading | None:
    """The way of reading, if it is one or None.

    Raises:
        ValueError: If it is not.
    """
    return None if how is None else cast(Reading, one_of("reading", how, get_args(Reading)))


@contextmanager
def reading(how: Reading | None) -> Iterator[None]:
    """Read files in this way inside the block; None for as outside of it.

    Raises:
        ValueError: If it is no way.
    """
    token = _reading.set(checked_reading(how) or _reading.get())
    try:
        yield
    finally:
        _reading.reset(token)


def is_boxed() -> bool:
    """Whether every file is read in a box here."""
    return _reading.get() == "boxed"
