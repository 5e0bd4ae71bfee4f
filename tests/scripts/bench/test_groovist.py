"""The benchmark of groovist runs, and compares with the definition."""

import pytest
from script_modules import script_module


@pytest.fixture
def bench():
    return script_module("bench/groovist.py")


def test_scores_agree_with_the_definition(bench, capsys):
    assert bench.main(["--smoke"]) == 0
    assert "20 stories from given features: 0." in capsys.readouterr().out


def test_a_wrong_number_or_a_slow_one_is_told(bench, capsys, monkeypatch):
    monkeypatch.setattr(bench, "worst_difference", lambda: float("nan"))
    assert bench.main(["--smoke"]) == 1
    monkeypatch.setattr(bench, "worst_difference", lambda: 0.0)
    monkeypatch.setattr(bench, "time_arithmetic", lambda n_stories: 2.5)
    assert bench.main(["--smoke"]) == 1
