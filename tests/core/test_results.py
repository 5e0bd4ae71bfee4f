"""The result dictionary and its exporters."""

import json
import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from vlgauge.core.errors import UsageError
from vlgauge.core.results import (
    PValue,
    format_value,
    mean_of_defined,
    plain,
    pvalue_text,
    result_record,
    row_keys,
    to_json,
    to_table,
    without_nan,
)

NAN = math.nan


@dataclass
class Pair:
    """Object that a metric may return as a detail."""

    left: tuple
    right: np.ndarray


def kinds(value):
    """Return the types of a value and of everything in it."""
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return {type(value)}.union(*map(kinds, items))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (np.array(0.5), 0.5),
        (np.array([{"a": np.int8(1)}, None], dtype=object), [{"a": 1}, None]),
        ((1, (2, [np.float64(3)])), [1, [2, [3.0]]]),
        ({1: {np.str_("k"): (np.uint8(7),)}}, {"1": {"k": [7]}}),
        (Pair((1,), np.zeros(2)), {"left": [1], "right": [0.0, 0.0]}),
        ([Pair((), np.zeros(0))], [{"left": [], "right": []}]),
        (None, None),
    ],
)
def test_plain_leaves_nothing_but_plain_python(value, expected):
    assert plain(value) == expected
    assert kinds(plain(value)) <= {dict, list, str, int, float, bool, type(None)}


@pytest.mark.parametrize(
    ("scores", "mean"), [([1.0, 2.0, 6.0], 3.0), ([1.0, NAN, 2.0], 1.5), ([0.1] * 10, 0.1), ([math.inf, 1.0], math.inf)]
)
def test_mean_leaves_out_what_is_undefined(scores, mean):
    assert mean_of_defined(scores) == mean


@pytest.mark.parametrize("scores", [[], [NAN], [NAN, NAN]])
def test_mean_of_nothing_is_nan(scores):
    assert math.isnan(mean_of_defined(scores))


def test_record_has_the_four_keys_then_the_others_with_prefix():
    record = result_record("m", np.array([1, np.nan, 4], np.float32), "m|0.1.0", {"pvalues": np.ones(2), "note": None})
    assert list(record) == ["m", "m_scores", "m_undefined", "m_signature", "m_pvalues", "m_note"]
    assert str(list(record.values())) == "[2.5, [1.0, nan, 4.0], 1, 'm|0.1.0', [1.0, 1.0], None]"
    assert kinds(record) == {dict, list, str, float, int, type(None)}


def test_json_is_strict_and_has_null_for_nan():
    record = {"m": NAN, "m_scores": (1.0, math.inf, -math.inf), "m_details": [{"a": np.array([NAN, 2])}]}
    assert json.loads(to_json(record)) == {"m": None, "m_scores": [1.0, None, None], "m_details": [{"a": [None, 2.0]}]}


def test_without_nan_leaves_the_rest():
    assert without_nan({"a": [1, 2.5, "nan", True, None]}) == {"a": [1, 2.5, "nan", True, None]}


def test_table_is_aligned_with_numbers_on_the_right():
    table = to_table(["name", "score", "n"], [["a", 0.5, 3], ["long name", NAN, None], ["b\nc", -12.34567, 10]])
    assert table.splitlines() == [
        "name           score   n",
        "---------  ---------  --",
        "a             0.5000   3",
        "long name  undefined",
        "b c         -12.3457  10",
    ]


def test_column_with_a_text_in_it_stands_on_the_left():
    assert to_table(["x"], [[1], ["text"]]).splitlines() == ["x", "----", "1", "text"]


def test_table_without_rows_has_its_header():
    assert to_table(["a", "bc"], []).splitlines() == ["a  bc", "-  --"]


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [(0.05, "0.0500"), (0.00099, "9.9e-04"), (NAN, "-"), (1e-300, "1.0e-300"), (0.0, "< 1.0e-300"), (1.0, "1.0000")],
)
def test_a_pvalue_keeps_its_digits_and_is_never_zero(pvalue, text):
    assert pvalue_text(pvalue) == text


def test_a_pvalue_at_its_floor_has_a_mark():
    assert pvalue_text(1e-4, least=1e-4) == "\N{LESS-THAN OR EQUAL TO} 1.0e-04"
    assert pvalue_text(3e-4, least=1e-4, raw=1e-4) == "\N{LESS-THAN OR EQUAL TO} 3.0e-04"
    assert pvalue_text(2e-4, least=1e-4) == "2.0e-04"


def test_tables_show_pvalues_by_their_keys():
    numbers = {"trm_pvalue": 1e-5, "pvalue": 0.0, "trm_mean_log_pvalue": -1e-6, "trm_undefined": 0}
    table = to_table(["result", "value"], [[key, format_value(key, value)] for key, value in numbers.items()])
    assert [line.split(maxsplit=1)[1] for line in table.splitlines()[2:]] == ["1.0e-05", "< 1.0e-300", "0.0000", "0"]
    assert to_json({"p": PValue(0.25)}) == '{\n  "p": 0.25\n}'


def test_ids_as_texts():
    assert row_keys(["a", 1, 1.5, None, True, [1], {"b": 2}]) == ["a", "1", "1.5", "null", "true", "[1]", '{"b": 2}']


@pytest.mark.parametrize("one", [date(2026, 1, 2), Decimal(1), b"a", {1}], ids=repr)
def test_an_id_that_is_no_value_of_json_is_refused(one):
    with pytest.raises(UsageError, match=f"got {type(one).__name__}"):
        row_keys(["a", one])
