"""Several processes: rank 0 gets the result over all ranks, in rank order, round by round."""

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from distributed_worker import serve
from filelock import FileLock

TOYS = __file__.rpartition("/")[0] + "/toy_metrics"


class Ranks:
    """Four processes, started once; a job takes as many of them as it has ranks."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.connections = []
        self.processes = []
        for _ in range(4):
            near, far = context.Pipe()
            process = context.Process(target=serve, args=(far,), daemon=True)
            process.start()
            self.connections.append(near)
            self.processes.append(process)
        assert [connection.recv() for connection in self.connections] == ["ready"] * 4

    def run(self, folder, jobs, *, name="story_toy", delays=None, timeouts=None):
        """Outcomes by rank, then round; `jobs[rank][round]` is a list of batches, the last of them for `compute`."""
        world = len(jobs)
        for rank, (connection, rounds) in enumerate(zip(self.connections, jobs, strict=False)):
            settings = {"num_process": world, "process_id": rank, "experiment_id": "e", "cache_dir": str(folder)}
            settings["timeout"] = timeouts[rank] if timeouts else 20
            connection.send((f"{TOYS}/{name}", settings, rounds, delays[rank] if delays else 0))
        return [self.connections[rank].recv() for rank in range(world)]

    def stop(self):
        for connection, process in zip(self.connections, self.processes, strict=True):
            connection.send(None)
            process.join()


@pytest.fixture(scope="module")
def ranks(load_toys_once):
    started = Ranks()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def load_toys_once():
    """The copies of the scripts in the cache are made once, before several processes want them at the same time."""
    import evaluate

    for name in ("story_toy", "image_toy"):
        evaluate.load(f"{TOYS}/{name}", keep_in_memory=True)


def stories(*lengths):
    return {"predictions": ["a" * length for length in lengths]}


def scores(outcomes):
    """Scores of each round at rank 0; the other ranks must have none."""
    first, *others = outcomes
    assert others == [[None] * len(first)] * len(others)
    return [result["story_toy_scores"] if isinstance(result, dict) else result for result in first]


def only_free_locks_below(folder):
    """Whether nothing is left but lock files that nobody holds; a late rank may still wait for one of them."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        with FileLock(path, timeout=0):
            pass
    return all(path.suffix == ".lock" for path in files)


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


def test_result_is_that_of_one_process(ranks, rows_folder, load_toy):
    (found,), _ = ranks.run(rows_folder, [[[stories(3, 0)]], [[stories(5), stories(2)]]])
    alone = load_toy("story_toy", keep_in_memory=True).compute(**stories(3, 0, 5, 2))
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
    assert "`predictions` must have at least one row, got none" in str(error)
    assert good == [1, 2]


def test_images_travel_between_processes(ranks, rows_folder, load_toy):
    pictures = [np.full((3, 4 + i, 3), i, np.uint8) for i in range(3)]
    batches = [{"predictions": ["a"] * len(part), "images": part} for part in (pictures[:1], pictures[1:])]
    (found,), (none,) = ranks.run(rows_folder, [[[batch]] for batch in batches], name="image_toy")
    alone = load_toy("image_toy", keep_in_memory=True).compute(predictions=["a"] * 3, images=pictures)
    assert found == alone
    assert none is None


# -- several rounds ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("delays", [(0, 0), (0.2, 0), (0, 0.2), (0.1, 0, 0.2, 0)])
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
    assert "Expected to find locked file" in str(late)
    assert good["story_toy_scores"] == [3, 4]
    assert none is None
    assert only_free_locks_below(tmp_path)


# -- a rank that does not come ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("rank", [0, 1])
def test_missing_rank_is_an_error_after_the_timeout(load_toy, tmp_path, rank):
    settings = {"num_process": 2, "process_id": rank, "experiment_id": "e", "cache_dir": str(tmp_path)}
    metric = load_toy("story_toy", timeout=0.3, **settings)
    for _ in range(2):
        with pytest.raises(ValueError, match="Expected to find locked file"):
            metric.compute(**stories(1))
        assert only_free_locks_below(tmp_path)


def test_two_objects_of_one_rank_are_refused(load_toy, tmp_path):
    settings = {"num_process": 2, "process_id": 1, "experiment_id": "e", "cache_dir": str(tmp_path), "timeout": 3}
    first, second = (load_toy("story_toy", **settings) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(first.compute, **stories(1))
        while first.filelock is None:
            time.sleep(0.01)
        with pytest.raises(ValueError, match=r"another evaluation module instance is already using .* experiment_id"):
            second.compute(**stories(2))
    assert isinstance(waiting.exception(), ValueError)
    assert only_free_locks_below(tmp_path)
