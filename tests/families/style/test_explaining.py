"""Why a caption has its score, and the n-grams that weigh most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import (
    CAPTIONS,
    CORPORA,
    FEW,
    table_of,
)
from style_scores import own_scores

from vlgauge.families.style import explaining, scoring


def test_top_ngrams(toy):
    best = toy.top_ngrams("A")
    assert best[0] == ("love", 1, 2, 1, pytest.approx(2 / 3))
    assert [weight.ngram for weight in best] == ["love", "i", "sun", "it", "the"]
    assert [weight.cng for weight in best] == sorted((weight.cng for weight in best), reverse=True)
    assert [weight.ngram for weight in toy.top_ngrams("A", 2, k=2)] == ["i love", "love it"]
    assert [weight.ngram for weight in toy.top_ngrams("A", 3)] == ["i love it", "i love the", "love the sun"]
    assert [weight.ngram for weight in toy.top_ngrams("A", min_df=2)] == ["love", "i"]
    assert toy.top_ngrams("A", variant="released")[0].cng == pytest.approx(1)
    assert toy.top_ngrams("A", min_df=9) == []


def test_explain_lists_the_distinct_ngrams_in_reading_order(toy):
    parts = toy.explain("The sun, the zebra!", "A")
    assert [part.ngram for part in parts] == [
        *("the", "sun", "zebra", "the sun", "sun the", "the zebra", "the sun the", "sun the zebra", "the sun the zebra")
    ]
    assert [part.order for part in parts] == [1, 1, 1, 2, 2, 2, 3, 3, 4]
    assert parts[0] == ("the", 1, 1, 3, pytest.approx(-2 / 45))
    assert parts[3] == ("the sun", 2, 1, 2, pytest.approx(7 / 60))
    assert parts[2] == ("zebra", 1, 0, 0, 0.0)
    assert toy.explain("...", "A") == []


@given(CORPORA, CAPTIONS)
@FEW
def test_explain_equals_cng(rows, caption):
    table = table_of(rows)
    for part in table.explain(" ".join(caption), table.styles[0], "released"):
        assert part.cng == table.cng(part.ngram, table.styles[0], "released")


@given(CORPORA, st.lists(CAPTIONS, min_size=1, max_size=3))
@FEW
def test_explanations_add_up_to_onlystyle(rows, captions):
    table = table_of(rows)
    styles = [table.styles[0]] * len(captions)
    for exclude_self in (False, True):
        for orders in ("available", "four"):
            weighted = scoring.weigh_ngrams(
                table, captions, table.style_ids(styles), "paper", exclude_self=exclude_self
            )
            found = list(explaining.caption_explanations(captions, weighted, orders))
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
