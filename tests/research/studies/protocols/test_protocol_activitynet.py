"""Reading ActivityNet-FOIL."""

import numpy as np
import protocol_files as made
import pytest
from protocol_tasks import evaluated

from vlgauge.research.protocols import read_activitynet_foil
from vlgauge.research.protocols.activitynet_foil import overlapping

pytestmark = pytest.mark.usefixtures("no_sockets")


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def images(tmp_path):
    return made.write_images(tmp_path / "pictures")


# -- ActivityNet-FOIL -------------------------------------------------------------------------------------------------
def test_activitynet_foil(folder, images):
    task = read_activitynet_foil([made.write_activitynet(folder)], videos=images)
    assert task.columns["predictions"] == ["A man walks.", "He sits.", "A man walks.", "He runs.", "A dog.", "A cat."]
    assert task.lengths == [2, 2, 1, 1]
    first, reversed_one = task.columns["videos"][:2]
    assert first == {"path": str(images / "v_a.mkv"), "start": 0.0, "end": 5.5}
    assert (reversed_one["start"], reversed_one["end"]) == (9.0, 12.0)
    empty = task.columns["videos"][4]
    assert 3.0 == empty["start"] < empty["end"] < 3.001
    known = task.columns["references"]
    assert known[0] == known[2] == ["first"]  # "middle" overlaps it by 2 of its 8 seconds
    assert known[1] == ["first", "middle", "last"]  # "middle" overlaps it by 3 of 8: none, hence all
    assert known[4] == ["late", "later"]
    assert task.groups == ["v_a", "v_b"]
    found = evaluated(task, [3, 1, 2, 2, 1, 0], resamples=0)
    assert (found.figures["accuracy"].value, found.n) == (50.0, 2)


def test_activitynet_foil_without_references_needs_three_files(folder):
    made.write_activitynet(folder)
    (folder / "anet_entities_test_2.json").unlink()
    task = read_activitynet_foil([folder], references=0)
    assert list(task.columns) == ["predictions", "videos"]
    assert task.lengths == [2, 2, 1, 1]


def test_overlap_counts_whole_seconds_and_both_ends():
    def by_sets(segment, others):
        inside = set(range(int(segment[0]), int(segment[1]) + 1))
        return [
            i
            for i, (c, d) in enumerate(others)
            if len(inside & {*range(int(c), int(d) + 1)}) / (int(d) - int(c) + 1) > 0.4
        ]

    assert overlapping((0, 1), [(0, 4), (1, 3), (2, 3)]) == []  # 2 of 5 is not more than 0.4, 1 of 3, 0 of 2
    assert overlapping((0, 2.9), [(1, 4), (0, 4)]) == [0, 1]
    rng = np.random.default_rng(0)
    for _ in range(200):
        (a, b), *others = np.sort(rng.uniform(0, 20, (6, 2)), axis=1).tolist()
        assert overlapping((a, b), others) == by_sets((a, b), others)
