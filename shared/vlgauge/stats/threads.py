"""One thread for products of small matrices, where several threads would wait for each other longer than they work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_HELD = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which the linear algebra of numpy runs on one thread; without threadpoolctl, nothing changes.

    The number of threads is one for the whole process, and who set it must restore it: while a context is open, others
    change nothing.
    """
    if _controller() is None or not _HELD.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _HELD.release()


@lru_cache(maxsize=1)
def _controller() -> Any:
    """The linear algebra libraries that are loaded, looked up once; None where nobody can look."""
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return None
    return ThreadpoolController()
