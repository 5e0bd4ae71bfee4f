"""The benchmark of comparisons runs, and reports cases above the limits of time or memory."""

import pytest
from script_modules import script_module


@pytest.mark.parametrize(("seconds", "status"), [(1e9, 0), (0.0, 1)])
def test_the_bounds_are_held(capsys, monkeypatch, seconds, status):
    bench = script_module("bench/compare.py")
    made = bench.make_runs
    monkeypatch.setattr(bench, "make_runs", lambda systems, rows: made(3, 30))
    monkeypatch.setattr(bench, "SECONDS", seconds)
    monkeypatch.setattr(bench, "GIGABYTES", 1e9)
    assert bench.main([]) == status
    assert "40 systems, 5000 rows, 5 metrics: 3 pairs each, 10000 samples of the tests" in capsys.readouterr().out
    assert bench.main(["--smoke"]) == 0
