"""Rows of one process. The tests of several are in test_two_processes.py."""

import numpy as np
import pytest
from accelerate import Accelerator

from vlgauge.integrations.accelerate import gather_rows


def test_rows_come_once_and_in_the_order_of_their_ids():
    rows = [(2, "c"), (0, "a"), (1, "b"), (0, "a")]
    assert gather_rows(rows) == gather_rows(rows, Accelerator(cpu=True)) == [(0, "a"), (1, "b"), (2, "c")]
    assert gather_rows([{"id": "y"}, {"id": "x"}]) == [{"id": "x"}, {"id": "y"}]
    assert gather_rows([[np.int64(3), np.ones(2)], [3, np.ones(2)]])[0][0] == 3
    assert gather_rows([]) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [(0, "a"), (0, "b")],
            r"^`rows`.*id 0",
        ),
        ([(0, "a"), ("0", "b")], r"^`rows`.*got int"),
        (["a"], r"^`rows\[0\]`.*got 'a'"),
        ([(0, "a"), ()], r"^`rows\[1\]`"),
        ([{"name": 1}], r"^`rows\[0\]`"),
        ([(True, "a")], r"^`rows\[0\]`"),
        ([(0.5, "a")], r"^`rows\[0\]`"),
        ("rows", r"^`rows`.*list"),
    ],
)
def test_rows_without_an_id_of_their_own_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        gather_rows(rows)
