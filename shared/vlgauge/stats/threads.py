"""Limit of one BLAS thread for products of small matrices, which are slower with several threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_HELD = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the linear algebra of numpy on one thread inside the block.

    The number of threads belongs to the whole process, and the context that set
    it must restore it. Therefore a context that is entered while another one is active changes nothing.
    """
    if not _HELD.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _HELD.release()


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return the controller of the loaded linear algebra libraries, cached."""
    return ThreadpoolController()
