"""The module OnlyStyle: in sample, settings, results and explanations."""

import copy
import csv
import json
import pickle
from unittest.mock import patch

import numpy as np
import pytest
from folders import EXAMPLES
from style_definition import (
    ASYMMETRIC,
    GOLDEN,
    TOY,
    columns_of,
    goemotions,
)
from style_scores import ONLYSTYLE, without_warning

import vlgauge


def test_ranks_and_best_styles():
    matrix = np.array([[0.1, 0.3, 0.2], [0.5, 0.5 + 1e-14, 0.1], [0.0, 0.0, 0.0]])
    assert ONLYSTYLE.style_ranks(matrix, np.array([2, 0, 2])).tolist() == [2, 1, 1]
    assert ONLYSTYLE.style_ranks(matrix, np.array([0, 2, 0])).tolist() == [3, 3, 1]
    best = ONLYSTYLE.best_styles(matrix, ["a", "b", "c"], 2)
    assert [[style for style, _ in row] for row in best] == [["b", "c"], ["a", "b"], ["a", "b"]]
    assert best[0] == [["b", 0.3], ["c", 0.2]]
    assert [len(row) for row in ONLYSTYLE.best_styles(matrix, ["a", "b", "c"], 9)] == [3, 3, 3]


@pytest.mark.parametrize("name", ["onlystyle", "stylecider"])
@pytest.mark.parametrize("options", [{}, {"variant": "released", "exclude_self": True}])
def test_blocks_do_not_show_in_a_result(tables, name, options):
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    references = [captions[: i % 4] for i in range(len(captions))]
    columns = {"predictions": captions, "references": references, "styles": styles, "return_details": True}
    metric = vlgauge.load(name, table=tables["asymmetric"], keep_in_memory=True, **options)
    expected = without_warning(metric, **columns)
    for size in (1, 3, 10):
        with patch("vlgauge.families.style.scoring.BLOCK", size):
            assert json.dumps(without_warning(metric, **columns)) == json.dumps(expected)


def test_progress_is_told(tables):
    told = []
    metric = vlgauge.load("onlystyle", table=tables["toy"], progress=lambda *counts: told.append(counts))
    metric.compute(predictions=["love"] * 5000, styles=["A"] * 5000)
    assert told == [(4096, 5000), (5000, 5000)]


def test_bounds_are_reached(tables, load):
    result = load(table=tables["toy"]).compute(predictions=["love", "love"], styles=["A", "B"])
    assert result["onlystyle_scores"] == pytest.approx([2 / 3, -1 / 3], abs=1e-15)
    result = load(table=tables["toy"], variant="released").compute(predictions=["love", "love"], styles=["A", "B"])
    assert result["onlystyle_scores"] == pytest.approx([1, 0], abs=1e-15)


def test_predictions_of_the_table_are_counted_in_one_warning(tables, load):
    metric = load(table=tables["toy"])
    texts = ["I love it!", "i love it", "the rain is calm", "new"]
    with pytest.warns(UserWarning, match="3 of 4 predictions") as caught:
        result = metric.compute(predictions=texts, styles=["A", "B", "A", "A"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert re_all(
        str(caught[0].message), "their onlystyle is inflated", "`held_out=`, split by image", "`exclude_self=True`"
    )
    assert result["onlystyle_in_sample"] == 3


def re_all(text, *parts):
    return all(part in text for part in parts)


def test_leaving_out_counts_them_without_a_warning(tables, load):
    result = load(table=tables["toy"], exclude_self=True).compute(predictions=["i love it", "new"], styles=["A", "A"])
    assert result["onlystyle_in_sample"] == 1
    assert result["onlystyle_scores"] == pytest.approx([49 / 270, 0], abs=1e-12)


def test_result_has_the_keys_of_every_metric(load, no_sockets):
    result = load("demo").compute(predictions=["Two lovers.", "Stupid bus!", ""], styles=["romantic", "angry", "plain"])
    scores = result["onlystyle_scores"]
    assert list(result) == [
        *("onlystyle", "onlystyle_scores", "onlystyle_undefined", "onlystyle_signature"),
        *("onlystyle_in_sample", "onlystyle_no_evidence"),
    ]
    assert result["onlystyle"] == pytest.approx(sum(scores) / 3)
    assert scores[0] > 0.1 < scores[1]
    assert scores[2] == 0
    assert {type(score) for score in scores} == {float}


def test_signature_names_settings_and_table(tables, load):
    table = tables["toy"]
    result = load(table=table, top_k=1, return_style_matrix=True).compute(predictions=["it"], styles=["A"])
    assert result["onlystyle_signature"] == (
        f"onlystyle|v:{vlgauge.__version__}|profile:paper|config:default|orders:available|variant:paper|"
        f"exclude_self:False|n:4|tok:words-1|styles:3|captions:6|table:{table.fingerprint}"
    )
    other = load("demo", variant="released", orders="four", exclude_self=True).compute(
        predictions=["it"], styles=["angry"]
    )
    assert "|config:demo|orders:four|variant:released|exclude_self:True|" in other["onlystyle_signature"]


def test_table_of_the_call_wins(tables, load):
    metric = load(table=tables["asymmetric"])
    given = metric.compute(predictions=["love"], styles=["A"], table=tables["toy"])
    assert given["onlystyle"] == pytest.approx(2 / 3)
    assert f"table:{tables['toy'].fingerprint}" in given["onlystyle_signature"]
    named = load("demo").compute(predictions=["love"], styles=["A"], table=tables["toy"])
    assert "|config:" not in named["onlystyle_signature"]
    assert metric.compute(predictions=["chair"], styles=["witty"])["onlystyle"] > 0


def test_table_from_a_file(tables, load, tmp_path):
    tables["toy"].save(tmp_path / "toy.parquet")
    for source in (tmp_path / "toy.parquet", str(tmp_path / "toy.parquet")):
        assert load(table=source).compute(predictions=["love"], styles=["A"])["onlystyle"] == pytest.approx(2 / 3)
        assert load().compute(predictions=["love"], styles=["A"], table=source)["onlystyle"] == pytest.approx(2 / 3)


def test_a_metric_reads_its_file_once(tables, load, tmp_path):
    path = tmp_path / "toy.parquet"
    tables["toy"].save(path)
    metric = load(table=path)
    first = metric.compute(predictions=["love"], styles=["A"])
    path.unlink()
    assert metric.compute(predictions=["love"], styles=["A"]) == first


@pytest.mark.parametrize("row", TOY["ranking"], ids=lambda row: row["caption"])
def test_golden_rankings(tables, load, row):
    metric = load(table=tables["toy"], top_k=3)
    styles = list(row["rank_of"])
    result = without_warning(metric, predictions=[row["caption"]] * 3, styles=styles)
    assert [style for style, _ in result["onlystyle_top_styles"][0]] == row["ranking_paper"]
    assert dict(zip(styles, result["onlystyle_rank"], strict=True)) == row["rank_of"]
    assert result["onlystyle_top_styles"][0] == result["onlystyle_top_styles"][2]


@pytest.mark.parametrize("orders", ["available", "four"])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_matrix_and_ranks_of_a_call_with_many_rows(tables, load, exclude_self, orders, monkeypatch):
    monkeypatch.setattr("vlgauge.families.style.scoring.BLOCK", 50)
    table = tables["asymmetric"]
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    captions, styles = captions * 20, styles * 20  # more than are scored at a time
    captions[1] = captions[-1] = "dog lawn"  # too short for all orders
    metric = load(table=table, top_k=1, return_style_matrix=True, exclude_self=exclude_self, orders=orders)
    result = without_warning(metric, predictions=captions, styles=styles)
    matrix = np.array(result["onlystyle_matrix"])
    assert result["onlystyle_styles"] == list(table.styles)
    assert matrix.shape == (220, 4)
    assert matrix[np.arange(220), table.style_ids(styles)] == pytest.approx(result["onlystyle_scores"], abs=1e-12)
    assert matrix[:1] == pytest.approx(matrix[11:12], abs=0)
    assert result["onlystyle_rank"] == ONLYSTYLE.style_ranks(matrix, table.style_ids(styles)).tolist()
    assert [row[0][1] for row in result["onlystyle_top_styles"]] == matrix.max(axis=1).tolist()
    assert (matrix.argmax(axis=1) == table.style_ids(styles))[2:-1].all() == (not exclude_self)


def test_explanation_by_hand(tables, load):
    result = load(table=tables["toy"]).compute(predictions=["love love it zebra"], styles=["A"], return_details=True)
    details = result["onlystyle_details"][0]
    assert details["tokens"] == ["love", "love", "it", "zebra"]
    # Order 1: love 2/3, it 1/10, zebra 0; order 2: love it 1/2 among three; orders 3 and 4: nothing known.
    assert details["orders"] == pytest.approx([23 / 90, 1 / 6, 0, 0], abs=1e-12)
    parts = {part["ngram"]: part["share"] for part in details["raised"]}
    assert parts == pytest.approx({"love": 2 / 36, "love it": 1 / 24, "it": 1 / 120}, abs=1e-12)
    assert list(parts) == ["love", "love it", "it"]
    assert details["raised"][1] == {
        **{"ngram": "love it", "order": 2, "df": 1, "occurrences": 1, "cng": 0.5},
        "share": pytest.approx(1 / 24),
    }
    assert details["words"] == pytest.approx([1 / 36, 1 / 36 + 1 / 48, 1 / 48 + 1 / 120, 0], abs=1e-12)
    assert (details["lowered"], details["unseen"]) == ([], 6)


def test_combines_with_stylecider(tables):
    import evaluate

    members = [vlgauge.load(name, table=tables["toy"], keep_in_memory=True) for name in ("onlystyle", "stylecider")]
    columns = {"predictions": ["i love"], "references": ["i love the rain"], "styles": ["A"]}
    result = evaluate.combine(members).compute(**columns)
    assert result["onlystyle"] == members[0].compute(**columns)["onlystyle"]
    assert result["stylecider"] == members[1].compute(**columns)["stylecider"]


def test_copies_score_alike(tables, load):
    metric = load(table=tables["toy"])
    expected = metric.compute(predictions=["love"], styles=["A"])
    for twin in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert twin.compute(predictions=["love"], styles=["A"]) == expected


def test_rows_may_be_added_one_by_one(tables, load):
    metric = load(table=tables["toy"])
    for caption, style in (("love", "A"), ("hate", "B")):
        metric.add(prediction=caption, style=style)
    assert metric.compute()["onlystyle_scores"] == pytest.approx([2 / 3, 2 / 3])


def test_demo_table_recognizes_the_examples(load):
    with (EXAMPLES / "styled_captions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    captions, styles, images = ([row[key] for row in rows] for key in ("caption", "style", "picture"))
    assert {styles.count(style) for style in styles} == {40}
    assert len(set(zip(styles, images, strict=True))) == len(rows) == 160
    result = load("demo", top_k=1).compute(predictions=captions, styles=styles)
    assert result["onlystyle_in_sample"] == 0
    assert result["onlystyle_rank"].count(1) / 160 > 0.6  # 0.25 by chance


def those_of(rows, columns):
    return {name: [column[row["row"]] for row in rows] for name, column in columns.items()}


def test_goemotions(shared_folder, load):
    _, test, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    columns = {"predictions": test.captions, "styles": test.styles}
    paper = without_warning(load(table=table, top_k=3), **columns)
    released = without_warning(load(table=table, variant="released"), **those_of(expected["test_rows"], columns))
    for i, row in enumerate(expected["test_rows"]):
        assert test.styles[row["row"]] == row["style"]
        assert paper["onlystyle_scores"][row["row"]] == pytest.approx(row["onlystyle_paper"], rel=1e-9)
        assert released["onlystyle_scores"][i] == pytest.approx(row["onlystyle_released"], rel=1e-9)
        top = paper["onlystyle_top_styles"][row["row"]]
        assert [style for style, _ in top] == [style for style, _ in row["top3_paper"]]
        assert [score for _, score in top] == pytest.approx([score for _, score in row["top3_paper"]], rel=1e-9)
        assert paper["onlystyle_rank"][row["row"]] == row["rank_of_style_paper"]
    means = expected["means"]
    assert paper["onlystyle"] == pytest.approx(means["onlystyle_paper_own_style_test"], rel=1e-9)
    assert paper["onlystyle_in_sample"] == expected["test_captions_whose_tokens_occur_in_train"]


def test_goemotions_in_sample_and_left_out(shared_folder, load):
    train, _, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    columns = {"predictions": train.captions, "styles": train.styles}
    some = those_of(expected["train_rows"], columns)
    inside = without_warning(load(table=table), **some)
    assert some["styles"] == [row["style"] for row in expected["train_rows"]]
    outside = load(table=table, exclude_self=True).compute(**columns)
    released = load(table=table, variant="released", exclude_self=True).compute(**some)
    for i, row in enumerate(expected["train_rows"]):
        assert inside["onlystyle_scores"][i] == pytest.approx(row["onlystyle_paper"], rel=1e-9)
        score = outside["onlystyle_scores"][row["row"]]
        assert score == pytest.approx(row["onlystyle_paper_exclude_self"], rel=1e-9)
        assert released["onlystyle_scores"][i] == pytest.approx(row["onlystyle_released_exclude_self"], rel=1e-9)
    mean = expected["means"]["onlystyle_paper_own_style_train_exclude_self"]
    assert outside["onlystyle"] == pytest.approx(mean, rel=1e-9)
    assert inside["onlystyle_in_sample"] == len(expected["train_rows"])
