"""Statistics of added counts: by hand, as plain loops, properties, what is refused, and simulations."""

import itertools
import math

import numpy as np
import pytest

from vlgauge.distances.rouge_and_bleu import counts_of_columns, summed_bleu_4
from vlgauge.statistics import summed, summed_intervals, summed_tests, summed_value

NAN = math.nan


def ratio(sums):
    """Matches of guesses, a statistic of two counts."""
    return sums[..., 0] / sums[..., 1]


def made_counts(rng, shape, quality=0.7):
    """Counts of BLEU of made-up rows, which are hard or easy, with the shape ``(*shape, n_rows, 10)``."""
    n_rows = shape[-1]
    length = rng.integers(6, 14, shape)
    chance = rng.beta(8 * quality, 8 * (1 - quality), n_rows)  # the same for all systems
    matches = [rng.binomial(np.maximum(length - order, 0), chance ** (1 + order)) for order in range(4)]
    closest = length + rng.integers(-1, 3, shape)  # captions are a little shorter than the nearest reference
    columns = np.stack([*matches, length, closest], axis=-1).astype(float)
    return counts_of_columns(columns.reshape(-1, 6)).reshape(*shape, 10)


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_two_rows_by_hand():
    # a 3/4, b 1/4. Swapping the first row leads to 2/4 and 2/4, both rows to 1/4 and 3/4: 2 of 4 are as far apart.
    a, b = np.array([[2.0, 2.0], [1.0, 2.0]]), np.array([[1.0, 2.0], [0.0, 2.0]])
    (test,) = summed_tests([a, b], [(0, 1)], ratio)
    assert (test.difference, test.pvalue, test.n_items, test.n_dropped, test.exact) == (0.5, 0.5, 2, 0, True)
    assert summed_value(a, ratio) == 0.75
    # The samples of two rows are the first twice, both (half of them), and the second twice.
    ends = summed_intervals([a, b], [(0,), (0, 1)], ratio)
    assert [(one.low, one.high) for one in ends] == [(0.5, 1.0), (0.5, 0.5)]


def test_two_values_that_tie_differ_by_nothing():
    a = np.array([[1.0, 2.0]] * 20)
    (test,) = summed_tests([a, a * [1.0 + 1e-12, 1.0]], [(0, 1)], ratio)
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
        return float(summed_bleu_4(first) - summed_bleu_4(second))

    every = [
        abs(difference({name for name, out in zip(names, outs, strict=True) if out}))
        for outs in itertools.product((False, True), repeat=len(names))
    ]
    (test,) = summed_tests([a, b], [(0, 1)], summed_bleu_4, groups=labels)
    assert test.difference == pytest.approx(difference(set()), rel=1e-12)
    assert test.pvalue == np.mean([one >= every[0] - 1e-12 for one in every])
    assert test.exact
    some = summed_tests([a, b], [(0, 1)], summed_bleu_4, groups=labels, resamples=len(every) - 1)[0]
    assert (some.exact, some.pvalue) == (False, pytest.approx(test.pvalue, abs=0.2))


@pytest.mark.parametrize("labels", [None, list("aabccdeef")])
def test_intervals_equal_samples_drawn_one_by_one(labels):
    b, a = made_counts(np.random.default_rng(2), (2, 9))
    units = list(range(9)) if labels is None else labels
    contrasts = [(0,), (1,), (0, 1)]
    ours = summed_intervals([a, b], contrasts, summed_bleu_4, resamples=60, seed=4, level=0.8, groups=labels)
    assert summed_bleu_4(a.sum(axis=0)) > summed_bleu_4(b.sum(axis=0))  # so that a comes first in the pair
    for contrast, one in zip(contrasts, ours, strict=True):
        own = np.hstack([(a, b)[system] for system in contrast])
        sums = sorted([sum(own[row] for row in range(9) if units[row] == name).tolist() for name in set(units)])
        samples = []
        for drawn in np.random.default_rng(4).integers(0, len(sums), size=(60, len(sums))).tolist():
            total = np.array([sum(sums[index][k] for index in drawn) for k in range(own.shape[1])])
            values = [float(summed_bleu_4(part)) for part in np.split(total, len(contrast))]
            samples.append(values[0] - sum(values[1:]))
        assert (one.low, one.high) == pytest.approx(np.quantile(samples, [0.1, 0.9]), rel=1e-12)


# -- properties -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [7, 40])
def test_swapping_the_systems_mirrors_everything(rows):
    both = made_counts(np.random.default_rng(3), (2, rows))
    one, two = summed_tests(both, [(0, 1), (1, 0)], summed_bleu_4, resamples=500)
    assert (one.difference, one.pvalue) == (-two.difference, two.pvalue)
    one, two = summed_intervals(both, [(0, 1), (1, 0)], summed_bleu_4, resamples=500)
    assert (one.low, one.high) == pytest.approx((-two.high, -two.low), rel=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_the_rows_changes_nothing(grouped, monkeypatch):
    rng = np.random.default_rng(12)
    counts = made_counts(rng, (3, 50))
    counts[1, 7] = NAN
    labels = rng.integers(0, 20, size=50)
    contrasts, pairs = [(0,), (1,), (2,), (0, 1), (0, 2)], [(0, 1), (0, 2)]

    def found(order):
        how = {"resamples": 300, "groups": labels[order].tolist() if grouped else None}
        tests = summed_tests(counts[:, order], pairs, summed_bleu_4, **how)
        ends = summed_intervals(counts[:, order], contrasts, summed_bleu_4, **how)
        return np.array([(one.low, one.high) for one in ends]), [test.pvalue for test in tests]

    (ends, pvalues), (others, same) = found(np.arange(50)), found(rng.permutation(50))
    assert ends == pytest.approx(others, rel=1e-12)
    assert pvalues == same
    # Drawn one at a time they are the same, and so is a system beside others and alone.
    monkeypatch.setattr(summed, "_TABLE_CELLS", 1)
    assert found(np.arange(50))[0] == pytest.approx(ends, rel=1e-12)
    alone = summed_intervals(counts[2:], [(0,)], summed_bleu_4, resamples=300, groups=labels if grouped else None)
    assert (alone[0].low, alone[0].high) == pytest.approx(ends[2], rel=1e-12)


def test_equal_systems_are_never_told_apart():
    counts = made_counts(np.random.default_rng(5), (50,))
    (test,) = summed_tests([counts, counts], [(0, 1)], summed_bleu_4, resamples=99)
    assert (test.difference, test.pvalue) == (0.0, 1.0)
    (interval,) = summed_intervals([counts, counts], [(0, 1)], summed_bleu_4, resamples=99)
    assert (interval.low, interval.high) == (0.0, 0.0)


def test_a_row_that_one_system_leaves_undefined_is_in_no_comparison_of_it():
    both = made_counts(np.random.default_rng(6), (3, 12))
    both[1, 4] = NAN
    both[2, 7, 0] = NAN  # one count is enough
    contrasts = [(0,), (1,), (0, 1), (1, 2)]
    ends = summed_intervals(both, contrasts, summed_bleu_4, resamples=50)
    tests = summed_tests(both, [(0, 1), (1, 2)], summed_bleu_4)
    for index, lacking in enumerate([[], [4], [4], [4, 7]]):
        kept = [row for row in range(12) if row not in lacking]
        assert ends[index] == summed_intervals(both[:, kept], contrasts, summed_bleu_4, resamples=50)[index]
    assert [(test.n_items, test.n_dropped) for test in tests] == [(11, 1), (10, 2)]
    kept = [row for row in range(12) if row not in (4, 7)]
    (alone,) = summed_tests(both[1:, kept], [(0, 1)], summed_bleu_4)
    assert (tests[1].difference, tests[1].pvalue) == (alone.difference, alone.pvalue)
    assert summed_value(both[1], summed_bleu_4) == summed_value(np.delete(both[1], 4, axis=0), summed_bleu_4)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows(rows):
    both = made_counts(np.random.default_rng(7), (2, 1))
    both[1, rows:] = NAN
    (test,) = summed_tests(both, [(0, 1)], summed_bleu_4)
    assert (test.n_items, test.n_dropped, math.isnan(test.pvalue)) == (rows, 1 - rows, not rows)
    assert summed_intervals(both, [(0,), (0, 1)], summed_bleu_4) == [None, None]
    assert math.isnan(summed_value(both[1], summed_bleu_4)) == (not rows)


def test_groups_are_drawn_whole():
    # Four copies of each of five rows say no more than the five.
    both = made_counts(np.random.default_rng(8), (2, 5))
    copies, labels = both.repeat(4, axis=1), np.arange(20) // 4
    (one,), (two,) = (
        summed_tests(both, [(0, 1)], summed_bleu_4),
        summed_tests(copies, [(0, 1)], summed_bleu_4, groups=labels),
    )
    assert (one.pvalue, one.difference) == (two.pvalue, pytest.approx(two.difference, rel=1e-6))
    (one,), (two,) = (
        summed_intervals(both, [(0, 1)], summed_bleu_4),
        summed_intervals(copies, [(0, 1)], summed_bleu_4, groups=labels),
    )
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: summed_tests([c[0], c[1][:3]], [(0, 1)], ratio), r"`counts` must have one shape .* \(3, 10\), \(4,"),
        (lambda c: summed_tests([], [], ratio), r"one shape \(items, counts\) for every system, got none"),
        (lambda c: summed_tests([c[0, 0]] * 2, [(0, 1)], ratio), r"for every system, got \(10,\)"),
        (
            lambda c: summed_tests(c / 0.0, [(0, 1)], ratio),
            "`counts` must hold finite numbers of at most 1e.300, or NaN .* got a larger",
        ),
        (lambda c: summed_tests(c, [(0, 1)], ratio, resamples=0), "`resamples` must be at least 1, got 0"),
        (lambda c: summed_tests(c, [(0, 1)], ratio, groups=[1]), "must have one label per score, got 1 and 4"),
        (lambda c: summed_intervals(c, [(0,)], ratio, resamples=0), "`resamples` must be at least 1, got 0"),
        (lambda c: summed_intervals(c, [(0,)], ratio, level=1.0), "`level` must lie between 0 and 1, got 1.0"),
        (lambda c: summed_intervals(c, [(0,)], ratio, groups=[1]), "must have one label per score, got 1 and 4"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(made_counts(np.random.default_rng(9), (2, 4)))


# -- simulations ------------------------------------------------------------------------------------------------------
def share_rejected(n_pairs, seed):
    """How often two systems of equal quality are told apart at .05."""
    rng, rejected = np.random.default_rng(seed), 0
    for _ in range(n_pairs):
        (test,) = summed_tests(made_counts(rng, (2, 60)), [(0, 1)], summed_bleu_4, resamples=400)
        rejected += test.pvalue <= 0.05
    return rejected / n_pairs


def shares_covered(n_runs, seed):
    """How often 200 rows cover the BLEU of all rows that there could be, and the difference of two systems."""
    rng = np.random.default_rng(seed)

    def systems(n_rows):
        better, worse = (made_counts(rng, (n_rows,), quality) for quality in (0.75, 0.65))
        return [better, worse]

    truth = [float(summed_bleu_4(own.sum(axis=0))) for own in systems(200_000)]
    covered = np.zeros(2)
    for _ in range(n_runs):
        of_one, of_both = summed_intervals(systems(200), [(0,), (0, 1)], summed_bleu_4, resamples=1_000)
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
