"""The sum of three parts, each with its explanation."""

import pytest
from explained import scored

from vlgauge.explain import explain


def test_rovist_shows_each_part_and_what_explains_it():
    columns, result = scored("rovist")
    found = explain("rovist", columns, result)
    rows = found.values(0)["rows"]
    assert [row["metric"] for row in rows] == ["rovist_vg", "rovist_c", "rovist_nr"]
    assert sum(row["value"] for row in rows) == pytest.approx(result["rovist_scores"][0])
    for row in rows:
        assert row["body"] == explain(row["metric"], columns, result).body(0)


def test_rovist_is_explained_without_the_details_of_its_parts():
    columns, result = scored("rovist")
    kept = {key: value for key, value in result.items() if not key.startswith(("rovist_vg", "rovist_c", "rovist_nr"))}
    found = explain("rovist", columns, kept)
    assert [row["body"] for row in found.values(0)["rows"]] == [None] * 3
    assert "grounding 0." in found.reason(0)


def test_a_part_without_a_score_is_named():
    result = {"rovist_scores": [None], "rovist_details": [{"vg": None, "c": 0.5, "nr": float("nan")}]}
    found = explain("rovist", {"predictions": [["One."]]}, result)
    assert found.explain_undefined(0) == "grounding and non-redundancy could not be scored"
