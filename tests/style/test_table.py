"""Queries of the style table, and its counts of real text."""

import pytest
from hypothesis import given, settings
from script_modules import script_module
from style_definition import (
    CORPORA,
    GOLDEN,
    goemotions,
    table_of,
)

from vlgauge.style import StyleTable


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


@given(CORPORA)
@settings(deadline=None, max_examples=40)
def test_weights_keep_their_bounds_and_sum_to_0(rows):
    table = table_of(rows)
    n = len(table.styles)
    for caption, _ in rows:
        for part in table.explain(" ".join(caption), table.styles[0]):
            paper, released = (table.cng(part.ngram, variant=variant) for variant in ("paper", "released"))
            assert sum(paper.values()) == pytest.approx(0, abs=1e-12)
            assert all(-1 / n - 1e-12 <= weight <= (n - 1) / n + 1e-12 for weight in paper.values())
            assert all(-1 / (n - 1) < weight <= 1 + 1e-12 for weight in released.values())
            if n == 2:
                assert paper[table.styles[0]] == pytest.approx(-paper[table.styles[1]], abs=1e-12)


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
    captions, styles = bench.generated_corpus(expected["captions"], 215)
    table = StyleTable.fit(captions, styles)
    assert sum(map(len, captions)) == pytest.approx(expected["tokens"], rel=0.02)
    for counts, distinct, pairs in zip(
        table.orders, expected["distinct_ngrams_by_order"], expected["ngram_style_pairs_by_order"], strict=True
    ):
        assert (len(counts.keys), len(counts.df)) == pytest.approx((distinct, pairs), rel=0.02)
