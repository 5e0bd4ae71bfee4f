"""Large pictures one at a time: one fills hundreds of megabytes, and several threads decode."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from PIL import Image

# What is larger than this share of the most that is read waits for its turn.
_SHARE = 4
_BLOCK = 2**26


class _Turn:
    """The turn, and for each thread what gives it back."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.here = threading.local()


_turn = _Turn()

if hasattr(os, "register_at_fork"):
    # A thread of the parent may have had it.
    os.register_at_fork(after_in_child=_turn.__init__)  # type: ignore[misc]


@contextmanager
def kept_until_done() -> Iterator[None]:
    """Keep the turn, if a large picture is decoded in here, until what is done with it is done."""
    with ExitStack() as stack:
        outer, _turn.here.stack = getattr(_turn.here, "stack", None), stack
        try:
            yield
        finally:
            _turn.here.stack = outer


@contextmanager
def turn_of(pixels: int, most: int) -> Iterator[None]:
    """Wait until no other thread holds a large picture, if this is one."""
    with ExitStack() as own:
        if pixels * _SHARE > most:
            stack = getattr(_turn.here, "stack", None) or own
            stack.enter_context(_turn.lock)
            stack.enter_context(_large_blocks())
        yield


@contextmanager
def _large_blocks() -> Iterator[None]:
    """Let Pillow take memory in blocks that go back to the system; of small ones each thread keeps its own."""
    usual = Image.core.get_block_size()
    Image.core.set_block_size(max(usual, _BLOCK))
    try:
        yield
    finally:
        Image.core.set_block_size(usual)
