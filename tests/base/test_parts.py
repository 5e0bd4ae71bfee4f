"""What single rows add to the result of a corpus."""

import math
import random

import numpy as np
import pytest

from vlgauge.base.parts import Parts, added_counts, from_grid, joined, on_grid, parts_of_row


def test_each_form_of_a_value_has_its_place():
    result = {
        **{"m": 0.5, "m_scores": [0.5], "m_undefined": 0, "m_signature": "m|v:1", "m_other": 0.25},
        **{"m_count": 3, "m_rank": [2], "m_best": [[["a", 0.5]]], "m_styles": ["a", "b"], "m_details": [{}]},
    }
    parts = parts_of_row(result)
    assert parts.columns == {"m_scores": [0.5], "m_other": [0.25], "m_rank": [2], "m_best": [[["a", 0.5]]]}
    assert (parts.means, parts.sums) == ({"m_other"}, {"m_count": 3})
    assert parts.texts == {"m_signature": {"m|v:1"}, "m_styles": {'["a", "b"]'}}


def test_a_row_without_a_value_has_nan():
    found = joined([Parts(2, {"a": [1.0, 2.0]}), Parts(1, {"b": [3.0]})])
    assert found.n_rows == 3
    assert found.columns["a"][:2] == [1.0, 2.0]
    assert math.isnan(found.columns["a"][2])
    assert [math.isnan(cell) for cell in found.columns["b"]] == [True, True, False]


def test_sums_on_the_grid_have_no_order_and_do_not_overflow():
    rng = np.random.default_rng(0)
    parts = [Parts(1, {}, draws={"": on_grid(rng.normal(size=5) * 10.0 ** rng.integers(-9, 30))}) for _ in range(40)]
    expected = joined(parts).draws
    random.Random(0).shuffle(parts)
    assert joined([joined(parts[:7]), joined(parts[7:])]).draws == expected
    values = rng.normal(size=(50, 5))
    total = joined(Parts(1, {}, draws={"": on_grid(row)}) for row in values).draws[""]
    np.testing.assert_allclose(from_grid(total), values.sum(axis=0), rtol=0, atol=50 * 2.0**-41)


@pytest.mark.parametrize("large", [2.0**60, 1e300])
def test_large_values_are_whole_numbers_of_steps(large):
    assert from_grid(on_grid([large, -large])).tolist() == [large, -large]


def test_counts_are_added_by_table_and_key():
    tables = [{"n": {"all": 2}, "df": {"a": 1}}, {"n": {"all": 3}, "df": {"a": 2, "b": 1}}]
    assert added_counts(tables) == added_counts(tables[::-1]) == {"n": {"all": 5}, "df": {"a": 3, "b": 1}}
