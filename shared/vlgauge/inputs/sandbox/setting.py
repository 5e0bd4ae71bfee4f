"""Setting `sandbox`, which selects whether files from the user are decoded in this process or in the sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_sandbox: ContextVar[bool] = ContextVar("sandbox", default=False)


@contextmanager
def use_sandbox(sandbox: bool = True) -> Iterator[None]:
    """Decode every file in the sandbox inside the block.

    Outside of such blocks, only formats whose readers crash or exhaust memory are decoded there.

    Args:
        sandbox: False to keep the setting of the enclosing block.
    """
    token = _sandbox.set(sandbox or _sandbox.get())
    try:
        yield
    finally:
        _sandbox.reset(token)


def is_sandboxed() -> bool:
    """Return whether every file is currently decoded in the sandbox."""
    return _sandbox.get()
