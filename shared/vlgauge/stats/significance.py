"""Requirements for significant tests: a level, enough samples, and enough rows that differ."""

import math
from fractions import Fraction

from vlgauge.core.errors import UsageError

LEAST_SAMPLES = 10_000
"""Minimum default number of samples of a test."""

# Factor on the minimum number of samples that can give a significant p-value.
_TIMES = 10

# Rounding error of a p-value and its correction.
_SLACK = 1e-9


def alpha(level: float) -> Fraction:
    """Return one minus the level in decimal arithmetic, because 1 - 0.9 is slightly below 0.1 in floating point."""
    return 1 - Fraction(repr(float(level)))


def is_significant(pvalue: float, level: float) -> bool:
    """Return whether a p-value, corrected for its family, is at most one minus the level. NaN is not significant."""
    return pvalue <= float(alpha(level)) * (1.0 + _SLACK)


def min_resamples(n_tests: int, level: float, *, sides: int = 1) -> int:
    """Return the minimum number of samples with which one of several tests can be significant after Holm's correction.

    Args:
        n_tests: Number of tests that are corrected for.
        level: Confidence level. Tests are significant at one minus the level.
        sides: 1 for a test by random assignments, whose smallest p-value is 1 / (samples + 1), or 2 for a test that
            uses both ends of a bootstrap.
    """
    return max(1, math.ceil(sides * n_tests / alpha(level)) - 1)


def default_resamples(n_tests: int, level: float) -> int:
    """Return the default number of random assignments: ten times the minimum for a significant test, at least 10,000.

    Args:
        n_tests: Number of tests that are corrected for.
        level: Confidence level. Tests are significant at one minus the level.
    """
    return max(LEAST_SAMPLES, math.ceil(_TIMES * n_tests / alpha(level)))


def check_enough_resamples(resamples: int, n_tests: int, level: float, *, by_default: int, sides: int = 1) -> None:
    """Check that a number of samples allows a significant test.

    Args:
        resamples: Number of samples.
        n_tests: Number of tests that are corrected for.
        level: Confidence level. Tests are significant at one minus the level.
        by_default: Default number of samples, for the message.
        sides: 1 for a test by random assignments, or 2 for a test that uses both ends of a bootstrap.

    Raises:
        ValueError: If there are too few samples. The message contains the minimum.
    """
    least = min_resamples(n_tests, level, sides=sides)
    if resamples < least:
        raise UsageError.about(
            "resamples",
            f"must be at least {least} for {n_tests} {'tests' if n_tests > 1 else 'test'} at level {level:g}, "
            f"because fewer cannot make a difference significant, got {resamples}",
            f"omit it for {by_default}",
        )


def can_be_significant(n_differing: int, n_tests: int, level: float) -> bool:
    """Return whether a number of differing rows can be significant among several tests.

    This requires n_tests * 2 / 2^n_differing <= 1 - level.

    Args:
        n_differing: Number of rows, or groups of rows, in which two systems differ.
        n_tests: Number of tests that are corrected for.
        level: Confidence level. Tests are significant at one minus the level.
    """
    return 2 * n_tests <= alpha(level) * 2**n_differing
