"""The module StyleCIDEr: golden scores, input, results and explanations."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from style_definition import (
    ASYMMETRIC,
    CORPORA,
    FEW,
    GOLDEN,
    TOY,
    goemotions,
    table_of,
)
from style_definition import (
    EXAMPLES as PAIRS,
)
from style_scores import VARIANTS, without_warning

import vlgauge

SECTIONS = {"toy": TOY, "asymmetric": ASYMMETRIC, "even_spread": GOLDEN["even_spread"]}


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_scores(tables, load, section, variant, monkeypatch):
    monkeypatch.setattr(
        "vlgauge.families.base.columns.without_blanks", list
    )  # the formula has a score for an empty reference
    metric = load(table=tables[section], variant=variant)
    for row in SECTIONS[section]["stylecider"]:
        columns = {"predictions": [row["candidate"]], "references": [row["references"]], "styles": [row["style"]]}
        assert without_warning(metric, **columns)["stylecider"] == pytest.approx(row[variant], abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_scores_with_one_left_out(tables, load, variant):
    for row in GOLDEN["exclude_self"]["stylecider"]:
        metric = load(table=tables[row["corpus"]], variant=variant, exclude_self=True)
        columns = {"predictions": [row["candidate"]], "references": [row["references"]], "styles": [row["style"]]}
        assert metric.compute(**columns)["stylecider"] == pytest.approx(row[variant], abs=1e-12)


def test_neither_term_frequency_nor_available_orders(tables, load):
    key = "paper_if_g_used_term_frequency"
    told_apart = [row for row in TOY["stylecider"] if abs(row["paper"] - row.get(key, row["paper"])) > 1e-6]
    assert told_apart
    metric = load(table=tables["toy"])
    scores = without_warning(
        metric, predictions=["love", "i love it"], references=["love", "i love it"], styles=["A", "A"]
    )
    assert scores["stylecider_scores"] == pytest.approx([0.25, 0.75], abs=1e-15)


def test_one_caption_can_be_scored_alone(toy_metric):
    # Plain CIDEr gives 0 for one image, because every n-gram is in all references of the corpus.
    result = toy_metric.compute(predictions=["i love this"], references=["i love that"], styles=["A"])
    assert result["stylecider"] == pytest.approx(0.5, abs=1e-12)


def test_unseen_words_neither_raise_nor_lower(toy_metric):
    result = toy_metric.compute(
        predictions=["i love", "i love zebra", "i love zebra"],
        references=["i love", "i love", "i love zebra"],
        styles=["A"] * 3,
    )
    assert result["stylecider_scores"] == pytest.approx([0.5, 0.5, 0.5], abs=1e-12)


def test_weights_are_those_of_the_target_style_on_both_sides(tables, load):
    metric = load(table=tables["toy"])
    columns = {"predictions": ["i hate the sun"] * 2, "references": ["i love the sun"] * 2, "styles": ["A", "B"]}
    expected = [0.05187978297917768, 0.08843953807698313]
    assert metric.compute(**columns)["stylecider_scores"] == pytest.approx(expected, abs=1e-12)


def test_empty_captions_references_and_lists(toy_metric):
    with pytest.warns(UserWarning, match=r"^`references`.* 2 .*2 of 6 rows"):
        result = toy_metric.compute(
            predictions=["", "love now", "love now", "...", "zebra", "love now"],
            references=["love", "", [], [], "zebra", ["love", ""]],
            styles=["A"] * 6,
        )
    expected = [0.0, math.nan, math.nan, math.nan, 0.0, 0.25]
    assert result["stylecider_scores"] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert result["stylecider"] == pytest.approx(0.25 / 3)
    assert (result["stylecider_undefined"], result["stylecider_no_evidence"]) == (3, 3)


def test_evenly_spread_words_are_no_evidence(tables, load):
    result = load(table=tables["even_spread"]).compute(predictions=["the"], references=["the"], styles=["A"])
    assert (result["stylecider"], result["stylecider_no_evidence"]) == (0.0, 1)
    other = vlgauge.load("onlystyle", table=tables["even_spread"], keep_in_memory=True)
    assert other.compute(predictions=["the"], styles=["A"])["onlystyle_no_evidence"] == 0


def test_no_example_with_references(toy_metric):
    result = toy_metric.compute(
        predictions=["love", "hate"], references=[[], []], styles=["A", "B"], return_details=True
    )
    assert math.isnan(result["stylecider"])
    assert result["stylecider_undefined"] == 2
    assert [row["references"] for row in result["stylecider_details"]] == [[], []]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("exclude_self", [False, True])
def test_captions_of_one_word(tables, load, variant, exclude_self):
    metric = load(table=tables["toy"], variant=variant, exclude_self=exclude_self)
    columns = {"predictions": ["love", "it"], "references": [["love"], ["love", "it"]], "styles": ["A", "A"]}
    top = 10 if variant == "released" else 1
    assert metric.compute(**columns)["stylecider_scores"] == pytest.approx([0.25 * top, 0.125 * top], abs=1e-12)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"references": [3]}, r"^`references\[0\]`.*got int"),
        ({"references": [None]}, r"^`references\[0\]`.*got NoneType"),
        ({"references": [["a", None]]}, r"^`references\[0\]\[1\]`.*got NoneType"),
        ({"references": ["\ud800"]}, r"^`references\[0\]\[0\]`"),
        ({"references": "a"}, r"^`references`.*got str"),
        ({"references": None}, r"^`references`.*`predictions`.*`styles`"),
        ({"references": ["a", "b"]}, r"^`references`.*`predictions`.*got 2"),
        ({"predictions": [None]}, r"^`predictions\[0\]`.*got NoneType"),
        ({"styles": ["a"]}, r"^`styles\[0\]`.*3 styles.*'a'"),
    ],
)
def test_wrong_columns_are_refused(toy_metric, columns, message):
    with pytest.raises(ValueError, match=message):
        toy_metric.compute(**{"predictions": ["a"], "references": ["a"], "styles": ["A"]} | columns)


@pytest.mark.parametrize(("name", "value"), [("orders", "four"), ("top_k", 1), ("return_style_matrix", True)])
def test_settings_of_onlystyle_are_unknown(load, name, value):
    with pytest.raises(TypeError, match=rf"^`{name}`"):
        load(**{name: value})


def test_result_has_the_keys_of_every_metric(load, tables, no_sockets):
    table = tables["toy"]
    result = load(table=table).compute(predictions=["love now"], references=[["love", "i hate it"]], styles=["A"])
    assert list(result) == [
        *("stylecider", "stylecider_scores", "stylecider_undefined", "stylecider_signature", "stylecider_in_sample"),
        *("stylecider_references_in_sample", "stylecider_no_evidence"),
    ]
    assert (result["stylecider_in_sample"], result["stylecider_references_in_sample"]) == (0, 1)
    assert result["stylecider_signature"] == (
        f"stylecider|v:{vlgauge.__version__}|profile:paper|config:default|variant:paper|exclude_self:False|n:4|tok:words-1|styles:3|"
        f"captions:6|table:{table.fingerprint}"
    )
    assert json.dumps(result)


def test_references_in_sample_alone_give_no_warning(toy_metric):
    result = toy_metric.compute(predictions=["love now"], references=["i love it"], styles=["A"])
    assert result["stylecider_references_in_sample"] == 1
    with pytest.warns(UserWarning, match="1 of 1 predictions"):
        toy_metric.compute(predictions=["i love it"], references=["love"], styles=["A"])


def test_references_may_be_strings_lists_or_both(toy_metric):
    columns = {"predictions": ["love", "i hate"], "styles": ["A", "B"]}
    expected = toy_metric.compute(references=[["i love"], ["hate"]], **columns)
    for references in (["i love", "hate"], ["i love", ["hate"]], [("i love",), np.array(["hate"])]):
        assert toy_metric.compute(references=references, **columns) == expected
    assert toy_metric.compute(references=pd.Series(["i love", "hate"]), **columns) == expected


def test_duplicated_references_count_twice(toy_metric):
    columns = {"predictions": ["love now"], "styles": ["A"]}
    once, twice = (toy_metric.compute(references=[refs], **columns) for refs in (["love", "x"], ["love", "love", "x"]))
    assert (once["stylecider"], twice["stylecider"]) == pytest.approx((0.125, 0.25 * 2 / 3), abs=1e-12)


@given(CORPORA, PAIRS)
@FEW
def test_explanations_add_up_to_the_scores(rows, pairs):
    table = table_of(rows)
    metric = vlgauge.load("stylecider", table=table, keep_in_memory=True)
    released = vlgauge.load("stylecider", table=table, variant="released", exclude_self=True, keep_in_memory=True)
    pairs = [*pairs, (rows[0][0], [rows[0][0], rows[-1][0]])]
    columns = {
        "predictions": [" ".join(caption) for caption, _ in pairs],
        "references": [[" ".join(reference) for reference in references] for _, references in pairs],
        "styles": [rows[0][1]] * len(pairs),
    }
    for scorer in (metric, released):
        result = without_warning(scorer, **columns, return_details=True)
        for score, row, (caption, references) in zip(
            result["stylecider_scores"], result["stylecider_details"], pairs, strict=True
        ):
            assert row["tokens"] == caption
            references = [tokens for tokens in references if tokens]
            assert [part["tokens"] for part in row["references"]] == references
            if references:
                assert sum(row["words"]) == pytest.approx(score, abs=1e-12)
                assert sum(part["score"] for part in row["references"]) / len(references) == pytest.approx(score)
            for part in row["references"]:
                assert sum(gram["share"] for gram in part["raised"]) == pytest.approx(part["score"], abs=1e-12)
                shared = {gram["ngram"] for gram in part["raised"]}
                assert not shared & {gram["ngram"] for gram in part["lowered"]}
                assert all(gram["cng"] for gram in part["raised"] + part["lowered"])


def test_explanation_by_hand(toy_metric):
    columns = {"predictions": ["i love it now"], "references": ["i love the sun"], "styles": ["A"]}
    (details,) = toy_metric.compute(**columns, return_details=True)["stylecider_details"]
    (part,) = details["references"]
    assert [gram["ngram"] for gram in part["raised"]] == ["love", "i love", "i"]
    # cos_1 = (17/36) / sqrt(217/450 * 797/1620), of which "love" has 16/17.
    cosine = (17 / 36) / math.sqrt(217 / 450 * 797 / 1620)
    assert part["cosines"][0] == pytest.approx(cosine, abs=1e-12)
    assert part["raised"][0] == {
        **{"ngram": "love", "order": 1, "df": 2, "occurrences": 1, "cng": pytest.approx(2 / 3)},
        "share": pytest.approx(cosine / 4 * 16 / 17, abs=1e-12),
    }
    sides = {gram["ngram"]: gram["side"] for gram in part["lowered"]}
    assert sides["it"] == sides["love it"] == "prediction"
    assert sides["sun"] == sides["the sun"] == "reference"


@pytest.mark.parametrize("variant", VARIANTS)
def test_goemotions(shared_folder, load, variant):
    train, test, table = goemotions(shared_folder)
    references = [
        [caption for caption, other in zip(train.captions, train.styles, strict=True) if other == style][:3]
        for style in test.styles[:5]
    ]
    result = load(table=table, variant=variant).compute(
        predictions=test.captions[:5], references=references, styles=test.styles[:5]
    )
    assert result["stylecider_scores"] == pytest.approx(GOLDEN["goemotions"][f"stylecider_{variant}"], rel=1e-9)
    assert result["stylecider_references_in_sample"] == 15
