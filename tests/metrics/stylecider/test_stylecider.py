"""StyleCIDEr: formulas, references of all kinds, leaving one out."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from style_definition import (
    ASYMMETRIC,
    CAPTIONS,
    CORPORA,
    EXAMPLES,
    GOLDEN,
    GOLDEN_CORPORA,
    TOY,
    columns_of,
    definition_of,
    table_of,
)
from style_scores import VARIANTS
from style_scores import cider_scores as scores_of
from style_scores import without_warning as quiet

import vlgauge
from vlgauge import style as ngrams
from vlgauge.distances.cider import length_penalties
from vlgauge.style import StyleTable, formula

SECTIONS = {"toy": TOY, "asymmetric": ASYMMETRIC, "even_spread": GOLDEN["even_spread"]}


@pytest.fixture(scope="module")
def tables():
    return {name: StyleTable.fit(*columns_of(corpus)) for name, corpus in GOLDEN_CORPORA.items()}


@pytest.fixture(scope="module")
def load():
    return lambda config=None, **options: vlgauge.load("stylecider", config, keep_in_memory=True, **options)


@pytest.fixture
def toy_metric(tables, load):
    return load(table=tables["toy"])


# -- worked by hand ---------------------------------------------------------------------------------------------------
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


def test_length_penalty():
    found = length_penalties(np.array([5, 1, 0, 0, 13]), np.array([5, 0, 0, 7, 1]))
    # Lengths are counted without the first token, so that one word is as long as none.
    assert found == pytest.approx([1, 1, 1, math.exp(-36 / 72), math.exp(-144 / 72)], abs=1e-15)


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_scores(tables, load, section, variant):
    metric = load(table=tables[section], variant=variant)
    for row in SECTIONS[section]["stylecider"]:
        columns = {"predictions": [row["candidate"]], "references": [row["references"]], "styles": [row["style"]]}
        assert quiet(metric, **columns)["stylecider"] == pytest.approx(row[variant], abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_scores_with_one_left_out(tables, load, variant):
    for row in GOLDEN["exclude_self"]["stylecider"]:
        metric = load(table=tables[row["corpus"]], variant=variant, exclude_self=True)
        columns = {"predictions": [row["candidate"]], "references": [row["references"]], "styles": [row["style"]]}
        assert metric.compute(**columns)["stylecider"] == pytest.approx(row[variant], abs=1e-12)


def test_golden_norms_and_products(tables):
    table = tables["toy"]
    rows = [row for row in TOY["stylecider"] if "paper_parts_first_reference" in row]
    assert len(rows) > 5
    for row in rows:
        tokens, reference = row["candidate"].split(), row["references"][0].split()
        style = table.style_ids([row["style"]])
        own = ngrams.weighted_ngrams(table, [tokens], style, "paper")
        theirs = ngrams.weighted_references(table, [reference], np.array([0]), own, style, "paper")
        for part, a, (b, shared) in zip(row["paper_parts_first_reference"], own, theirs, strict=True):
            found = [(b.weights[shared] ** 2).sum(), (a.weights**2).sum(), (b.weights**2).sum()]
            keys = ("dot", "candidate_norm_squared", "reference_norm_squared")
            assert found == pytest.approx([float(Fraction(part[key])) for key in keys], abs=1e-12)


def test_neither_term_frequency_nor_available_orders(tables, load):
    key = "paper_if_g_used_term_frequency"
    told_apart = [row for row in TOY["stylecider"] if abs(row["paper"] - row.get(key, row["paper"])) > 1e-6]
    assert told_apart
    metric = load(table=tables["toy"])
    scores = quiet(metric, predictions=["love", "i love it"], references=["love", "i love it"], styles=["A", "A"])
    assert scores["stylecider_scores"] == pytest.approx([0.25, 0.75], abs=1e-15)


# -- the definition ---------------------------------------------------------------------------------------------------


@given(CORPORA, EXAMPLES, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_scores_equal_the_definition(rows, pairs, rng):
    table, definition = table_of(rows), definition_of(rows)
    pairs = [*pairs, (rows[0][0], [caption for caption, _ in rows[:3]])]
    examples = [(caption, references, rng.choice(table.styles)) for caption, references in pairs]
    for variant in VARIANTS:
        expected = [definition.stylecider(*example, variant) for example in examples]
        assert scores_of(table, examples, variant) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(CORPORA, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_leaving_one_out_equals_fitting_again(rows, rng):
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
        found = scores_of(table, examples, variant, exclude_self=True)
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_frequent_ngrams_of_references_with_a_rare_caption_left_out():
    # m(x) is asked for an x far above those of the caption itself.
    rows = [*((["r", "s", "t"], "x"), (["u", "v"], "x"), (["w"], "y")), *[(["a", "b"], "x")] * 6]
    table, definition = table_of(rows), definition_of(rows)
    examples = [
        (rows[0][0], [["a", "b"], ["a", "r"]], "x"),
        (rows[1][0], [["a", "v"]], "x"),
        (["u"], [["a", "u"]], "x"),
    ]
    expected = [definition.without(c, s).stylecider(c, references, s) for c, references, s in examples]
    assert scores_of(table, examples, exclude_self=True) == pytest.approx(expected, abs=1e-12)


# -- properties -------------------------------------------------------------------------------------------------------
@given(CORPORA, CAPTIONS, CAPTIONS)
@settings(deadline=None)
def test_range_and_symmetry(rows, a, b):
    table = table_of(rows)
    for style in table.styles:
        for variant, top in (("paper", 1.0), ("authors", 10.0)):
            forth, back, same = scores_of(table, [(a, [b], style), (b, [a], style), (a, [a], style)], variant)
            assert forth == pytest.approx(back, abs=1e-12)
            assert 0.0 <= forth <= top
            # Without a penalty a caption agrees with itself in every order in which it weighs anything.
            assert same / top * 4 == pytest.approx(round(same / top * 4), abs=1e-12)


@given(CORPORA, EXAMPLES, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_neither_batch_nor_doubling_nor_order_of_references_matters(rows, pairs, rng):
    table = table_of(rows)
    examples = [(caption, references, table.styles[0]) for caption, references in pairs]
    scores = scores_of(table, examples)
    assert [scores_of(table, [example])[0] for example in examples] == pytest.approx(scores, abs=0, nan_ok=True)
    doubled = [(caption, references * 2, style) for caption, references, style in examples]
    assert scores_of(table, doubled) == pytest.approx(scores, abs=1e-12, nan_ok=True)
    mixed = [(caption, rng.sample(references, len(references)), style) for caption, references, style in examples]
    assert scores_of(table, mixed) == pytest.approx(scores, abs=1e-12, nan_ok=True)


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
