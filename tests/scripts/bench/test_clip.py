"""The benchmark of CLIP runs, compares, and says what it found."""

import pytest
from script_modules import script_module


@pytest.fixture
def bench():
    return script_module("bench/clip.py")


def test_scores_agree_with_the_naive_loop(bench, capsys):
    assert bench.main(["--smoke", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "cores" in lines[0]
    assert "torch" in lines[0]
    # One image, 6 captions in 17 rows, and 5 references.
    assert lines[1] == "17 rows: 17 images and 102 texts in the loop, {'text': 11, 'image': 1} here"
    assert lines[2].startswith("wall time: naive loop ")
    assert lines[3].startswith("CPU time: naive loop ")
    assert float(lines[5].rsplit(" ", 1)[1]) <= 1e-6


def test_a_wrong_number_is_told(bench, capsys, monkeypatch):
    right = bench.ours
    monkeypatch.setattr(bench, "ours", lambda rows, encoder: right(rows, encoder) + 2e-6)
    assert bench.main(["--smoke", "--device", "cpu"]) == 1


def test_short_work_takes_cpu_time(bench):
    (wall, cpu), total = bench.timed(lambda: sum(range(20_000)))
    assert total == 199_990_000
    assert cpu > 0
    assert 0 < wall < 10
