"""Large images and videos decoded one at a time: one takes hundreds of megabytes, and several threads decode."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from PIL import Image

# Share of the maximum size above which an image is large.
_LARGE = 1 / 4
_BLOCK = 2**26  # bytes

_of_thread = threading.local()
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    # A thread of the parent may have held it.
    os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def keep_large_until_done() -> Iterator[None]:
    """Make other threads wait for a large image decoded in this block until the block ends."""
    with ExitStack() as stack:
        outer, _of_thread.stack = getattr(_of_thread, "stack", None), stack
        try:
            yield
        finally:
            _of_thread.stack = outer


@contextmanager
def decode_alone_if_large(size: int, max_size: int) -> Iterator[None]:
    """Wait until no other thread has a large image, if this one is large."""
    with ExitStack() as own:
        if size > max_size * _LARGE:
            stack = getattr(_of_thread, "stack", None) or own
            stack.enter_context(_lock)
            # Blocks of this size go back to the system; smaller ones stay with the thread.
            stack.callback(Image.core.set_block_size, Image.core.get_block_size())
            Image.core.set_block_size(max(Image.core.get_block_size(), _BLOCK))
        yield
