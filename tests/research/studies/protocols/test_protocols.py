"""The figures of the evaluation protocols, from scores and ratings: rules, intervals, undefined scores."""

import itertools
import json
import math

import numpy as np
import pytest
from folders import GOLDEN
from protocol_tasks import evaluated, interleaved, pairs, plain_figures, rated, values

from vlgauge.research.protocols.pairs import RIGHT, Ties
from vlgauge.research.protocols.ratings import ANNOTATORS
from vlgauge.stats import compute_grouped_samples, percentile_interval
from vlgauge.stats.rating_agreement import coefficient

ORACLE = json.loads((GOLDEN / "pac_s" / "protocol_synthetic.json").read_text("utf-8"))


# -- the oracle -------------------------------------------------------------------------------------------------------
def test_every_rating_is_a_row_or_ratings_are_averaged():
    given = ORACLE["expert"]
    scores, ratings = given["score_per_pair"], given["ratings_per_pair"]
    rows = plain_figures(rated(np.ravel(ratings)), np.repeat(scores, 3))
    assert rows == pytest.approx(given["every_rating_is_a_row"], abs=1e-9)
    averaged = plain_figures(rated(np.mean(ratings, axis=1)), scores)
    assert averaged == pytest.approx(given["mean_rating_per_pair"], abs=1e-9)


def test_shares_of_a_crowd():
    given = ORACLE["crowdflower"]
    found = plain_figures(rated(given["fraction_yes"]), given["score"])
    assert found == pytest.approx({"tau_b": given["tau_b"], "tau_c": given["tau_c"]}, abs=1e-9)


def test_annotators_one_by_one():
    given = ORACLE["vatex"]
    found = plain_figures(rated(given["human"], rule=ANNOTATORS), given["score"])
    assert found == pytest.approx({"tau_b": 100 * given["tau_b"], "spearman": 100 * given["spearman"]}, abs=1e-9)


@pytest.mark.parametrize("score_ties", ["wrong", "half", "second"])
def test_votes(score_ties):
    given = ORACLE["pascal"]
    votes = list(zip(given["votes_a"], given["votes_b"], strict=True))
    task = pairs(votes, ties=Ties(scores=score_ties))
    found = plain_figures(task, interleaved(given["score_a"], given["score_b"]))
    assert found == pytest.approx({"accuracy": given["accuracy"][score_ties]}, abs=1e-9)


def test_foils():
    given = ORACLE["foil"]
    found = plain_figures(pairs([RIGHT] * 30), interleaved(given["score_right"], given["score_foil"]))
    assert found == pytest.approx({"accuracy": given["accuracy_strict"]}, abs=1e-9)


def test_paragraphs():
    given = ORACLE["activitynet_foil"]
    counts = given["sentences_per_paragraph"]
    edges = np.cumsum([0, *counts])
    scores, lengths = [], []
    for start, stop in itertools.pairwise(edges.tolist()):
        for side in ("score_right", "score_foil"):
            scores += given[side][start:stop]
            lengths.append(stop - start)
    found = plain_figures(pairs([RIGHT] * len(counts), rows=len(scores), lengths=lengths), scores)
    assert found == pytest.approx({"accuracy": given["accuracy"]}, abs=1e-9)


# -- correlations -----------------------------------------------------------------------------------------------------
def test_kendall_by_hand():
    # Pairs: (1,2) concordant, (1,3) tied in the score, (2,3) discordant, (.,4) concordant, concordant, tied in rating.
    scores, ratings = np.array([1.0, 2.0, 1.0, 3.0]), np.array([1.0, 3.0, 2.0, 2.0])
    assert coefficient("tau_b", scores, ratings) == pytest.approx((3 - 1) / math.sqrt(5 * 5))
    assert coefficient("tau_c", scores, ratings) == pytest.approx(2 * (3 - 1) / (4**2 * (3 - 1) / 3))


def tau_by_definition(x, y, variant):
    pairs = list(itertools.combinations(range(len(x)), 2))
    signs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in pairs]
    difference = sum(a * b for a, b in signs)
    if variant == "b":
        return difference / math.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs))
    m = min(len(set(x)), len(set(y)))
    return 2 * difference / (len(x) ** 2 * (m - 1) / m)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("variant", ["b", "c"])
def test_kendall_is_its_definition_on_data_with_ties(seed, variant):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    x, y = rng.integers(0, 7, n).astype(float), rng.integers(1, 5, n).astype(float) ** 2
    expected = tau_by_definition(x.tolist(), y.tolist(), variant)
    assert coefficient(f"tau_{variant}", x, y) == pytest.approx(expected, rel=1e-10)


def test_spearman_is_the_correlation_of_mean_ranks():
    x, y = np.array([0.1, 0.4, 0.4, 0.2, 0.9]), np.array([1.0, 2.0, 3.0, 3.0, 3.0])
    expected = np.corrcoef([1, 3.5, 3.5, 2, 5], [1, 2, 4, 4, 4])[0, 1]
    assert coefficient("spearman", x, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["tau_b", "tau_c", "spearman"])
@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0, 2.0]])
def test_correlation_of_too_little_is_undefined(name, x):
    x = np.array(x)
    assert math.isnan(coefficient(name, x, np.arange(len(x)) * 1.0))
    assert math.isnan(coefficient(name, np.arange(len(x)) * 1.0, x))


def test_correlations_do_not_change_with_order_or_a_monotone_map():
    rng = np.random.default_rng(1)
    scores, ratings = rng.normal(size=50), rng.integers(1, 5, 50)
    order = rng.permutation(50)
    expected = plain_figures(rated(ratings), scores)
    assert plain_figures(rated(ratings[order]), scores[order]) == pytest.approx(expected)
    assert plain_figures(rated(ratings), np.exp(3 * scores)) == pytest.approx(expected)
    assert plain_figures(rated(ratings), -scores) == pytest.approx({k: -v for k, v in expected.items()})


def test_scores_are_rounded_for_annotators_and_only_there():
    ratings = [[1, 1, 1], [2, 2, 2], [3, 3, 3]]
    scores = [0.10000, 0.10004, 0.2]  # the first two are equal after rounding
    by_annotator = plain_figures(rated(ratings, rule=ANNOTATORS), scores)
    assert by_annotator["tau_b"] == pytest.approx(81.65)  # 2 / sqrt(2 * 3), rounded to four decimals before * 100
    assert plain_figures(rated([1, 2, 3]), scores)["tau_b"] == pytest.approx(100)


def test_annotators_are_averaged_after_correlating():
    ratings = np.array([[1, 4, 1], [2, 3, 1], [3, 2, 1], [4, 1, 2]])
    found = plain_figures(rated(ratings, rule=ANNOTATORS), [0.1, 0.2, 0.3, 0.4])
    assert found["tau_b"] == pytest.approx(100 * round((1 - 1 + 3 / math.sqrt(3 * 6)) / 3, 4))


# -- undefined scores -------------------------------------------------------------------------------------------------
def test_undefined_scores_are_left_out_and_counted():
    rng = np.random.default_rng(3)
    scores, ratings = rng.normal(size=30), rng.integers(1, 5, 30)
    holes = scores.copy()
    holes[[4, 7]] = np.nan
    found = evaluated(rated(ratings), holes.tolist(), resamples=0)
    assert (found.n, found.n_groups, found.undefined) == (28, 28, 2)
    kept = np.delete(np.arange(30), [4, 7])
    assert values(found) == plain_figures(rated(ratings[kept]), scores[kept])


def test_a_pair_with_an_undefined_score_is_left_out_and_counted():
    for holes in ([None, 5.0], [5.0, None]):
        found = evaluated(pairs([RIGHT] * 3), [2.0, 1.0, *holes, 1.0, 2.0], resamples=0)
        assert (values(found), found.n, found.undefined) == ({"accuracy": 50.0}, 2, 1)


def test_a_paragraph_or_draw_with_an_undefined_score_is_left_out_and_counted():
    found = evaluated(pairs([RIGHT] * 2, rows=6, lengths=[2, 2, 1, 1]), [1, math.nan, 0, 0, 3, 2], resamples=0)
    assert (values(found), found.n, found.undefined) == ({"accuracy": 100.0}, 1, 1)
    found = evaluated(pairs([RIGHT] * 2, rows=8, draws=2), [2, 1, 2, 1, 2, 1, math.nan, 1], resamples=0)
    assert (values(found), found.n, found.undefined) == ({"accuracy": 100.0}, 1, 1)


@pytest.mark.parametrize("task", [rated([1, 2, 3]), pairs([RIGHT] * 2, kinds=["a", "b"])])
def test_all_undefined(task):
    found = evaluated(task, [math.nan] * len(task.columns["predictions"]))
    assert all(math.isnan(figure.value) and math.isnan(figure.low) for figure in found.figures.values())
    assert (found.n, found.n_groups) == (0, 0)


# -- intervals --------------------------------------------------------------------------------------------------------
def test_intervals_draw_groups_and_not_rows():
    seen = []

    def statistic(rows):
        seen.append(rows)
        return [0.0]

    groups = ["a", "b", "a", "c", "c", "c"]
    compute_grouped_samples(statistic, groups, resamples=200, seed=1)
    assert seen[0].tolist() == list(range(6))
    members = {"a": [0, 2], "b": [1], "c": [3, 4, 5]}
    for rows in seen[1:]:
        drawn = [groups[row] for row in rows]
        counts = {name: drawn.count(name) / len(rows) for name, rows in members.items()}
        assert sum(counts.values()) == 3  # the number of groups
        assert all(count == int(count) for count in counts.values())
        assert sorted(rows) == sorted(row for name, count in counts.items() for row in members[name] * int(count))
    assert len({tuple(rows) for rows in seen}) > 10


def test_interval_of_a_mean_is_that_of_the_means():
    from vlgauge.stats import bootstrap_interval

    rng = np.random.default_rng(0)
    groups = rng.integers(0, 25, 200).tolist()
    scores = rng.normal(size=200) + np.array(groups)
    samples = compute_grouped_samples(lambda rows: [float(scores[rows].mean())], groups, resamples=4000)
    low, high = percentile_interval(samples[:, 0], 0.95)
    expected = bootstrap_interval(scores.tolist(), groups=groups)
    # One is a percentile interval, the other is studentized and wider for 25 groups.
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.6)
    ungrouped = bootstrap_interval(scores.tolist())
    assert high - low > 1.5 * (ungrouped.high - ungrouped.low)


def test_intervals_are_seeded_and_hold_the_figure():
    rng = np.random.default_rng(8)
    ratings = rng.integers(1, 5, 120)
    scores = ratings + rng.normal(size=120)
    task = rated(ratings, groups=[str(i // 3) for i in range(120)])
    first, again, other = (evaluated(task, scores.tolist(), resamples=100, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.figures != other.figures
    assert all(figure.low < figure.value < figure.high for figure in first.figures.values())
    assert first.signature == "x|v:0.1.0|ratings:rows|level:0.95|resamples:100|seed:1"
    wide = evaluated(task, scores.tolist(), resamples=100, seed=1, level=0.99).figures["tau_b"]
    assert wide.low <= first.figures["tau_b"].low < first.figures["tau_b"].high <= wide.high


def test_intervals_of_accuracies():
    rng = np.random.default_rng(8)
    scores = rng.normal([0.5, 0.0], size=(200, 2))
    task = pairs([RIGHT] * 200, kinds=["a", "b"] * 100, groups=[str(i // 4) for i in range(200)])
    found = evaluated(task, scores.ravel().tolist(), seed=4)
    assert found == evaluated(task, scores.ravel().tolist(), seed=4)
    widths = {name: figure.high - figure.low for name, figure in found.figures.items()}
    assert all(figure.low < figure.value < figure.high for figure in found.figures.values())
    assert widths["mean"] < min(widths["a"], widths["b"])


def test_no_interval_without_samples_or_groups():
    task = rated([1, 2, 3], groups=["same"] * 3)
    for how in ({"resamples": 0}, {}):
        figure = evaluated(task, [1.0, 2.0, 3.0], **how).figures["tau_b"]
        assert figure.value == 100.0
        assert math.isnan(figure.low)
        assert math.isnan(figure.high)
    assert math.isnan(evaluated(pairs([RIGHT] * 2), [1, 0, 1, 0], resamples=0).figures["accuracy"].low)


def test_samples_without_a_correlation_are_left_out():
    found = evaluated(rated([1, 1, 2]), [0.1, 0.2, 0.3], resamples=300).figures["tau_b"]
    assert found.low <= found.high <= 100


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", [rated([1, 2, 3]), pairs([RIGHT] * 2)])
def test_refusals(task):
    n = len(task.columns["predictions"])
    with pytest.raises(ValueError, match=rf"^`scores`.*{n}.*got 1"):
        evaluated(task, [1.0])
    with pytest.raises(TypeError, match=r"^`scores`.*NaN"):
        evaluated(task, ["good"] * n)
    with pytest.raises(ValueError, match=r"^`level`.*got 95"):
        evaluated(task, [1.0] * n, level=95)
    with pytest.raises(ValueError, match=r"^`resamples`.*at least 0.*got -1"):
        evaluated(task, [1.0] * n, resamples=-1)
