"""StyleCIDEr: formulas, references of all kinds, leaving one out, and the module."""

import importlib.util
import json
import math
import random
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
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
SPEC = importlib.util.spec_from_file_location("stylecider_formulas", ROOT / "metrics" / "stylecider" / "stylecider.py")
formulas = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(formulas)

SECTIONS = {"toy": TOY, "asymmetric": ASYMMETRIC, "even_spread": GOLDEN["even_spread"]}
CORPORA_BY_NAME = {name: section["corpus"] for name, section in SECTIONS.items()} | GOLDEN["exclude_self"]["corpora"]


@pytest.fixture(scope="module")
def tables():
    return {name: StyleTable.fit(*columns_of(corpus)) for name, corpus in CORPORA_BY_NAME.items()}


@pytest.fixture(scope="module")
def load():
    return lambda config=None, **options: vlgauge.load("stylecider", config, keep_in_memory=True, **options)


@pytest.fixture
def toy_metric(tables, load):
    return load(table=tables["toy"])


def scores_of(table, examples, variant="paper", *, exclude_self=False):
    """Scores of (tokens, list of references, style), by the formulas of the metric."""
    captions, references, styles = zip(*examples, strict=True)
    ids = table.style_ids(styles)
    of = np.repeat(np.arange(len(captions)), [len(row) for row in references])
    flat = [reference for row in references for reference in row]
    own = ngrams.weighted_ngrams(table, captions, ids, variant, exclude_self=exclude_self)
    theirs = ngrams.weighted_references(table, flat, of, own, ids, variant)
    cosines = [
        formulas.ngram_cosines((a.weights, a.grams.captions), (b.weights, b.grams.captions), shared, of)
        for a, (b, shared) in zip(own, theirs, strict=True)
    ]
    penalties = None
    if variant == "authors":
        lengths, others = (np.array([len(row) for row in rows], int) for rows in (captions, flat))
        penalties = ngrams.length_penalties(lengths[of], others)
    parts = formulas.reference_scores(np.stack(cosines), penalties)
    return formulas.mean_over_references(parts, of, len(captions))


def quiet(metric, **columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return metric.compute(**columns)


# -- worked by hand ---------------------------------------------------------------------------------------------------
def test_cosine_of_two_vectors():
    # Candidate (3, 4), reference (3, 12) that shares the first entry; then one that shares nothing, and an empty one.
    candidates = (np.array([3.0, 4.0]), np.array([0, 0]))
    references = (np.array([3.0, 12.0, 2.0]), np.array([0, 0, 1]))
    shared = np.array([True, False, False])
    found = formulas.ngram_cosines(candidates, references, shared, np.array([0, 0, 0]))
    assert found == pytest.approx([9 / (5 * math.sqrt(153)), 0, 0], abs=1e-15)


def test_cosine_of_nothing():
    none = (np.array([]), np.array([], int))
    assert formulas.ngram_cosines(none, none, np.array([], bool), np.array([], int)).tolist() == []
    assert formulas.ngram_cosines(none, none, np.array([], bool), np.array([0, 1])).tolist() == [0.0, 0.0]


def test_mean_over_references_of_each_example():
    found = formulas.mean_over_references(np.array([0.5, 1.0, 0.25]), np.array([0, 0, 2]), 4)
    assert found.tolist() == pytest.approx([0.75, math.nan, 0.25, math.nan], nan_ok=True)


def test_length_penalty():
    found = ngrams.length_penalties(np.array([5, 1, 0, 0, 13]), np.array([5, 0, 0, 7, 1]))
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
EXAMPLES = st.lists(st.tuples(CAPTIONS, st.lists(CAPTIONS, max_size=3)), min_size=1, max_size=4)


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


# -- degenerate input -------------------------------------------------------------------------------------------------
def test_empty_captions_references_and_lists(toy_metric):
    result = toy_metric.compute(
        predictions=["", "love now", "love now", "...", "zebra", "love now"],
        references=["love", "", [], [], "zebra", ["love", ""]],
        styles=["A"] * 6,
    )
    expected = [0.0, 0.0, math.nan, math.nan, 0.0, 0.125]
    assert result["stylecider_scores"] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert result["stylecider"] == pytest.approx(0.03125)
    assert (result["stylecider_undefined"], result["stylecider_no_evidence"]) == (2, 3)


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
    top = 10 if variant == "authors" else 1
    assert metric.compute(**columns)["stylecider_scores"] == pytest.approx([0.25 * top, 0.125 * top], abs=1e-12)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"references": [3]}, r"`references\[0\]` must be a list of captions, got int"),
        ({"references": [None]}, r"`references\[0\]` must be a list of captions, got NoneType"),
        ({"references": [["a", None]]}, r"`references\[0\]\[1\]` must be a caption \(str\), got NoneType"),
        ({"references": ["\ud800"]}, r"`references\[0\]\[0\]` must be valid Unicode"),
        ({"references": "a"}, "`references` must be a list with one row per example, got str"),
        ({"references": None}, "`references` is missing: stylecider needs `predictions` and `styles` and `references`"),
        ({"references": ["a", "b"]}, "`references` must have one row per row of `predictions`, got 2 and 1"),
        ({"predictions": [None]}, r"`predictions\[0\]` must be a string, got NoneType"),
        ({"styles": ["a"]}, r"`styles\[0\]` is 'a', not one of the table's 3 styles; near matches: 'A'"),
    ],
)
def test_wrong_columns_are_refused(toy_metric, columns, message):
    with pytest.raises(ValueError, match=message):
        toy_metric.compute(**{"predictions": ["a"], "references": ["a"], "styles": ["A"]} | columns)


@pytest.mark.parametrize(("name", "value"), [("orders", "four"), ("top_k", 1), ("return_style_matrix", True)])
def test_settings_of_onlystyle_are_unknown(load, name, value):
    with pytest.raises(TypeError, match=f"`{name}` is no setting of stylecider"):
        load(**{name: value})


# -- the module -------------------------------------------------------------------------------------------------------
def test_result_has_the_keys_of_every_metric(load, tables, no_sockets):
    table = tables["toy"]
    result = load(table=table).compute(predictions=["love now"], references=[["love", "i hate it"]], styles=["A"])
    assert list(result) == [
        *("stylecider", "stylecider_scores", "stylecider_undefined", "stylecider_signature", "stylecider_in_sample"),
        *("stylecider_references_in_sample", "stylecider_no_evidence"),
    ]
    assert (result["stylecider_in_sample"], result["stylecider_references_in_sample"]) == (0, 1)
    assert result["stylecider_signature"] == (
        f"stylecider|{vlgauge.__version__}|config:default|variant:paper|exclude_self:False|n:4|tok:words-1|styles:3|"
        f"captions:6|table:{table.fingerprint}"
    )
    assert json.dumps(result)


def test_references_in_sample_alone_give_no_warning(toy_metric):
    result = toy_metric.compute(predictions=["love now"], references=["i love it"], styles=["A"])
    assert result["stylecider_references_in_sample"] == 1
    with pytest.warns(UserWarning, match="1 of 1 predictions .* their stylecider is inflated"):
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


@given(CORPORA, EXAMPLES)
@settings(deadline=None, max_examples=40)
def test_explanations_add_up_to_the_scores(rows, pairs):
    table = table_of(rows)
    metric = vlgauge.load("stylecider", table=table, keep_in_memory=True)
    authors = vlgauge.load("stylecider", table=table, variant="authors", exclude_self=True, keep_in_memory=True)
    pairs = [*pairs, (rows[0][0], [rows[0][0], rows[-1][0]])]
    columns = {
        "predictions": [" ".join(caption) for caption, _ in pairs],
        "references": [[" ".join(reference) for reference in references] for _, references in pairs],
        "styles": [rows[0][1]] * len(pairs),
    }
    for scorer in (metric, authors):
        result = quiet(scorer, **columns, return_details=True)
        for score, row, (caption, references) in zip(
            result["stylecider_scores"], result["stylecider_details"], pairs, strict=True
        ):
            assert row["tokens"] == caption
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
    scores = scores_of(table, examples)
    for i in range(0, 2000, 67):
        assert scores[i] == pytest.approx(definition.stylecider(*examples[i]), abs=1e-12, nan_ok=True)


# -- real text --------------------------------------------------------------------------------------------------------
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
