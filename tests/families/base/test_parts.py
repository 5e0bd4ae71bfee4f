"""Results of some rows of a corpus, and their merge."""

import math

import numpy as np

from vlgauge.families.base.parts import PartialResult, add_counts, merge_partial_results, partial_result


def test_each_form_of_a_value_has_its_place():
    result = {
        **{"m": 0.5, "m_scores": [0.5, math.nan], "m_undefined": 1, "m_signature": "m|v:1", "m_other": 0.25},
        **{"m_count": 3, "m_rank": [2, 1], "m_best": [[["a", 0.5]], []], "m_styles": ["a", "b"], "m_details": [{}] * 2},
    }
    found = partial_result(result, 2, 1)
    assert found.columns == {key: result[key] for key in ("m_scores", "m_rank", "m_best")}
    assert (found.totals, found.sums) == ({"m_other": 0.25}, {"m_count": 3})
    assert found.texts == {"m_signature": {"m|v:1"}, "m_styles": {'["a", "b"]'}}


def test_a_row_without_a_value_has_nan():
    found = merge_partial_results([PartialResult(2, {"a": [1.0, 2.0]}), PartialResult(1, {"b": [3.0]})])
    assert found.n_rows == 3
    assert found.columns["a"][:2] == [1.0, 2.0]
    assert math.isnan(found.columns["a"][2])
    assert [math.isnan(cell) for cell in found.columns["b"]] == [True, True, False]


def test_numbers_of_partial_results_add_up():
    parts = [PartialResult(n, {}, {"k": n}, {"m": n / 4}, {"": np.array([n, 2.0])}) for n in (1, 2, 3)]
    found = merge_partial_results([merge_partial_results(parts[:2]), parts[2]])
    assert (found.n_rows, found.sums, found.totals) == (6, {"k": 6}, {"m": 1.5})
    assert found.draws[""].tolist() == [6.0, 6.0]
    assert parts[0].draws[""].tolist() == [1.0, 2.0]


def test_counts_are_added_by_table_and_key():
    tables = [{"n": {"all": 2}, "df": {"a": 1}}, {"n": {"all": 3}, "df": {"a": 2, "b": 1}}]
    assert add_counts(tables) == add_counts(tables[::-1]) == {"n": {"all": 5}, "df": {"a": 3, "b": 1}}
