"""OnlyStyle: formulas, the scores of every style, leaving one out, and the module."""

import copy
import csv
import importlib.util
import json
import math
import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from style_definition import ASYMMETRIC
from style_definition import CAPTIONS
from style_definition import CORPORA
from style_definition import GOLDEN
from style_definition import TOY
from style_definition import columns_of
from style_definition import definition_of
from style_definition import goemotions
from style_definition import table_of

import vlgauge
from vlgauge import ngrams
from vlgauge.ngrams import StyleTable

ROOT = Path(__file__).resolve().parents[1]
VARIANTS = ("paper", "authors")
# A metric folder is no package, so the file is loaded by its path.
SPEC = importlib.util.spec_from_file_location("onlystyle_formulas", ROOT / "metrics" / "onlystyle" / "onlystyle.py")
formulas = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(formulas)

SECTIONS = {"toy": TOY, "asymmetric": ASYMMETRIC}
CORPORA_BY_NAME = {"toy": TOY["corpus"], "asymmetric": ASYMMETRIC["corpus"], **GOLDEN["exclude_self"]["corpora"]}


@pytest.fixture(scope="module")
def tables():
    return {name: StyleTable.fit(*columns_of(corpus)) for name, corpus in CORPORA_BY_NAME.items()}


@pytest.fixture(scope="module")
def load():
    return lambda config=None, **options: vlgauge.load("onlystyle", config, keep_in_memory=True, **options)


def own_scores(table, captions, styles, variant="paper", orders="available", *, exclude_self=False):
    """Scores of captions given by tokens, by the formulas of the metric."""
    ids = table.style_ids(styles)
    weighted = ngrams.weighted_ngrams(table, captions, ids, variant, exclude_self=exclude_self)
    means = [formulas.order_scores(order.weights, order.grams.captions, order.grams.sizes) for order in weighted]
    return formulas.onlystyle_scores(np.stack(means), np.stack([order.grams.sizes for order in weighted]), orders)


def all_scores(table, captions, variant="paper", **options):
    return np.concatenate(list(ngrams.score_blocks(table, captions, variant, **options)))


def without_warning(metric, **columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return metric.compute(**columns)


def floats(fractions):
    return {name: float(Fraction(value)) for name, value in fractions.items()}


# -- worked by hand ---------------------------------------------------------------------------------------------------
def test_mean_over_an_order_and_over_the_orders():
    # Caption 0 has two unigrams and a bigram, caption 1 nothing, caption 2 one unigram.
    first = formulas.order_scores(np.array([0.5, 0.25, -0.5]), np.array([0, 0, 2]), np.array([2, 0, 1]))
    second = formulas.order_scores(np.array([0.125]), np.array([0]), np.array([1, 0, 0]))
    none = formulas.order_scores(np.array([]), np.array([], int), np.array([0, 0, 0]))
    assert (first.tolist(), second.tolist(), none.tolist()) == ([0.375, 0, -0.5], [0.125, 0, 0], [0, 0, 0])
    means, sizes = np.stack([first, second, none, none]), np.array([[2, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert formulas.onlystyle_scores(means, sizes).tolist() == [0.25, 0.0, -0.5]
    assert formulas.onlystyle_scores(means, sizes, "four").tolist() == [0.125, 0.0, -0.125]


def test_ranks_and_best_styles():
    matrix = np.array([[0.1, 0.3, 0.2], [0.5, 0.5 + 1e-14, 0.1], [0.0, 0.0, 0.0]])
    assert formulas.style_ranks(matrix, np.array([2, 0, 2])).tolist() == [2, 1, 1]
    assert formulas.style_ranks(matrix, np.array([0, 2, 0])).tolist() == [3, 3, 1]
    best = formulas.best_styles(matrix, ["a", "b", "c"], 2)
    assert [[style for style, _ in row] for row in best] == [["b", "c"], ["a", "b"], ["a", "b"]]
    assert best[0] == [["b", 0.3], ["c", 0.2]]
    assert [len(row) for row in formulas.best_styles(matrix, ["a", "b", "c"], 9)] == [3, 3, 3]


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_scores(tables, section, variant):
    table = tables[section]
    for row in SECTIONS[section]["onlystyle"]:
        tokens = [row["caption"].split()]
        expected = floats(row[variant])
        assert dict(zip(table.styles, all_scores(table, tokens, variant)[0], strict=True)) == pytest.approx(
            expected, abs=1e-12
        )
        for style, score in expected.items():
            assert own_scores(table, tokens, [style], variant)[0] == pytest.approx(score, abs=1e-12)
        for style, score in floats(row.get(f"{variant}_orders_four", {})).items():
            assert own_scores(table, tokens, [style], variant, "four")[0] == pytest.approx(score, abs=1e-12)
            column = table.style_id(style)
            assert all_scores(table, tokens, variant, orders="four")[0, column] == pytest.approx(score, abs=1e-12)


def test_repeated_ngrams_count_once(tables):
    told_apart = 0
    for row in TOY["onlystyle"]:
        multiset = floats(row["paper_if_M_were_a_multiset"])
        told_apart += multiset != pytest.approx(floats(row["paper"]))
        assert own_scores(tables["toy"], [row["caption"].split()], ["A"])[0] == pytest.approx(
            float(Fraction(row["paper"]["A"])), abs=1e-12
        )
    assert told_apart


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("row", GOLDEN["exclude_self"]["onlystyle"], ids=lambda r: f"{r['corpus']}-{r['caption']}")
def test_golden_scores_with_one_left_out(tables, row, variant):
    table, tokens = tables[row["corpus"]], [row["caption"].split()]
    own = table.style_ids([row["target_style"]])
    found = all_scores(table, tokens, variant, left_out_of=own)[0]
    assert dict(zip(table.styles, found, strict=True)) == pytest.approx(floats(row[variant]), abs=1e-12)
    alone = own_scores(table, tokens, [row["target_style"]], variant, exclude_self=True)[0]
    assert alone == pytest.approx(floats(row[variant])[row["target_style"]], abs=1e-12)
    assert bool(table.copies(tokens, own)[0]) is row["in_target_style"]


# -- the definition ---------------------------------------------------------------------------------------------------
@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=4))
@settings(deadline=None)
def test_scores_equal_the_definition(rows, more):
    table, definition = table_of(rows), definition_of(rows)
    captions = [caption for caption, _ in rows[:3]] + more
    for variant in VARIANTS:
        for orders in ("available", "four"):
            expected = [[float(definition.onlystyle(c, s, variant, orders)) for s in table.styles] for c in captions]
            assert all_scores(table, captions, variant, orders=orders) == pytest.approx(np.array(expected), abs=1e-12)
            for column, style in enumerate(table.styles):
                found = own_scores(table, captions, [style] * len(captions), variant, orders)
                assert found == pytest.approx([row[column] for row in expected], abs=1e-12)


@given(CORPORA, st.lists(st.tuples(CAPTIONS, st.sampled_from(["x", "y", "zz"])), max_size=3))
@settings(deadline=None)
def test_leaving_one_out_equals_fitting_again(rows, more):
    table, definition = table_of(rows), definition_of(rows)
    examples = [*rows, *((caption, style) for caption, style in more if style in table.styles)]
    captions, styles = [caption for caption, _ in examples], [style for _, style in examples]
    own = table.style_ids(styles)
    for variant in VARIANTS:
        refitted = [definition.without(caption, style) for caption, style in examples]
        expected = [
            [float(fitted.onlystyle(caption, style, variant)) for style in table.styles]
            for caption, fitted in zip(captions, refitted, strict=True)
        ]
        matrix = all_scores(table, captions, variant, left_out_of=own)
        assert matrix == pytest.approx(np.array(expected), abs=1e-12)
        alone = own_scores(table, captions, styles, variant, exclude_self=True)
        assert alone == pytest.approx(matrix[np.arange(len(own)), own], abs=1e-12)


# -- properties -------------------------------------------------------------------------------------------------------
@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=5))
@settings(deadline=None)
def test_bounds_sums_and_variants(rows, captions):
    table = table_of(rows)
    n = len(table.styles)
    paper, authors = (all_scores(table, captions, variant) for variant in VARIANTS)
    assert paper.sum(axis=1) == pytest.approx(np.zeros(len(captions)), abs=1e-12)
    assert paper.min() >= -1 / n - 1e-12
    assert paper.max() <= (n - 1) / n + 1e-12
    assert authors.min() > -1 / (n - 1)
    assert authors.max() <= 1 + 1e-12
    if n == 2:
        assert paper[:, 0] == pytest.approx(-paper[:, 1], abs=1e-12)


@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=5), st.randoms(use_true_random=False), st.integers(1, 3))
@settings(deadline=None)
def test_neither_order_nor_batch_matters(rows, captions, rng, size):
    table, shuffled = table_of(rows), table_of(rng.sample(rows, len(rows)))
    expected = all_scores(table, captions)
    assert np.array_equal(all_scores(shuffled, captions), expected)
    with patch("vlgauge.ngrams.weighing.BLOCK", size):
        assert np.array_equal(all_scores(table, captions), expected)
    style = table.styles[0]
    scores = own_scores(table, captions, [style] * len(captions))
    for i, caption in enumerate(captions):
        assert own_scores(table, [caption], [style])[0] == scores[i]
    assert scores == pytest.approx(expected[:, 0], abs=1e-12)


@pytest.mark.parametrize("name", ["onlystyle", "stylecider"])
@pytest.mark.parametrize("options", [{}, {"variant": "authors", "exclude_self": True}])
def test_blocks_do_not_show_in_a_result(tables, name, options):
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    references = [captions[: i % 4] for i in range(len(captions))]
    columns = {"predictions": captions, "references": references, "styles": styles, "return_details": True}
    metric = vlgauge.load(name, table=tables["asymmetric"], keep_in_memory=True, **options)
    expected = without_warning(metric, **columns)
    for size in (1, 3, 10):
        with patch("vlgauge.ngrams.weighing.BLOCK", size):
            assert json.dumps(without_warning(metric, **columns)) == json.dumps(expected)


def test_progress_is_told(tables):
    told = []
    metric = vlgauge.load("onlystyle", table=tables["toy"], progress=lambda *counts: told.append(counts))
    metric.compute(predictions=["love"] * 5000, styles=["A"] * 5000)
    assert told == [(4096, 5000), (5000, 5000)]


def test_bounds_are_reached(tables, load):
    result = load(table=tables["toy"]).compute(predictions=["love", "love"], styles=["A", "B"])
    assert result["onlystyle_scores"] == pytest.approx([2 / 3, -1 / 3], abs=1e-15)
    result = load(table=tables["toy"], variant="authors").compute(predictions=["love", "love"], styles=["A", "B"])
    assert result["onlystyle_scores"] == pytest.approx([1, 0], abs=1e-15)


# -- degenerate input -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("captions", [[""], ["", "..."], ["zebra"], ["zebra", "", "love"]])
@pytest.mark.parametrize("options", [{}, {"exclude_self": True}, {"variant": "authors"}, {"orders": "four"}])
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
    with pytest.warns(UserWarning, match="1 of 3 captions have no tokens"):
        table = StyleTable.fit(["a b", "c", "..."], ["x", "y", "x"])
    result = load(table=table).compute(predictions=["", "?!"], styles=["x", "x"])
    assert (result["onlystyle_in_sample"], result["onlystyle_no_evidence"]) == (0, 2)


def test_unknown_styles_are_all_named_with_near_matches(load):
    table = StyleTable.fit(["a", "b", "c", "d"], ["Happy", "Sad", "Angry", "happy-go-lucky"])
    metric = load(table=table)
    near = (
        "`styles[1]` is 'Hapy', not one of the table's 4 styles; near matches: 'Happy'. "
        "`styles[2]` is 'ANGRY', not one of the table's 4 styles; near matches: 'Angry'. "
        "`styles[3]` is 'blue', not one of the table's 4 styles; they are: 'Angry', 'Happy', 'Sad', 'happy-go-lucky'"
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
    assert message.count("not one of the table's 20 styles; the first are: 'style 00', ") == 5
    assert "'style 09'. `styles[1]` is 'a'" in message
    assert "style 10" not in message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"predictions": ["a", None], "styles": ["A", "A"]}, r"`predictions\[1\]` must be a string, got NoneType"),
        ({"predictions": ["a", ["b"]], "styles": ["A", "A"]}, r"`predictions\[1\]` must be a string, got list"),
        ({"predictions": ["a", "\ud800"], "styles": ["A", "A"]}, r"`predictions\[1\]` must be valid Unicode"),
        ({"predictions": ["a"], "styles": [3]}, r"`styles\[0\]` must be a string, got int"),
        (
            {"predictions": ["a", "b"], "styles": ["A"]},
            "`styles` must have one row per row of `predictions`, got 1",
        ),
        ({"predictions": ["a"]}, "`styles` is missing: onlystyle needs `predictions` and `styles`"),
        ({"predictions": [], "styles": []}, "must have at least one row, got none"),
        ({"predictions": ["a"], "styles": ["A"], "table": 3}, "`table` must be a StyleTable, a Parquet file, or a Hub"),
    ],
)
def test_wrong_columns_are_refused(tables, load, columns, message):
    with pytest.raises(ValueError, match=message):
        load(table=tables["toy"]).compute(**columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "printed"}, "`variant` must be one of 'paper', 'authors', got 'printed'"),
        ({"orders": 4}, "`orders` must be one of 'available', 'four', got 4"),
        ({"top_k": -1}, "`top_k` must be a whole number of at least 0, got -1"),
        ({"exclude_self": 1}, "`exclude_self` must be True or False, got 1"),
        ({"return_style_matrix": "yes"}, "`return_style_matrix` must be True or False, got 'yes'"),
        ({"table": "no table"}, "`table` must be a StyleTable, a Parquet file, or a Hub data set as 'owner/name'"),
        (
            {"table": "x.parquet", "table_revision": "v1"},
            "`revision` must be left out unless `table` is a Hub",
        ),
        ({"table_revision": "v1"}, "`table_revision` must come with a `table`, got 'v1' alone"),
        (
            {"config": "demo", "table": "x.parquet"},
            "`table` must be left out where `config_name` names a table, got",
        ),
        ({"config": "big"}, "`config_name` is no configuration of onlystyle, got 'big'; known are demo"),
    ],
)
def test_wrong_settings_are_refused_at_load(load, options, message):
    with pytest.raises(ValueError, match=message):
        load(**options)


def test_without_a_table_the_ways_to_give_one_are_shown(load):
    with pytest.raises(ValueError, match=r"`table` is missing: pass a StyleTable, .* or to `compute`; .* \('demo'\)"):
        load().compute(predictions=["a"], styles=["A"])


def test_missing_file_is_told_at_the_first_compute(load):
    metric = load(table="nowhere.parquet")
    with pytest.raises(FileNotFoundError, match=r"`table` must be a file, and none is at 'nowhere.parquet'"):
        metric.compute(predictions=["a"], styles=["A"])


def test_matrix_of_too_many_cells_is_refused(tables, load, monkeypatch):
    metric = load(table=tables["toy"], return_style_matrix=True)
    monkeypatch.setitem(metric._compute.__globals__, "MAX_CELLS", 5)
    with pytest.raises(ValueError, match="`return_style_matrix` must give at most 5 cells, got 2 captions x 3 styles;"):
        metric.compute(predictions=["a", "b"], styles=["A", "A"])
    assert len(metric.compute(predictions=["a"], styles=["A"])["onlystyle_matrix"]) == 1


def test_one_odd_caption_changes_no_other_score(tables, load):
    metric = load(table=tables["toy"])
    plain = ["i love", "the sun", "hate it now"]
    odd = ["i love", "the\u2028sun\u2029", "hate\tit\x85now\n"]
    styles = ["A", "C", "B"]
    scores = [metric.compute(predictions=texts, styles=styles)["onlystyle_scores"] for texts in (plain, odd)]
    assert scores[0] == scores[1]


# -- in sample --------------------------------------------------------------------------------------------------------
def test_predictions_of_the_table_are_counted_in_one_warning(tables, load):
    metric = load(table=tables["toy"])
    texts = ["I love it!", "i love it", "the rain is calm", "new"]
    with pytest.warns(
        UserWarning, match="3 of 4 predictions are captions that the style table was fitted on"
    ) as caught:
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


# -- the module -------------------------------------------------------------------------------------------------------
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
        f"onlystyle|{vlgauge.__version__}|config:default|orders:available|variant:paper|exclude_self:False|n:4|tok:words-1|"
        f"styles:3|captions:6|table:{table.fingerprint}"
    )
    other = load("demo", variant="authors", orders="four", exclude_self=True).compute(
        predictions=["it"], styles=["angry"]
    )
    assert "|config:demo|orders:four|variant:authors|exclude_self:True|" in other["onlystyle_signature"]


def test_table_of_the_call_wins(tables, load):
    metric = load(table=tables["asymmetric"])
    given = metric.compute(predictions=["love"], styles=["A"], table=tables["toy"])
    assert given["onlystyle"] == pytest.approx(2 / 3)
    assert f"table:{tables['toy'].fingerprint}" in given["onlystyle_signature"]
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
def test_matrix_and_ranks_of_a_call_with_many_rows(tables, load, exclude_self, orders):
    table = tables["asymmetric"]
    captions, styles = columns_of(ASYMMETRIC["corpus"])
    captions, styles = captions * 500, styles * 500  # more than are scored at a time
    captions[1] = captions[-1] = "dog lawn"  # too short for all orders
    metric = load(table=table, top_k=1, return_style_matrix=True, exclude_self=exclude_self, orders=orders)
    result = without_warning(metric, predictions=captions, styles=styles)
    matrix = np.array(result["onlystyle_matrix"])
    assert result["onlystyle_styles"] == list(table.styles)
    assert matrix.shape == (5500, 4)
    assert matrix[np.arange(5500), table.style_ids(styles)] == pytest.approx(result["onlystyle_scores"], abs=1e-12)
    assert matrix[:1] == pytest.approx(matrix[11:12], abs=0)
    assert result["onlystyle_rank"] == formulas.style_ranks(matrix, table.style_ids(styles)).tolist()
    assert [row[0][1] for row in result["onlystyle_top_styles"]] == matrix.max(axis=1).tolist()
    assert (matrix.argmax(axis=1) == table.style_ids(styles))[2:-1].all() == (not exclude_self)


@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=3))
@settings(deadline=None, max_examples=30)
def test_explanations_add_up_to_the_scores(rows, captions):
    table = table_of(rows)
    styles = [table.styles[0]] * len(captions)
    for exclude_self in (False, True):
        for orders in ("available", "four"):
            weighted = ngrams.weighted_ngrams(
                table, captions, table.style_ids(styles), "paper", exclude_self=exclude_self
            )
            found = list(ngrams.caption_explanations(captions, weighted, orders))
            scores = own_scores(table, captions, styles, orders=orders, exclude_self=exclude_self)
            for caption, parts, score in zip(captions, found, scores, strict=True):
                assert sum(parts["words"]) == pytest.approx(score, abs=1e-12)
                both = parts["raised"] + parts["lowered"]
                assert sum(part["share"] for part in both) == pytest.approx(score, abs=1e-12)
                assert all(part["share"] > 0 for part in parts["raised"])
                assert all(part["share"] < 0 for part in parts["lowered"])
                assert [len(parts["words"]), parts["tokens"]] == [len(caption), caption]
                defined = [mean for mean in parts["orders"] if mean is not None]
                assert len(defined) == min(4, len(caption))
                assert sum(defined) / ((len(defined) or 1) if orders == "available" else 4) == pytest.approx(
                    score, abs=1e-12
                )


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
    with (ROOT / "examples" / "styled_captions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    captions, styles, pictures = ([row[key] for row in rows] for key in ("caption", "style", "picture"))
    assert {styles.count(style) for style in styles} == {40}
    assert len(set(zip(styles, pictures, strict=True))) == len(rows) == 160
    result = load("demo", top_k=1).compute(predictions=captions, styles=styles)
    assert result["onlystyle_in_sample"] == 0
    assert result["onlystyle_rank"].count(1) / 160 > 0.6  # by chance 0.25


# -- real text --------------------------------------------------------------------------------------------------------
def test_goemotions(shared_folder, load):
    _, test, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    held_out = {variant: load(table=table, variant=variant, top_k=3) for variant in VARIANTS}
    results = {
        name: without_warning(metric, predictions=test.captions, styles=test.styles)
        for name, metric in held_out.items()
    }
    for row in expected["test_rows"]:
        assert test.styles[row["row"]] == row["style"]
        for variant in VARIANTS:
            score = results[variant]["onlystyle_scores"][row["row"]]
            assert score == pytest.approx(row[f"onlystyle_{variant}"], rel=1e-9)
        top = results["paper"]["onlystyle_top_styles"][row["row"]]
        assert [style for style, _ in top] == [style for style, _ in row["top3_paper"]]
        assert [score for _, score in top] == pytest.approx([score for _, score in row["top3_paper"]], rel=1e-9)
        assert results["paper"]["onlystyle_rank"][row["row"]] == row["rank_of_style_paper"]
    means = expected["means"]
    assert results["paper"]["onlystyle"] == pytest.approx(means["onlystyle_paper_own_style_test"], rel=1e-9)
    assert results["paper"]["onlystyle_in_sample"] == expected["test_captions_whose_tokens_occur_in_train"]


def test_goemotions_in_sample_and_left_out(shared_folder, load):
    train, _, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    columns = {"predictions": train.captions, "styles": train.styles}
    inside = without_warning(load(table=table), **columns)
    outside = {v: load(table=table, variant=v, exclude_self=True).compute(**columns) for v in VARIANTS}
    for row in expected["train_rows"]:
        i = row["row"]
        assert train.styles[i] == row["style"]
        assert inside["onlystyle_scores"][i] == pytest.approx(row["onlystyle_paper"], rel=1e-9)
        for variant in VARIANTS:
            score = outside[variant]["onlystyle_scores"][i]
            assert score == pytest.approx(row[f"onlystyle_{variant}_exclude_self"], rel=1e-9)
    means = expected["means"]
    assert inside["onlystyle"] == pytest.approx(means["onlystyle_paper_own_style_train_in_sample"], rel=1e-9)
    assert outside["paper"]["onlystyle"] == pytest.approx(
        means["onlystyle_paper_own_style_train_exclude_self"], rel=1e-9
    )
    assert inside["onlystyle_in_sample"] == len(train)
    assert math.isclose(inside["onlystyle"], 0.494, abs_tol=0.005)
