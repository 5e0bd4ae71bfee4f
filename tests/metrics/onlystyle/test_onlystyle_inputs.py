"""Unusual and invalid captions, styles and settings of OnlyStyle."""

import pytest

from vlgauge.families.style import StyleTable


# -- degenerate input -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("captions", [[""], ["", "..."], ["zebra"], ["zebra", "", "love"]])
@pytest.mark.parametrize("options", [{}, {"exclude_self": True}, {"variant": "released"}, {"orders": "four"}])
def test_captions_that_say_nothing_score_0(tables, load, captions, options):
    metric = load(table=tables["toy"], top_k=2, return_style_matrix=True, **options)
    result = metric.compute(predictions=captions, styles=["A"] * len(captions), return_details=True)
    says = [caption == "love" for caption in captions]
    assert [score != 0 for score in result["onlystyle_scores"]] == says
    assert result["onlystyle_no_evidence"] == says.count(False)
    assert result["onlystyle_undefined"] == result["onlystyle_in_sample"] == 0
    assert [sum(map(abs, row)) > 0 for row in result["onlystyle_matrix"]] == says
    assert [bool(row["raised"]) for row in result["onlystyle_details"]] == says


def test_empty_caption_of_the_table_is_not_in_sample(load):
    with pytest.warns(UserWarning, match="1 of 3 captions"):
        table = StyleTable.fit(["a b", "c", "..."], ["x", "y", "x"])
    result = load(table=table).compute(predictions=["", "?!"], styles=["x", "x"])
    assert (result["onlystyle_in_sample"], result["onlystyle_no_evidence"]) == (0, 2)


def test_unknown_styles_are_all_named_with_near_matches(load):
    table = StyleTable.fit(["a", "b", "c", "d"], ["Happy", "Sad", "Angry", "happy-go-lucky"])
    metric = load(table=table)
    near = (
        "`styles[1]` must be one of the table's 4 styles, got 'Hapy'; near matches: 'Happy'. "
        "`styles[2]` must be one of the table's 4 styles, got 'ANGRY'; near matches: 'Angry'. "
        "`styles[3]` must be one of the table's 4 styles, got 'blue'; they are: "
        "'Angry', 'Happy', 'Sad', 'happy-go-lucky'"
    )
    with pytest.raises(ValueError, match="styles") as caught:
        metric.compute(predictions=["a"] * 5, styles=["Sad", "Hapy", "ANGRY", "blue", "Hapy"])
    assert str(caught.value) == near


def test_many_unknown_styles_are_shortened(load):
    names = [f"style {i:02d}" for i in range(20)]
    metric = load(table=StyleTable.fit(["a"] * 20, names))
    with pytest.raises(ValueError, match="styles") as caught:
        metric.compute(predictions=["a"] * 8, styles=["zzz", *"abcdefg"])
    message = str(caught.value)
    assert message.endswith(". And 3 more")
    assert message.count("; the first ones: 'style 00', ") == 5
    assert "'style 09'. `styles[1]` must be one of the table's 20 styles, got 'a'" in message
    assert "style 10" not in message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"predictions": ["a", None], "styles": ["A", "A"]}, r"^`predictions\[1\]`.*got NoneType"),
        ({"predictions": ["a", ["b"]], "styles": ["A", "A"]}, r"^`predictions\[1\]`.*got list"),
        ({"predictions": ["a", "\ud800"], "styles": ["A", "A"]}, r"^`predictions\[1\]`.*Unicode"),
        ({"predictions": ["a"], "styles": [3]}, r"^`styles\[0\]`.*got int"),
        (
            {"predictions": ["a", "b"], "styles": ["A"]},
            r"^`styles`.*`predictions`.*got 1",
        ),
        ({"predictions": ["a"]}, r"^`styles`.*`predictions`.*`styles`"),
        ({"predictions": [], "styles": []}, "got none"),
        ({"predictions": ["a"], "styles": ["A"], "table": 3}, r"^`table`.*StyleTable"),
    ],
)
def test_wrong_columns_are_refused(tables, load, columns, message):
    with pytest.raises(ValueError, match=message):
        load(table=tables["toy"]).compute(**columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "printed"}, r"^`variant`.*got 'printed'"),
        ({"orders": 4}, r"^`orders`.*got 4"),
        ({"top_k": -1}, r"^`top_k`.*at least 0.*got -1"),
        ({"exclude_self": 1}, r"^`exclude_self`.*got 1"),
        ({"return_style_matrix": "yes"}, r"^`return_style_matrix`.*got 'yes'"),
        ({"table": "no table"}, r"^`table`.*StyleTable.*'owner/name'"),
        (
            {"table": "x.parquet", "table_revision": "v1"},
            r"^`revision`.*`table`",
        ),
        ({"table_revision": "v1"}, r"^`table_revision`.*`table`.*got 'v1'"),
        (
            {"config": "demo", "table": "x.parquet"},
            r"^`table`.*`config_name`",
        ),
        ({"config": "big"}, r"^`config_name`.*got 'big'"),
    ],
)
def test_wrong_settings_are_refused_at_load(load, options, message):
    with pytest.raises(ValueError, match=message):
        load(**options)


def test_without_a_table_the_ways_to_give_one_are_shown(load):
    with pytest.raises(ValueError, match=r"StyleTable.*'demo'"):
        load().compute(predictions=["a"], styles=["A"])


def test_missing_file_is_told_at_the_first_compute(load):
    metric = load(table="nowhere.parquet")
    with pytest.raises(FileNotFoundError, match=r"^`table`.*got 'nowhere\.parquet'"):
        metric.compute(predictions=["a"], styles=["A"])


def test_matrix_of_too_many_cells_is_refused(tables, load, monkeypatch):
    metric = load(table=tables["toy"], return_style_matrix=True)
    monkeypatch.setitem(metric._compute.__globals__, "MAX_CELLS", 5)
    with pytest.raises(ValueError, match=r"^`return_style_matrix`.*at most 5 cells.*got 2 captions"):
        metric.compute(predictions=["a", "b"], styles=["A", "A"])
    assert len(metric.compute(predictions=["a"], styles=["A"])["onlystyle_matrix"]) == 1


def test_one_odd_caption_changes_no_other_score(tables, load):
    metric = load(table=tables["toy"])
    plain = ["i love", "the sun", "hate it now"]
    odd = ["i love", "the\u2028sun\u2029", "hate\tit\x85now\n"]
    styles = ["A", "C", "B"]
    scores = [metric.compute(predictions=texts, styles=styles)["onlystyle_scores"] for texts in (plain, odd)]
    assert scores[0] == scores[1]
