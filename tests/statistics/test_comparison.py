import itertools
import math

import numpy as np
import pytest
import scipy.stats

from vlgauge.statistics import bootstrap_interval, bootstrap_intervals, differences, holm, paired_test, paired_tests

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


def test_an_interval_is_that_of_the_means_of_samples_drawn_one_by_one():
    scores, groups = [3.0, math.nan, 1.0, 4.0, 1.5], ["x", "x", "y", "z", "y"]
    drawn = np.random.default_rng(4).integers(0, 3, size=(50, 3))
    members = {0: [1.0, 1.5], 1: [3.0], 2: [4.0]}  # of y, x and z, by their sums less the least score of each row
    means = [np.mean([score for group in sample for score in members[group]]) for sample in drawn.tolist()]
    ours = bootstrap_interval(scores, resamples=50, seed=4, level=0.8, groups=groups)
    assert (ours.low, ours.high) == pytest.approx(np.quantile(means, [0.1, 0.9]), rel=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_the_rows_changes_nothing(grouped):
    rng = np.random.default_rng(11)
    a, b, c = rng.normal(size=(3, 60)).round(2)  # scores that tie, differences too
    a[3], c[:9] = math.nan, math.nan
    labels = rng.integers(0, 25, size=60)
    shuffled = rng.permutation(60)

    def found(order):
        how = {"resamples": 400, "groups": labels[order].tolist() if grouped else None}
        columns = [one[order] for one in (a, b, c, a - b)]
        tests = paired_tests([(a[order], b[order]), (b[order], c[order])], **how)
        ends = bootstrap_intervals(columns, **how) + [bootstrap_interval(one, **how) for one in columns]
        return [(one.low, one.high) for one in ends], tests

    (ends, tests), (others, same) = found(np.arange(60)), found(shuffled)
    assert np.array(ends) == pytest.approx(np.array(others), rel=1e-12)
    assert tests == same
    assert not any(test.exact for test in tests)


def test_the_interval_of_the_turned_difference_is_mirrored():
    for scores in (SCORES, SCORES.round(), [1.0, -1.0, 2.0, -2.0, 0.5], [3.0, -1.0, -2.0]):
        one, two = (bootstrap_interval(np.array(scores) * sign, resamples=300) for sign in (1, -1))
        assert (one.low, one.high) == pytest.approx((-two.high, -two.low), rel=1e-12)


def test_sums_of_groups_do_not_depend_on_what_is_beside():
    rng = np.random.default_rng(1)
    # Sums of tenths are rounded one way or another; equal ones of groups of unequal sizes must stay equal.
    one, *others = rng.integers(0, 11, (8, 60)) / 10
    groups = rng.integers(0, 20, 60).tolist()
    alone = bootstrap_interval(one, groups=groups, resamples=400)
    for other in others:
        beside, turned = bootstrap_intervals([one, other - one], groups=groups, resamples=400)
        mirrored = bootstrap_interval(one - other, groups=groups, resamples=400)
        assert (beside.low, beside.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
        assert (turned.low, turned.high) == pytest.approx((-mirrored.high, -mirrored.low), rel=1e-12)


def test_constant_scores_of_no_short_binary_form_have_width_zero():
    assert bootstrap_interval([0.1] * 37).low == bootstrap_interval([0.1] * 37).high == 0.1


def test_where_all_scores_tie_nothing_is_told_apart():
    test = paired_test([0.1 + 0.2] * 20, [0.3] * 20)
    assert (test.pvalue, test.difference) == (1.0, 0.0)
    scores = np.linspace(0.3, 0.5, 20)
    assert paired_test(scores + 1e-13, scores).pvalue == 1.0
    # Of other items the differences count as before.
    mixed = [*scores[:19], 0.9]
    assert paired_test(mixed, scores + 1e-13).pvalue == paired_test(mixed, scores).pvalue


@pytest.mark.parametrize("scale", [1e-200, 1e-13, 1e140])
def test_the_test_does_not_depend_on_the_scale(scale):
    a, b = RNG.normal(size=(2, 8))
    assert paired_test(a * scale, b * scale).pvalue == paired_test(a, b).pvalue


def test_differences_by_hand():
    assert differences([1.0, 1.0, 0.0, math.nan], [1.0 + 5e-10, 1.1, 1e-13, 1.0]).tolist() == pytest.approx(
        [0.0, -0.1, 0.0, math.nan], nan_ok=True
    )
    assert differences([2e-13, 1e-14], [1e-13, 1e-14]).tolist() == [1e-13, 0.0]
    assert differences([0.0, math.nan], [math.nan, math.nan]).tolist() == pytest.approx([math.nan] * 2, nan_ok=True)


def test_several_lists_have_the_intervals_and_tests_of_each_alone():
    columns = list(RNG.normal(size=(3, 25)))
    labels = np.arange(25) // 2
    for groups in (None, labels):
        together = bootstrap_intervals(columns, resamples=300, groups=groups)
        for one, column in zip(together, columns, strict=True):
            other = bootstrap_interval(column, resamples=300, groups=groups)
            assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
        pairs = list(itertools.combinations(columns, 2))
        for one, (a, b) in zip(paired_tests(pairs, resamples=300, groups=groups), pairs, strict=True):
            other = paired_test(a, b, resamples=300, groups=groups)
            assert (one.pvalue, one.n_items, one.exact) == (other.pvalue, other.n_items, other.exact)
            assert one.difference == pytest.approx(other.difference, rel=1e-12)


def test_lists_with_undefined_items_come_close_to_each_alone():
    columns = RNG.normal(size=(4, 200))
    columns[1, :15] = columns[2, 10:110] = columns[3, 1:] = math.nan
    together = bootstrap_intervals(columns)
    assert [one is None for one in together] == [False, False, False, True]
    # More than a tenth is undefined: samples of its own.
    assert together[2] == bootstrap_interval(columns[2])
    alone = bootstrap_interval(columns[1])
    assert (together[1].low, together[1].high) == pytest.approx((alone.low, alone.high), abs=0.01)
    pairs = [(columns[0], columns[1]), (columns[0], columns[3]), (columns[0], columns[0] * math.nan)]
    tests = paired_tests(pairs)
    other = paired_test(*pairs[0])
    assert (tests[0].n_items, tests[0].n_dropped, tests[0].difference) == (185, 15, pytest.approx(other.difference))
    assert tests[0].pvalue == pytest.approx(other.pvalue, abs=4 * math.sqrt(other.pvalue / 10_000))
    assert tests[1] == paired_test(*pairs[1])
    assert (tests[2].n_items, tests[2].n_dropped, math.isnan(tests[2].pvalue)) == (0, 200, True)


def test_groups_change_their_signs_together():
    a, b = RNG.normal(size=9), RNG.normal(0.3, 1.0, size=9)
    a[4] = math.nan
    groups = list("aabbbccdd")
    sums = [sum(a[i] - b[i] for i in range(9) if groups[i] == one and i != 4) for one in "abcd"]
    turned = [
        abs(sum(s * d for s, d in zip(signs, sums, strict=True))) for signs in itertools.product((1, -1), repeat=4)
    ]
    expected = np.mean([value >= abs(sum(sums)) * (1 - 1e-12) for value in turned])
    test = paired_test(a, b, groups=groups)
    assert (test.pvalue, test.n_items, test.n_dropped, test.exact) == (expected, 8, 1, True)
    assert test.difference == pytest.approx(sum(sums) / 8)
    assert paired_test(a, b, groups=range(9)) == paired_test(a, b)


def test_holm_worked_by_hand():
    # Sorted .01, .02, .03, .04 times 4, 3, 2, 1, never below the one before.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.02, math.nan, 0.03])[::2] == pytest.approx([0.04, 0.04])
    assert math.isnan(holm([0.02, math.nan, 0.03])[1])
    assert holm([]) == []


def test_holm_rejects_as_the_stepwise_procedure_does():
    for pvalues in np.random.default_rng(6).uniform(0, 0.1, size=(200, 5)).tolist():
        rejected = set()
        for step, index in enumerate(sorted(range(5), key=pvalues.__getitem__)):
            if pvalues[index] > 0.05 / (5 - step):
                break
            rejected.add(index)
        assert {index for index, value in enumerate(holm(pvalues)) if value <= 0.05} == rejected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([1.0, 2.0], level=1.0), "`level` must lie between 0 and 1, got 1.0"),
        (lambda: bootstrap_interval([1.0, 2.0], resamples=0), "`resamples` must be at least 1, got 0"),
        (lambda: bootstrap_interval([1.0, 2.0], groups=[1]), "`groups` must have one label per score, got 1 and 2"),
        (lambda: bootstrap_interval([[1.0, 2.0]] * 3), r"`scores` must be one list of numbers, got shape \(3, 2\)"),
        (lambda: paired_test([1.0], [2.0], groups=[1, 2]), "`groups` must have one label per score, got 2 and 1"),
        (lambda: bootstrap_intervals([[1.0], [1.0, 2.0]]), "lists of scores must be of the same items, got 1 and 2 of"),
        (lambda: holm([0.5, 1.5]), "`pvalues` must lie between 0 and 1, got 1.5"),
        (lambda: paired_test([[1.0]], [[2.0]]), r"`a` must be one list of numbers, got shape \(1, 1\); pass"),
        (lambda: paired_test([1.0], [1.0, 2.0]), r"`a` and `b` must be two lists of equal length, got shapes \(1,\)"),
        (
            lambda: bootstrap_interval([1.0, -math.inf]),
            "`scores` must hold finite numbers of at most 1e.300 in .*, got -inf at position 1; leave such items out",
        ),
        (lambda: bootstrap_interval([1e308, 1.0]), "`scores` must hold finite numbers of .* got 1e.308 at position 0"),
        (lambda: paired_test([0.0, -1e308], [0.0, 1e308]), "`a` must hold finite numbers of .* got -1e.308 at pos"),
        (lambda: paired_test([math.inf, 1.0], [0.0, 1.0]), "`a` must hold finite numbers .* got inf at position 0"),
        (lambda: paired_test([1.0, 2.0], [math.inf] * 2), "`b` must hold finite numbers .* got inf at position 0"),
        (lambda: paired_test([math.inf], [math.inf]), "`a` must hold finite numbers .* got inf at position 0"),
        (lambda: paired_test([1.0], [1.0], resamples=0), "`resamples` must be at least 1, got 0"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
