import math

import numpy as np
import pytest
import scipy.stats

from vlgauge.statistics import bootstrap_interval, paired_test

RNG = np.random.default_rng(3)
SCORES = RNG.normal(0.3, 1.0, size=40)


def test_interval_equals_scipys():
    ours = bootstrap_interval(SCORES, resamples=20_000)
    rng = np.random.default_rng(1)
    theirs = scipy.stats.bootstrap((SCORES,), np.mean, n_resamples=20_000, method="percentile", rng=rng)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.02)


def test_interval_covers_the_mean_as_often_as_it_says():
    samples = np.random.default_rng(5).exponential(size=(400, 60))
    intervals = [bootstrap_interval(sample, resamples=400, seed=i) for i, sample in enumerate(samples)]
    covered = np.mean([interval.low <= 1.0 <= interval.high for interval in intervals])
    assert 0.905 <= covered <= 0.97


@pytest.mark.parametrize(("items", "share"), [(2, 0.50), (5, 0.83), (10, 0.89), (20, 0.93)])
def test_interval_of_few_items_covers_the_mean_less_often(items, share):
    samples = np.random.default_rng(items).normal(size=(1_000, items))
    intervals = [bootstrap_interval(sample, resamples=500, seed=i) for i, sample in enumerate(samples)]
    assert np.mean([one.low <= 0.0 <= one.high for one in intervals]) == pytest.approx(share, abs=0.035)


def test_undefined_items_are_left_out():
    with_nan = np.insert(SCORES, [3, 10], math.nan)
    assert bootstrap_interval(with_nan) == bootstrap_interval(SCORES)


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, math.nan]])
def test_no_interval_of_fewer_than_two_items(scores):
    assert bootstrap_interval(scores) is None


def test_constant_scores_have_width_zero():
    interval = bootstrap_interval([0.25] * 9)
    assert (interval.low, interval.high) == (0.25, 0.25)


def test_groups_are_drawn_whole():
    # Twenty copies of each of two values say no more than the two values.
    scores, groups = [0.0] * 20 + [1.0] * 20, [0] * 20 + [1] * 20
    interval = bootstrap_interval(scores, groups=groups)
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert bootstrap_interval(scores[:20], groups=groups[:20]) is None
    alone = bootstrap_interval(SCORES, groups=range(40))
    assert alone == bootstrap_interval(SCORES)


@pytest.mark.parametrize("n", [3, 8])
def test_paired_test_equals_scipys_enumeration(n):
    a, b = RNG.normal(size=n), RNG.normal(0.4, 1.0, size=n)
    ours = paired_test(a, b)
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True
    )
    assert ours.exact
    assert ours.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.difference == pytest.approx(theirs.statistic)


def test_worked_example():
    # Differences 1, 2, 3: only the signs as observed and all turned reach |sum| = 6, 2 of 8.
    assert paired_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]).pvalue == 2 / 8
    # Differences 1, 1, -1 tie with every assignment of two equal signs: all of them reach |sum| = 1.
    assert paired_test([1.0, 1.0, -1.0], [0.0, 0.0, 0.0]).pvalue == 1.0


def test_random_flips_come_close_to_all_of_them():
    a, b = RNG.normal(size=12), RNG.normal(0.5, 1.0, size=12)
    every, some = paired_test(a, b), paired_test(a, b, resamples=4_000)
    assert (every.exact, some.exact) == (True, False)
    assert some.pvalue == pytest.approx(every.pvalue, abs=4 * math.sqrt(every.pvalue / 4_000))


def test_swapping_the_systems_keeps_the_pvalue():
    a, b = RNG.normal(size=30), RNG.normal(0.2, 1.0, size=30)
    one, two = paired_test(a, b), paired_test(b, a)
    assert (one.pvalue, one.difference) == (two.pvalue, -two.difference)


def test_pvalue_is_uniform_under_the_null():
    samples = np.random.default_rng(7).normal(size=(600, 2, 10))
    pvalues = [paired_test(a, b).pvalue for a, b in samples]
    assert scipy.stats.kstest(pvalues, "uniform").pvalue > 0.01


def test_the_pvalue_is_never_zero():
    assert paired_test(np.ones(500), np.zeros(500), resamples=99).pvalue == 1 / 100


def test_items_undefined_in_either_system_are_dropped_and_counted():
    test = paired_test([1.0, math.nan, 3.0, 5.0], [0.0, 1.0, math.nan, 1.0])
    assert (test.n_items, test.n_dropped, test.difference) == (2, 2, 2.5)
    empty = paired_test([math.nan], [1.0])
    assert math.isnan(empty.pvalue)
    assert math.isnan(empty.difference)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([1.0, 2.0], level=1.0), "`level` must lie between 0 and 1, got 1.0"),
        (lambda: bootstrap_interval([1.0, 2.0], resamples=0), "`resamples` must be at least 1, got 0"),
        (lambda: bootstrap_interval([1.0, 2.0], groups=[1]), "`groups` must have one label per score, got 1 and 2"),
        (lambda: bootstrap_interval([[1.0, 2.0]] * 3), r"`scores` must be one list of numbers, got shape \(3, 2\)"),
        (lambda: paired_test([[1.0]], [[2.0]]), r"`a` must be one list of numbers, got shape \(1, 1\); pass"),
        (lambda: paired_test([1.0], [1.0, 2.0]), r"`a` and `b` must be two lists of equal length, got shapes \(1,\)"),
        (
            lambda: bootstrap_interval([1.0, -math.inf]),
            "`scores` must hold finite numbers, or NaN for undefined items, got -inf at position 1; leave such items",
        ),
        (lambda: paired_test([math.inf, 1.0], [0.0, 1.0]), "`a` must hold finite numbers, .* got inf at position 0"),
        (lambda: paired_test([1.0, 2.0], [math.inf] * 2), "`b` must hold finite numbers, .* got inf at position 0"),
        (lambda: paired_test([math.inf], [math.inf]), "`a` must hold finite numbers, .* got inf at position 0"),
        (lambda: paired_test([1.0], [1.0], resamples=0), "`resamples` must be at least 1, got 0"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
