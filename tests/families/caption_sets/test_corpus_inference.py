"""Size and power of the corpus p of all three metrics, and coverage of the interval of the excess, by simulation."""

import numpy as np
import pytest
from script_modules import script_module

pytestmark = pytest.mark.slow

ALPHA = 0.05
IMAGES = 100


@pytest.fixture(scope="module")
def power():
    return script_module("studies/distribution_power.py")


@pytest.fixture(scope="module")
def null(power):
    return power.corpus_tests(5, 5, 2_000, images=IMAGES)


@pytest.fixture(scope="module")
def shifted(power):
    """Results in which one image in ten differs by 1 in every coordinate."""
    return power.corpus_tests(5, 5, 500, shifted=IMAGES // 10, images=IMAGES)


def of_the_metrics(power, values):
    """Return the values of the metrics' scores. Separate Q and the baseline are only in the tables of the cards."""
    return [values[power.STATISTICS.index(name)] for name in ("Q", "MMD", "Frechet")]


def test_size_of_the_corpus_p(power, null):
    for size in of_the_metrics(power, np.mean(null.pvalues <= ALPHA, axis=1)):
        assert size == pytest.approx(ALPHA, abs=0.015)


def test_power_where_one_image_in_ten_differs(power, shifted):
    for share in of_the_metrics(power, np.mean(shifted.pvalues <= ALPHA, axis=1)):
        assert share > 0.9


def test_calibrated_harmonic_means_find_nothing(power, null, shifted):
    # Why they are no result of the metrics.
    for tests in (null, shifted):
        assert max(of_the_metrics(power, np.mean(tests.harmonic <= ALPHA, axis=1))) < 0.01


def test_the_interval_of_the_excess_holds_it(power, null, shifted):
    def covered(tests, excess):
        low, high = tests.intervals[:, :, 0], tests.intervals[:, :, 1]
        return of_the_metrics(power, np.mean((low <= excess) & (excess <= high), axis=1))

    for share in covered(null, 0.0):
        assert share == pytest.approx(0.95, abs=0.02)
    # Every corpus has ten images that differ, and the bootstrap takes their number for random: the interval is wider.
    for share in covered(shifted, shifted.excess.mean(axis=1, keepdims=True)):
        assert share > 0.93
