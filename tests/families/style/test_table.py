"""Queries of the style table, and its counts of real text."""

import pytest
from style_definition import (
    GOLDEN,
    goemotions,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.cng("", "A"), r"^`ngram`.*1 to 4 tokens.*got 0"),
        (lambda t: t.cng("a b c d e"), r"^`ngram`.*1 to 4 tokens.*got 5"),
        (lambda t: t.cng("a", "Q"), r"^`style`.*3 styles.*'Q'"),
        (lambda t: t.cng("a", "A", "print"), r"^`variant`.*got 'print'"),
        (lambda t: t.top_ngrams("A", 5), r"^`order`.*at most 4.*got 5"),
        (lambda t: t.top_ngrams("a"), r"^`style`.*3 styles.*'a'"),
        (lambda t: t.top_ngrams("A", variant=""), r"^`variant`"),
        (lambda t: t.explain("a", "Q"), "`style` must be one of .*got 'Q'"),
        (lambda t: t.explain("a", "x" * 1000), rf"^`style`.*{'x' * 119}"),
        (lambda t: t.explain("a", "A", "x"), r"^`variant`"),
        (lambda t: t.explain(3, "A"), r"^`caption`.*got int"),
        (lambda t: t.cng(None, "A"), r"^`ngram`.*got NoneType"),
        (lambda t: t.top_ngrams("A", k=-1), r"^`k`.*at least 1.*got -1"),
        (lambda t: t.top_ngrams("A", k=2.5), r"^`k`.*at least 1.*got 2\.5"),
        (lambda t: t.top_ngrams("A", 1.0), r"^`order`.*at least 1.*got 1\.0"),
        (lambda t: t.score_matrix("i love it"), r"^`captions`"),
        (lambda t: t.score_matrix([], "x"), r"^`variant`"),
        (lambda t: t.score_matrix([["a"]]), r"^`captions\[0\]`.*got list"),
        (lambda t: t.score_matrix(["a"], "x"), r"^`variant`"),
        (lambda t: t.score_matrix(["a", None]), r"^`captions\[1\]`.*got NoneType"),
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
