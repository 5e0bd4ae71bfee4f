"""One thread for products of small matrices, where several threads would wait for each other longer than they work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


class _Shared:
    """The number of contexts that are open, and what restores the number of threads when the last one closes."""

    guard = threading.Lock()
    users = 0
    limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which the linear algebra of numpy runs on one thread; without threadpoolctl, nothing changes.

    The number of threads is one for the whole process, so of contexts in several threads the first sets and the last
    restores it.
    """
    with _Shared.guard:
        if not _Shared.users and _controller() is not None:
            _Shared.limits = _controller().limit(limits=1, user_api="blas")
        _Shared.users += 1
    try:
        yield
    finally:
        with _Shared.guard:
            _Shared.users -= 1
            if not _Shared.users and _Shared.limits is not None:
                _Shared.limits.restore_original_limits()
                _Shared.limits = None


@lru_cache(maxsize=1)
def _controller() -> Any:
    """The linear algebra libraries that are loaded, looked up once; None where nobody can look."""
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return None
    return ThreadpoolController()
