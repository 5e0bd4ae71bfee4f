"""Numbers of samples and rows that tests require."""

from fractions import Fraction

import pytest

from vlgauge.stats import (
    alpha,
    can_be_significant,
    default_resamples,
    holm,
    is_significant,
    min_resamples,
)
from vlgauge.stats.significance import check_enough_resamples


def test_a_level_is_read_as_it_is_written():
    assert [alpha(level) for level in (0.9, 0.95, 0.99)] == [Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)]
    assert 1 - 0.9 < 0.1  # why
    assert is_significant(0.1, 0.9)
    assert is_significant(holm([0.1 / 3] * 3)[0], 0.9)
    assert not is_significant(0.1001, 0.9)
    assert not is_significant(float("nan"), 0.9)


@pytest.mark.parametrize(
    ("n_tests", "level", "sides", "enough"),
    [
        (1, 0.95, 1, 10_000),
        (50, 0.95, 1, 10_000),
        (51, 0.95, 1, 10_200),
        (780, 0.95, 1, 156_000),
        (105, 0.99, 1, 105_000),
        (45, 0.95, 2, 10_000),
    ],
)
def test_samples_of_many_tests(n_tests, level, sides, enough):
    assert default_resamples(n_tests, level) == enough
    least = min_resamples(n_tests, level, sides=sides)
    # The minimum p-value with `least` samples is significant, and with one sample less it is not.
    assert is_significant(n_tests * sides / (least + 1), level)
    assert least == 1 or not is_significant(n_tests * sides / least, level)
    check_enough_resamples(least, n_tests, level, by_default=enough, sides=sides)


def test_samples_that_cannot_succeed_are_refused():
    message = r"^`resamples`.*at least 10559.*got 10000"
    with pytest.raises(ValueError, match=message):
        check_enough_resamples(10_000, 528, 0.95, by_default=105_600)
    with pytest.raises(ValueError, match=r"at least 19.*1 test.*got 18"):
        check_enough_resamples(18, 1, 0.95, by_default=10_000)


@pytest.mark.parametrize(("n_tests", "few"), [(1, 5), (15, 9), (780, 14)])
def test_rows_that_differ_of_which_no_outcome_is_significant(n_tests, few):
    assert not can_be_significant(few, n_tests, 0.95)
    assert can_be_significant(few + 1, n_tests, 0.95)
