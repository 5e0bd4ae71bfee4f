"""Execution of a function on the first process of a distributed training, with the result sent to all processes."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch.distributed as dist

Found = TypeVar("Found")


def several_processes() -> bool:
    """Return whether this process belongs to a torch process group of at least two processes."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def on_first_process(find: Callable[[], Found]) -> Found:
    """Call a function on the first process, and return its result on all processes. The others wait for it.

    Args:
        find: Function that is called on the first process only. Its result must be picklable if there are other
            processes.

    Raises:
        RuntimeError: On the other processes, if the function failed on the first one, which raises the original error.
    """
    if not several_processes():
        return find()
    outcome: list[Any] = [None, None]  # result, or error message
    failed: BaseException | None = None
    if dist.get_rank() == 0:
        try:
            outcome[0] = find()
        except BaseException as error:
            failed = error
            outcome[1] = f"{type(error).__name__}: {error}"
    dist.broadcast_object_list(outcome, src=0)
    if failed is not None:
        raise failed
    if outcome[1] is not None:
        raise RuntimeError(f"the first process, which scores for all, ended with {outcome[1]}")
    return outcome[0]
