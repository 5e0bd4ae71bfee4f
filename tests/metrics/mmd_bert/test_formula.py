"""Formulas of mmd_bert: distances, bandwidth, kernel, the three estimators and their null distributions."""

import gzip
import itertools
import json
import math

import folders
import numpy as np
import pytest
from folders import METRICS
from scipy import stats

from vlgauge.core.catalog import folder_module
from vlgauge.stats import partitions, permutation_pvalues

GOLDEN = json.loads((folders.GOLDEN / "mmd.json").read_text(encoding="utf-8"))
SHARED = METRICS.parents[1] / "shared" / "oracles" / "trm_kbm.json.gz"  # next to the checkout, not part of it
ESTIMATORS = ("unbiased", "biased", "released")
RULES = ("median", "mean", "max", "max2")
mmd = folder_module("mmd_bert", "mmd_bert")
reference = folder_module("mmd_bert", "reference")


def example(n, m, *, d=3, shift=0.7, seed=0, n_examples=1):
    vectors = np.random.default_rng([seed, n, m]).normal(size=(n_examples, n + m, d))
    vectors[:, n:] += shift
    return vectors


def kernel_of(vectors, rule="median"):
    squared = mmd.compute_squared_distances(np.asarray(vectors, dtype=np.float64))
    return mmd.gaussian_kernel(squared, mmd.bandwidths(squared, rule))


def exact_pvalues(vectors, n, estimator="unbiased"):
    candidates = partitions(n, vectors.shape[1] - n, pvalue="exact").candidates
    return permutation_pvalues(mmd.null_distribution(kernel_of(vectors), candidates, estimator))


def squared_of_gram(gram):
    squared = np.diagonal(gram)[:, None] + np.diagonal(gram) - 2 * np.asarray(gram)
    return np.where(squared < 1e-12, 0.0, squared)[None]


# -- by hand ----------------------------------------------------------------------------------------------------------
LINE = np.array([[[0.0], [1.0], [0.0], [2.0]]])  # candidates 0 and 1, references 0 and 2; distances 0 1 1 1 2 2


@pytest.mark.parametrize(("rule", "c"), [("median", 0.5), ("mean", 7 / 12), ("max", 1.0), ("max2", 2.0), (3, 3.0)])
def test_bandwidth_by_hand(rule, c):
    assert mmd.bandwidths(mmd.compute_squared_distances(LINE), rule) == pytest.approx([c], rel=1e-15)


def test_median_of_distances_1_2_3_4_6_7_is_the_lower_one():
    assert mmd.bandwidths(mmd.compute_squared_distances(np.array([[[0.0], [1.0], [3.0], [7.0]]]))) == pytest.approx(
        [3 / 2]
    )


def test_squared_mmd_by_hand():
    kernel, unbiased = kernel_of(LINE, 1.0), math.exp(-2) / 2 - 1 / 2
    expected = [unbiased, 1 / 2 - math.exp(-1 / 2) / 2, unbiased + 2 * (1 + 1e-5)]
    found = [mmd.squared_mmd(kernel, 2, estimator)[0] for estimator in ESTIMATORS]
    assert found == pytest.approx(expected, rel=1e-14)


# -- against the definition -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 5), (5, 3), (4, 4)])
def test_null_distribution_against_loops_over_all_partitions(n, m, estimator):
    vectors = example(n, m, n_examples=3)
    kernel = kernel_of(vectors)
    null = mmd.null_distribution(kernel, partitions(n, m).candidates, estimator)
    assert null[:, 0] == pytest.approx(mmd.squared_mmd(kernel, n, estimator), abs=1e-14)
    for row, candidates in enumerate(itertools.combinations(range(n + m), n)):
        references = [i for i in range(n + m) if i not in candidates]
        expected = [
            reference.squared_mmd(one[list(candidates)], one[references], reference.median_bandwidth(one), estimator)
            for one in vectors
        ]
        assert null[:, row] == pytest.approx(expected, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(("n", "m", "seed"), [(3, 4, 0), (5, 3, 1), (2, 6, 2), (4, 4, 3)])
def test_exact_pvalue_against_scipy(n, m, seed):
    vectors = example(n, m, seed=seed)
    kernel = kernel_of(vectors)[0]

    def statistic(*sides):
        order = np.concatenate(sides)
        return mmd.squared_mmd(kernel[np.ix_(order, order)][None], n)[0]

    sides = (np.arange(n), np.arange(n, n + m))
    theirs = stats.permutation_test(sides, statistic, alternative="greater", n_resamples=np.inf)
    assert exact_pvalues(vectors, n) == pytest.approx([theirs.pvalue], abs=1e-14)


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 30, 20_000), (300, 6, 400)])
def test_squared_distances_against_direct_differences(shape):
    vectors = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    squared = mmd.compute_squared_distances(vectors)
    for s, i, j in [(0, 0, 1), (-1, 3, 1), (-1, 0, -1), (0, 2, 2), (-1, -2, -1)]:
        difference = vectors[s, i].astype(np.float64) - vectors[s, j]
        assert squared[s, i, j] == pytest.approx(math.fsum(difference**2), rel=1e-14)
    assert np.array_equal(squared, squared.swapaxes(1, 2))


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4])
def test_squared_distances_keep_the_digits_of_near_duplicates(offset):
    vectors = np.full((1, 4, 384), offset)
    vectors[0, 1:3, 7] += 2.0**-16, 2.0**-21
    squared = mmd.compute_squared_distances(vectors)[0]
    assert squared[0].tolist() == [0.0, 2.0**-32, 0.0, 0.0]  # 2^-42 is below 1e-12
    assert squared[1, 2] == (2.0**-16 - 2.0**-21) ** 2


# -- properties -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "m"), [(2, 3), (5, 5), (10, 5)])
def test_unbiased_has_mean_zero_over_all_partitions(n, m):
    null = mmd.null_distribution(kernel_of(example(n, m, n_examples=4)), partitions(n, m).candidates)
    assert null.mean(axis=1) == pytest.approx(np.zeros(4), abs=1e-14)


@pytest.mark.parametrize(("n", "m"), [(2, 4), (5, 5), (6, 3)])
def test_biased_is_not_negative_and_released_is_shifted(n, m):
    kernel = kernel_of(example(n, m, shift=0.0, n_examples=50))
    unbiased, biased, released = (mmd.squared_mmd(kernel, n, estimator) for estimator in ESTIMATORS)
    assert biased.min() >= 0
    assert unbiased.min() < 0
    assert released == pytest.approx(unbiased + (1 + 1e-5) * (1 / (n - 1) + 1 / (m - 1)), rel=1e-13)


@pytest.mark.parametrize(("n", "m", "equal"), [(4, 4, ESTIMATORS), (3, 5, ("unbiased", "released"))])
def test_estimators_that_share_their_pvalues(n, m, equal):
    vectors = example(n, m, n_examples=20)
    expected = exact_pvalues(vectors, n)
    for estimator in equal:
        assert np.array_equal(exact_pvalues(vectors, n, estimator), expected)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_swapped_sides_give_the_same_value_and_pvalue(estimator):
    vectors = example(3, 5, n_examples=10)
    swapped = np.concatenate([vectors[:, 3:], vectors[:, :3]], axis=1)
    ours, theirs = (mmd.squared_mmd(kernel_of(v), n, estimator) for v, n in ((vectors, 3), (swapped, 5)))
    assert ours == pytest.approx(theirs, abs=1e-14)
    assert np.array_equal(exact_pvalues(vectors, 3, estimator), exact_pvalues(swapped, 5, estimator))


def test_order_within_a_side_and_scale_do_not_matter():
    vectors = example(4, 5, n_examples=10)
    shuffled = 7.5 * vectors[:, [2, 0, 3, 1, 8, 5, 4, 7, 6]]
    assert mmd.squared_mmd(kernel_of(shuffled), 4) == pytest.approx(mmd.squared_mmd(kernel_of(vectors), 4), abs=1e-13)
    assert np.array_equal(exact_pvalues(shuffled, 4), exact_pvalues(vectors, 4))


@pytest.mark.parametrize(("n", "m", "smallest"), [(2, 3, 1 / 10), (4, 4, 2 / 70), (5, 3, 1 / 56)])
def test_smallest_pvalue_is_one_partition_or_two_for_equal_sizes(n, m, smallest):
    assert exact_pvalues(example(n, m, shift=9.0), n) == pytest.approx([smallest], rel=1e-14)


def test_mmd_grows_with_the_distance_between_the_sides():
    kernels = (kernel_of(example(5, 5, shift=shift, n_examples=200), 2.0) for shift in (0.0, 0.5, 1.0, 2.0))
    means = [mmd.squared_mmd(kernel, 5).mean() for kernel in kernels]
    assert means == sorted(means)


def test_an_example_does_not_depend_on_the_others():
    vectors = example(5, 4, d=40, n_examples=3_000)  # more than one chunk of squared_distances
    alone = np.concatenate([mmd.squared_mmd(kernel_of(v[None]), 5) for v in vectors[::500]])
    assert mmd.squared_mmd(kernel_of(vectors), 5)[::500] == pytest.approx(alone, rel=1e-12, abs=1e-14)
    assert np.array_equal(exact_pvalues(vectors, 5)[-3:], exact_pvalues(vectors[-3:], 5))


def test_monte_carlo_pvalues_are_near_the_exact_ones():
    vectors, draws = example(5, 5, shift=0.4, n_examples=40), 9_999
    sampled = partitions(5, 5, pvalue="monte_carlo", draws=draws).candidates
    found = permutation_pvalues(mmd.null_distribution(kernel_of(vectors), sampled))
    exact = exact_pvalues(vectors, 5)
    assert np.all(np.abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / draws) + 1 / draws)


def test_exact_pvalues_are_uniform_under_the_null():
    pvalues = exact_pvalues(example(5, 5, d=10, shift=0.0, n_examples=2_000, seed=1), 5)
    assert 0.03 <= np.mean(pvalues <= 0.05) <= 0.06
    # Values come in steps of 2/252, because mirror images tie; spreading each over its step makes them continuous.
    spread = pvalues - 2 / 252 * np.random.default_rng(2).random(2_000)
    assert stats.kstest(spread, "uniform").pvalue > 0.05


# -- degenerate input and errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("estimator", "value"), [("unbiased", 0.0), ("biased", 0.0), ("released", 0.500005)])
def test_equal_captions_are_at_distance_zero_with_pvalue_one(rule, estimator, value):
    squared = mmd.compute_squared_distances(np.full((2, 10, 8), 0.3, dtype=np.float32))
    assert mmd.bandwidths(squared, rule).tolist() == [0.0, 0.0]
    null = mmd.null_distribution(kernel_of(np.full((2, 10, 8), 0.3), rule), partitions(5, 5).candidates, estimator)
    assert null == pytest.approx(np.full((2, 252), value), abs=1e-12)
    assert permutation_pvalues(null).tolist() == [1.0, 1.0]


def test_zero_median_gives_way_to_half_the_smallest_positive_distance():
    vectors = np.zeros((1, 10, 1))
    vectors[0, 7:, 0] = [3.0, -2.0, 8.0]
    assert mmd.bandwidths(mmd.compute_squared_distances(vectors), "median") == pytest.approx([1.0])
    assert mmd.bandwidths(mmd.compute_squared_distances(vectors), "max") == pytest.approx([5.0])


@pytest.mark.parametrize("rule", [*RULES, 0.5])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_a_vector_that_is_not_finite_makes_only_its_example_nan(rule, bad):
    vectors = example(3, 3, n_examples=3)
    vectors[1, 4, 0] = bad
    null = mmd.null_distribution(kernel_of(vectors, rule), partitions(3, 3).candidates)
    assert np.isnan(mmd.bandwidths(mmd.compute_squared_distances(vectors), rule)).tolist() == [
        False,
        rule in RULES,
        False,
    ]
    assert np.isnan(permutation_pvalues(null)).tolist() == [False, True, False]


def test_a_tiny_bandwidth_keeps_only_equal_captions_together():
    assert kernel_of(LINE, 1e-200)[0, 0].tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("rule", ["medium", 0.0, -1.0, math.nan, math.inf, True, None, "0.5"])
def test_unknown_bandwidth_is_refused(rule):
    with pytest.raises(ValueError, match=r"^`bandwidth`.*'median'.*'mean'"):
        mmd.bandwidths(np.zeros((1, 4, 4)), rule)


# -- oracles ----------------------------------------------------------------------------------------------------------
def numbers(squared, n, rule, estimator):
    kernel = mmd.gaussian_kernel(squared, mmd.bandwidths(squared, rule))
    null = mmd.null_distribution(kernel, partitions(n, squared.shape[1] - n).candidates, estimator)[0]
    value, p = mmd.squared_mmd(kernel, n, estimator)[0], permutation_pvalues(null[None])[0]
    return {"value": value, "p": p, "null_mean": null.mean(), "null_std": null.std()}


def check_case(case, estimator):
    squared, n, expected = squared_of_gram(case["gram"]), len(case["predictions"]), case["mmd"][estimator]
    for rule in RULES:
        assert mmd.bandwidths(squared, rule) == pytest.approx([case["mmd"]["bandwidth"][rule]], abs=1e-12)
        assert numbers(squared, n, rule, estimator)["value"] == pytest.approx(expected[rule], abs=1e-12)
    at_median = {"value": expected["median"]} | {key: expected[key] for key in ("p", "null_mean", "null_std")}
    assert numbers(squared, n, "median", estimator) == pytest.approx(at_median, abs=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_captions_of_the_oracle(case, estimator):
    check_case(case, estimator)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_released_estimator_against_the_authors_code(case):
    squared, n = squared_of_gram(case["gram"]), len(case["predictions"])
    for rule, expected in case["mmd"]["released_code"].items():
        if expected is not None:  # NaN at a zero median, where ours has a guard
            found = numbers(squared, n, 0.5 if rule == "sigma_0.5" else rule, "released")
            assert found["value"] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("rule", [*RULES, "0.5"])
@pytest.mark.parametrize("case", GOLDEN["arrays"], ids=lambda case: case["name"])
def test_arrays_of_the_oracle(case, rule):
    n, expected = len(case["predictions"]), case["mmd"][rule]
    squared = mmd.compute_squared_distances(np.array([case["predictions"] + case["references"]]))
    rule = rule if rule in RULES else float(rule)
    assert mmd.bandwidths(squared, rule) == pytest.approx([expected["bandwidth"]], abs=1e-12)
    for estimator in ESTIMATORS:
        assert numbers(squared, n, rule, estimator) == pytest.approx(expected[estimator], abs=1e-12)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the reference material next to the checkout")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", ["13_coco_two_images", "18_paper_figure_1"])
def test_coco_captions_of_the_reference_material(name, estimator):
    cases = json.loads(gzip.decompress(SHARED.read_bytes()))["cases"]
    check_case(next(case for case in cases if case["name"] == name), estimator)
