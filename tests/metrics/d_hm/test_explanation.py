"""Both stories on the axis of each score."""

from explained import scored

from vlgauge.explain import explain


def test_d_hm_shows_both_stories_on_the_axis_of_each_score():
    columns, result = scored("d_hm")
    found = explain("d_hm", columns, result)
    rows = found.values(0)["rows"]
    assert [(row["model"], row["human"]) for row in rows] == [(1.0, 2.0), (0.5, 0.9), (0.9, 0.95)]
    assert [row["distance"] for row in rows] == [result["d_hm_details"][0][part] for part in ("d_g", "d_c", "d_r")]
    assert found.reason(0) == "most by coherence 0.40"
    alone = explain("d_hm", {"predictions": columns["predictions"]}, result)
    assert "not given" in alone.body(0)
