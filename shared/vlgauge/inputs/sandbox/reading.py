"""Setting `reading`, which selects whether files from the user are decoded in this process or in the sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias, cast, get_args

from vlgauge.core.validation import check_choice

Reading: TypeAlias = Literal["direct", "boxed"]
"""``"boxed"`` decodes every file in the sandbox, ``"direct"`` only formats whose readers crash or exhaust memory."""

_reading: ContextVar[Reading] = ContextVar("reading", default="direct")


def checked_reading(how: Reading | None) -> Reading | None:
    """Return a value of the setting after checking it.

    Args:
        how: Value of the setting, or None.

    Raises:
        ValueError: If the value is not valid.
    """
    return None if how is None else cast(Reading, check_choice("reading", how, get_args(Reading)))


@contextmanager
def reading(how: Reading | None) -> Iterator[None]:
    """Set `reading` inside the block.

    Args:
        how: Value of the setting. None keeps the current one.

    Raises:
        ValueError: If the value is not valid.
    """
    token = _reading.set(checked_reading(how) or _reading.get())
    try:
        yield
    finally:
        _reading.reset(token)


def is_boxed() -> bool:
    """Return whether every file is currently decoded in the sandbox."""
    return _reading.get() == "boxed"
