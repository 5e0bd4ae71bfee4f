"""One copy of each encoder for all callers."""

import threading
import time

import pytest

from vlgauge.core.pool import EncoderPool


def test_two_threads_build_once():
    pool, built = EncoderPool(), []

    def build():
        time.sleep(0.05)
        built.append(1)
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(pool.get(("a",), build))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(set(map(id, found))) == 1
    assert list(pool.encoders) == [("a",)]


def test_a_failed_build_is_tried_again():
    pool = EncoderPool()
    with pytest.raises(OSError, match="no disk"):
        pool.get(("a",), lambda: (_ for _ in ()).throw(OSError("no disk")))
    assert pool.get(("a",), lambda: 7) == 7


def test_unload_forgets_all():
    pool = EncoderPool()
    for key in ("a", "b", "c"):
        pool.get((key,), object)
    pool.unload()
    assert pool.encoders == {}


def test_the_pool_is_empty_after_a_fork():
    pool = EncoderPool()
    pool.get(("a",), object)
    pool._after_fork()
    assert pool.encoders == {}
