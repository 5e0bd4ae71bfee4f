"""One of several processes dies at any point: no partial score, a correct next run, and no files are left."""

import os
import re
import signal
from pathlib import Path

import pytest
from quick_processes import quick_context
from rounds_worker import serve

STORY_DEMO = str(Path(__file__).parents[1] / "helpers" / "demo_metrics" / "story_demo")
# Rows of the killed process, of which Arrow has written many. The others add one row, which Arrow has not written yet.
MANY = 20_000

POINTS = ("before adding", "meeting", "answering", "between adds", "before compute", "in compute", "published", "after")


class Processes:
    """Processes by number. A process that was killed is replaced by a new one."""

    def __init__(self):
        self.context = quick_context()
        self.started = {}

    def __getitem__(self, rank):
        process, near = self.started.get(rank, (None, None))
        if process is None or not process.is_alive():
            near, far = self.context.Pipe()
            process = self.context.Process(target=serve, args=(far,), daemon=True)
            process.start()
            far.close()
            self.started[rank] = process, near
            assert near.recv() == "ready"
        return near

    def kill(self, rank):
        os.kill(self.started[rank][0].pid, signal.SIGKILL)
        self.started[rank][0].join()

    def all_do(self, ranks, *job):
        """Return the answers by rank, with `dead` for a process that died."""
        for rank in ranks:
            self[rank].send(job)
        return {rank: self.answer(rank) for rank in ranks}

    def answer(self, rank):
        try:
            return self.started[rank][1].recv()
        except EOFError:
            self.started[rank][0].join()
            return "dead"

    def stop(self):
        for process, near in self.started.values():
            if process.is_alive():
                near.send(None)
            process.join()


@pytest.fixture(scope="module")
def processes():
    import evaluate

    evaluate.load(STORY_DEMO, keep_in_memory=True)  # one copy of the script, before several processes copy it at once
    started = Processes()
    yield started
    started.stop()


def start(processes, folder, world, timeout):
    for rank in range(world):
        settings = {"num_process": world, "process_id": rank, "experiment_id": "run", "cache_dir": str(folder)}
        assert processes.all_do([rank], "load", STORY_DEMO, {**settings, "timeout": timeout}) == {rank: None}


def rows(rank, count=1):
    return {"predictions": ["a" * (rank + 1)] * count}


def all_rows(world, count):
    return [float(rank + 1) for rank in range(world) for _ in range(count)]


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def killed_run(processes, world, victim, point):
    """Return the result of `compute` in each process of a run in which one was killed."""
    ranks, others = list(range(world)), [rank for rank in range(world) if rank != victim]
    if point == "before adding":
        processes.kill(victim)
        return processes.all_do(others, "compute", rows(1))
    if point in ("meeting", "answering"):
        processes.all_do([victim], "die", point)
        return processes.all_do(ranks, "compute", rows(1))
    added = {rank: rows(rank, MANY if rank == victim else 1) for rank in ranks}
    for rank in ranks:  # all at once, because they wait for each other
        processes[rank].send(("add_batch", added[rank]))
    assert [processes.answer(rank) for rank in ranks] == [None] * world
    if point == "between adds":
        processes.kill(victim)
        return processes.all_do(others, "compute", rows(1))
    processes.all_do(ranks, "add_batch", rows(1, 3))
    if point == "before compute":
        processes.kill(victim)
        return processes.all_do(others, "compute", {})
    if point in ("in compute", "published"):
        place = {"in compute": "publishing", "published": "published"}[point] if victim else "scoring"
        processes.all_do([victim], "die", place)
        return processes.all_do(ranks, "compute", {})
    answers = processes.all_do([rank for rank in ranks if rank], "compute", {})
    if victim:
        processes.kill(victim)
    answers |= processes.all_do([0], "compute", {})
    if not victim:
        processes.kill(0)
    return answers


def check_killed(processes, folder, world, victim, point):
    # The short timeout is for runs in which a process is missing.
    absent = point in ("before adding", "meeting") or (victim == 0 and point == "answering")
    start(processes, folder, world, timeout=max(0.5, (world - 1) / 2) if absent else 60)
    answers = killed_run(processes, world, victim, point)
    first = answers.get(0)
    if point == "after" or (victim and point == "published"):
        # All rows had arrived before the process died.
        assert len(first["story_demo_scores"]) == MANY + (world - 1) + 3 * world
    elif victim:
        assert isinstance(first, ValueError)
        assert re.search(rf"process(es)? ([0-9], )*{victim}\b", str(first))
        if world == 2 and point in ("between adds", "before compute", "in compute"):
            assert f"the {2 if point == 'between adds' else 4} rows of process 0 are not scored" in str(first)
    else:
        assert first in (None, "dead")
    assert all(answers[rank] in (None, "dead") or isinstance(answers[rank], ValueError) for rank in answers if rank)

    start(processes, folder, world, timeout=60)
    for rank in range(world):
        processes[rank].send(("compute", rows(rank, 2)))
    result, *none = [processes.answer(rank) for rank in range(world)]
    assert result["story_demo_scores"] == all_rows(world, 2)
    assert none == [None] * (world - 1)
    assert files_below(folder) == []


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("victim", [0, 1])
def test_one_of_two_processes_dies(processes, tmp_path, victim, point):
    check_killed(processes, tmp_path, 2, victim, point)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("victim", [0, 1, 2, 3])
def test_one_of_four_processes_dies(processes, tmp_path, victim, point):
    check_killed(processes, tmp_path, 4, victim, point)
