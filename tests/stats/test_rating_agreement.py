"""Agreement of scores with ratings."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from vlgauge.stats import rating_agreement
from vlgauge.stats.rank_correlation import SampledTauC
from vlgauge.stats.rating_agreement import APPROXIMATE, COEFFICIENTS, EXACT, RANDOM, agreement, coefficient

SCIPY = {
    "tau_b": lambda x, y: stats.kendalltau(x, y, variant="b"),
    "tau_c": lambda x, y: stats.kendalltau(x, y, variant="c"),
    "spearman": stats.spearmanr,
    "pearson": stats.pearsonr,
}


def drawn_scores(n, seed, ties=True):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(1, 5, n).astype(float) if ties else rng.normal(size=n)
    scores = ratings + rng.normal(0, 2, n)
    return (np.round(scores) if ties else scores), ratings


def test_by_hand():
    # tau-c = 2 (concordant - discordant) / (n^2 (m - 1) / m), m = 2 distinct ratings, and tau-b = 4 / sqrt(6 * 4)
    found = agreement([0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2], resamples=200).correlations
    assert found["tau_c"].value == pytest.approx(2 * 4 / (16 * (1 / 2)))
    assert found["tau_b"].value == pytest.approx(4 / math.sqrt(24))
    assert all(-1.000001 <= one.low <= one.high <= 1.000001 for one in found.values())
    assert agreement([0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2], resamples=0).correlations["tau_c"].value == pytest.approx(-1)
    assert math.isnan(agreement([0.4, 0.3], [1, 2], resamples=0).correlations["pearson"].low)


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("classes", [64, 1])
def test_values_and_intervals_are_those_of_scipy(ties, classes, monkeypatch):
    monkeypatch.setattr(rating_agreement, "MAX_CLASSES", classes)
    scores, ratings = drawn_scores(50, 0, ties)
    found = agreement(scores, ratings, resamples=40, seed=1)
    assert found == agreement(scores, ratings, resamples=40, seed=1)
    generator = np.random.default_rng(1)
    order = np.lexsort((ratings, scores))
    rows = [order[generator.integers(0, 50, 50)] for _ in range(40)]
    for name, plain in SCIPY.items():
        one = found.correlations[name]
        assert one.value == pytest.approx(plain(scores, ratings).statistic)
        samples = [plain(scores[row], ratings[row]).statistic for row in rows]
        if name == "tau_c":
            numbers = [min(len(set(scores[row])), len(set(ratings[row]))) for row in rows]
            tau_c = SampledTauC(scores, ratings, range(50))
            samples = [tau_c.correct(tau, n) for tau, n in zip(samples, numbers, strict=True)]
        assert (one.low, one.high) == pytest.approx(tuple(np.quantile(samples, [0.025, 0.975])))


# -- p-values ---------------------------------------------------------------------------------------------------------
def share_of_pairings(name, scores, ratings):
    """Return the share of all pairings in which the coefficient is at least as far from 0, by enumeration."""
    observed = abs(SCIPY[name](scores, ratings).statistic)
    order = itertools.permutations(ratings)
    return np.mean([abs(SCIPY[name](scores, own).statistic) >= observed - 1e-9 for own in order])


@pytest.mark.parametrize(
    ("scores", "ratings"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
        ([1.0, 1.0, 2.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0, 3.0]),
        ([0.1, 0.1, 0.7], [1.0, 1.0, 4.0]),
        ([3.0, 1.0, 1.0, 2.0, 5.0, 4.0], [3.0, 1.0, 2.0, 2.0, 3.0, 1.0]),
        ([0.3, 0.1, 0.7, 0.4], [1e-200, 3e-200, 4e-200, 2e-200]),
    ],
)
def test_pvalues_of_few_rows_are_those_of_all_pairings(scores, ratings):
    for name, one in agreement(scores, ratings, resamples=0).correlations.items():
        assert one.pvalue == pytest.approx(share_of_pairings(name, scores, ratings))
        assert (one.pvalue_method, one.least_pvalue) == (EXACT, 0.0)


def test_the_least_pvalue_of_three_rows():
    found = agreement([1, 2, 3], [1, 2, 3], resamples=0).correlations
    assert [one.pvalue for one in found.values()] == pytest.approx([1 / 3] * 4)
    # The normal distribution gives 0.0367.
    assert agreement([1, 2, 3, 4, 5], [1, 1, 2, 2, 3]).correlations["tau_b"].pvalue == pytest.approx(1 / 15)


def test_pvalues_of_more_rows():
    scores, ratings = drawn_scores(50, 1, ties=False)
    found = agreement(scores, ratings, resamples=0).correlations
    exact = stats.kendalltau(scores, ratings, method="exact").pvalue
    assert [found[name].pvalue for name in ("tau_b", "tau_c")] == [exact, exact]
    assert [one.pvalue_method for one in found.values()] == [EXACT, EXACT, RANDOM, RANDOM]
    assert found == agreement(scores, ratings, resamples=0).correlations
    # 8 rows have 40,320 pairings. The share of 9,999 random ones has a standard error of at most 0.005.
    scores, ratings = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0]), np.array([1.0, 2, 2, 1, 3, 2, 3, 1])
    every = np.array(list(itertools.permutations(ratings)))
    sums = {"pearson": every @ (scores - scores.mean()), "tau_b": np.zeros(len(every))}
    for i, j in itertools.combinations(range(8), 2):
        sums["tau_b"] += np.sign(scores[i] - scores[j]) * np.sign(every[:, i] - every[:, j])
    found = agreement(scores, ratings, resamples=0).correlations
    assert {(one.pvalue_method, one.least_pvalue) for one in found.values()} == {(RANDOM, 1e-4)}
    for name, own in sums.items():  # the first pairing is the observed one
        assert found[name].pvalue == pytest.approx(np.mean(np.abs(own) >= abs(own[0]) - 1e-9), abs=0.02)
    scores, ratings = drawn_scores(51, 1)
    for name, one in agreement(scores, ratings, resamples=0).correlations.items():
        assert (one.pvalue, one.pvalue_method) == (pytest.approx(SCIPY[name](scores, ratings).pvalue), APPROXIMATE)


@pytest.mark.parametrize("n", [20, 60, 2_000])
def test_no_pvalue_is_zero(n):
    found = agreement(range(n), range(n), resamples=0).correlations
    assert all(one.pvalue > 0 for one in found.values())


def test_a_coefficient_alone():
    scores, ratings = drawn_scores(30, 1)
    scores[3], ratings[5] = math.nan, math.nan
    for name, one in agreement(scores, ratings, resamples=0).correlations.items():
        assert coefficient(name, scores, ratings) == one.value
    assert math.isnan(coefficient("spearman", [1.0, math.nan], [1.0, 2.0]))


# -- intervals --------------------------------------------------------------------------------------------------------
def test_intervals_of_few_rows_or_groups_are_marked():
    scores, ratings = drawn_scores(40, 5)
    quick = {"coefficients": ["pearson"], "resamples": 1}
    assert not agreement(scores[:20], ratings[:20], **quick).is_of_few
    assert agreement(scores[:19], ratings[:19], **quick).is_of_few
    found = agreement(scores, ratings, groups=[i // 3 for i in range(40)], **quick)
    assert (found.n, found.n_units, found.is_of_few) == (40, 14, True)


@pytest.mark.parametrize("ratings", [np.arange(300.0), np.arange(20.0), np.arange(40.0) // 10])
def test_the_interval_of_tau_c_holds_perfect_agreement(ratings):
    one = agreement(ratings, ratings, coefficients=["tau_c"]).correlations["tau_c"]
    assert one.low < one.value <= one.high


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_the_rows_changes_nothing(grouped):
    scores, ratings = drawn_scores(40, 5)
    labels = np.random.default_rng(6).integers(0, 15, 40)
    ends = []
    for order in (np.arange(40), np.random.default_rng(7).permutation(40)):
        groups = labels[order].tolist() if grouped else None
        found = agreement(scores[order], ratings[order], groups=groups, resamples=100).correlations
        ends.append(np.array([(one.low, one.high) for one in found.values()]))
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


def test_tiny_numbers_have_an_interval():
    scores, ratings = drawn_scores(30, 4)
    found, tiny = (agreement(scores * by, ratings, resamples=100).correlations for by in (1, 1e-200))
    assert (tiny["pearson"].low, tiny["pearson"].high) == pytest.approx((found["pearson"].low, found["pearson"].high))


def test_chosen_coefficients_and_level():
    scores, ratings = drawn_scores(60, 2)
    (name,) = agreement(scores, ratings, coefficients=["tau_c"], resamples=100).correlations
    assert name == "tau_c"
    ends = (agreement(scores, ratings, level=level, resamples=200).correlations for level in (0.5, 0.95))
    narrow, wide = (one["tau_b"] for one in ends)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_groups_are_drawn_whole():
    # Five copies of each row have no more information than one: whole groups give the interval of the rows.
    scores, ratings = drawn_scores(30, 3)
    single = agreement(scores, ratings, resamples=300)
    copied = agreement(np.repeat(scores, 5), np.repeat(ratings, 5), groups=np.repeat(range(30), 5), resamples=300)
    alone = agreement(np.repeat(scores, 5), np.repeat(ratings, 5), resamples=300)
    width = {
        key: one.correlations["pearson"].high - one.correlations["pearson"].low
        for key, one in (("single", single), ("copied", copied), ("alone", alone))
    }
    assert width["copied"] == pytest.approx(width["single"])
    assert width["alone"] < 0.6 * width["single"]


def test_what_has_no_agreement():
    nothing = agreement([0.1, math.nan, 0.3], [1, 2, math.nan])
    assert (nothing.n, nothing.n_dropped) == (1, 2)
    for found in (nothing, agreement([0.1, 0.2], [3, 3]), agreement([], []), agreement([1, 1], [1, 2])):
        assert list(found.correlations) == list(COEFFICIENTS)
        assert all(math.isnan(one.value) and math.isnan(one.pvalue) for one in found.correlations.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [3]), r"^`ratings`.*rating"),
        (([0.1, math.inf], [3, 4]), r"^`scores`.*got inf"),
        (([0.1, 0.2], [3, -math.inf]), r"^`ratings`.*inf"),
    ],
)
def test_wrong_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        agreement(*arguments)


def test_wrong_options():
    with pytest.raises(ValueError, match=r"^`groups`.*got 1"):
        agreement([1, 2], [1, 2], groups=["a"])
    with pytest.raises(ValueError, match=r"^`coefficients`.*got 'tau'"):
        agreement([1, 2], [1, 2], coefficients=["tau"])


def coverage(runs, n):
    """Return how often the interval of each coefficient contains the value of a large sample of the same kind."""
    truth = {name: one.value for name, one in agreement(*drawn_scores(200_000, 9), resamples=0).correlations.items()}
    held = dict.fromkeys(COEFFICIENTS, 0)
    for seed in range(runs):
        for name, one in agreement(*drawn_scores(n, 1000 + seed), seed=seed).correlations.items():
            held[name] += one.low <= truth[name] <= one.high
    return {name: count / runs for name, count in held.items()}


@pytest.mark.slow
def test_intervals_cover_at_their_level():
    assert all(0.93 <= share <= 0.97 for share in coverage(1000, 200).values())
