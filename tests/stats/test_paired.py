import itertools
import math

import numpy as np
import pytest
import scipy.stats

from vlgauge.stats import bootstrap_interval, bootstrap_intervals, differences, holm, paired_test, paired_tests
from vlgauge.stats.drawing import all_signs_fit, every_sign, random_signs

RNG = np.random.default_rng(3)
SCORES = RNG.normal(0.3, 1.0, size=40)


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
    # Differences 1, 2, 3: only the observed signs and their opposites reach |sum| = 6, 2 of 8.
    assert paired_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]).pvalue == 2 / 8
    # Differences 1, 1, -1 tie with every assignment of two equal signs: all of them reach |sum| = 1.
    assert paired_test([1.0, 1.0, -1.0], [0.0, 0.0, 0.0]).pvalue == 1.0


def test_random_flips_come_close_to_all_of_them():
    a, b = RNG.normal(size=12), RNG.normal(0.5, 1.0, size=12)
    every, some = paired_test(a, b), paired_test(a, b, resamples=2_000)
    assert (every.exact, some.exact) == (True, False)
    assert some.pvalue == pytest.approx(every.pvalue, abs=4 * math.sqrt(every.pvalue / 2_000))


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


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_the_rows_changes_nothing(grouped):
    rng = np.random.default_rng(11)
    a, b, c = rng.normal(size=(3, 60)).round(2)  # scores with ties, also between differences
    a[3], c[:9] = math.nan, math.nan
    labels = rng.integers(0, 25, size=60)
    shuffled = rng.permutation(60)

    def found(order):
        how = {"resamples": 400, "groups": labels[order].tolist() if grouped else None}
        columns = [one[order] for one in (a, b, c, a - b)]
        tests = [paired_test(a[order], b[order], **how), paired_test(b[order], c[order], **how)]
        ends = bootstrap_intervals(columns, **how) + [bootstrap_interval(one, **how) for one in columns]
        return [(one.low, one.high) for one in ends], tests

    (ends, tests), (others, same) = found(np.arange(60)), found(shuffled)
    assert np.array(ends) == pytest.approx(np.array(others), rel=1e-12)
    assert tests == same
    assert not any(test.exact for test in tests)


def test_where_all_scores_tie_nothing_is_told_apart():
    test = paired_test([0.1 + 0.2] * 20, [0.3] * 20)
    assert (test.pvalue, test.difference) == (1.0, 0.0)
    scores = np.linspace(0.3, 0.5, 20)
    assert paired_test(scores + 1e-13, scores).pvalue == 1.0
    # The differences of other items count as before.
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


def test_lists_with_undefined_items_come_close_to_each_alone():
    columns = RNG.normal(size=(4, 200))
    columns[1, :15] = columns[2, 10:110] = columns[3, 1:] = math.nan
    together = bootstrap_intervals(columns)
    assert [one is None for one in together] == [False, False, False, True]
    # More than a tenth is undefined, so that separate samples are used.
    assert together[2] == bootstrap_interval(columns[2])
    alone = bootstrap_interval(columns[1])
    assert (together[1].low, together[1].high) == pytest.approx((alone.low, alone.high), abs=0.01)


# -- several systems --------------------------------------------------------------------------------------------------
def made_systems(rng, rows=60, systems=5):
    """Return scores of similar systems with ties in some rows, shape ``(systems, rows)``."""
    scores = rng.normal(size=rows) + 0.4 * rng.normal(size=(systems, rows)) + np.linspace(0, 0.2, systems)[:, None]
    scores[1, :20] = scores[0, :20]
    scores[2, 20:30] = scores[0, 20:30] * (1 + 1e-13)  # a tie that is not exactly equal
    return scores


@pytest.mark.parametrize("grouped", [False, True])
def test_several_systems_have_the_signs_of_one_matrix(grouped):
    scores = made_systems(np.random.default_rng(31))
    labels = np.random.default_rng(32).integers(0, 30, 60) if grouped else np.arange(60)
    pairs = list(itertools.combinations(range(5), 2))
    tests = paired_tests(scores, pairs, resamples=700, seed=3, groups=labels.tolist() if grouped else None)
    units = list(dict.fromkeys(labels.tolist()))
    signs = np.concatenate(list(random_signs(len(units), 700, 3)))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert np.abs(signs.mean(axis=0)).max() < 0.15
    for (first, second), test in zip(pairs, tests, strict=True):
        apart = differences(scores[first], scores[second])
        sums = np.array([math.fsum(apart[labels == unit]) for unit in units])
        hits = sum(abs(sum((row * sums).tolist())) >= abs(sums.sum()) - 1e-12 for row in signs)
        assert (test.pvalue, test.exact) == ((1 + hits) / 701, False)
        assert test.difference == pytest.approx(apart.mean(), rel=1e-12)
        assert test.n_differing == np.count_nonzero(sums)


def test_a_pair_does_not_depend_on_the_order_of_the_systems_or_on_others():
    scores = made_systems(np.random.default_rng(33))
    pairs = list(itertools.combinations(range(5), 2))
    order = [3, 0, 4, 2, 1]
    by_names = dict(zip(pairs, paired_tests(scores, pairs, resamples=500), strict=True))
    turned = paired_tests(scores[order], pairs, resamples=500)
    for (first, second), test in zip(pairs, turned, strict=True):
        names = order[first], order[second]
        assert test.pvalue == by_names[tuple(sorted(names))].pvalue
        assert test.difference == (1 if names[0] < names[1] else -1) * by_names[tuple(sorted(names))].difference
        assert paired_tests(scores[list(names)], [(0, 1)], resamples=500)[0] == test


def test_an_item_that_one_system_lacks_is_in_no_pair():
    scores = made_systems(np.random.default_rng(34))
    scores[4, [3, 17]] = math.nan
    kept = [row for row in range(60) if row not in (3, 17)]
    (test,) = paired_tests(scores, [(0, 3)], resamples=300)
    (other,) = paired_tests(scores[:, kept], [(0, 3)], resamples=300)
    assert (test.pvalue, test.n_items, test.n_dropped) == (other.pvalue, 58, 2)
    (empty,) = paired_tests([[1.0, math.nan], [math.nan, 1.0]], [(0, 1)])
    assert (empty.n_items, empty.n_dropped, math.isnan(empty.pvalue), math.isnan(empty.difference)) == (
        0,
        2,
        True,
        True,
    )


def test_few_items_that_differ_among_many_are_enumerated():
    scores = np.zeros((2, 400))
    scores[0, [5, 80, 210, 333]] = [1.0, 2.0, 3.0, -0.5]
    (test,) = paired_tests(scores, [(0, 1)])
    # All differences positive, and the observed sum: 2 of 8 with the first sign fixed.
    assert (test.pvalue, test.exact, test.n_differing) == (4 / 16, True, 4)
    assert paired_test(*scores) == test


def test_groups_whose_differences_cancel_do_not_differ():
    scores = [[0.1, 0.2, 0.3, 1.0], [0.2, 0.1, 0.2, 0.0]]
    (test,) = paired_tests(scores, [(0, 1)], groups=["a", "a", "b", "c"])
    assert test.n_differing == 2


def test_large_scores_with_small_differences_are_drawn_as_they_are():
    rng = np.random.default_rng(35)
    small = rng.normal(0.2, 1.0, size=(2, 40))
    far = np.vstack([small, -1e13 * np.ones(40)])
    assert paired_tests(far, [(0, 1)])[0].pvalue == paired_tests(small, [(0, 1)])[0].pvalue


def test_all_signs_but_the_mirrored_ones():
    found = np.concatenate(list(every_sign(4)))
    assert sorted(found.tolist()) == sorted([1.0, *rest] for rest in itertools.product((-1.0, 1.0), repeat=3))
    assert [all_signs_fit(n, 8) for n in (0, 1, 4, 5)] == [True, True, True, False]


def test_signs_are_the_same_however_many_are_drawn():
    for n in (1, 63, 64, 65, 200):
        long = np.concatenate(list(random_signs(n, 9_000, 7)))
        assert long.shape == (9_000, n)
        assert (np.concatenate(list(random_signs(n, 50, 7))) == long[:50]).all()
        assert np.abs(long.T @ long / 9_000 - np.eye(n)).max() < 0.06


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
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never below the previous value.
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
        (lambda: bootstrap_interval([1.0, 2.0], level=1.0), r"^`level`.*got 1\.0"),
        (lambda: bootstrap_interval([1.0, 2.0], resamples=0), r"^`resamples`.*at least 1.*got 0"),
        (lambda: bootstrap_interval([1.0, 2.0], groups=[1]), r"^`groups`.*got 1"),
        (lambda: bootstrap_interval([[1.0, 2.0]] * 3), r"^`scores`.*shape"),
        (lambda: paired_test([1.0], [2.0], groups=[1, 2]), r"^`groups`.*got 2"),
        (lambda: paired_test([1.0], [2.0], groups=[None]), r"^`groups`.*got None"),
        (lambda: bootstrap_interval([1.0, 2.0], groups=["a", math.nan]), "got nan"),
        (lambda: bootstrap_intervals([[1.0], [1.0, 2.0]]), r"lists.*got 1"),
        (lambda: holm([0.5, 1.5]), r"^`pvalues`.*got 1\.5"),
        (lambda: paired_test([[1.0]], [[2.0]]), r"^`a`.*pass"),
        (lambda: paired_test([1.0], [1.0, 2.0]), r"^`a`.*`b`"),
        (
            lambda: bootstrap_interval([1.0, -math.inf]),
            "^`scores`.*got -inf at position 1",
        ),
        (lambda: bootstrap_interval([1e308, 1.0]), "^`scores`.*got 1e.308"),
        (lambda: paired_test([0.0, -1e308], [0.0, 1e308]), "^`a`.*got -1e.308"),
        (lambda: paired_test([math.inf, 1.0], [0.0, 1.0]), r"^`a`.*got inf.*position 0"),
        (lambda: paired_test([1.0, 2.0], [math.inf] * 2), r"^`b`.*got inf.*position 0"),
        (lambda: paired_test([math.inf], [math.inf]), r"^`a`.*got inf.*position 0"),
        (lambda: paired_test([1.0], [1.0], resamples=0), r"^`resamples`.*at least 1.*got 0"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.filterwarnings("error")
def test_the_difference_of_a_value_that_is_undefined_is_undefined_without_a_warning():
    assert math.isnan(differences(math.nan, 1.0))
