"""State after a successful or failed call (no file, no lock, no rows), and calls in threads."""

import copy
import gc
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import evaluate
import numpy as np
import pytest

from vlgauge.families.base import evaluate_adapter

FAULTS = [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError]


@pytest.fixture(params=[True, False], ids=["memory", "disk"])
def metric(request, load_demo, rows_folder):
    return load_demo("story_demo", keep_in_memory=request.param, cache_dir=str(rows_folder))


@pytest.fixture
def on_disk(load_demo, rows_folder):
    return load_demo("story_demo", cache_dir=str(rows_folder))


@pytest.fixture
def pauses(monkeypatch):
    """Durations passed to `time.sleep`."""
    seconds = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def scores(metric, *stories):
    return metric.compute(predictions=stories)["story_demo_scores"]


def open_files():
    gc.collect()
    return len(os.listdir("/dev/fd"))


def raiser(fault):
    def fail(*_, **__):
        raise fault("on purpose")

    return fail


# -- after an error ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", FAULTS)
def test_error_in_scoring_leaves_nothing(metric, rows_folder, pauses, fault):
    for _ in range(2):
        with pytest.raises(fault):
            scores(metric, "a", fault.__name__)
        assert files_below(rows_folder) == []
        assert len(metric) == 0
    assert scores(metric, "abc") == [3.0]
    assert pauses == []  # `evaluate` would wait for its own lost lock


@pytest.mark.parametrize("fault", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "place",
    [
        "evaluate.module.ArrowWriter.finalize",
        "vlgauge.families.base.distributed.collect_rows",
        "vlgauge.families.base.evaluate_adapter.StoredRows",
    ],
)
def test_error_while_the_rows_are_read_leaves_nothing(on_disk, rows_folder, monkeypatch, place, fault):
    on_disk.add_batch(predictions=["a"])
    with monkeypatch.context() as patch:
        patch.setattr(place, raiser(fault))
        with pytest.raises(fault, match="on purpose"):
            on_disk.compute()
    assert files_below(rows_folder) == []
    assert scores(on_disk, "abc") == [3.0]


@pytest.mark.parametrize("fault", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["ArrowWriter.write_batch", "ArrowWriter.__init__"])
@pytest.mark.parametrize("call", ["add_batch", "compute"])
def test_error_while_the_host_writes_leaves_nothing(on_disk, rows_folder, monkeypatch, place, fault, call):
    if place == "ArrowWriter.write_batch":
        on_disk.add_batch(predictions=["a"])
    with monkeypatch.context() as patch:
        patch.setattr(f"evaluate.module.{place}", raiser(fault))
        with pytest.raises(fault, match="on purpose"):
            getattr(on_disk, call)(predictions=["b"])
    assert files_below(rows_folder) == []
    assert scores(on_disk, "abc") == [3.0]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_errors_leave_no_open_file(on_disk):
    before = open_files()
    for _ in range(5):
        with pytest.raises(RuntimeError):
            scores(on_disk, "RuntimeError")
        scores(on_disk, "a")
    assert open_files() <= before


def test_failed_round_does_not_reach_the_next_one(metric):
    metric.add_batch(predictions=["aaaa", "RuntimeError"])
    with pytest.raises(RuntimeError):
        metric.compute(predictions=["bb"])
    metric.add(prediction="c")
    assert scores(metric, "dd") == [1.0, 2.0]


# -- after success ----------------------------------------------------------------------------------------------------
def test_rows_lie_in_the_folder_from_add_to_compute(on_disk, rows_folder):
    on_disk.add_batch(predictions=["a"])
    assert [name.rpartition(".")[2] for name in files_below(rows_folder)] == ["arrow", "lock"]
    assert on_disk.compute()["story_demo_scores"] == [1.0]
    assert files_below(rows_folder) == []


def test_rounds_are_independent(metric):
    assert [scores(metric, "a" * n)[0] for n in (3, 1, 3, 2)] == [3.0, 1.0, 3.0, 2.0]


def test_instances_of_one_name_do_not_wait_for_each_other(load_demo, rows_folder, pauses):
    several = [load_demo("story_demo", cache_dir=str(rows_folder)) for _ in range(4)]
    for n, metric in enumerate(several):
        metric.add_batch(predictions=["a" * (n + 1)])
    found = [metric.compute()["story_demo"] for metric in reversed(several)]
    assert found == [4.0, 3.0, 2.0, 1.0]
    assert pauses == []  # stock: one second per instance


def test_global_random_state_stays_and_does_not_matter(metric):
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = metric.compute(predictions=["abc"])
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert metric.compute(predictions=["abc"]) == first


# -- copies -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda metric: pickle.loads(pickle.dumps(metric))])
@pytest.mark.parametrize("used", ["never", "once", "failed"])
def test_metric_can_be_copied(load_demo, rows_folder, duplicate, used):
    metric = load_demo("story_demo", weight=2.0, cache_dir=str(rows_folder))
    if used == "failed":
        with pytest.raises(RuntimeError):
            scores(metric, "RuntimeError")
    elif used == "once":
        scores(metric, "a")
    twin = duplicate(metric)
    metric.add_batch(predictions=["abc"])
    assert scores(twin, "a", "b") == [2.0, 2.0]
    assert metric.compute()["story_demo_scores"] == [6.0]


def test_lock_is_one_per_instance_and_goes_with_it(load_demo):
    metric = load_demo("story_demo", keep_in_memory=True)
    twin = copy.deepcopy(metric)
    assert evaluate_adapter.lock_of(metric) is evaluate_adapter.lock_of(metric)
    assert evaluate_adapter.lock_of(metric) is not evaluate_adapter.lock_of(twin)
    gc.collect()
    count = len(evaluate_adapter._LOCKS)
    del twin
    gc.collect()
    assert len(evaluate_adapter._LOCKS) == count - 1


# -- threads ----------------------------------------------------------------------------------------------------------
def test_one_instance_in_four_threads(metric):
    start = threading.Barrier(4)

    def work(number):
        start.wait()
        lengths = [[number + 1, call % 7 + 1] for call in range(40)]
        found = [scores(metric, *("a" * n for n in pair)) for pair in lengths]
        return found == lengths

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [True] * 4


def test_errors_in_one_thread_do_not_touch_the_others(metric):
    def work(number):
        if number % 2:
            with pytest.raises(RuntimeError):
                scores(metric, "RuntimeError")
            return True
        return scores(metric, "a" * (number + 1), "b") == [number + 1.0, 1.0]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(60)))


def test_rows_added_in_one_thread_are_scored_in_another(metric):
    before = open_files()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(metric.add_batch, predictions=["abc"]).result()
        assert metric.compute()["story_demo_scores"] == [3.0]
        assert open_files() <= before


def test_an_instance_per_thread(load_demo, rows_folder):
    def work(number):
        own = load_demo("story_demo", cache_dir=str(rows_folder))
        return [scores(own, "a" * (number + 1)) for _ in range(10)] == [[number + 1.0]] * 10

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


# -- loading ----------------------------------------------------------------------------------------------------------
def test_load_and_compute_open_no_socket(load_demo, rows_folder, no_sockets):
    assert scores(load_demo("story_demo", cache_dir=str(rows_folder)), "abc") == [3.0]


def test_docstrings_end_with_the_inputs_of_the_metric(metric):
    for name in ("compute", "add_batch", "add"):
        assert getattr(metric, name).__doc__.endswith(metric.inputs_description)
    assert metric.inputs_description not in evaluate.Metric.compute.__doc__


def test_no_digest_of_all_rows_is_made(metric, monkeypatch):
    monkeypatch.setattr("datasets.fingerprint.Hasher.update", lambda *_: pytest.fail("the rows were digested"))
    assert scores(metric, ["a"])


def test_rows_that_are_never_scored_leave_no_file(load_demo, rows_folder):
    metric = load_demo("story_demo", cache_dir=str(rows_folder))
    metric.add_batch(predictions=[["a"]])
    assert any(path.is_file() for path in rows_folder.rglob("*"))
    del metric
    gc.collect()


def test_a_column_named_twice_is_refused(load_demo):
    metric = load_demo("story_demo", keep_in_memory=True)
    with pytest.raises(TypeError, match=r"^`predictions`"):
        metric.add(prediction=["a"], predictions=["b"])
