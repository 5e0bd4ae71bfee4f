"""The benchmark of Polos runs, compares, and says what it found."""

import sys

import pytest
from folders import ROOT
from script_modules import script_module


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    yield script_module("bench/polos.py")
    sys.modules.pop("clip", None)


def test_scores_agree_with_the_loop(bench, capsys):
    assert bench.main(["--smoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("17 rows: CPU time of the loop ")
    assert float(lines[3].rsplit(" ", 1)[1]) <= 1e-5


def test_a_wrong_number_is_told(bench, monkeypatch):
    right = bench.ours
    monkeypatch.setattr(bench, "ours", lambda *given: right(*given) + 2e-5)
    assert bench.main(["--smoke"]) == 1
