"""Statistics of summed counts: worked examples, plain loops, properties, errors, and simulations."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from vlgauge.families.ngram.bleu import compute_bleu_4, counts_of_columns
from vlgauge.stats import bootstrap_interval, count_statistic, count_statistic_intervals, count_statistic_tests
from vlgauge.stats.drawing import random_signs

NAN = math.nan


def ratio(sums):
    """Return matches divided by guesses, a statistic of two counts."""
    return sums[..., 0] / sums[..., 1]


def made_counts(rng, shape, quality=0.7):
    """Return BLEU counts of random rows, which are hard or easy, with the shape ``(*shape, n_rows, 10)``."""
    n_rows = shape[-1]
    length = rng.integers(6, 14, shape)
    chance = rng.beta(8 * quality, 8 * (1 - quality), n_rows)  # the same for all systems
    matches = [rng.binomial(np.maximum(length - order, 0), chance ** (1 + order)) for order in range(4)]
    closest = length + rng.integers(-1, 3, shape)  # captions are slightly shorter than the nearest reference
    columns = np.stack([*matches, length, closest], axis=-1).astype(float)
    return counts_of_columns(columns.reshape(-1, 6)).reshape(*shape, 10)


# -- worked examples --------------------------------------------------------------------------------------------------
def test_two_rows_by_hand():
    # a 3/4, b 1/4. Swapping the first row gives 2/4 and 2/4, both rows 1/4 and 3/4: 2 of 4 differ as much.
    a, b = np.array([[2.0, 2.0], [1.0, 2.0]]), np.array([[1.0, 2.0], [0.0, 2.0]])
    (test,) = count_statistic_tests([a, b], [(0, 1)], ratio)
    assert (test.difference, test.pvalue, test.n_items, test.n_dropped, test.exact) == (0.5, 0.5, 2, 0, True)
    assert count_statistic(a, ratio) == 0.75
    # If the first row is omitted, a is 1/2, and 2/2 if the second row is omitted. The effects are 1/4 and -1/4, with a
    # variance of 1/8 (divisor n - 1). The difference is 1/2 in both cases.
    ends = count_statistic_intervals([a, b], [(0,), (0, 1)], ratio)
    reach = scipy.stats.t.ppf(0.975, 1) * math.sqrt(1 / 8 / 2)
    assert [one.low for one in ends] == pytest.approx([0.75 - reach, 0.5])
    assert [one.high for one in ends] == pytest.approx([0.75 + reach, 0.5])


def test_two_values_that_tie_differ_by_nothing():
    a = np.array([[1.0, 2.0]] * 20)
    (test,) = count_statistic_tests([a, a * [1.0 + 1e-12, 1.0]], [(0, 1)], ratio)
    assert (test.difference, test.pvalue) == (0.0, 1.0)


# -- as plain loops ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("labels", [None, list("aabccdeef")])
def test_tests_equal_all_swaps_by_loops(labels):
    a, b = made_counts(np.random.default_rng(1), (2, 9))
    units = list(range(9)) if labels is None else labels
    names = list(dict.fromkeys(units))

    def difference(swapped):
        first, second = np.zeros(10), np.zeros(10)
        for row, unit in enumerate(units):
            one, two = (b, a) if unit in swapped else (a, b)
            first, second = first + one[row], second + two[row]
        return float(compute_bleu_4(first) - compute_bleu_4(second))

    every = [
        abs(difference({name for name, out in zip(names, outs, strict=True) if out}))
        for outs in itertools.product((False, True), repeat=len(names))
    ]
    (test,) = count_statistic_tests([a, b], [(0, 1)], compute_bleu_4, groups=labels)
    assert test.difference == pytest.approx(difference(set()), rel=1e-12)
    assert test.pvalue == np.mean([one >= every[0] - 1e-12 for one in every])
    assert test.exact
    some = count_statistic_tests([a, b], [(0, 1)], compute_bleu_4, groups=labels, resamples=len(every) // 2 - 1)[0]
    assert (some.exact, some.pvalue) == (False, pytest.approx(test.pvalue, abs=0.2))


@pytest.mark.parametrize("labels", [None, list("aabccdeef")])
def test_intervals_are_those_of_what_each_unit_adds(labels):
    b, a = made_counts(np.random.default_rng(2), (2, 9))
    units = list(range(9)) if labels is None else labels
    names = list(dict.fromkeys(units))
    contrasts = [(0,), (1,), (0, 1), (1, 0)]
    how = {"resamples": 60, "seed": 4, "level": 0.8}
    ours = count_statistic_intervals([a, b], contrasts, compute_bleu_4, groups=labels, **how)
    for contrast, one in zip(contrasts, ours, strict=True):

        def value(left_out, contrast=contrast):
            kept = [row for row, unit in enumerate(units) if unit != left_out]
            values = [float(compute_bleu_4((a, b)[system][kept].sum(axis=0))) for system in contrast]
            return values[0] - sum(values[1:])

        lost = [(len(names) - 1) * (value(None) - value(name)) for name in names]
        # The jackknife: the interval of the mean of the effects, around the value of all rows.
        of_mean = bootstrap_interval(np.array(lost) - np.mean(lost), **how)
        expected = (value(None) + of_mean.low, value(None) + of_mean.high)
        assert (one.low, one.high) == pytest.approx(expected, rel=1e-9)
        assert one.units == len(names)


# -- properties -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [7, 40])
def test_swapping_the_systems_mirrors_everything(rows):
    both = made_counts(np.random.default_rng(3), (2, rows))
    one, two = count_statistic_tests(both, [(0, 1), (1, 0)], compute_bleu_4, resamples=500)
    assert (one.difference, one.pvalue) == (-two.difference, two.pvalue)
    one, two = count_statistic_intervals(both, [(0, 1), (1, 0)], compute_bleu_4, resamples=500)
    assert (one.low, one.high) == pytest.approx((-two.high, -two.low), rel=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_the_rows_changes_nothing(grouped):
    rng = np.random.default_rng(12)
    counts = made_counts(rng, (3, 50))
    counts[1, 7] = NAN
    labels = rng.integers(0, 20, size=50)
    contrasts = [(0,), (1,), (2,), (0, 1), (0, 2)]

    def found(order):
        how = {"resamples": 300, "groups": labels[order].tolist() if grouped else None}
        ends = count_statistic_intervals(counts[:, order], contrasts, compute_bleu_4, **how)
        return np.array([(one.low, one.high) for one in ends])

    ends, others = found(np.arange(50)), found(rng.permutation(50))
    assert ends == pytest.approx(others, rel=1e-12)
    # A system has the same interval with and without other systems.
    alone = count_statistic_intervals(
        counts[2:], [(0,)], compute_bleu_4, resamples=300, groups=labels if grouped else None
    )
    assert (alone[0].low, alone[0].high) == pytest.approx(ends[2], rel=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
def test_several_systems_have_the_signs_of_one_matrix(grouped):
    counts = made_counts(np.random.default_rng(13), (3, 40))
    labels = np.arange(40) // 2 if grouped else np.arange(40)
    pairs = [(0, 1), (2, 0), (1, 2)]
    tests = count_statistic_tests(
        counts, pairs, compute_bleu_4, resamples=200, seed=5, groups=labels if grouped else None
    )
    signs = np.concatenate(list(random_signs(labels.max() + 1, 200, 5)))
    for (first, second), test in zip(pairs, tests, strict=True):
        hits = 0
        for row in signs:
            kept = (row[labels] > 0)[:, None]
            one, two = np.where(kept, counts[first], counts[second]), np.where(kept, counts[second], counts[first])
            apart = compute_bleu_4(one.sum(axis=0)) - compute_bleu_4(two.sum(axis=0))
            hits += abs(apart) >= abs(test.difference) - 1e-12
        assert (test.pvalue, test.exact) == ((1 + hits) / 201, False)
    assert count_statistic_tests(
        counts[[2, 0]], [(0, 1)], compute_bleu_4, resamples=200, seed=5
    ) == count_statistic_tests(counts, [(2, 0)], compute_bleu_4, resamples=200, seed=5)


def test_few_rows_that_differ_among_many_are_enumerated():
    counts = made_counts(np.random.default_rng(14), (2, 80))
    counts[1, 6:] = counts[0, 6:]
    (test,) = count_statistic_tests(counts, [(0, 1)], compute_bleu_4)
    assert (test.exact, test.n_differing) == (True, int((counts[0] != counts[1]).any(axis=1).sum()))
    assert (test.pvalue * 2 ** (test.n_differing - 1)).is_integer()


def test_equal_systems_are_never_told_apart():
    counts = made_counts(np.random.default_rng(5), (50,))
    (test,) = count_statistic_tests([counts, counts], [(0, 1)], compute_bleu_4, resamples=99)
    assert (test.difference, test.pvalue) == (0.0, 1.0)
    (interval,) = count_statistic_intervals([counts, counts], [(0, 1)], compute_bleu_4, resamples=99)
    assert (interval.low, interval.high) == (0.0, 0.0)


def test_a_row_that_one_system_leaves_undefined_is_in_no_comparison_of_it():
    both = made_counts(np.random.default_rng(6), (3, 12))
    both[1, 4] = NAN
    both[2, 7, 0] = NAN  # one count is enough
    contrasts = [(0,), (1,), (0, 1), (1, 2)]
    ends = count_statistic_intervals(both, contrasts, compute_bleu_4, resamples=50)
    tests = count_statistic_tests(both, [(0, 1), (1, 2)], compute_bleu_4)
    for index, lacking in enumerate([[], [4], [4], [4, 7]]):
        kept = [row for row in range(12) if row not in lacking]
        assert ends[index] == count_statistic_intervals(both[:, kept], contrasts, compute_bleu_4, resamples=50)[index]
    assert [(test.n_items, test.n_dropped) for test in tests] == [(10, 2), (10, 2)]
    kept = [row for row in range(12) if row not in (4, 7)]
    (alone,) = count_statistic_tests(both[1:, kept], [(0, 1)], compute_bleu_4)
    assert (tests[1].difference, tests[1].pvalue) == (alone.difference, alone.pvalue)
    assert count_statistic(both[1], compute_bleu_4) == count_statistic(np.delete(both[1], 4, axis=0), compute_bleu_4)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows(rows):
    both = made_counts(np.random.default_rng(7), (2, 1))
    both[1, rows:] = NAN
    (test,) = count_statistic_tests(both, [(0, 1)], compute_bleu_4)
    assert (test.n_items, test.n_dropped, math.isnan(test.pvalue)) == (rows, 1 - rows, not rows)
    assert count_statistic_intervals(both, [(0,), (0, 1)], compute_bleu_4) == [None, None]
    assert math.isnan(count_statistic(both[1], compute_bleu_4)) == (not rows)


def test_groups_are_drawn_whole():
    # Four copies of each of five rows have no more information than the five.
    both = made_counts(np.random.default_rng(8), (2, 5))
    copies, labels = both.repeat(4, axis=1), np.arange(20) // 4
    (one,), (two,) = (
        count_statistic_tests(both, [(0, 1)], compute_bleu_4),
        count_statistic_tests(copies, [(0, 1)], compute_bleu_4, groups=labels),
    )
    assert (one.pvalue, one.difference) == (two.pvalue, pytest.approx(two.difference, rel=1e-6))
    (one,), (two,) = (
        count_statistic_intervals(both, [(0, 1)], compute_bleu_4),
        count_statistic_intervals(copies, [(0, 1)], compute_bleu_4, groups=labels),
    )
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda c: count_statistic_tests([c[0], c[1][:3]], [(0, 1)], ratio),
            r"^`counts`.*\(3, 10\), \(4,",
        ),
        (lambda c: count_statistic_tests([], [], ratio), "got none"),
        (lambda c: count_statistic_tests([c[0, 0]] * 2, [(0, 1)], ratio), r"got \(10,\)"),
        (
            lambda c: count_statistic_tests(c / 0.0, [(0, 1)], ratio),
            "^`counts`.*at most 1e.300",
        ),
        (lambda c: count_statistic_tests(c, [(0, 1)], ratio, resamples=0), r"^`resamples`.*at least 1.*got 0"),
        (lambda c: count_statistic_tests(c, [(0, 1)], ratio, groups=[1]), r"label.*got 1"),
        (lambda c: count_statistic_intervals(c, [(0,)], ratio, resamples=0), r"^`resamples`.*at least 1.*got 0"),
        (lambda c: count_statistic_intervals(c, [(0,)], ratio, level=1.0), r"^`level`.*got 1\.0"),
        (
            lambda c: count_statistic_intervals(c, [(0,)], ratio, groups=[1]),
            r"label.*got 1",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(made_counts(np.random.default_rng(9), (2, 4)))


# -- simulations ------------------------------------------------------------------------------------------------------
def share_rejected(n_pairs, seed):
    """Return how often two systems of equal quality differ significantly at 0.05."""
    rng, rejected = np.random.default_rng(seed), 0
    for _ in range(n_pairs):
        (test,) = count_statistic_tests(made_counts(rng, (2, 60)), [(0, 1)], compute_bleu_4, resamples=400)
        rejected += test.pvalue <= 0.05
    return rejected / n_pairs


def shares_covered(n_runs, seed):
    """Return how often 200 rows cover the BLEU of all possible rows, and the difference of two systems."""
    rng = np.random.default_rng(seed)

    def systems(n_rows):
        better, worse = (made_counts(rng, (n_rows,), quality) for quality in (0.75, 0.65))
        return [better, worse]

    truth = [float(compute_bleu_4(own.sum(axis=0))) for own in systems(200_000)]
    covered = np.zeros(2)
    for _ in range(n_runs):
        of_one, of_both = count_statistic_intervals(systems(200), [(0,), (0, 1)], compute_bleu_4, resamples=1_000)
        covered += [of_one.low <= truth[0] <= of_one.high, of_both.low <= truth[0] - truth[1] <= of_both.high]
    return covered / n_runs


def test_size_and_coverage_are_about_right():
    assert share_rejected(150, seed=20) == pytest.approx(0.05, abs=0.05)
    assert shares_covered(60, seed=21) == pytest.approx([0.95, 0.95], abs=0.08)


@pytest.mark.slow
def test_size_under_the_null():
    assert share_rejected(2_000, seed=22) == pytest.approx(0.05, abs=0.015)


@pytest.mark.slow
def test_coverage():
    assert shares_covered(1_000, seed=23) == pytest.approx([0.95, 0.95], abs=0.02)
