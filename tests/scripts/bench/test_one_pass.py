"""The benchmark of metrics that share towers runs, counts forwards, and tells of numbers that differ."""

import pytest
from script_modules import script_module


@pytest.fixture
def bench():
    return script_module("bench/one_pass.py")


def test_each_picture_is_encoded_once_for_all_metrics(bench, capsys):
    assert bench.main(["--smoke", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "clip_s, pac_s: 6 rows of 2 pictures, smoke on cpu"
    assert lines[1] == "forwards: 12 pictures and 12 texts in the loop, {'image': 2, 'text': 4} here"
    assert [line.partition(":")[0] for line in lines[2:5]] == ["wall time", "CPU time", "maximum difference of scores"]


def test_a_wrong_number_is_told(bench, monkeypatch):
    right = bench.ours
    monkeypatch.setattr(bench, "ours", lambda *given: {name: scores + 1e-4 for name, scores in right(*given).items()})
    assert bench.main(["--smoke", "--device", "cpu"]) == 1
