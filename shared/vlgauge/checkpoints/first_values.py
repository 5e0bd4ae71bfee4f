"""Construction of modules without random initialization, for modules whose weights are loaded from a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def leave_empty(*more: Any) -> AbstractContextManager[Any]:
    """Disable initialization functions of torch inside the context, so that they return their tensor unchanged.

    Args:
        *more: Further functions to disable.

    Returns:
        Context manager that provides no useful value.
    """
    from torch.nn import init
    from torch.overrides import TorchFunctionMode

    def drawing() -> set[Any]:
        # Tensor methods are not included, because some functions draw with them until all values are within bounds.
        return {init.kaiming_uniform_, init.normal_, init.uniform_}

    left = {*drawing(), *more}

    class LeftEmpty(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            # transformers replaces the functions of torch by its own ones while it builds a model.
            if func in left or func in drawing():
                return args[0] if args else named["tensor"]
            return func(*args, **named)

    return LeftEmpty()


@contextmanager
def without_first_values() -> Iterator[None]:
    """Skip the initialization of modules built inside the context, which saves seconds for large models.

    Their weights are uninitialized memory. The random state of the caller is preserved.
    """
    import torch

    # Preserve the random state, because some functions still draw numbers.
    with torch.random.fork_rng(devices=[]), leave_empty():
        yield
