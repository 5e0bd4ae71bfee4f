"""The setting `reading`: whether files that the user names are decoded in this process or in the sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias, cast, get_args

from vlgauge.core.validation import one_of

Reading: TypeAlias = Literal["direct", "boxed"]
"""``"boxed"`` decodes every file in the sandbox; ``"direct"`` only formats whose readers crash or exhaust memory."""

_reading: ContextVar[Reading] = ContextVar("reading", default="direct")


def checked_reading(how: Reading | None) -> Reading | None:
    """Return a valid way of reading, or None.

    Raises:
        ValueError: If it is not valid.
    """
    return None if how is None else cast(Reading, one_of("reading", how, get_args(Reading)))


@contextmanager
def reading(how: Reading | None) -> Iterator[None]:
    """Read files in this way inside the block; None keeps the way of the code around it.

    Raises:
        ValueError: If the way is not valid.
    """
    token = _reading.set(checked_reading(how) or _reading.get())
    try:
        yield
    finally:
        _reading.reset(token)


def is_boxed() -> bool:
    """Return whether every file is decoded in the sandbox here."""
    return _reading.get() == "boxed"
