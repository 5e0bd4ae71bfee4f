"""Several processes of one training: what only the first of them does, and all learn of."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch.distributed as dist

Found = TypeVar("Found")


def several_processes() -> bool:
    """Whether this process is one of a group that torch has set up."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def on_first_process(find: Callable[[], Found]) -> Found:
    """What a function returns on the first process, on all of them; the others wait for it.

    Args:
        find: Called on the first process only; what it returns must be picklable if there are others.

    Raises:
        RuntimeError: On the others, if the function failed on the first one, which raises its error itself.
    """
    if not several_processes():
        return find()
    told: list[Any] = [None, None]  # what was found, or else what went wrong
    failed: BaseException | None = None
    if dist.get_rank() == 0:
        try:
            told[0] = find()
        except BaseException as error:
            failed = error
            told[1] = f"{type(error).__name__}: {error}"
    dist.broadcast_object_list(told, src=0)
    if failed is not None:
        raise failed
    if told[1] is not None:
        raise RuntimeError(f"the first process, which scores for all, ended with {told[1]}")
    return told[0]
