"""Building a module that a file will fill, without the random numbers of which nothing stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def left_empty(*more: Any) -> AbstractContextManager[Any]:
    """Context in which functions of torch that draw first values, and more of them, give back their tensor as it is."""
    from torch.nn import init
    from torch.overrides import TorchFunctionMode

    # No methods of tensors: some functions draw by them until all numbers lie within bounds.
    left = {init.kaiming_uniform_, init.normal_, init.uniform_, *more}

    class LeftEmpty(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            if func in left:
                return args[0] if args else named["tensor"]
            return func(*args, **named)

    return LeftEmpty()


@contextmanager
def without_first_values() -> Iterator[None]:
    """Weights of what is built in here hold whatever lay in memory; of a large model their draws take seconds."""
    import torch

    # What else may draw moves no random number of the caller.
    with torch.random.fork_rng(devices=[]), left_empty():
        yield
