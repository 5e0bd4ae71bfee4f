"""OnlyStyle: formulas, the scores of every style, leaving one out."""

import json
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from style_definition import (
    ASYMMETRIC,
    CAPTIONS,
    CORPORA,
    GOLDEN,
    GOLDEN_CORPORA,
    TOY,
    columns_of,
    definition_of,
    table_of,
)
from style_scores import ONLYSTYLE, VARIANTS, all_scores, own_scores, without_warning

import vlgauge
from vlgauge.style import StyleTable
from vlgauge.style.formula import onlystyle_scores, order_scores

SECTIONS = {"toy": TOY, "asymmetric": ASYMMETRIC}


@pytest.fixture(scope="module")
def tables():
    return {name: StyleTable.fit(*columns_of(corpus)) for name, corpus in GOLDEN_CORPORA.items()}


@pytest.fixture(scope="module")
def load():
    return lambda config=None, **options: vlgauge.load("onlystyle", config, keep_in_memory=True, **options)


def floats(fractions):
    return {name: float(Fraction(value)) for name, value in fractions.items()}


# -- worked by hand ---------------------------------------------------------------------------------------------------
def test_mean_over_an_order_and_over_the_orders():
    # Caption 0 has two unigrams and a bigram, caption 1 nothing, caption 2 one unigram.
    first = order_scores(np.array([0.5 + 0.25, 0.0, -0.5]), np.array([2, 0, 1]))
    second = order_scores(np.array([0.125, 0.0, 0.0]), np.array([1, 0, 0]))
    none = order_scores(np.zeros(3), np.array([0, 0, 0]))
    assert (first.tolist(), second.tolist(), none.tolist()) == ([0.375, 0, -0.5], [0.125, 0, 0], [0, 0, 0])
    means, sizes = np.stack([first, second, none, none]), np.array([[2, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert onlystyle_scores(means, sizes).tolist() == [0.25, 0.0, -0.5]
    assert onlystyle_scores(means, sizes, "four").tolist() == [0.125, 0.0, -0.125]


def test_ranks_and_best_styles():
    matrix = np.array([[0.1, 0.3, 0.2], [0.5, 0.5 + 1e-14, 0.1], [0.0, 0.0, 0.0]])
    assert ONLYSTYLE.style_ranks(matrix, np.array([2, 0, 2])).tolist() == [2, 1, 1]
    assert ONLYSTYLE.style_ranks(matrix, np.array([0, 2, 0])).tolist() == [3, 3, 1]
    best = ONLYSTYLE.best_styles(matrix, ["a", "b", "c"], 2)
    assert [[style for style, _ in row] for row in best] == [["b", "c"], ["a", "b"], ["a", "b"]]
    assert best[0] == [["b", 0.3], ["c", 0.2]]
    assert [len(row) for row in ONLYSTYLE.best_styles(matrix, ["a", "b", "c"], 9)] == [3, 3, 3]


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
    with patch("vlgauge.style.scoring.BLOCK", size):
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
        with patch("vlgauge.style.scoring.BLOCK", size):
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
