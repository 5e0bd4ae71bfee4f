"""Queries of the style table, and its counts of real text."""

from itertools import pairwise

import pytest
from script_modules import script_module
from style_definition import (
    GOLDEN,
    goemotions,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.cng("", "A"), "`ngram` must have 1 to 4 tokens, got 0 in ''"),
        (lambda t: t.cng("a b c d e"), "`ngram` must have 1 to 4 tokens, got 5 in 'a b c d e'"),
        (lambda t: t.cng("a", "Q"), "`style` is 'Q', not one of the table's 3 styles; they are: 'A', 'B', 'C'"),
        (lambda t: t.cng("a", "A", "print"), "`variant` must be one of 'paper', 'released', got 'print'"),
        (lambda t: t.top_ngrams("A", 5), "`order` must be 1 to 4, got 5"),
        (lambda t: t.top_ngrams("a"), "`style` is 'a', not one of the table's 3 styles; near matches: 'A'"),
        (lambda t: t.top_ngrams("A", variant=""), "`variant` must be one of"),
        (lambda t: t.explain("a", "Q"), "`style` is 'Q'"),
        (lambda t: t.explain("a", "x" * 1000), f"`style` is '{'x' * 119}..., not one of"),
        (lambda t: t.explain("a", "A", "x"), "`variant` must be one of"),
        (lambda t: t.explain(3, "A"), "`caption` must be a string, got int"),
        (lambda t: t.cng(None, "A"), "`ngram` must be a string, got NoneType"),
        (lambda t: t.top_ngrams("A", k=-1), "`k` must be a whole number of at least 1, got -1"),
        (lambda t: t.top_ngrams("A", k=2.5), "`k` must be a whole number of at least 1, got 2.5"),
        (lambda t: t.top_ngrams("A", 1.0), "`order` must be 1 to 4, got 1.0"),
        (lambda t: t.score_matrix("i love it"), "`captions` must be a list of strings, got one string; wrap it"),
        (lambda t: t.score_matrix([], "x"), "`variant` must be one of"),
        (lambda t: t.score_matrix([["a"]]), r"`captions\[0\]` must be a string, got list"),
        (lambda t: t.score_matrix(["a"], "x"), "`variant` must be one of"),
        (lambda t: t.score_matrix(["a", None]), r"`captions\[1\]` must be a string, got NoneType"),
    ],
)
def test_wrong_queries_are_refused(toy, call, message):
    with pytest.raises(ValueError, match=message):
        call(toy)


def test_score_matrix_of_nothing(toy):
    assert toy.score_matrix([]).shape == (0, 3)


def test_goemotions_counts(shared_folder):
    train, test, table = goemotions(shared_folder)
    expected = GOLDEN["goemotions"]
    assert {"train": len(train), "test": len(test)} == expected["rows"]
    assert sum(map(len, table.tokenize(train.captions))) == expected["train_tokens"]
    assert [len(counts.keys) for counts in table.orders] == expected["distinct_ngrams_by_order"]
    assert [len(counts.df) for counts in table.orders] == expected["ngram_style_pairs_by_order"]
    for ngram, facts in expected["cng"].items():
        for variant in ("paper", "released"):
            weights = {style: table.cng(ngram, style, variant) for style in facts[variant]}
            assert weights == pytest.approx(facts[variant], rel=1e-9)
        assert {w.ngram: (w.df, w.occurrences) for w in table.explain(ngram, "joy")} == {
            ngram: (facts["df"]["joy"], facts["occ"])
        }


def test_generated_corpus_has_the_counts_of_the_specification():
    bench = script_module("bench/style.py")
    expected = GOLDEN["speed_corpus"]
    captions, _ = bench.generated_corpus(expected["captions"], 215)
    assert sum(map(len, captions)) == pytest.approx(expected["tokens"], rel=0.02)
    bigrams = {pair for caption in captions for pair in pairwise(caption)}
    assert len(bigrams) == pytest.approx(expected["distinct_ngrams_by_order"][1], rel=0.02)
