"""Setting `sandbox`, which selects whether files from the user are decoded in this process or in the sandbox."""

from contextlib import AbstractContextManager
from contextvars import ContextVar

from vlgauge.core.context_values import context_value

_sandbox: ContextVar[bool] = ContextVar("sandbox", default=False)


def use_sandbox(sandbox: bool = True) -> AbstractContextManager[None]:
    """Decode every file in the sandbox inside the block.

    Outside of such blocks, only formats whose readers crash or exhaust memory are decoded there.

    Args:
        sandbox: False to keep the setting of the enclosing block.
    """
    return context_value(_sandbox, sandbox or _sandbox.get())


def is_sandboxed() -> bool:
    """Return whether every file is currently decoded in the sandbox."""
    return _sandbox.get()
