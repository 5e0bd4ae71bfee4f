"""The benchmark of a frame against lists runs, and complains of what takes longer."""

import pytest
from script_modules import script_module


@pytest.mark.parametrize(("more", "status"), [(1e9, 0), (0.0, 1)])
@pytest.mark.filterwarnings("ignore:CIDEr-D takes")
def test_the_bound_is_held(capsys, monkeypatch, more, status):
    bench = script_module("bench/score_frame.py")
    monkeypatch.setattr(bench, "ROWS", 30)
    monkeypatch.setattr(bench, "MORE", more)
    assert bench.main([]) == status
    assert "30 rows, 4 metrics: lists" in capsys.readouterr().out
    assert bench.main(["--smoke"]) == 0
