"""Partitions, permutation p-values, combined p-values and the stratified permutation test."""

import itertools
import json
import math

import numpy as np
import pytest
import scipy.stats
from folders import GOLDEN

from vlgauge.stats import (
    SetTest,
    bootstrap_interval,
    compute_calibrated_harmonic_pvalue,
    expected_log_pvalues,
    harmonic_mean_pvalue,
    mean_log_pvalue,
    partitions,
    permutation_pvalues,
)

CORPUS_P = json.loads((GOLDEN / "mmd.json").read_text(encoding="utf-8"))["corpus_p"]
COMBINED = [harmonic_mean_pvalue, compute_calibrated_harmonic_pvalue, mean_log_pvalue]
DRAWS = 9_999


def four_standard_errors(p: float) -> float:
    return 4 * math.sqrt(p * (1 - p) / DRAWS)


# -- partitions -------------------------------------------------------------------------------------------------------
def test_partitions_by_hand():
    found = partitions(2, 1)
    assert found.candidates.tolist() == [[True, True, False], [True, False, True], [False, True, True]]
    assert (found.exact, found.count) == (True, 3)


@pytest.mark.parametrize(("n", "m", "count"), [(1, 4, 5), (2, 3, 10), (5, 5, 252), (10, 5, 3_003), (7, 10, 19_448)])
def test_exact_partitions_are_all_combinations_once(n, m, count):
    found = partitions(n, m, pvalue="exact")
    members = [tuple(np.flatnonzero(row)) for row in found.candidates]
    assert len(members) == count == found.count
    assert set(members) == set(itertools.combinations(range(n + m), n))
    assert members[0] == tuple(range(n))


@pytest.mark.parametrize(("n", "m", "limit", "exact"), [(5, 5, 252, True), (5, 5, 251, False), (10, 10, 20_000, False)])
def test_auto_enumerates_up_to_the_limit(n, m, limit, exact):
    found = partitions(n, m, max_partitions=limit, draws=99)
    assert found.exact is exact
    assert len(found.candidates) == (found.count if exact else 100)
    assert found.count == math.comb(n + m, n)


def test_monte_carlo_starts_with_the_identity_and_keeps_the_sizes():
    found = partitions(4, 3, pvalue="monte_carlo", draws=500)
    assert found.candidates[0].tolist() == [True] * 4 + [False] * 3
    assert set(found.candidates.sum(axis=1)) == {4}


def test_monte_carlo_draws_every_partition_equally_often():
    rows = partitions(2, 2, pvalue="monte_carlo", draws=DRAWS, seed=3).candidates[1:]
    _, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts / DRAWS - 1 / 6).max() < four_standard_errors(1 / 6)


def test_monte_carlo_follows_the_seed():
    first, again, other = (partitions(6, 6, pvalue="monte_carlo", draws=50, seed=s).candidates for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("pvalue", ["exact", "monte_carlo"])
def test_partitions_are_shared_and_read_only(pvalue):
    found = partitions(3, 3, pvalue=pvalue, draws=20)
    assert found is partitions(3, 3, pvalue=pvalue, draws=20)
    with pytest.raises(ValueError, match="read-only"):
        found.candidates[0, 0] = False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 2, "m": 2, "pvalue": "all"}, r"^`pvalue`.*got 'all'"),
        ({"n": 0, "m": 2}, r"^`n`.*at least 1.*got 0"),
        ({"n": 2, "m": 0}, r"^`m`.*at least 1.*got 0"),
        ({"n": 2, "m": 2, "draws": 0}, r"^`draws`.*at least 1.*got 0"),
        (
            {"n": 10, "m": 10, "pvalue": "exact"},
            r"^`pvalue='exact'`.*=20000.*got 184756",
        ),
    ],
)
def test_partitions_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        partitions(**arguments)


# -- permutation p ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("null", "p"),
    [
        ([2.0, 1.0, 2.0, 3.0], 3 / 4),
        ([3.0, 1.0, 2.0, 0.0], 1 / 4),
        ([0.0, 1.0, 2.0, 3.0], 1.0),
        ([1.0, 1.0 - 5e-10, 1.0 - 5e-9], 2 / 3),
        ([np.inf, 1.0, np.inf, 0.0], 2 / 4),
    ],
)
def test_permutation_pvalue_by_hand(null, p):
    assert permutation_pvalues([null])[0] == pytest.approx(p, rel=1e-15)


def test_permutation_pvalue_is_b_plus_1_over_draws_plus_1():
    draws = np.arange(99.0)
    assert permutation_pvalues(np.append(94.5, draws)[None]) == pytest.approx([(4 + 1) / (99 + 1)])
    assert permutation_pvalues(np.append(1e9, draws)[None]) == pytest.approx([1 / 100])


def test_permutation_pvalues_of_integers_need_no_tolerance():
    null = np.array([[2**52, 2**52 - 1, 2**52], [5, 6, 4]])
    assert permutation_pvalues(null, tolerance=0).tolist() == [2 / 3, 2 / 3]


def test_permutation_pvalue_is_nan_only_in_the_row_with_nan():
    p = permutation_pvalues([[1.0, np.nan, 0.0], [1.0, 2.0, 0.0]])
    assert math.isnan(p[0])
    assert p[1] == pytest.approx(2 / 3)


# -- combined p -------------------------------------------------------------------------------------------------------
def test_combined_pvalues_by_hand():
    assert harmonic_mean_pvalue([0.5, 0.25]) == pytest.approx(2 / (2 + 4))
    assert mean_log_pvalue([math.exp(-1), math.exp(-3)]) == pytest.approx(-2)
    assert compute_calibrated_harmonic_pvalue([0.03]) == 0.03


@pytest.mark.parametrize("case", CORPUS_P)
def test_combined_pvalues_of_the_oracle(case):
    assert harmonic_mean_pvalue(case["p"]) == pytest.approx(case["hmp"], rel=1e-12)
    assert compute_calibrated_harmonic_pvalue(case["p"]) == pytest.approx(case["landau"], rel=1e-9)
    assert mean_log_pvalue(case["p"]) == pytest.approx(case["mean_log_p"], rel=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_ways", [1, 2, 7, 252])
def test_expected_log_pvalues_take_each_partition_in_turn_for_the_observed_one(n_ways, ties):
    null = np.random.default_rng(n_ways).normal(size=(5, n_ways)).round(1 if ties else 12)
    expected = [np.mean([math.log(np.mean(row >= value - 1e-9)) for value in row]) for row in null]
    assert expected_log_pvalues(null) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_expected_log_pvalues_of_few_captions_are_not_minus_1():
    lattice = np.arange(10.0)  # 2 v 3: ten partitions, here without a tie
    assert expected_log_pvalues([lattice]) == pytest.approx([math.log(math.factorial(10)) / 10 - math.log(10)])
    assert expected_log_pvalues([lattice])[0] == pytest.approx(-0.79, abs=0.005)
    assert expected_log_pvalues([np.arange(2e5)])[0] == pytest.approx(-1.0, abs=1e-4)


def test_expected_log_pvalues_do_not_depend_on_blocks():
    null = np.random.default_rng(0).normal(size=(30, 20_000)).round(3)
    apart = [expected_log_pvalues(row[None])[0] for row in null]
    assert expected_log_pvalues(null).tolist() == apart


@pytest.mark.parametrize("tiny", [1e-320, 5e-324, 1e-300])
def test_tiny_pvalues_combine_without_overflow(tiny):
    assert harmonic_mean_pvalue([tiny, 0.5]) == pytest.approx(2 * tiny, rel=1e-3)  # denormals have few digits
    assert compute_calibrated_harmonic_pvalue([tiny, 0.5]) == pytest.approx(2 * tiny, rel=1e-3)
    assert mean_log_pvalue([tiny]) == pytest.approx(math.log(tiny))


def test_calibrated_harmonic_pvalue_goes_on_smoothly_where_reciprocals_end():
    above, below = (compute_calibrated_harmonic_pvalue([p, 1.0]) for p in (0.51e-300, 0.49e-300))
    assert above / below == pytest.approx(0.51 / 0.49, rel=1e-9)


@pytest.mark.parametrize("combine", COMBINED)
def test_combined_pvalues_leave_nan_out_and_ignore_the_order(combine):
    assert combine([0.2, math.nan, 0.01, 0.9]) == pytest.approx(combine([0.9, 0.2, 0.01]), rel=1e-14)
    assert math.isnan(combine([]))
    assert math.isnan(combine([math.nan, math.nan]))
    assert type(combine([0.5, 0.5])) is float


@pytest.mark.parametrize("combine", COMBINED)
@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.5])
def test_combined_pvalues_refuse_what_is_no_pvalue(combine, wrong):
    with pytest.raises(ValueError, match=rf"^`pvalues`.*got {wrong}"):
        combine([0.5, wrong])


@pytest.mark.parametrize("n_examples", [50, 1_000])
def test_calibrated_harmonic_pvalue_has_its_nominal_size(n_examples):
    uniform = 1.0 - np.random.default_rng(0).random((2_000, n_examples))
    size = np.mean([compute_calibrated_harmonic_pvalue(p) <= 0.05 for p in uniform])
    raw = np.mean([harmonic_mean_pvalue(p) <= 0.05 for p in uniform])
    assert size == pytest.approx(0.05, abs=0.01)
    assert raw > size


# -- a corpus ---------------------------------------------------------------------------------------------------------
def test_set_test_by_hand():
    test = SetTest(2)
    test.add([0, 1], [[3.0, 1.0, 2.0], [5.0, 5.0, 5.0]])
    summary = test.summary()
    assert summary["pvalues"] == pytest.approx([1 / 3, 1.0])
    assert summary["null_means"] == pytest.approx([2.0, 5.0])
    assert test.null_stds == pytest.approx([math.sqrt(2 / 3), 0.0])
    assert summary["zscores"] == pytest.approx([math.sqrt(3 / 2), math.nan], nan_ok=True)
    assert summary["null_mean"] == pytest.approx(3.5)
    assert summary["z"] == pytest.approx((8 - 7) / math.sqrt(2 / 3))
    assert summary["pvalue"] == 1 / 3  # only the p-value of the varying one


def test_set_test_summarises_its_pvalues_and_excess():
    test = SetTest(2)
    null = np.array([[3.0, 1.0, 2.0, 4.0], [2.0, 3.0, 4.0, 1.0]])
    test.add([0, 1], null)
    summary, p = test.summary(), [2 / 4, 3 / 4]
    assert summary["mean_log_pvalue"] == pytest.approx(mean_log_pvalue(p))
    assert summary["expected_mean_log_pvalue"] == pytest.approx(mean_log_pvalue([1 / 4, 2 / 4, 3 / 4, 1.0]))
    assert summary["excess_scores"] == pytest.approx([0.5, -0.5])
    assert summary["excess"] == pytest.approx(0.0)
    reach = scipy.stats.t.ppf(0.975, 1) * 0.5  # two values with mean 0 and a standard error of 1/2
    assert summary["excess_interval"] == pytest.approx([-reach, reach])


def test_excess_has_the_interval_of_its_mean():
    rng = np.random.default_rng(3)
    test = SetTest(30, seed=4)
    test.add(range(30), rng.normal(size=(30, 20)))
    interval = bootstrap_interval(test.excess_scores, seed=4)
    assert test.summary()["excess_interval"] == [interval.low, interval.high]
    alone = SetTest(1)
    alone.add([0], [[1.0, 0.0]])
    assert np.isnan(alone.summary()["excess_interval"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_small_values_can_speak_against_the_null_hypothesis(seed):
    null = np.random.default_rng(seed).normal(size=(6, 30))
    large, small, turned = SetTest(6), SetTest(6, extreme="small"), SetTest(6)
    for test, values in ((large, null), (small, null), (turned, -null)):
        test.add(range(6), values)
    one, other, mirror = large.summary(), small.summary(), turned.summary()
    for key in ("z", "excess", "excess_interval", "null_mean", "excess_scores", "null_means", "zscores"):
        assert other[key] == one[key], key
    for key in ("pvalue", "pvalues", "mean_log_pvalue", "expected_mean_log_pvalue"):
        assert other[key] == mirror[key], key
    assert other["pvalues"] != one["pvalues"]


def test_unknown_extremes_are_refused():
    with pytest.raises(ValueError, match=r"^`extreme`.*got 'least'"):
        SetTest(1, extreme="least")


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_ties_go_with_the_tolerance_that_is_given(scale):
    # Examples of one value and of two values, with noise within their tolerance.
    null = scale * np.array([[1.0, 1.0 + 1e-12, 1.0 - 1e-12, 1.0], [2.0, 1.0, 2.0 + 1e-12, 1.0]])
    test = SetTest(2, draws=DRAWS)
    test.add([0, 1], null, tolerance=scale * np.array([1e-9, 2e-9]))
    assert test.pvalues.tolist() == [1.0, 0.5]
    assert test.null_stds == pytest.approx([0.0, 0.5 * scale])
    assert test.expected_log_pvalues == pytest.approx([0.0, math.log(0.5) / 2])
    assert test.summary()["pvalue"] == pytest.approx(0.5, abs=four_standard_errors(0.5))


def test_examples_are_shuffled_independently_of_each_other():
    test = SetTest(6)
    test.add(range(6), [[1.0, 0.0]] * 6)
    assert test.summary()["pvalue"] == pytest.approx(1 / 64, abs=four_standard_errors(1 / 64))


@pytest.mark.parametrize("seed", range(4))
def test_pvalue_against_all_combinations_of_partitions(seed):
    nulls = [np.random.default_rng([seed, size]).normal(size=size) for size in (6, 10, 15)]
    total = sum(null[0] for null in nulls)
    exact = np.mean([sum(values) >= total - 1e-9 for values in itertools.product(*nulls)])
    test = SetTest(3, draws=DRAWS, seed=seed)
    for row, null in enumerate(nulls):
        test.add([row], null[None])
    assert test.summary()["pvalue"] == pytest.approx(exact, abs=four_standard_errors(exact))


def test_pvalue_is_never_0():
    test = SetTest(40, draws=99)
    test.add(range(40), np.eye(1, 10).repeat(40, axis=0))
    assert test.summary()["pvalue"] == 1 / 100


def test_set_test_does_not_depend_on_chunks_or_their_order():
    null = np.random.default_rng(5).normal(size=(20, 70_000))
    whole, parts = SetTest(20, draws=500, seed=9), SetTest(20, draws=500, seed=9)
    whole.add(range(20), null)
    for rows in (range(13, 20), range(5), range(5, 13)):
        parts.add(rows, null[rows.start : rows.stop])
    found = parts.summary()
    for key, value in whole.summary().items():
        assert found[key] == pytest.approx(value, rel=1e-12, abs=1e-14), key


def test_draws_follow_the_seed():
    tests = [SetTest(8, draws=999, seed=seed) for seed in (0, 0, 1)]
    for test in tests:
        test.add(range(8), np.random.default_rng(0).normal(size=(8, 20)))
    first, again, other = (test.summary()["pvalue"] for test in tests)
    assert first == again
    assert first != other


def test_undefined_examples_are_nan_and_change_no_aggregate():
    null = np.random.default_rng(2).normal(size=(2, 30))
    holes, dense = SetTest(4), SetTest(2)
    holes.add([0, 1, 2], [null[0], null[1], np.full(30, np.nan)])
    dense.add([0, 1], null)
    for key, value in dense.summary().items():
        per_example = isinstance(value, list) and key != "excess_interval"
        expected = [*value, math.nan, math.nan] if per_example else value
        assert holes.summary()[key] == pytest.approx(expected, rel=1e-14, nan_ok=True), key


def test_nothing_defined_gives_nan_everywhere():
    summary = SetTest(2).summary()
    assert all(math.isnan(x) for value in summary.values() for x in (value if isinstance(value, list) else [value]))


def test_rounding_noise_is_no_spread():
    test = SetTest(1)
    test.add([0], [[0.0, 1e-17, -1e-17, 0.0]])
    assert test.null_stds.tolist() == [0.0]
    assert math.isnan(test.summary()["zscores"][0])
    assert math.isnan(test.summary()["z"])
    assert math.isnan(test.summary()["pvalue"])


def test_pvalues_compared_elsewhere_are_taken_over():
    test = SetTest(2)
    test.add([1, 0], [[1.0, 2.0], [1.0, 0.0]], pvalues=[0.25, math.nan])
    assert test.summary()["pvalues"] == pytest.approx([math.nan, 0.25], nan_ok=True)
    assert test.summary()["null_means"] == pytest.approx([0.5, 1.5])


def test_summary_holds_plain_floats():
    test = SetTest(1)
    test.add([0], [[1.0, 0.0, 0.5]])
    values = test.summary().values()
    assert all(type(x) is float for value in values for x in (value if isinstance(value, list) else [value]))


@pytest.mark.parametrize(
    ("rows", "null", "message"),
    [
        ([0, 1], [[1.0, 0.0]], r"^`null`.*got shape \(1, 2\)"),
        ([0], [1.0, 0.0], r"^`null`.*got shape \(2,\)"),
        ([1, 2], [[1.0, 0.0]] * 2, r"^`rows`.*got \[1"),
        ([0, 0], [[1.0, 0.0]] * 2, r"^`rows`.*got \[0"),
    ],
)
def test_set_test_refuses(rows, null, message):
    test = SetTest(3)
    test.add([2], [[1.0, 0.0]])
    with pytest.raises(ValueError, match=message):
        test.add(rows, null)


def test_draws_come_from_the_keys_of_the_examples():
    null = np.random.default_rng(0).normal(size=(4, 30))
    whole = SetTest(4, draws=199, seed=3)
    whole.add(range(4), null)
    order = [2, 0, 3, 1]
    other = SetTest(4, draws=199, seed=3, keys=order)
    other.add(range(4), null[order])
    np.testing.assert_allclose(other.sums, whole.sums, rtol=0, atol=1e-12)
    assert other.compute_stratified()[1] == whole.compute_stratified()[1]


def test_a_corpus_is_restored_from_tests_of_single_examples():
    null = np.random.default_rng(1).normal(size=(6, 30)).round(1)
    null[4, 3] = np.nan
    whole = SetTest(6, draws=199, seed=3)
    whole.add(range(6), null)
    singles = [SetTest(1, draws=199, seed=3, keys=[i]) for i in range(6)]
    for i, one in enumerate(singles):
        one.add([0], null[i : i + 1])
    restored = SetTest(6, draws=199, seed=3)
    rows = {name: np.concatenate([getattr(one, name) for one in singles]) for name in SetTest.ROWS}
    restored.restore(rows, sum(one.sums for one in singles), 6 * 2.0**-40)
    for key, value in whole.summary().items():
        np.testing.assert_allclose(restored.summary()[key], value, rtol=1e-12, err_msg=key)


@pytest.mark.parametrize("constant", [0, 2])
def test_where_one_example_varies_the_corpus_has_its_p_and_nothing_is_drawn(constant):
    test = SetTest(1 + constant, draws=9_999)
    test.add([0], [[3.0, 1.0, 2.0]])
    for row in range(constant):
        test.add([1 + row], [[5.0, 5.0, 5.0]])
    assert test.summary()["pvalue"] == 1 / 3


def test_rounded_sums_of_equal_draws_still_tie():
    null = np.full((3, 20), 1 / 3)
    restored = SetTest(3, draws=99)
    whole = SetTest(3, draws=99)
    whole.add(range(3), null, tolerance=0.0)
    rows = {name: getattr(whole, name) for name in SetTest.ROWS} | {"null_stds": [1.0] * 3}
    restored.restore(rows, whole.sums - 2.0**-41, 3 * 2.0**-40)
    assert restored.compute_stratified()[1] == 1.0
