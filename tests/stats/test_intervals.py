import math

import numpy as np
import pytest
import scipy.stats

from vlgauge.stats import METHOD, bootstrap_interval, bootstrap_intervals

RNG = np.random.default_rng(3)
SCORES = RNG.normal(0.3, 1.0, size=40)


def ends_by_loops(effects, times, level):
    """Return the ends by the definition, minus the statistic.

    `effects` have mean 0, and `times` are the counts of each effect in each sample.
    """
    n = len(effects)
    variance = sum(u * u for u in effects) / n
    studentised = []
    for row in times:
        mean = sum(k * u for k, u in zip(row, effects, strict=True)) / n
        own = sum(k * (u - mean) ** 2 for k, u in zip(row, effects, strict=True)) / n
        studentised.append(mean / math.sqrt((n * own + variance) / (n + 1)))
    low, high = np.quantile(studentised, [(1 - level) / 2, (1 + level) / 2])
    reach = scipy.stats.t.ppf((1 + level) / 2, n - 1) * math.sqrt(variance * n / (n - 1)) / math.sqrt(n)
    return min(-high * math.sqrt(variance), -reach), max(-low * math.sqrt(variance), reach)


@pytest.mark.parametrize("n", [2, 9, 40])
def test_an_interval_is_at_least_students(n):
    scores = np.random.default_rng(n).exponential(size=n)
    ours = bootstrap_interval(scores, level=0.9)
    theirs = scipy.stats.ttest_1samp(scores, 0.0).confidence_interval(0.9)
    assert ours.low == pytest.approx(theirs.low, rel=1e-9) or ours.low < theirs.low
    assert ours.high > theirs.high * (1 + 1e-9) or n == 2
    assert ours.units == n


@pytest.mark.parametrize("skewed", [lambda u: u, lambda u: -u])
def test_the_side_of_the_long_tail_is_longer(skewed):
    scores = skewed(np.random.default_rng(1).lognormal(size=50))
    one = bootstrap_interval(scores)
    up, down = one.high - scores.mean(), scores.mean() - one.low
    assert max(up, down) > 1.15 * min(up, down)
    assert (up > down) == (scores.mean() > 0)


def half_zeros(rng, n):
    return rng.lognormal(size=n) * (rng.random(n) < 0.5)


@pytest.mark.parametrize(
    ("made", "mean", "items", "least"),
    [
        (half_zeros, math.exp(0.5) / 2, 10, 0.87),
        (half_zeros, math.exp(0.5) / 2, 30, 0.90),
        (lambda rng, n: rng.exponential(size=n), 1.0, 30, 0.92),
        (lambda rng, n: rng.normal(size=n), 0.0, 2, 0.93),
        (lambda rng, n: rng.normal(size=n), 0.0, 5, 0.94),
    ],
)
def test_interval_covers_the_mean_as_often_as_it_says(made, mean, items, least):
    rng = np.random.default_rng(5)
    intervals = [bootstrap_interval(made(rng, items), resamples=400, seed=i) for i in range(400)]
    assert least <= np.mean([one.low <= mean <= one.high for one in intervals]) <= 0.99


def test_few_units_are_known():
    scores = np.arange(40.0)
    assert not bootstrap_interval(scores, resamples=9).of_few
    assert not bootstrap_interval(scores[:20], resamples=9).of_few
    assert bootstrap_interval(scores[:19], resamples=9).of_few
    of_groups = bootstrap_interval(scores, resamples=9, groups=[i // 4 for i in range(40)])
    assert (of_groups.units, of_groups.of_few) == (10, True)


def test_an_interval_ends_where_values_do():
    found = bootstrap_interval([0.0, 1.0], resamples=9)
    assert found.low < -5 < 6 < found.high
    within = found.within((0.0, 1.0), 0.5)
    assert (within.low, within.high, within.units, found.within((None, None), 0.5)) == (0.0, 1.0, 2, found)
    assert found.within((0.0, None), 0.5).high == found.high


def test_a_cut_interval_holds_its_value():
    found = bootstrap_interval([0.0, 1.0], resamples=9)
    # A rounding error beyond an end, then a value far beyond it, from scores of another version.
    assert found.within((0.0, 1.0), 1.0 + 1e-9).high == 1.0 + 1e-9
    assert found.within((0.0, 1.0), 1.2) == found
    assert found.within((0.7, 1.0), 0.5) == found


@pytest.mark.parametrize("factor", [1e-200, 1e290])
def test_an_interval_moves_and_stretches_with_the_scores(factor):
    one, other = bootstrap_interval(SCORES, resamples=90), bootstrap_interval(SCORES * factor, resamples=90)
    assert (other.low, other.high) == pytest.approx((one.low * factor, one.high * factor), rel=1e-9)


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
    # Twenty copies of each of two values have no more information than the two values.
    scores, groups = [0.0] * 20 + [1.0] * 20, [0] * 20 + [1] * 20
    interval = bootstrap_interval(scores, groups=groups)
    two = bootstrap_interval([0.0, 1.0])
    assert (interval.low, interval.high) == pytest.approx((two.low, two.high), rel=1e-12)
    assert bootstrap_interval(scores[:20], groups=groups[:20]) is None
    alone = bootstrap_interval(SCORES, groups=range(40))
    assert alone == bootstrap_interval(SCORES)


@pytest.mark.parametrize("level", [0.2, 0.8])
def test_an_interval_is_that_of_samples_drawn_one_by_one(level):
    rng = np.random.default_rng(8)
    scores, groups = rng.lognormal(size=30), rng.integers(0, 12, 30)
    scores[4] = math.nan
    labels = sorted(set(groups.tolist()))
    defined = scores[~np.isnan(scores)]
    mean = sum(defined.tolist()) / len(defined)
    effects = []
    for label in labels:
        own = [score for score in scores[groups == label].tolist() if score == score]
        effects.append((sum(own) - mean * len(own)) * len(labels) / len(defined))
    drawn = np.random.default_rng(4).integers(0, len(labels), size=(50, len(labels)))
    times = [np.bincount(row, minlength=len(labels)).tolist() for row in drawn]
    low, high = ends_by_loops(sorted(effects), times, level)  # numbered like the samples
    ours = bootstrap_interval(scores, resamples=50, seed=4, level=level, groups=groups.tolist())
    assert (ours.low, ours.high) == pytest.approx((mean + low, mean + high), rel=1e-12)
    assert (ours.method, ours.units) == (METHOD, len(labels))


def test_the_interval_of_the_turned_difference_is_mirrored():
    for scores in (SCORES, SCORES.round(), [1.0, -1.0, 2.0, -2.0, 0.5], [3.0, -1.0, -2.0]):
        one, two = (bootstrap_interval(np.array(scores) * sign, resamples=300) for sign in (1, -1))
        assert (one.low, one.high) == pytest.approx((-two.high, -two.low), rel=1e-12)


def test_sums_of_groups_do_not_depend_on_what_is_next_to_them():
    rng = np.random.default_rng(1)
    # Sums of tenths have rounding errors. Equal sums of groups of unequal sizes must remain equal.
    one, *others = rng.integers(0, 11, (8, 60)) / 10
    groups = rng.integers(0, 20, 60).tolist()
    alone = bootstrap_interval(one, groups=groups, resamples=400)
    for other in others:
        together, turned = bootstrap_intervals([one, other - one], groups=groups, resamples=400)
        mirrored = bootstrap_interval(one - other, groups=groups, resamples=400)
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
        assert (turned.low, turned.high) == pytest.approx((-mirrored.high, -mirrored.low), rel=1e-12)


def test_constant_scores_of_no_short_binary_form_have_width_zero():
    assert bootstrap_interval([0.1] * 37).low == bootstrap_interval([0.1] * 37).high == 0.1
