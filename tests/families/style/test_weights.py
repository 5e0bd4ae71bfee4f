"""Counts and weights of the style table."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from style_definition import (
    CORPORA,
    FEW,
    GOLDEN,
    TOY,
    columns_of,
    definition_of,
    ngrams,
    table_of,
)

from vlgauge.families.style import StyleTable
from vlgauge.families.style.weights import contrastive_weights, rows_among


@given(CORPORA)
@FEW
def test_counts_and_weights_equal_the_definition(rows):
    table, definition = table_of(rows), definition_of(rows)
    for n, counts in zip((1, 2, 3, 4), table.orders, strict=True):
        found = sorted(set().union(*(ngrams(caption, n) for caption, _ in rows)))
        assert len(counts.keys) == len(found)
        for style in range(len(table.styles)):
            name = table.styles[style]
            known = counts.evidence(np.arange(len(found)), np.full(len(found), style))
            assert known.df.tolist() == [definition.f[name, ngram] for ngram in found]
            assert known.occurrences.tolist() == [
                sum(definition.f[other, ngram] > 0 for other in table.styles) for ngram in found
            ]
            assert known.ecdf == pytest.approx([float(definition.ecdf(ngram, name)) for ngram in found], abs=1e-15)
            for variant in ("paper", "released"):
                expected = [float(definition.cng(ngram, name, variant)) for ngram in found]
                assert known.weights(len(table.styles), variant) == pytest.approx(expected, abs=1e-12)


def test_rows_among_nothing():
    assert rows_among(np.array([], np.int64), np.array([3, 1])).tolist() == [-1, -1]


def test_orders_without_any_ngram():
    table = StyleTable.fit(["one", "two"], ["x", "y"])
    assert [len(counts.keys) for counts in table.orders] == [2, 0, 0, 0]
    assert table.orders[3].totals.dtype == np.float64
    assert table.score_matrix(["one", "one two", ""]).tolist() == [[0.5, -0.5], [0.0, 0.0], [0.0, 0.0]]


def test_golden_frequencies_and_ecdf(toy):
    for style, orders in TOY["document_frequencies_F"].items():
        for n, expected in orders.items():
            counts, place = toy.orders[int(n) - 1], toy.style_id(style)
            assert sorted(counts.df[counts.styles == place].tolist()) == sorted(expected)
    for style, orders in TOY["ecdf"].items():
        for n, expected in orders.items():
            counts, place = toy.orders[int(n) - 1], toy.style_id(style)
            pairs = counts.styles == place
            found = dict(zip(counts.df[pairs].tolist(), counts.ecdf[pairs].tolist(), strict=True))
            assert found == pytest.approx({int(f): float(Fraction(e)) for f, e in expected.items()}, abs=1e-15)


@pytest.mark.parametrize("ngram", TOY["cng"])
def test_golden_cng(toy, ngram):
    expected = TOY["cng"][ngram]
    for variant in ("paper", "released"):
        weights = {style: float(Fraction(value)) for style, value in expected[variant].items()}
        assert toy.cng(ngram, variant=variant) == pytest.approx(weights, abs=1e-12)
        assert {style: toy.cng(ngram, style, variant) for style in toy.styles} == toy.cng(ngram, variant=variant)


def test_cng_of_an_ngram_that_no_style_has_is_0(toy):
    assert toy.cng("zebra") == {"A": 0.0, "B": 0.0, "C": 0.0}
    assert toy.cng("sun love", "A") == 0.0


def test_evenly_spread_ngram_weighs_exactly_0():
    table = StyleTable.fit(*columns_of(GOLDEN["even_spread"]["corpus"]))
    assert table.cng("the") == {"A": 0.0, "B": 0.0, "C": 0.0}


def test_residue_of_an_even_spread_is_removed():
    residues = 0
    for n_styles in (3, 6, 7, 11, 49):
        for rarer in range(1, 5):
            # In every style "even" is in one caption, like some words; one more word is in two.
            words = " ".join(f"w{i}" for i in range(rarer))
            rows = [(f"{text} s{s}", f"style {s}") for s in range(n_styles) for text in (f"even {words} t{s}", f"t{s}")]
            table = StyleTable.fit(*zip(*rows, strict=True))
            share = (rarer + 1) / (rarer + 3)
            residues += np.cumsum([share] * n_styles)[-1] / n_styles != share  # one after the other
            assert set(table.cng("even").values()) == {0.0}
    assert residues > 3


def test_smallest_weights_are_kept():
    weights = contrastive_weights(np.array([1, 1]), np.array([2e-13, 2e-14]), np.zeros(2), np.array([1, 1]), 2)
    assert weights.tolist() == [2e-13, 0.0]
