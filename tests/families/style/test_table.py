"""Queries of the style table, and its counts of real text."""

import pytest
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
