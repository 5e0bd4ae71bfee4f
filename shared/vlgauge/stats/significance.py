"""What several tests need to find anything: a level, enough samples, and enough rows that differ."""

from __future__ import annotations

import math
from fractions import Fraction

from vlgauge.core.errors import UsageError

LEAST_SAMPLES = 10_000

# Samples beyond the fewest that can show a significant p-value.
_TIMES = 10

# Rounding of a p-value and of its correction.
_SLACK = 1e-9


def alpha(level: float) -> Fraction:
    """One minus the level as it is written: 1 - .9 is a tenth, where floats make it a little less."""
    return 1 - Fraction(repr(float(level)))


def is_significant(pvalue: float, level: float) -> bool:
    """Whether a p-value, corrected for its family, is at most one minus the level; not if it is NaN."""
    return pvalue <= float(alpha(level)) * (1.0 + _SLACK)


def least_resamples(n_tests: int, level: float, *, sides: int = 1) -> int:
    """Fewest samples with which one of several tests can be significant after Holm's correction.

    Args:
        n_tests: Number of tests that are corrected for.
        level: Tests are significant at one minus it.
        sides: 1 for a test by random assignments, whose least p-value is 1 / (samples + 1); 2 for one that reads both
            ends of a bootstrap.
    """
    return max(1, math.ceil(sides * n_tests / alpha(level)) - 1)


def enough_resamples(n_tests: int, level: float) -> int:
    """Random assignments that tests take by themselves: ten times those that can be significant, at least 10,000.

    Args:
        n_tests: As for `least_resamples`.
        level: As there.
    """
    return max(LEAST_SAMPLES, math.ceil(_TIMES * n_tests / alpha(level)))


def check_enough_resamples(resamples: int, n_tests: int, level: float, *, by_default: int, sides: int = 1) -> None:
    """Refuse a number of samples with which no test can be significant.

    Args:
        resamples: The number.
        n_tests: As for `least_resamples`.
        level: As there.
        by_default: Samples that are taken where nobody says a number.
        sides: As for `least_resamples`.

    Raises:
        ValueError: If there are too few; the message names how many it takes.
    """
    least = least_resamples(n_tests, level, sides=sides)
    if resamples < least:
        raise UsageError(
            f"`resamples` must be at least {least} for {n_tests} {'tests' if n_tests > 1 else 'test'} at level "
            f"{level:g}, with fewer no difference can be significant, got {resamples}; leave it out for {by_default}"
        )


def can_differ(n_differing: int, n_tests: int, level: float) -> bool:
    """Whether so few rows that differ can be significant among several tests: 2 / 2^n times the tests, one level.

    Args:
        n_differing: Number of rows, or of groups of rows, in which two systems differ.
        n_tests: Number of tests that are corrected for.
        level: Tests are significant at one minus it.
    """
    return 2 * n_tests <= alpha(level) * 2**n_differing
