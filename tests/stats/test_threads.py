"""One thread for linear algebra while at least one caller requires it."""

import threading

import numpy as np
import pytest
import threadpoolctl

from vlgauge.stats import intervals, paired
from vlgauge.stats.threads import one_blas_thread


def numbers_of_threads():
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def ordinary():
    np.ones((2, 2)) @ np.ones((2, 2))
    if set(numbers_of_threads()) == {1}:
        pytest.skip("the linear algebra here has one thread at most")


@pytest.fixture
def two_threads(ordinary):
    with threadpoolctl.threadpool_limits(2, "blas"):
        yield


def test_one_thread_inside_and_as_before_outside(two_threads):
    before = numbers_of_threads()
    with one_blas_thread():
        assert set(numbers_of_threads()) == {1}
    assert numbers_of_threads() == before


def test_as_before_after_an_error(two_threads):
    before = numbers_of_threads()
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert numbers_of_threads() == before


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_first_of_two_sets_and_restores(two_threads, first_out):
    before, contexts = numbers_of_threads(), [one_blas_thread(), one_blas_thread()]
    for context in contexts:
        context.__enter__()
    assert set(numbers_of_threads()) == {1}
    contexts[first_out].__exit__(None, None, None)
    assert set(numbers_of_threads()) == ({2} if first_out == 0 else {1})
    contexts[1 - first_out].__exit__(None, None, None)
    assert numbers_of_threads() == before


def test_many_threads_leave_no_trace(ordinary):
    before = numbers_of_threads()

    def work():
        for _ in range(50):
            with one_blas_thread():
                np.ones((9, 9)) @ np.ones((9, 9))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert numbers_of_threads() == before
    with one_blas_thread():
        assert set(numbers_of_threads()) == {1}


def test_resampling_and_random_signs_run_on_one_thread(two_threads, monkeypatch):
    seen = []

    def spied(function):
        def spy(*arguments):
            for part in function(*arguments):
                seen.append((function.__name__, max(numbers_of_threads())))
                yield part

        return spy

    monkeypatch.setattr(intervals, "draw_sums", spied(intervals.draw_sums))
    monkeypatch.setattr(paired, "random_signs", spied(paired.random_signs))
    first, second = np.random.default_rng(0).normal(size=(2, 40))
    intervals.bootstrap_interval(first, resamples=10)
    paired.paired_test(first, second, resamples=10)
    assert seen == [("draw_sums", 1), ("random_signs", 1)]
