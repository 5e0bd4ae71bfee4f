"""Scores that are made of others: the sum of RoViST, the distances of d_HM; and sentences that follow."""

import pytest
from explained import scored

from vlgauge.explain import explain
from vlgauge.explain.rovist_c import sentence_lines


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
    assert found.undefined(0) == "grounding and non-redundancy could not be scored"


def test_d_hm_shows_both_stories_on_the_axis_of_each_score():
    columns, result = scored("d_hm")
    found = explain("d_hm", columns, result)
    rows = found.values(0)["rows"]
    assert [(row["model"], row["human"]) for row in rows] == [(1.0, 2.0), (0.5, 0.9), (0.9, 0.95)]
    assert [row["distance"] for row in rows] == [result["d_hm_details"][0][part] for part in ("d_g", "d_c", "d_r")]
    assert found.reason(0) == "most by coherence 0.40"
    alone = explain("d_hm", {"predictions": columns["predictions"]}, result)
    assert "not given" in alone.body(0)


def test_lines_say_what_follows_and_what_is_said_again():
    detail = {
        "sentences": ["A.", "B.", "B.", "C."],
        "probabilities": [0.25, 0.0, 0.5],
        "identical": [False, True, False],
    }
    first, second, third, fourth = sentence_lines(detail)
    assert first == {"text": "A.", "probability": None}
    assert [(line["doubted"], line["again"]) for line in (second, third, fourth)] == [
        (True, False),
        (True, True),
        (False, False),
    ]
    result = {"rovist_c_scores": [0.25], "rovist_c_details": [detail], "rovist_c_signature": "rovist_c"}
    found = explain("rovist_c", {"predictions": [detail["sentences"]]}, result)
    assert found.reason(0) == "2 of 3 do not follow; lowest: sentence 3, 0.00"
    assert found.body(0).count('<mark class="against">') == 2
