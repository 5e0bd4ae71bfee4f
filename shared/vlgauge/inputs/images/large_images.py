"""Lock that decodes large images and videos one at a time across threads, because each needs hundreds of megabytes."""

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from PIL import Image

from vlgauge.core.errors import UsageError

# Fraction of the maximum size above which an image counts as large.
_LARGE = 1 / 4
_BLOCK = 2**26  # bytes


class LargeImageError(UsageError):
    """Raised if an image is so large that it must be decoded alone."""


_of_thread = threading.local()
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    # Create a new lock, because a thread of the parent process may have held the old one.
    os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def keep_large_until_done() -> Iterator[None]:
    """Keep the lock for a large image that is decoded inside the context until the context ends."""
    with ExitStack() as stack:
        outer, _of_thread.stack = getattr(_of_thread, "stack", None), stack
        try:
            yield
        finally:
            _of_thread.stack = outer


def is_large(size: int, max_size: int) -> bool:
    """Return whether an image is so large that it must be decoded alone. See `decode_alone`."""
    return size > max_size * _LARGE


@contextmanager
def decode_alone() -> Iterator[None]:
    """Wait until no other thread decodes a large image."""
    with ExitStack() as own:
        stack = getattr(_of_thread, "stack", None) or own
        stack.enter_context(_lock)
        # Blocks of this size are returned to the system. Smaller ones stay with the thread.
        stack.callback(Image.core.set_block_size, Image.core.get_block_size())
        Image.core.set_block_size(max(Image.core.get_block_size(), _BLOCK))
        yield


def decode_alone_if_large(size: int, max_size: int) -> AbstractContextManager[None]:
    """Wait until no other thread decodes a large image, if this image is large.

    Args:
        size: Size of the image, in the unit of `max_size`.
        max_size: Maximum size of an image.
    """
    return decode_alone() if is_large(size, max_size) else nullcontext()
