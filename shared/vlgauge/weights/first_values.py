"""Building a module that a file will fill, without the random numbers of which nothing stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def drawing() -> frozenset[Any]:
    """Functions of torch that draw first values of layers into the tensor that they are given."""
    from torch.nn import init

    # No methods of tensors: some functions draw by them until all numbers lie within bounds.
    return frozenset((init.kaiming_uniform_, init.normal_, init.uniform_))


@contextmanager
def without_first_values() -> Iterator[None]:
    """Weights of what is built in here hold whatever lay in memory; of a large model their draws take seconds."""
    import torch
    from torch.overrides import TorchFunctionMode

    left = drawing()

    class Left(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            if func in left:
                return args[0] if args else named["tensor"]
            return func(*args, **named)

    # What else may draw moves no random number of the caller.
    with torch.random.fork_rng(devices=[]), Left():
        yield
