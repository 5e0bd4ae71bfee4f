"""Several metrics on one dataset: the same figures as alone, paired samples, differences, undefined cases."""

import itertools
import math

import numpy as np
import pytest
from protocol_tasks import evaluated, pairs, rated, values
from scipy.stats import kendalltau, spearmanr

from vlgauge.research.protocols.evaluation import judge
from vlgauge.research.protocols.pairs import RIGHT
from vlgauge.research.protocols.ratings import ANNOTATORS, TAUS
from vlgauge.stats import bootstrap_pvalue, compute_grouped_samples
from vlgauge.stats.rank_correlation import RankTable, SampledTauC, table_spearman, table_taus
from vlgauge.stats.rating_agreement import coefficient


def made(seed, n=60):
    """Return scores with ties, ratings of 1 to 4, and images with three rows each."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(1, 5, n)
    scores = np.round(ratings + rng.normal(0, 2, n), 1)
    return scores, ratings, [str(i // 3) for i in range(n)]


# -- correlations from counts -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_counts_give_what_scipy_gives(seed):
    scores, ratings, _ = made(seed)
    drawn = np.random.default_rng(seed).integers(0, 60, 60)
    counts = RankTable(scores, ratings).counts(drawn)
    tau_b, tau_c = (kendalltau(scores[drawn], ratings[drawn], variant=variant).statistic for variant in "bc")
    assert table_taus(counts) == pytest.approx((tau_b, tau_c), rel=1e-12)
    assert table_spearman(counts) == pytest.approx(spearmanr(scores[drawn], ratings[drawn]).statistic, rel=1e-12)


@pytest.mark.parametrize("constant", ["scores", "ratings"])
def test_a_sample_with_one_value_has_no_correlation(constant):
    scores, ratings = np.arange(4.0), np.array([1.0, 1.0, 2.0, 3.0])
    table = RankTable(np.ones(4) if constant == "scores" else scores, np.ones(4) if constant == "ratings" else ratings)
    assert np.isnan([*table_taus(table.counts(np.arange(4))), table_spearman(table.counts(np.arange(4)))]).all()
    # Two values, one of which is in the sample.
    assert np.isnan(table_taus(RankTable(scores, ratings).counts(np.array([0, 1, 1])))).all()


@pytest.mark.parametrize("rule", [TAUS, ANNOTATORS])
def test_samples_have_the_figures_of_their_rows(rule):
    scores, ratings, _ = made(7)
    columns = np.stack([ratings, ratings[::-1]], axis=1) if rule is ANNOTATORS else ratings[:, None]
    drawn = np.random.default_rng(1).integers(0, 60, 60)
    exact = rule.exact(scores[drawn], columns[drawn].astype(float))
    groups = range(60)
    if rule is TAUS:
        n_classes = min(len(set(scores[drawn])), len(set(ratings[drawn])))
        exact["tau_c"] = SampledTauC(scores, ratings, groups).correct(exact["tau_c"] / 100, n_classes) * 100
    assert list(rule.sampled(scores, columns, groups)(drawn)) == pytest.approx(list(exact.values()), rel=1e-9)


def test_many_different_ratings_are_left_to_scipy():
    scores = np.random.default_rng(3).normal(size=80)
    task = rated(scores + np.arange(80) / 40)
    drawn = np.arange(79)
    expected = task.figures_of(scores, drawn)
    expected["tau_c"] = SampledTauC(scores, task.ratings[:, 0], range(80)).correct(expected["tau_c"] / 100, 79) * 100
    assert task.create_sampler(scores, np.arange(80))(drawn) == pytest.approx(list(expected.values()), rel=1e-12)


def test_tau_c_of_samples_is_that_of_the_rows_on_average():
    scores, ratings = np.array([0.3, 0.1, 0.5, 0.2, 0.4]), np.arange(5.0)
    tau_c, found = SampledTauC(scores, ratings, range(5)), []
    for rows in map(list, itertools.product(range(5), repeat=5)):
        n_classes = len(set(rows))
        own = coefficient("tau_c", scores[rows], ratings[rows])
        found.append(0.0 if n_classes < 2 else tau_c.correct(own, n_classes))
    assert np.mean(found) == pytest.approx(coefficient("tau_c", scores, ratings))


@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4], [0, 1, 1, 2, 2], [0, 0, 0, 0, 1], [0] * 5])
def test_samples_have_fewer_pairs_of_different_rows(labels):
    groups = [np.flatnonzero(np.array(labels) == label) for label in dict.fromkeys(labels)]
    samples = itertools.product(groups, repeat=len(groups))
    numbers = [sum(a != b for a, b in itertools.combinations(np.concatenate(own).tolist(), 2)) for own in samples]
    assert SampledTauC(np.arange(5.0), np.arange(5.0), labels).factor == pytest.approx(10 / np.mean(numbers))


def test_the_interval_of_tau_c_holds_perfect_agreement():
    for ratings in (np.arange(200.0), np.arange(40.0), np.arange(40.0) // 10):
        found = judge(rated(ratings), {"same": ratings.tolist()}, resamples=200).evaluations["same"].figures["tau_c"]
        assert found.low < found.value <= found.high


# -- several metrics --------------------------------------------------------------------------------------------------
def test_metrics_together_have_the_figures_and_intervals_that_they_have_alone():
    scores, ratings, groups = made(0)
    task = rated(ratings, groups)
    both = {"one": scores.tolist(), "other": made(1)[0].tolist()}
    found = judge(task, both, resamples=50, seed=3)
    assert found.evaluations == {name: evaluated(task, own, resamples=50, seed=3) for name, own in both.items()}
    tau_b, tau_c = (100 * kendalltau(scores, ratings, variant=variant).statistic for variant in "bc")
    assert values(found.evaluations["one"]) == {"tau_b": tau_b, "tau_c": tau_c}


def test_a_difference_is_that_of_paired_samples():
    scores, ratings, groups = made(0)
    other = made(1)[0]
    task = rated(ratings, groups)
    found = judge(task, {"one": scores.tolist(), "other": other.tolist()}, resamples=200, seed=5)

    def by_hand(drawn):
        taus = [kendalltau(own[drawn], ratings[drawn], variant="b").statistic for own in (scores, other)]
        return [100 * (taus[0] - taus[1])]

    samples = compute_grouped_samples(by_hand, groups, resamples=200, seed=5)[:, 0]
    difference = found.differences[0]
    assert (difference.figure, difference.first, difference.second, difference.n) == ("tau_b", "one", "other", 60)
    assert difference.value == pytest.approx(by_hand(np.arange(60))[0])
    assert (difference.low, difference.high) == pytest.approx(tuple(np.quantile(samples, [0.025, 0.975])))
    below, above = np.count_nonzero(samples <= 0), np.count_nonzero(samples >= 0)
    assert difference.pvalue == min(1.0, 2 * (1 + min(below, above)) / 201)
    swapped = judge(task, {"other": other.tolist(), "one": scores.tolist()}, resamples=200, seed=5).differences[0]
    turned = (-difference.value, -difference.high, -difference.low, difference.pvalue)
    assert (swapped.value, swapped.low, swapped.high, swapped.pvalue) == pytest.approx(turned)


def test_all_figures_are_of_the_items_that_every_metric_defines():
    scores, ratings, groups = made(0)
    holes = np.where(np.arange(60) < 20, np.nan, made(1)[0])
    other = np.where(np.arange(60) >= 50, np.nan, made(2)[0])
    task = rated(ratings, groups)
    given = {"whole": scores.tolist(), "holes": holes.tolist(), "other": other.tolist()}
    found = judge(task, given, resamples=119)
    assert [(one.undefined, one.n_own, one.n) for one in found.evaluations.values()] == [
        (0, 60, 30),
        (20, 40, 30),
        (10, 50, 30),
    ]
    kept = slice(20, 50)
    alone = judge(rated(ratings[kept], groups[kept]), {name: own[kept] for name, own in given.items()}, resamples=119)
    for name, own in found.evaluations.items():
        assert own.figures == alone.evaluations[name].figures
        rows = np.flatnonzero(~np.isnan(np.array(given[name])))
        expected = values(evaluated(rated(ratings[rows]), np.array(given[name])[rows].tolist(), resamples=0))
        assert own.own_values == expected
    assert found.differences == alone.differences
    by_pair = {(one.first, one.second): one.value for one in found.differences if one.figure == "tau_b"}
    taus = {name: own.figures["tau_b"].value for name, own in found.evaluations.items()}
    assert by_pair == {pair: taus[pair[0]] - taus[pair[1]] for pair in by_pair}


def test_a_metric_that_defines_nothing_takes_no_rows_from_the_others():
    scores, ratings, groups = made(0)
    given = {"one": scores.tolist(), "none": [math.nan] * 60, "other": made(1)[0].tolist()}
    found = judge(rated(ratings, groups), given, resamples=119)
    without = judge(rated(ratings, groups), {name: given[name] for name in ("one", "other")}, resamples=119)
    assert [found.evaluations[name] for name in ("one", "other")] == list(without.evaluations.values())
    assert found.differences[1].value == without.differences[0].value
    assert math.isnan(found.differences[0].value)


# -- draws of references ----------------------------------------------------------------------------------------------
def test_draws_of_references_have_figures_of_their_own():
    rng = np.random.default_rng(4)
    scores = rng.normal([0.5, 0.0], size=(5, 40, 2))
    task = pairs([RIGHT] * 40, kinds=["HC", "HI"] * 20, rows=400, draws=5)
    found = evaluated(task, scores.ravel().tolist(), resamples=0)
    right = scores[:, :, 0] > scores[:, :, 1]
    variances = right.var(axis=0, ddof=1)
    each = [100 * math.sqrt(variances[kind::2].sum()) / 20 for kind in (0, 1)]
    expected = {"HC": each[0], "HI": each[1], "mean": math.hypot(*each) / 2}
    assert {name: own.deviation for name, own in found.drawn.items()} == pytest.approx(expected)
    assert {own.n for own in found.drawn.values()} == {5}
    # Similar to the deviation between whole draws.
    assert np.std(100 * right.mean(axis=1), ddof=1) == pytest.approx(expected["mean"], rel=1.0)
    assert evaluated(pairs([RIGHT] * 3), [1, 2] * 3, resamples=0).drawn == {}


def test_equal_and_opposite_metrics():
    scores, ratings, groups = made(2)
    given = {"one": scores.tolist(), "again": (2 * scores + 1).tolist(), "turned": (-scores).tolist()}
    found = {
        (one.first, one.second): one for one in judge(rated(ratings, groups), given, resamples=119).differences[:3]
    }
    same = found["one", "again"]
    assert (same.value, same.low, same.high, same.pvalue, same.adjusted_pvalue) == (0.0, 0.0, 0.0, 1.0, 1.0)
    turned = found["one", "turned"]
    assert turned.pvalue == 2 / 120
    # Holm's correction over the three pairs.
    assert turned.adjusted_pvalue == pytest.approx(3 * 2 / 120)


def test_many_metrics_can_be_told_apart_by_default():
    # Eight metrics make 28 pairs, for which no p-value could be below 0.05 with 1,000 samples.
    scores, ratings, groups = made(2)
    given = {"good": ratings.tolist()} | {f"bad {i}": (-scores - ratings).tolist() for i in range(7)}
    found = judge(rated(ratings, groups), given)
    assert (found.n_pairs, found.resamples) == (28, 2238)
    assert found.differences[0].adjusted_pvalue <= 0.05
    assert judge(rated(ratings, groups), {"one": scores.tolist()}).resamples == 1_000
    with pytest.raises(ValueError, match=r"at least 1119.*28 tests.*got 1000"):
        judge(rated(ratings, groups), given, resamples=1_000)


def test_constant_scores_are_no_number_and_no_pvalue():
    scores, ratings, groups = made(0)
    found = judge(rated(ratings, groups), {"one": scores.tolist(), "flat": [1.0] * 60}, resamples=40)
    assert math.isnan(found.evaluations["flat"].figures["tau_b"].value)
    assert all(math.isnan(one.value) and math.isnan(one.pvalue) for one in found.differences)


def test_nothing_defined():
    task = pairs([RIGHT] * 3)
    found = judge(task, {"none": [math.nan] * 6, "some": [2, 1, 2, 1, 1, 2]}, resamples=40)
    assert (found.evaluations["none"].n, found.evaluations["none"].undefined) == (0, 3)
    assert found.evaluations["some"].figures["accuracy"].value == pytest.approx(200 / 3)
    assert (found.differences[0].n, math.isnan(found.differences[0].value)) == (0, True)


def test_accuracies_are_compared_by_kind_and_in_the_mean():
    task = pairs([RIGHT] * 4, kinds=["HC", "HC", "HC", "HI"])
    found = judge(task, {"a": [2, 1] * 4, "b": [2, 1, 1, 2, 2, 1, 2, 1]}, resamples=0)
    assert {one.figure: one.value for one in found.differences} == pytest.approx(
        {"HC": 100 / 3, "HI": 0.0, "mean": 50 / 3}
    )
    assert all(math.isnan(one.low) and math.isnan(one.pvalue) for one in found.differences)


def test_against_one_metric():
    scores, ratings, groups = made(0)
    given = {name: (scores + i).tolist() for i, name in enumerate("abc")}
    found = judge(rated(ratings, groups), given, against="b", resamples=0)
    assert [(one.first, one.second) for one in found.differences[:2]] == [("a", "b"), ("c", "b")]
    with pytest.raises(ValueError, match=r"^`against`.*got 'd'"):
        judge(rated(ratings, groups), given, against="d")


def test_pvalue_without_samples():
    assert math.isnan(bootstrap_pvalue(np.array([])))
    assert math.isnan(bootstrap_pvalue(np.array([math.nan])))
    assert bootstrap_pvalue(np.array([1.0, 2.0, math.nan])) == pytest.approx(2 / 3)
