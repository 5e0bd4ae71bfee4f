"""Several processes: rank 0 gets the result over all ranks, in rank order, round by round."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import folders
import numpy as np
import pytest
from distributed_worker import serve
from filelock import FileLock
from quick_processes import quick_context

from vlgauge.core.writing import atomic_write
from vlgauge.families.base import distributed

DEMO_METRICS = str(folders.DEMO_METRICS)


class Ranks:
    """Four processes that are started once. A job uses one of them per rank."""

    def __init__(self):
        context = quick_context()
        self.connections = []
        self.processes = []
        for _ in range(4):
            near, far = context.Pipe()
            process = context.Process(target=serve, args=(far,), daemon=True)
            process.start()
            self.connections.append(near)
            self.processes.append(process)
        assert [connection.recv() for connection in self.connections] == ["ready"] * 4

    def run(self, folder, jobs, *, name="story_demo", delays=None, timeouts=None):
        """Return the outcomes by rank, then round.

        `jobs[rank][round]` is a list of batches, of which the last is passed to `compute`.
        """
        world = len(jobs)
        for rank, (connection, own) in enumerate(zip(self.connections, jobs, strict=False)):
            settings = {"num_process": world, "process_id": rank, "experiment_id": "e", "cache_dir": str(folder)}
            settings["timeout"] = timeouts[rank] if timeouts else 20
            connection.send((f"{DEMO_METRICS}/{name}", settings, own, delays[rank] if delays else 0))
        return [self.connections[rank].recv() for rank in range(world)]

    def stop(self):
        for connection, process in zip(self.connections, self.processes, strict=True):
            connection.send(None)
            process.join()


@pytest.fixture(scope="module")
def ranks(load_demos_once):
    started = Ranks()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def load_demos_once():
    """Copy the scripts to the cache once, before several processes need them at the same time."""
    import evaluate

    for name in ("story_demo", "image_demo"):
        evaluate.load(f"{DEMO_METRICS}/{name}", keep_in_memory=True)


def stories(*lengths):
    return {"predictions": ["a" * length for length in lengths]}


def scores(outcomes):
    """Return the scores of each round at rank 0, and check that the other ranks have none."""
    first, *others = outcomes
    assert others == [[None] * len(first)] * len(others)
    return [result["story_demo_scores"] if isinstance(result, dict) else result for result in first]


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# -- one round --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1, 2], [3]], [1, 2, 3]),
        ([[9], [1, 2]], [9, 1, 2]),
        ([[1, 2], [3], [4, 5, 6], [7]], [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_rank_0_gets_all_rows_in_rank_order(ranks, rows_folder, rows, expected):
    assert scores(ranks.run(rows_folder, [[[stories(*own)]] for own in rows])) == [expected]


def test_result_is_that_of_one_process(ranks, rows_folder, load_demo):
    (found,), _ = ranks.run(rows_folder, [[[stories(3, 0)]], [[stories(5), stories(2)]]])
    alone = load_demo("story_demo", keep_in_memory=True).compute(**stories(3, 0, 5, 2))
    assert repr(found) == repr(alone)


@pytest.mark.parametrize("nothing", [[], [{"predictions": []}]], ids=["no argument", "empty list"])
@pytest.mark.parametrize("full", [(0, 2), (1, 2), (2, 4)])
def test_ranks_without_rows_take_part(ranks, rows_folder, full, nothing):
    rank, world = full
    jobs = [[nothing] for _ in range(world)]
    jobs[rank] = [[stories(4), stories(5)]]
    assert scores(ranks.run(rows_folder, jobs)) == [[4, 5]]


def test_no_rows_at_all_is_an_error_and_the_next_round_is_right(ranks, rows_folder):
    error, good = scores(ranks.run(rows_folder, [[[], [stories(1)]], [[], [stories(2)]]]))
    assert isinstance(error, ValueError)
    assert "`predictions`" in str(error)
    assert good == [1, 2]


def test_images_travel_between_processes(ranks, rows_folder, load_demo):
    images = [np.full((3, 4 + i, 3), i, np.uint8) for i in range(3)]
    batches = [{"predictions": ["a"] * len(part), "images": part} for part in (images[:1], images[1:])]
    (found,), (none,) = ranks.run(rows_folder, [[[batch]] for batch in batches], name="image_demo")
    alone = load_demo("image_demo", keep_in_memory=True).compute(predictions=["a"] * 3, images=images)
    assert found == alone
    assert none is None


# -- several rounds ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("delays", [(0, 0), (0.1, 0), (0, 0.1), (0.05, 0, 0.1, 0)])
def test_rounds_without_a_barrier_do_not_mix(ranks, rows_folder, delays):
    world = len(delays)
    jobs = [[[stories(10 * round_ + rank)] for round_ in range(1, 5)] for rank in range(world)]
    expected = [[10 * round_ + rank for rank in range(world)] for round_ in range(1, 5)]
    assert scores(ranks.run(rows_folder, jobs, delays=delays)) == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_round_after_a_failed_one_is_right(ranks, rows_folder, rank):
    jobs = [[[stories(1)], [stories(3)]], [[stories(2)], [stories(4)]]]
    jobs[rank][0] = [{"predictions": ["RuntimeError"]}]
    error, good = scores(ranks.run(rows_folder, jobs))
    assert isinstance(error, RuntimeError)
    assert good == [3, 4]


def test_round_after_refused_rows_on_one_rank_is_right(ranks, tmp_path):
    jobs = [[[stories(1)], [stories(3)]], [[{"predictions": [None]}], [stories(4)]]]
    (late, good), (refused, none) = ranks.run(tmp_path, jobs, timeouts=(1, 20))
    assert "`predictions[0]` must be a story" in str(refused)
    assert "process 1 did not" in str(late)
    assert good["story_demo_scores"] == [3, 4]
    assert none is None
    assert files_below(tmp_path) == []


# -- a rank that does not come ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("rank", [0, 1])
def test_missing_rank_is_an_error_after_the_timeout(load_demo, rows_folder, rank):
    settings = {"num_process": 3, "process_id": rank, "experiment_id": "e", "cache_dir": str(rows_folder)}
    metric = load_demo("story_demo", timeout=0.1, **settings)
    absent = ["processes 1, 2", "process 0"][rank]
    told = rf"3 processes.*0\.1 s.*{absent}"
    for _ in range(2):
        with pytest.raises(ValueError, match=told):
            metric.compute(**stories(1))
        assert files_below(rows_folder) == []


def pair(load_demo, folder, **settings):
    """Return both processes of a run as two objects of this process."""
    settings = {"num_process": 2, "experiment_id": "e", "cache_dir": str(folder), "timeout": 20, **settings}
    return [load_demo("story_demo", process_id=rank, **settings) for rank in range(2)]


def add_to_both(both, *, pool):
    """Add one row to the first process, and two rows to the second."""
    waiting = [pool.submit(metric.add_batch, **stories(*[rank + 1] * (rank + 1))) for rank, metric in enumerate(both)]
    for one in waiting:
        one.result()


def test_a_rank_that_never_computes_is_an_error_after_the_timeout(load_demo, rows_folder):
    first, second = both = pair(load_demo, rows_folder)
    with ThreadPoolExecutor(2) as pool:
        add_to_both(both, pool=pool)
    first.timeout = 0.3
    told = r"^`compute`.*2 processes.*process 1.*called"
    with pytest.raises(ValueError, match=told):
        first.compute()
    assert second.compute() is None
    assert files_below(rows_folder) == []


def test_a_rank_whose_rows_are_discarded_is_an_error_at_once(load_demo, rows_folder):
    first, second = both = pair(load_demo, rows_folder)
    with ThreadPoolExecutor(2) as pool:
        add_to_both(both, pool=pool)
    second._discard_rows()
    with pytest.raises(ValueError, match=r"process 1.*ended.*1 rows.*process 0"):
        first.compute()


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "got 1 rows"),
        (lambda path: path.write_bytes(path.read_bytes()[:100]), r".*file that fails"),
        (lambda path: path.write_bytes(b""), r".*file that fails"),
        (lambda path: path.unlink(), r".*file that fails"),
    ],
)
def test_rows_that_are_not_as_many_as_was_said_are_an_error(load_demo, rows_folder, damage, found):
    first, second = both = pair(load_demo, rows_folder)
    with ThreadPoolExecutor(2) as pool:
        add_to_both(both, pool=pool)
    second.compute()
    (path,) = rows_folder.rglob("*-2-1.arrow")
    damage(path)
    if "1 rows" in found:
        replace_by_one_row(path)
    with pytest.raises(ValueError, match=rf"process 1.*2 rows.*{found}"):
        first.compute()
    assert files_below(rows_folder) == []


def replace_by_one_row(path):
    """Rewrite a file as if its second row had not been written. Arrow reads a stream without an end marker."""
    import pyarrow as pa

    schema = pa.schema({"predictions": pa.string()})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.table({"predictions": ['"a"']}, schema=schema))


# -- two of one name --------------------------------------------------------------------------------------------------
def test_two_objects_of_one_rank_are_refused(load_demo, rows_folder):
    zero, one = pair(load_demo, rows_folder)
    _, second = pair(load_demo, rows_folder)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(one.compute, **stories(1))
        while one.writer is None:
            time.sleep(0.01)
        told = r"process 1.*'e'.*`experiment_id`"
        with pytest.raises(ValueError, match=told):
            second.compute(**stories(2))
        assert zero.compute(**stories(3))["story_demo_scores"] == [3, 1]
        assert waiting.result() is None


def test_two_objects_of_one_rank_that_come_at_once_are_refused(load_demo, rows_folder, monkeypatch):
    monkeypatch.setattr(distributed, "check_unique_process", lambda own: None)  # neither object detects the other
    settings = {"num_process": 2, "experiment_id": "e", "cache_dir": str(rows_folder), "timeout": 1}
    first, *twins = (load_demo("story_demo", process_id=rank, **settings) for rank in (0, 1, 1))
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(metric.compute, **stories(1)) for metric in twins]
        while any(metric.writer is None for metric in twins):
            time.sleep(0.01)
        # Both answer a first list before it is final.
        monkeypatch.setattr(distributed, "_world", lambda path: 3)
        last = pool.submit(first.compute, **stories(1))
        assert "process 1 has joined this round of the run 'e' more than once; use" in str(last.exception())
        assert all("process 0 did not" in str(one.exception()) for one in waiting)


def test_runs_of_one_name_one_after_the_other_leave_nothing(load_demo, rows_folder):
    for _ in range(2):
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda metric: metric.compute(**stories(2)), pair(load_demo, rows_folder)))
        assert found[0]["story_demo_scores"] == [2, 2]
        assert files_below(rows_folder) == []


def test_a_process_that_writes_when_the_first_gives_up_leaves_nothing(tmp_path, monkeypatch):
    first, own = (distributed.row_file(str(tmp_path), "e", 2, rank) for rank in (0, 1))
    for path in (first, f"{first}.round", own):
        (tmp_path / path).touch()

    def give_up(descriptor):
        distributed.remove(first)
        distributed.remove(own)

    monkeypatch.setattr("os.fsync", give_up)
    distributed.publish(own, first, 3)
    assert files_below(tmp_path) == []


def test_what_a_dead_process_left_half_written_is_swept(tmp_path):
    dead, living = (distributed.row_file(str(tmp_path), "a" * 60, 2, rank) for rank in (0, 1))
    for path in (dead, living):
        (tmp_path / path).touch()
    with (
        FileLock(distributed.lock_file(living)),
        atomic_write(f"{living}.rows") as kept,
        atomic_write(f"{dead}.rows") as left,
    ):
        distributed.sweep(str(tmp_path), "a" * 60)
        assert (kept.exists(), left.exists(), Path(dead).exists()) == (True, False, False)
        left.touch()


def test_two_runs_of_one_name_at_once_are_refused_or_whole_and_leave_nothing(load_demo, rows_folder):
    objects = [metric for _ in range(2) for metric in pair(load_demo, rows_folder, timeout=1)]
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(metric.compute, **stories(4, 2)) for metric in objects]
    results = [one.result() for one in running if one.exception() is None]
    # One that starts during the other raises an error, and one that starts later succeeds.
    assert all(result["story_demo_scores"] == [4, 2, 4, 2] for result in results if result)
    assert all(isinstance(one.exception(), (ValueError, type(None))) for one in running)
    assert files_below(rows_folder) == []


@pytest.mark.parametrize("bad", ["../..", "a/b", "run 1", "e@r1", "é", "x" * 101, "e\n", 7])
@pytest.mark.parametrize("world", [1, 2])
def test_experiment_id_is_a_plain_name(load_demo, rows_folder, bad, world):
    with pytest.raises(ValueError, match=r"^`experiment_id`.*at most 100 letters"):
        load_demo("story_demo", num_process=world, experiment_id=bad, cache_dir=str(rows_folder))


def test_experiment_id_may_have_dots_and_dashes(load_demo, rows_folder):
    metric = load_demo("story_demo", experiment_id="..run-1.2_b", cache_dir=str(rows_folder))
    assert metric.compute(**stories(3))["story_demo_scores"] == [3]
