"""Values of context variables that apply inside of a `with` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def context_value(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable inside the context, and restore its previous value afterwards."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
