import dataclasses
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from coco_captions import random_examples
from made_runs import bleu_run, made_run, three_systems

from vlgauge.corpus_values import corpus_interval
from vlgauge.leaderboard import compare, rank_groups, rows_that_differ

NAN = math.nan


def only(comparison):
    (compared,) = comparison.metrics
    return compared


def the_pair(runs, metric="rovist_nr", **options):
    (pair,) = only(compare(runs, [metric], **options)).pairs
    return pair


# -- Worked by hand ---------------------------------------------------------------------------------------------------
def test_three_rows_by_hand():
    # Differences 1, 2, 3: 2 of 8 assignments of signs reach their sum.
    runs = {"a": made_run([2, 4, 6]), "b": made_run([1, 2, 3])}
    pair = the_pair(runs)
    assert (pair.first, pair.second, pair.difference, pair.pvalue, pair.adjusted_pvalue) == ("a", "b", 2.0, 0.25, 0.25)
    assert (pair.wins, pair.losses, pair.ties, pair.n, pair.undefined, pair.better) == (3, 0, 0, 3, 0, None)
    systems = only(compare(runs, ["rovist_nr"])).systems
    assert [(one.name, one.value, one.n, one.groups) for one in systems] == [("a", 4.0, 3, (1,)), ("b", 2.0, 3, (1,))]


def test_rows_are_joined_by_id_whatever_their_order_and_form():
    straight = the_pair({"a": made_run([1, 5, 2, NAN]), "b": made_run([0, 1, 2, 3])})
    turned = the_pair({"a": made_run([1, 5, 2, NAN]), "b": made_run([3, 2, 1, 0], ids=["3", "2", "1", "0"])})
    assert dataclasses.astuple(straight) == pytest.approx(dataclasses.astuple(turned), nan_ok=True)
    assert (straight.wins, straight.losses, straight.ties, straight.n, straight.undefined) == (2, 0, 1, 3, 1)


# -- The definition as plain loops, and scipy -------------------------------------------------------------------------
def test_pairs_equal_double_loops():
    rng = np.random.default_rng(11)
    scores = {name: rng.normal(size=9) + shift for name, shift in (("a", 0.0), ("b", 0.4), ("c", 0.9))}
    scores["b"][2] = scores["c"][[2, 5]] = NAN
    compared = only(compare({name: made_run(own) for name, own in scores.items()}, ["rovist_nr"]))
    raw = []
    for pair in compared.pairs:
        differences = [a - b for a, b in zip(scores[pair.first], scores[pair.second], strict=True) if a - b == a - b]
        observed = abs(sum(differences))
        hits = total = 0
        for signs in itertools.product((1, -1), repeat=len(differences)):
            hits += abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-12
            total += 1
        raw.append(hits / total)
        assert pair.pvalue == pytest.approx(hits / total, rel=1e-12)
        assert pair.difference == pytest.approx(sum(differences) / len(differences), rel=1e-12)
        drawn = np.random.default_rng(0).integers(0, len(differences), size=(10_000, len(differences)))
        differences.sort(reverse=bool(min(differences) + max(differences) < 0))  # as the samples number them
        means = [sum(differences[i] for i in sample) / len(sample) for sample in drawn.tolist()]
        assert (pair.low, pair.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), rel=1e-9)
        assert (pair.wins, pair.losses) == (sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    for pair, own in zip(compared.pairs, raw, strict=True):
        # Holm by its definition: the largest of (number of p-values not below each smaller one) times that one.
        smaller = [other for other in raw if other <= own]
        adjusted = max(min(1.0, other * sum(one >= other for one in raw)) for other in smaller)
        assert pair.adjusted_pvalue == pytest.approx(adjusted)
    for system in compared.systems:
        defined = [score for score in scores[system.name] if score == score]
        assert (system.value, system.n) == (pytest.approx(sum(defined) / len(defined)), len(defined))


@pytest.mark.parametrize("rows", [8, 12])
def test_tests_and_intervals_equal_scipys(rows):
    rng = np.random.default_rng(rows)
    a, b = rng.gamma(2.0, size=rows), rng.gamma(2.4, size=rows)
    pair = the_pair({"a": made_run(a), "b": made_run(b)})
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True
    )
    assert pair.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)
    interval = scipy.stats.bootstrap((a - b,), np.mean, n_resamples=20_000, method="percentile", rng=rng)
    spread = np.std(a - b) / math.sqrt(rows)
    ends = interval.confidence_interval
    assert (pair.low, pair.high) == pytest.approx((ends.low, ends.high), abs=0.08 * spread)


def test_random_flips_come_close_to_scipys():
    rng = np.random.default_rng(21)
    a, b = rng.normal(size=300), rng.normal(0.1, 1.0, size=300)
    theirs = scipy.stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=rng,
    )
    assert the_pair({"a": made_run(a), "b": made_run(b)}).pvalue == pytest.approx(theirs.pvalue, abs=0.02)


# -- Properties -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("metric", ["rovist_nr", "d_hm"])
@pytest.mark.parametrize("rows", [10, 40])
def test_swapping_the_systems_mirrors_everything(metric, rows):
    runs = {name: run for name, run in three_systems(metric, rows).items() if name != "low too"}
    one, two = the_pair(runs, metric), the_pair(dict(reversed(runs.items())), metric)
    assert (one.first, one.second) == (two.second, two.first)
    assert (one.difference, one.low, one.high) == pytest.approx((-two.difference, -two.high, -two.low), rel=1e-9)
    assert (one.pvalue, one.adjusted_pvalue, one.ties) == (two.pvalue, two.adjusted_pvalue, two.ties)
    assert (one.wins, one.losses, one.better) == (two.losses, two.wins, two.better)
    forth, back = (compare(order, [metric]).metrics[0] for order in (runs, dict(reversed(runs.items()))))
    assert forth.systems == back.systems


@pytest.mark.parametrize(("metric", "best"), [("rovist_nr", "high"), ("d_hm", "low")])
def test_better_is_the_direction_of_the_metric(metric, best):
    compared = only(compare({k: v for k, v in three_systems(metric).items() if k != "low too"}, [metric]))
    (pair,) = compared.pairs
    assert pair.better == compared.systems[0].name == best
    assert (pair.wins > pair.losses) == (pair.first == best)
    assert compared.systems[0].groups == (1,)
    assert compared.systems[1].groups == (2,)


def test_where_every_row_ties_no_system_is_better():
    scores = np.linspace(0.3, 0.5, 20)
    runs = {"a": made_run(scores), "b": made_run(scores + 1e-13)}
    pair = the_pair(runs)
    assert (pair.wins, pair.losses, pair.ties, pair.pvalue, pair.better) == (0, 0, 20, 1.0, None)
    assert (pair.difference, pair.low, pair.high) == (0.0, 0.0, 0.0)
    compared = only(compare(runs, ["rovist_nr"]))
    assert [one.groups for one in compared.systems] == [(1,), (1,)]
    assert rows_that_differ(compared, pair, 20) == []


def test_a_baseline_is_second_in_each_pair_and_only_those_are_corrected():
    runs = three_systems()
    every = only(compare(runs, ["rovist_nr"]))
    some = only(compare(runs, ["rovist_nr"], baseline="low"))
    assert [(pair.first, pair.second) for pair in some.pairs] == [("high", "low"), ("low too", "low")]
    assert some.systems == every.systems
    by_names = {frozenset((pair.first, pair.second)): pair for pair in every.pairs}
    for pair in some.pairs:
        assert pair.pvalue == by_names[frozenset((pair.first, pair.second))].pvalue
        assert pair.adjusted_pvalue <= by_names[frozenset((pair.first, pair.second))].adjusted_pvalue
    assert some.pairs[0].adjusted_pvalue == 2 * some.pairs[0].pvalue
    assert [one.groups for one in some.systems] == [(1,), (2,), (2,)]


def test_a_pair_is_told_apart_by_the_corrected_pvalue():
    # a is better than b in all of 6 rows, p = 2/64; among three pairs that is .09.
    runs = {"a": made_run([1.0] * 6), "b": made_run([0.5] * 6), "c": made_run([2.0, 0.0] * 3)}
    pair = only(compare(runs, ["rovist_nr"])).pairs[0]
    assert (pair.pvalue, pair.adjusted_pvalue, pair.better) == (2 / 64, 6 / 64, None)
    alone = the_pair({name: runs[name] for name in "ab"})
    assert (alone.pvalue, alone.adjusted_pvalue, alone.better) == (2 / 64, 2 / 64, "a")


def test_several_metrics_are_those_of_each_alone():
    one, two = three_systems(), three_systems("d_hm", seed=3)
    runs = {name: one[name] | two[name] for name in one}
    both = compare(runs, ["rovist_nr", "d_hm"])
    for compared, alone in zip(both.metrics, (compare(one, ["rovist_nr"]), compare(two, ["d_hm"])), strict=True):
        (single,) = alone.metrics
        for own, other in zip([*compared.systems, *compared.pairs], [*single.systems, *single.pairs], strict=True):
            for value, expected in zip(dataclasses.astuple(own), dataclasses.astuple(other), strict=True):
                assert value == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


def test_groups_are_drawn_whole():
    # Ten copies of each of four differences say no more than the four.
    differences = [1.0, 2.0, 3.0, -0.5]
    runs = {"a": made_run(np.repeat(differences, 10)), "b": made_run([0.0] * 40)}
    labels = {str(row): row // 10 for row in range(40)}
    whole, four = the_pair(runs, groups=labels), the_pair({"a": made_run(differences), "b": made_run([0.0] * 4)})
    assert whole.pvalue == four.pvalue == 4 / 16
    assert (whole.low, whole.high) == pytest.approx((four.low, four.high))
    assert the_pair(runs).pvalue < 0.001
    assert compare(runs, ["rovist_nr"], groups=labels).n_groups == 4


def test_rank_groups_by_hand():
    assert rank_groups(["a", "b", "c"], []) == [["a", "b", "c"]]
    assert rank_groups(["a", "b", "c"], [("c", "a")]) == [["a", "b"], ["b", "c"]]
    assert rank_groups(["a", "b", "c"], [("a", "b"), ("a", "c"), ("b", "c")]) == [["a"], ["b"], ["c"]]


def test_rank_groups_are_the_largest_sets_without_a_pair_that_is_told_apart():
    rng = np.random.default_rng(2)
    names = list("abcdef")
    for _ in range(60):
        apart = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.4]
        alike = [
            set(some)
            for size in range(1, 7)
            for some in itertools.combinations(names, size)
            if not any(set(pair) <= set(some) for pair in apart)
        ]
        largest = {frozenset(some) for some in alike if not any(some < other for other in alike)}
        found = rank_groups(names, apart)
        assert {frozenset(group) for group in found} == largest
        assert len(found) == len(largest)
        assert found == sorted(found)
        assert "a" in found[0]


def test_rows_that_differ_most_come_first_without_ties():
    runs = {"a": made_run([1, 2, 3, 4, NAN]), "b": made_run([1, 5, 2, 4.5, 1])}
    compared = only(compare(runs, ["rovist_nr"]))
    assert rows_that_differ(compared, compared.pairs[0], 10) == [1, 2, 3]
    assert rows_that_differ(compared, compared.pairs[0], 2) == [1, 2]


def test_rounding_is_a_tie():
    pair = the_pair({"a": made_run([0.1 + 0.2, 1.0]), "b": made_run([0.3, 1.0])})
    assert (pair.wins, pair.losses, pair.ties) == (0, 0, 2)


# -- Sets of captions of unequal sizes --------------------------------------------------------------------------------
SETS = "trm|v:0.1.0|profile:paper"


def sets(scores, excess=None, sizes=None):
    run = made_run(scores, "trm") | {"trm_signature": f"{SETS}|pvalue:auto" if excess else SETS}
    return run | ({"trm_excess_scores": excess} if excess else {}) | ({"sizes": sizes} if sizes else {})


def test_unequal_sets_are_compared_by_the_excess():
    sizes = {"a": [(5, 5)] * 3, "b": [(5, 5), (8, 5), (5, 5)]}
    runs = {"a": sets([1, 2, 3], [0.1, 0.2, 0.3], sizes["a"]), "b": sets([3, 2, 1], [0.1, 0.3, 0.5], sizes["b"])}
    compared = only(compare(runs, ["trm"]))
    assert (compared.value, compared.systems[0].name, compared.systems[0].value) == ("excess", "a", pytest.approx(0.2))
    runs["b"]["sizes"] = sizes["a"]
    compared = only(compare(runs, ["trm"]))
    assert (compared.value, compared.pairs[0].difference) == ("score", 0.0)


def test_unknown_sizes_are_compared_by_the_excess_too():
    runs = {"a": sets([1, 2], [0.1, 0.2]), "b": sets([3, 2], [0.1, 0.3])}
    assert only(compare(runs, ["trm"])).value == "excess"


def test_unknown_sizes_without_the_excess_warn():
    with pytest.warns(UserWarning, match="scores of trm can only be compared if every system has as many captions"):
        assert only(compare({"a": sets([1, 2]), "b": sets([3, 2])}, ["trm"])).value == "score"


# -- BLEU, of which counts are added ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def by_bleu():
    """Two systems that differ, one that is as good as the first, and what they said of."""
    captions, references = random_examples(30, 5)
    rng = np.random.default_rng(5)

    def said(share):
        return [own[0] if rng.random() < share else other for own, other in zip(references, captions, strict=True)]

    texts = {"good": said(0.9), "as good": said(0.9), "bad": said(0.3)}
    return {name: bleu_run(own, references) for name, own in texts.items()}


def test_bleu_is_that_of_the_corpus(by_bleu):
    compared = only(compare(by_bleu, ["bleu"], resamples=500))
    assert compared.value == "corpus"
    assert {one.name: one.value for one in compared.systems} == {
        name: pytest.approx(run["bleu"], rel=1e-12) for name, run in by_bleu.items()
    }
    assert [one.groups for one in compared.systems] == [(1,), (1,), (2,)]
    for one in compared.systems:
        interval = corpus_interval("bleu", by_bleu[one.name], resamples=500)
        assert (one.low, one.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
        assert one.low < one.value < one.high
    for pair in compared.pairs:
        values = [by_bleu[name]["bleu"] for name in (pair.first, pair.second)]
        assert pair.difference == pytest.approx(values[0] - values[1], rel=1e-9)
        scores = [by_bleu[name]["bleu_scores"] for name in (pair.first, pair.second)]
        matches = [by_bleu[name]["bleu_matches_4"] for name in (pair.first, pair.second)]
        assert pair.wins == sum(a > b * (1 + 1e-9) and m + n > 0 for a, b, m, n in zip(*scores, *matches, strict=True))
    assert [pair.better for pair in compared.pairs] == [None, "good", "as good"]


def test_rows_without_a_match_of_four_words_tie():
    references = ["a dog runs on the grass", "two cats sleep", "a red hat", "a dog ran home today"]
    said = {"a": ["a dog runs", "two cats sleep", "", "a dog ran home"], "b": ["", "cats", "the dog", "a dog ran"]}
    runs = {name: bleu_run(own, references) for name, own in said.items()}
    scores = [runs[name]["bleu_scores"] for name in runs]
    assert all(one != other for one, other in zip(*scores, strict=True))
    compared = only(compare(runs, ["bleu"]))
    (pair,) = compared.pairs
    assert (pair.wins, pair.losses, pair.ties) == (1, 0, 3)
    assert rows_that_differ(compared, pair, 4) == [3]


def test_swapping_the_systems_mirrors_bleu(by_bleu):
    runs = {name: by_bleu[name] for name in ("good", "bad")}
    one, two = (the_pair(own, "bleu", resamples=300) for own in (runs, dict(reversed(runs.items()))))
    assert (one.difference, one.low, one.high) == pytest.approx((-two.difference, -two.high, -two.low), rel=1e-12)
    assert (one.pvalue, one.wins, one.losses, one.better) == (two.pvalue, two.losses, two.wins, two.better)


def test_rows_of_bleu_are_joined_by_id_and_drawn_in_groups(by_bleu):
    turned = {key: own[::-1] if isinstance(own, list) else own for key, own in by_bleu["bad"].items()}
    runs = {"good": by_bleu["good"], "bad": by_bleu["bad"]}
    groups = {str(row): row // 3 for row in range(30)}
    expected = compare(runs, ["bleu"], groups=groups, resamples=300)
    assert compare(runs | {"bad": turned}, ["bleu"], groups=groups, resamples=300) == expected
    (pair,), alone = only(expected).pairs, the_pair(runs, "bleu", resamples=300)
    assert (pair.difference, expected.n_groups) == (alone.difference, 10)
    assert (pair.low, pair.high) != (alone.low, alone.high)


def test_bleu_beside_means_is_each_alone(by_bleu):
    runs = {name: own | made_run(own["bleu_scores"]) for name, own in by_bleu.items()}
    both = compare(runs, ["bleu", "rovist_nr"], resamples=300).metrics
    for compared in both:
        assert compared == only(compare(runs, [compared.metric], resamples=300))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bleu_length": None}, r"`runs\['b'\]` must have the counts of bleu, lacks bleu_length; score again"),
        ({"bleu_length": [2]}, "must have one count per score, got another number of bleu_length"),
        ({"bleu_length": [2, "x"]}, r"must have numbers in bleu_length, got \[2, 'x'\]"),
        ({"bleu_length": 3}, "must have numbers in bleu_length, got 3"),
        ({"bleu_length": [6, 9]}, "the scores of bleu, row 1 has the score 1 and bleu_matches_1 6, .* score again"),
        ({"bleu_length": [6, NAN]}, "give the scores of bleu, row 1 has the score 1 and .*bleu_length nan"),
        ({"bleu_scores": [1.0, NAN]}, "give the scores of bleu, row 1 has the score nan and"),
    ],
)
def test_counts_that_are_not_those_of_the_scores_are_refused(change, message):
    captions = ["a dog runs on the grass"] * 2
    runs = {name: bleu_run(captions, captions) for name in "ab"}
    for key, value in change.items():
        runs["b"] = {name: own for name, own in runs["b"].items() if name != key} | ({key: value} if value else {})
    with pytest.raises(ValueError, match=message):
        compare(runs, ["bleu"])


# -- What is refused --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({"a": made_run([1])}, {}, "`runs` must have at least two systems, got 1"),
        ({"a": made_run([]), "b": made_run([])}, {}, "`ids` must name at least one row, got none"),
        (
            {"a": made_run([1, 2]), "b": made_run([1, 2], ids=[0, "x"])},
            {},
            "`ids` must be the same in every system, a has '1' that b lacks, b has 'x' that a lacks",
        ),
        (
            {"a": made_run([1]), "b": made_run(range(6))},
            {},
            "a has none that b lacks, b has '1', '2', '3' and 2 more that a lacks",
        ),
        ({"a": made_run([1, 2]), "b": made_run([1, 2], ids=[7, "7"])}, {}, "each row once, b has '7' more than once"),
        (
            {"a": made_run([1]), "b": made_run([1], rovist_nr_signature="rovist_nr|v:0.1.0|profile:embedded|n:3")},
            {},
            "scored in one way by rovist_nr, a and b differ in profile paper and embedded, n absent and 3; score both",
        ),
        (
            {"a": made_run([1, 2], rovist_nr=1.5), "b": made_run([5, 5], rovist_nr=0.7)},
            {},
            "`rovist_nr_scores of b` must be the scores that 0.7 is the mean of, got 5 as theirs; the file was altered",
        ),
        (
            {"a": made_run([1]), "b": made_run([1], rovist_nr_signature="trm|v:0.1.0")},
            {},
            "`runs` must have a signature of rovist_nr for every system, b has none",
        ),
        (
            {"a": made_run([1]), "b": {"ids": [0]}},
            {},
            "must have a signature of rovist_nr for every system, b has none",
        ),
        (
            {"a": made_run([1]), "b": {"ids": [0], "rovist_nr_signature": "rovist_nr|v:0.1.0|profile:paper"}},
            {},
            "`runs` must have rovist_nr_scores for every system, b has none",
        ),
        (
            {"a": made_run([1, 2]), "b": made_run([NAN, NAN])},
            {},
            "`rovist_nr_scores of b` must be defined for at least one of 2 rows, got NaN for all",
        ),
        (
            {"a": made_run([1, math.inf]), "b": made_run([1, 2])},
            {},
            "`rovist_nr_scores of a` must hold finite numbers .* or NaN where undefined, got inf in row '1'",
        ),
        (
            {"a": made_run([1, 2]), "b": made_run([1, 0]) | {"rovist_nr_scores": [1e308, -1e308]}},
            {},
            "`rovist_nr_scores of b` must hold finite numbers of at most 1e.300 in absolute value, .* got 1e.308",
        ),
        (
            {"a": made_run([1]) | {"rovist_nr_scores": ["x"]}, "b": made_run([1])},
            {},
            "must hold finite numbers .* or NaN where undefined, got 'x' in row '0'",
        ),
        (
            {"a": made_run([1]) | {"rovist_nr_scores": [1, 2]}, "b": made_run([1])},
            {},
            "`rovist_nr_scores of a` must be one score per row, got 2 for 1 rows",
        ),
        ({"a": made_run([1]), "b": made_run([1])}, {"baseline": "A"}, "`baseline` must be one of the systems, got 'A'"),
        (
            {"a": made_run([1, 2]), "b": made_run([1, 2])},
            {"groups": {"0": "x"}},
            "`groups` must have a label for every row, lacks those of '1'",
        ),
        ({"a": made_run([1]), "b": made_run([1])}, {"level": 1.0}, "`level` must lie between 0 and 1, got 1.0"),
        ({"a": made_run([1]), "b": made_run([1])}, {"resamples": 0}, "`resamples` must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_compared(runs, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace("|", r"\|")):
        compare(runs, ["rovist_nr"], **options)


def test_unequal_sets_without_the_excess_are_refused():
    runs = {"a": sets([1], sizes=[(5, 5)]), "b": sets([1], sizes=[(4, 5)])}
    with pytest.raises(
        ValueError, match=r"must have trm_excess_scores where systems have unequal .* --set pvalue=auto"
    ):
        compare(runs, ["trm"])
    runs = {"a": sets([1], [0.1], sizes=[(5, 5)]), "b": sets([1], [0.1], sizes=[(4, 5)]) | {"trm_excess_scores": [NAN]}}
    with pytest.raises(ValueError, match=r"`trm_excess_scores of b` must be defined for at least one of 1 rows"):
        compare(runs, ["trm"])


# -- Simulations ------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_size_under_the_null():
    rng = np.random.default_rng(40)
    rejected = 0
    for _ in range(2_000):
        hardness = rng.normal(size=60)
        a, b = (hardness + rng.exponential(size=60) for _ in range(2))
        rejected += the_pair({"a": made_run(a), "b": made_run(b)}, resamples=1_000).better is not None
    assert rejected / 2_000 == pytest.approx(0.05, abs=0.015)


@pytest.mark.slow
def test_coverage_of_both_intervals():
    rng = np.random.default_rng(41)
    of_means, of_differences = [], []
    for _ in range(1_000):
        hardness = rng.normal(size=200)
        a, b = hardness + rng.exponential(size=200), hardness + 0.5 * rng.exponential(size=200)
        compared = only(compare({"a": made_run(a), "b": made_run(b)}, ["rovist_nr"], resamples=1_000))
        (pair,) = compared.pairs
        of_differences.append(pair.low <= 0.5 <= pair.high)
        system = next(one for one in compared.systems if one.name == "a")
        of_means.append(system.low <= 1.0 <= system.high)
    assert np.mean(of_means) == pytest.approx(0.95, abs=0.02)
    assert np.mean(of_differences) == pytest.approx(0.95, abs=0.02)
