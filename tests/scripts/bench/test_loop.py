"""The benchmark of training loops runs, and tells of what is encoded twice or takes too long."""

import pytest
from script_modules import script_module


@pytest.fixture
def bench():
    return script_module("bench/loop.py")


def test_pictures_are_encoded_by_the_first_evaluation_only(bench, capsys):
    assert bench.main(["--smoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("first evaluation: 20 pictures encoded")
    assert lines[1].startswith("second evaluation: 0 pictures encoded")
    assert lines[3].startswith("64 completions over 8 pictures: 0.")


@pytest.mark.parametrize(
    ("sides", "encoded", "seconds", "status"),
    [
        ([1.0, 0.05], [9, 0], 0.29, 0),
        ([1.0, 0.06], [9, 0], 0.29, 1),
        ([1.0, 0.05], [9, 1], 0.29, 1),
        ([1.0, 0.05], [9, 0], 0.3, 1),
    ],
)
def test_what_is_beyond_the_bounds_is_told(bench, capsys, monkeypatch, sides, encoded, seconds, status):
    monkeypatch.setattr(bench, "photographs", lambda n, side: [])
    monkeypatch.setattr(bench, "image_sides", lambda rows: (sides, [2.0, 2.0], encoded))
    monkeypatch.setattr(bench, "reward_seconds", lambda: seconds)
    assert bench.main([]) == status
    assert ("1 pictures were encoded again" in capsys.readouterr().err) == (encoded[1] > 0)
