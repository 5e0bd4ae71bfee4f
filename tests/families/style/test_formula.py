"""OnlyStyle and StyleCIDEr of single captions and in every style: the formulas, leaving one out."""

import math
import random
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import (
    ASYMMETRIC,
    CAPTIONS,
    CORPORA,
    FEW,
    GOLDEN,
    TOY,
    columns_of,
    definition_of,
    table_of,
)
from style_definition import (
    EXAMPLES as PAIRS,
)
from style_scores import VARIANTS, all_scores, cider_scores, own_scores

from vlgauge.families.style import formula
from vlgauge.families.style.formula import onlystyle_scores, order_scores

SECTIONS = {"toy": TOY, "asymmetric": ASYMMETRIC}


# -- OnlyStyle ---------------------------------------------------------------------------------------------------------
def floats(fractions):
    return {name: float(Fraction(value)) for name, value in fractions.items()}


def test_mean_over_an_order_and_over_the_orders():
    # Caption 0 has two unigrams and a bigram, caption 1 nothing, caption 2 one unigram.
    first = order_scores(np.array([0.5 + 0.25, 0.0, -0.5]), np.array([2, 0, 1]))
    second = order_scores(np.array([0.125, 0.0, 0.0]), np.array([1, 0, 0]))
    none = order_scores(np.zeros(3), np.array([0, 0, 0]))
    assert (first.tolist(), second.tolist(), none.tolist()) == ([0.375, 0, -0.5], [0.125, 0, 0], [0, 0, 0])
    means, sizes = np.stack([first, second, none, none]), np.array([[2, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert onlystyle_scores(means, sizes).tolist() == [0.25, 0.0, -0.5]
    assert onlystyle_scores(means, sizes, "four").tolist() == [0.125, 0.0, -0.125]


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_onlystyle(tables, section, variant):
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
def test_golden_onlystyle_with_one_left_out(tables, row, variant):
    table, tokens = tables[row["corpus"]], [row["caption"].split()]
    own = table.style_ids([row["target_style"]])
    found = all_scores(table, tokens, variant, left_out_of=own)[0]
    assert dict(zip(table.styles, found, strict=True)) == pytest.approx(floats(row[variant]), abs=1e-12)
    alone = own_scores(table, tokens, [row["target_style"]], variant, exclude_self=True)[0]
    assert alone == pytest.approx(floats(row[variant])[row["target_style"]], abs=1e-12)
    assert bool(table.copies(tokens, own)[0]) is row["in_target_style"]


@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=4))
@FEW
def test_onlystyle_equals_the_definition(rows, more):
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
@FEW
def test_onlystyle_with_one_left_out_equals_fitting_again(rows, more):
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


@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=5))
@FEW
def test_bounds_sums_and_variants_of_onlystyle(rows, captions):
    table = table_of(rows)
    n = len(table.styles)
    paper, released = (all_scores(table, captions, variant) for variant in VARIANTS)
    assert paper.sum(axis=1) == pytest.approx(np.zeros(len(captions)), abs=1e-12)
    assert paper.min() >= -1 / n - 1e-12
    assert paper.max() <= (n - 1) / n + 1e-12
    assert released.min() > -1 / (n - 1)
    assert released.max() <= 1 + 1e-12
    if n == 2:
        assert paper[:, 0] == pytest.approx(-paper[:, 1], abs=1e-12)


@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=5), st.randoms(use_true_random=False), st.integers(1, 3))
@FEW
def test_neither_order_nor_batch_matters_in_onlystyle(rows, captions, rng, size):
    table, shuffled = table_of(rows), table_of(rng.sample(rows, len(rows)))
    expected = all_scores(table, captions)
    assert np.array_equal(all_scores(shuffled, captions), expected)
    with patch("vlgauge.families.style.scoring.BLOCK", size):
        assert np.array_equal(all_scores(table, captions), expected)
    style = table.styles[0]
    scores = own_scores(table, captions, [style] * len(captions))
    for i, caption in enumerate(captions):
        assert own_scores(table, [caption], [style])[0] == scores[i]
    assert scores == pytest.approx(expected[:, 0], abs=1e-12)


# -- StyleCIDEr --------------------------------------------------------------------------------------------------------
def test_cosine_of_two_vectors():
    # Candidate (3, 4), reference (3, 12) that shares the first entry; then one that shares nothing, and an empty one.
    candidates = (np.array([3.0, 4.0]), np.array([0, 0]))
    references = (np.array([3.0, 12.0, 2.0]), np.array([0, 0, 1]))
    shared = np.array([True, False, False])
    found = formula.ngram_cosines(candidates, references, shared, np.array([0, 0, 0]))
    assert found == pytest.approx([9 / (5 * math.sqrt(153)), 0, 0], abs=1e-15)


def test_cosine_of_nothing():
    none = (np.array([]), np.array([], int))
    assert formula.ngram_cosines(none, none, np.array([], bool), np.array([], int)).tolist() == []
    assert formula.ngram_cosines(none, none, np.array([], bool), np.array([0, 1])).tolist() == [0.0, 0.0]


def test_mean_over_references_of_each_example():
    found = formula.mean_over_references(np.array([0.5, 1.0, 0.25]), np.array([0, 0, 2]), 4)
    assert found.tolist() == pytest.approx([0.75, math.nan, 0.25, math.nan], nan_ok=True)


@given(CORPORA, PAIRS, st.randoms(use_true_random=False))
@FEW
def test_stylecider_equals_the_definition(rows, pairs, rng):
    table, definition = table_of(rows), definition_of(rows)
    pairs = [*pairs, (rows[0][0], [caption for caption, _ in rows[:3]])]
    examples = [(caption, references, rng.choice(table.styles)) for caption, references in pairs]
    for variant in VARIANTS:
        expected = [definition.stylecider(*example, variant) for example in examples]
        assert cider_scores(table, examples, variant) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(CORPORA, st.randoms(use_true_random=False))
@FEW
def test_stylecider_with_one_left_out_equals_fitting_again(rows, rng):
    table, definition = table_of(rows), definition_of(rows)
    examples = []
    for caption, style in rows:
        references = [rng.choice(rows)[0] for _ in range(rng.randrange(3))]
        examples.append((caption, references, style if rng.random() < 0.8 else rng.choice(table.styles)))
    for variant in VARIANTS:
        expected = [
            definition.without(caption, style).stylecider(caption, references, style, variant)
            for caption, references, style in examples
        ]
        found = cider_scores(table, examples, variant, exclude_self=True)
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_frequent_ngrams_of_references_with_a_rare_caption_left_out():
    # m(6) is needed for captions whose x are 1 and 2, spaced by five: 6 is the position of the next example's 1.
    rows = [(["r", "s"], "x"), (["r", "t"], "x"), (["w"], "y"), *[(["a"], "x")] * 5]
    table, definition = table_of(rows), definition_of(rows)
    examples = [(rows[0][0], [["r", "a"]], "x"), (rows[1][0], [["a", "r", "a"]], "x")]
    expected = [definition.without(c, s).stylecider(c, references, s) for c, references, s in examples]
    assert cider_scores(table, examples, exclude_self=True) == pytest.approx(expected, abs=1e-12)


@given(CORPORA, CAPTIONS, CAPTIONS)
@FEW
def test_range_and_symmetry_of_stylecider(rows, a, b):
    table = table_of(rows)
    for style in table.styles:
        for variant, top in (("paper", 1.0), ("released", 10.0)):
            forth, back, same = cider_scores(table, [(a, [b], style), (b, [a], style), (a, [a], style)], variant)
            assert forth == pytest.approx(back, abs=1e-12)
            assert 0.0 <= forth <= top
            # If there is no penalty, a caption agrees with itself in every order with a nonzero weight.
            assert same / top * 4 == pytest.approx(round(same / top * 4), abs=1e-12)


@given(CORPORA, PAIRS, st.randoms(use_true_random=False))
@FEW
def test_neither_batch_nor_doubling_nor_order_of_references_matters(rows, pairs, rng):
    table = table_of(rows)
    examples = [(caption, references, table.styles[0]) for caption, references in pairs]
    scores = cider_scores(table, examples)
    assert [cider_scores(table, [example])[0] for example in examples] == pytest.approx(scores, abs=0, nan_ok=True)
    doubled = [(caption, references * 2, style) for caption, references, style in examples]
    assert cider_scores(table, doubled) == pytest.approx(scores, abs=1e-12, nan_ok=True)
    mixed = [(caption, rng.sample(references, len(references)), style) for caption, references, style in examples]
    assert cider_scores(table, mixed) == pytest.approx(scores, abs=1e-12, nan_ok=True)


def test_thousands_of_references(tables):
    # Many examples with different numbers of references, against the definition on a sample.
    rng = random.Random(0)
    corpus = ASYMMETRIC["corpus"]
    captions, styles = columns_of(corpus)
    rows = [(caption.split(), style) for caption, style in zip(captions, styles, strict=True)]
    table, definition = tables["asymmetric"], definition_of(rows)
    examples = [
        (rng.choice(rows)[0], [rng.choice(rows)[0] for _ in range(rng.randrange(4))], rng.choice(table.styles))
        for _ in range(2000)
    ]
    scores = cider_scores(table, examples)
    for i in range(0, 2000, 67):
        assert scores[i] == pytest.approx(definition.stylecider(*examples[i]), abs=1e-12, nan_ok=True)
