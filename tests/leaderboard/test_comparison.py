import dataclasses
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from coco_captions import random_examples
from made_runs import bleu_run, made_run, made_signature, three_systems

from vlgauge.families.aggregation import COUNTED, corpus_counts, corpus_interval
from vlgauge.leaderboard import compare, rank_groups, rows_that_differ
from vlgauge.stats import bootstrap_interval, holm

NAN = math.nan


def only(comparison):
    (compared,) = comparison.metrics
    return compared


def the_pair(runs, metric="rovist_nr", **options):
    (pair,) = only(compare(runs, [metric], **options)).pairs
    return pair


# -- Worked examples --------------------------------------------------------------------------------------------------
def test_three_rows_by_hand():
    # Differences 1, 2, 3: 2 of 8 assignments of signs reach their sum.
    runs = {"a": made_run([2, 4, 6]), "b": made_run([1, 2, 3])}
    pair = the_pair(runs)
    assert (pair.first, pair.second, pair.difference, pair.pvalue, pair.adjusted_pvalue) == ("a", "b", 2.0, 0.25, 0.25)
    assert (pair.wins, pair.losses, pair.ties, pair.n, pair.undefined, pair.better) == (3, 0, 0, 3, 0, None)
    systems = only(compare(runs, ["rovist_nr"])).systems
    assert [(one.name, one.value, one.n, one.groups) for one in systems] == [("a", 4.0, 3, (1,)), ("b", 2.0, 3, (1,))]


@pytest.mark.filterwarnings("ignore:rovist_nr. means, order, groups and tests are of")
def test_rows_are_joined_by_id_whatever_their_order_and_form():
    straight = the_pair({"a": made_run([1, 5, 2, NAN]), "b": made_run([0, 1, 2, 3])})
    turned = the_pair({"a": made_run([1, 5, 2, NAN]), "b": made_run([3, 2, 1, 0], ids=["3", "2", "1", "0"])})
    assert dataclasses.astuple(straight) == pytest.approx(dataclasses.astuple(turned), nan_ok=True)
    assert (straight.wins, straight.losses, straight.ties, straight.n, straight.undefined) == (2, 0, 1, 3, 1)


# -- The definition as plain loops, and scipy -------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:rovist_nr. means, order, groups and tests are of")
def test_pairs_equal_double_loops():
    rng = np.random.default_rng(11)
    scores = {name: rng.normal(size=9) + shift for name, shift in (("a", 0.0), ("b", 0.4), ("c", 0.9))}
    scores["b"][2] = scores["c"][[2, 5]] = NAN
    compared = only(compare({name: made_run(own) for name, own in scores.items()}, ["rovist_nr"]))
    raw = []
    for pair in compared.pairs:
        differences = [scores[pair.first][row] - scores[pair.second][row] for row in range(9) if row not in (2, 5)]
        observed = abs(sum(differences))
        hits = total = 0
        for signs in itertools.product((1, -1), repeat=len(differences)):
            hits += abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-12
            total += 1
        raw.append(hits / total)
        assert pair.pvalue == pytest.approx(hits / total, rel=1e-12)
        assert pair.difference == pytest.approx(sum(differences) / len(differences), rel=1e-12)
        interval = bootstrap_interval(differences)
        assert (pair.low, pair.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert (pair.wins, pair.losses) == (sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    for pair, own in zip(compared.pairs, raw, strict=True):
        # Holm by its definition: the maximum of each smaller p-value times the number of p-values not below it.
        smaller = [other for other in raw if other <= own]
        adjusted = max(min(1.0, other * sum(one >= other for one in raw)) for other in smaller)
        assert pair.adjusted_pvalue == pytest.approx(adjusted)
    for system in compared.systems:
        own = [score for score in scores[system.name] if score == score]
        shared = np.delete(scores[system.name], [2, 5])
        assert (system.value, system.n) == (pytest.approx(shared.mean()), 7)
        assert (system.own_value, system.undefined) == (pytest.approx(sum(own) / len(own)), 9 - len(own))


@pytest.mark.parametrize("rows", [8, 12])
def test_tests_and_intervals_equal_scipys(rows):
    rng = np.random.default_rng(rows)
    a, b = rng.gamma(2.0, size=rows), rng.gamma(2.4, size=rows)
    pair = the_pair({"a": made_run(a), "b": made_run(b)})
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True
    )
    assert pair.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)
    ends = scipy.stats.ttest_rel(a, b).confidence_interval()  # studentized bootstrap extends little beyond these
    spread = np.std(a - b) / math.sqrt(rows)
    assert (pair.low, pair.high) == pytest.approx((ends.low, ends.high), abs=2.5 * spread)
    assert pair.low <= ends.low + 1e-9
    assert pair.high >= ends.high - 1e-9


def test_random_flips_come_close_to_scipys():
    rng = np.random.default_rng(21)
    a, b = rng.normal(size=300), rng.normal(0.1, 1.0, size=300)
    theirs = scipy.stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=3_000,
        rng=rng,
    )
    assert the_pair({"a": made_run(a), "b": made_run(b)}).pvalue == pytest.approx(theirs.pvalue, abs=0.03)


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
    # a is better than b in all of 6 rows, p = 2/64, which is 0.09 among three pairs.
    runs = {"a": made_run([1.0] * 6), "b": made_run([0.5] * 6), "c": made_run([2.0, 0.0] * 3)}
    pair = only(compare(runs, ["rovist_nr"])).pairs[0]
    assert (pair.pvalue, pair.adjusted_pvalue, pair.better) == (2 / 64, 6 / 64, None)
    alone = the_pair({name: runs[name] for name in "ab"})
    assert (alone.pvalue, alone.adjusted_pvalue, alone.better) == (2 / 64, 2 / 64, "a")


def test_several_metrics_are_those_of_each_alone():
    one, two = three_systems(), three_systems("d_hm", seed=3)
    runs = {name: one[name] | two[name] for name in one}
    both = compare(runs, ["rovist_nr", "d_hm"], family="metric")
    for compared, alone in zip(both.metrics, (compare(one, ["rovist_nr"]), compare(two, ["d_hm"])), strict=True):
        (single,) = alone.metrics
        for own, other in zip([*compared.systems, *compared.pairs], [*single.systems, *single.pairs], strict=True):
            for value, expected in zip(dataclasses.astuple(own), dataclasses.astuple(other), strict=True):
                assert value == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


def test_groups_are_drawn_whole():
    # Ten copies of each of four differences have no more information than the four.
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


def test_two_systems_share_a_group_if_they_are_not_told_apart_and_no_group_could_be_larger():
    rng = np.random.default_rng(2)
    names = list("abcdef")
    for _ in range(60):
        apart = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.4]
        alike = [
            some
            for size in range(1, 7)
            for some in itertools.combinations(names, size)
            if not any(set(pair) <= set(some) for pair in apart)
        ]
        largest = [some for some in alike if not any(set(some) < set(other) for other in alike)]
        found = [tuple(group) for group in rank_groups(names, apart)]
        assert set(found) <= set(largest)
        assert found[0] == min(largest)
        assert found == sorted(set(found))
        for pair in itertools.combinations_with_replacement(names, 2):
            assert any(set(pair) <= set(group) for group in found) == (pair not in apart)


@pytest.mark.parametrize("n_systems", [2, 5, 9])
def test_groups_of_systems_side_by_side_are_all_of_the_largest(n_systems):
    rng = np.random.default_rng(n_systems)
    names = [f"s{number}" for number in range(n_systems)]
    for _ in range(20):
        # The rank from which on each system differs significantly.
        until = np.maximum.accumulate(np.maximum(rng.integers(0, n_systems + 1, n_systems), np.arange(n_systems) + 1))
        apart = [(names[i], names[j]) for i in range(n_systems) for j in range(until[i], n_systems)]
        largest = [names[i : until[i]] for i in range(n_systems) if i == 0 or until[i] > until[i - 1]]
        assert rank_groups(names, apart) == largest


def test_few_groups_tell_of_many_settings_of_many_models():
    # 2^20 groups have the maximum size: one setting of every model.
    names = [f"model {model} {setting}" for setting in "ab" for model in range(20)]
    apart = [(f"model {model} a", f"model {model} b") for model in range(20)]
    found = rank_groups(names, apart)
    assert found[0] == names[:20]
    assert len(found) < 40


@pytest.mark.filterwarnings("ignore:rovist_nr. means, order, groups and tests are of")
def test_rows_that_differ_most_come_first_without_ties():
    runs = {"a": made_run([1, 2, 3, 4, NAN]), "b": made_run([1, 5, 2, 4.5, 1])}
    compared = only(compare(runs, ["rovist_nr"]))
    assert rows_that_differ(compared, compared.pairs[0], 10) == [1, 2, 3]
    assert rows_that_differ(compared, compared.pairs[0], 2) == [1, 2]


def test_an_interval_always_holds_its_value():
    # Rows outside the range of the metric, for example from a file of another version.
    runs = {"a": made_run([1.2, 1.5, 1.1, 1.4], "meteor"), "b": made_run([-0.2, -0.3, -0.2, -0.1], "meteor")}
    compared = only(compare(runs, ["meteor"]))
    (pair,) = compared.pairs
    for one, value in [*((system, system.value) for system in compared.systems), (pair, pair.difference)]:
        assert one.low < value < one.high


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"^`seed`.*at least 0.*got -1"):
        compare({"a": made_run([1, 2]), "b": made_run([2, 1])}, ["rovist_nr"], seed=-1)


def test_rounding_is_a_tie():
    pair = the_pair({"a": made_run([0.1 + 0.2, 1.0]), "b": made_run([0.3, 1.0])})
    assert (pair.wins, pair.losses, pair.ties) == (0, 0, 2)


# -- Rows that a system lacks -----------------------------------------------------------------------------------------
def hard_and_easy(metric="meteor"):
    """Return a system without scores of the ten hard rows, and one that is better in all other rows."""
    easy, hard = np.linspace(0.7, 0.9, 30), np.linspace(0.1, 0.2, 10)
    return {
        "silent": made_run([*(easy - 0.003), *[NAN] * 10], metric),
        "honest": made_run([*easy, *hard], metric),
    }


def test_means_are_of_the_rows_that_every_system_defines():
    with pytest.warns(UserWarning, match=r"30 of 40 rows.*10"):
        compared = only(compare(hard_and_easy(), ["meteor"]))
    honest, silent = compared.systems
    # The mean over its scored rows only would rank the silent system first.
    assert silent.own_value > honest.own_value
    assert (honest.name, honest.groups, honest.bold, silent.groups, silent.bold) == ("honest", (1,), True, (2,), False)
    assert (honest.value, silent.value) == (pytest.approx(0.8), pytest.approx(0.797))
    assert [(one.n, one.undefined) for one in compared.systems] == [(30, 0), (30, 10)]
    (pair,) = compared.pairs
    assert (pair.wins, pair.losses, pair.n, pair.undefined, pair.better) == (0, 30, 30, 10, "honest")
    assert pair.difference == pytest.approx(silent.value - honest.value)


@pytest.mark.parametrize(
    ("metric", "worst"), [("meteor", 0.0), ("trm", 4 / 3), ("rovist_nr", None), ("d_hm", None), ("clip_s", 0.0)]
)
@pytest.mark.filterwarnings("ignore:.*means, order, groups and tests are of", "ignore:the scores of trm can only")
def test_undefined_counts_as_the_worst_of_the_range(metric, worst):
    compared = only(compare(hard_and_easy(metric), [metric]))
    by_name = {one.name: one for one in compared.systems}
    expected = None if worst is None else pytest.approx((30 * by_name["silent"].value + 10 * worst) / 40)
    assert by_name["silent"].worst_value == expected
    assert by_name["honest"].worst_value == (None if worst is None else by_name["honest"].own_value)


@pytest.mark.filterwarnings("ignore:meteor. means, order, groups and tests are of")
def test_few_undefined_rows_are_counted_as_nothing():
    runs = {"a": made_run([0.5] * 19 + [NAN], "meteor"), "b": made_run([0.4] * 20, "meteor")}
    assert [one.worst_value for one in only(compare(runs, ["meteor"])).systems] == [None, None]
    runs["a"] = made_run([0.5] * 18 + [NAN] * 2, "meteor")
    assert [one.worst_value for one in only(compare(runs, ["meteor"])).systems] == [pytest.approx(0.45), 0.4]


def test_an_order_that_turns_is_told():
    runs = {"a": made_run([0.5] * 10 + [NAN] * 10, "meteor"), "b": made_run([0.4] * 20, "meteor")}
    with pytest.warns(UserWarning, match=r"10 of 20 rows.*10"):
        compared = only(compare(runs, ["meteor"]))
    assert [one.name for one in compared.systems] == ["a", "b"]
    assert compared.notes[-1] == "with the worst meteor for missing scores, the order changes: b, a"


def test_the_system_that_costs_most_rows_is_named():
    runs = {name: made_run(np.arange(20.0)) for name in "abc"}
    runs["b"] = made_run([*range(8), *[NAN] * 12])
    runs["c"] = made_run([NAN, *range(1, 20)])
    with pytest.warns(
        UserWarning,
        match=r"12.*rovist_nr",
    ):
        compared = only(compare(runs, ["rovist_nr"]))
    assert compared.n == 7


def test_rows_that_every_system_lacks_warn_of_nothing():
    runs = {name: made_run([*own, NAN]) for name, own in {"a": [1, 2, 3], "b": [1, 1, 1]}.items()}
    compared = only(compare(runs, ["rovist_nr"]))
    assert (compared.notes, compared.n, compared.systems[0].undefined) == ((), 3, 1)


def test_no_common_row_is_refused():
    runs = {"a": made_run([1, NAN, NAN]), "b": made_run([NAN, 1, 1]), "c": made_run([1, 1, 1])}
    message = r"rovist_nr.*got none.*3 rows"
    with pytest.raises(ValueError, match=message):
        compare(runs, ["rovist_nr"])


# -- Enough samples, enough rows --------------------------------------------------------------------------------------
def ladder(systems, rows=40, step=3.0, metric="rovist_nr"):
    """Return systems each of which is far better than the next one. All rows differ."""
    rng = np.random.default_rng(systems)
    return {f"s{i:02}": made_run(rng.normal(size=rows) - step * i, metric) for i in range(systems)}


def test_many_systems_are_told_apart_by_default():
    # With 10,000 samples, no p-value of 105 pairs could be below 0.0104.
    comparison = compare(ladder(15), ["rovist_nr"], level=0.99)
    assert (comparison.resamples, comparison.test_resamples) == (10_000, 105_000)
    compared = only(comparison)
    assert all(pair.better for pair in compared.pairs)
    assert [one.groups for one in compared.systems] == [(place,) for place in range(1, 16)]
    assert [one.bold for one in compared.systems] == [True, *[False] * 14]


@pytest.mark.parametrize(
    ("systems", "level", "resamples", "least"),
    [(33, 0.95, 10_000, 10_559), (15, 0.99, 10_000, 10_499), (2, 0.95, 18, 19)],
)
def test_too_few_resamples_are_refused(systems, level, resamples, least):
    with pytest.raises(ValueError, match=rf"^`resamples`.*at least {least}.*got {resamples}"):
        compare(ladder(systems), ["rovist_nr"], level=level, resamples=resamples)
    if systems == 2:
        assert compare(ladder(systems), ["rovist_nr"], level=level, resamples=least).test_resamples == least


def test_a_family_of_all_metrics_needs_more():
    runs = {name: run | ladder(8, metric="d_hm")[name] for name, run in ladder(8).items()}
    both = ["rovist_nr", "d_hm"]
    assert compare(runs, both, family="metric").test_resamples == 10_000
    assert compare(runs, both).test_resamples == 11_200
    with pytest.raises(ValueError, match=r"at least 1119.*56 tests"):
        compare(runs, both, resamples=1_000)
    compare(runs, both, family="metric", resamples=1_000)


def test_holm_for_all_metrics_together():
    one, two = three_systems(), three_systems("d_hm", seed=3)
    runs = {name: one[name] | two[name] for name in one}
    alone, together = (compare(runs, ["rovist_nr", "d_hm"], family=family) for family in ("metric", "all"))
    assert (alone.family, together.family) == ("metric", "all")
    raw = [pair.pvalue for compared in together.metrics for pair in compared.pairs]
    assert [pair.adjusted_pvalue for compared in together.metrics for pair in compared.pairs] == holm(raw)
    for compared in alone.metrics:
        assert [pair.adjusted_pvalue for pair in compared.pairs] == holm([pair.pvalue for pair in compared.pairs])
    with pytest.raises(ValueError, match=r"^`family`.*got 'both'"):
        compare(runs, ["rovist_nr"], family="both")


@pytest.mark.parametrize(("systems", "few"), [(2, 5), (6, 9)])
def test_too_few_rows_that_differ(systems, few):
    for differing in (few, few + 1):
        scores = {f"s{i}": [float(i)] * differing + [0.0] * 30 for i in range(systems)}
        compared = only(compare({name: made_run(own) for name, own in scores.items()}, ["rovist_nr"]))
        assert {(pair.n_differing, pair.too_few) for pair in compared.pairs} == {(differing, differing == few)}
        assert {pair.better is None for pair in compared.pairs} == {differing == few}
        # No test could support any bold value.
        assert sum(one.bold for one in compared.systems) == (0 if differing == few else 1)


def test_a_pair_of_few_rows_makes_nothing_bold_and_takes_no_boldness():
    good, bad = np.linspace(0.5, 0.9, 40), np.linspace(0.1, 0.4, 40)
    near = good.copy()
    near[:4] -= 0.01
    runs = {"good": made_run(good), "near": made_run(near), "bad": made_run(bad)}
    systems = only(compare(runs, ["rovist_nr"])).systems
    assert [(one.name, one.bold) for one in systems] == [("good", True), ("near", True), ("bad", False)]
    assert not any(
        one.bold for one in only(compare({name: runs[name] for name in ("good", "near")}, ["rovist_nr"])).systems
    )


def test_of_few_rows_that_differ_too_few_samples_find_nothing():
    # p of five rows is 0.0625. A third of 19 random samples would miss every hit, p = 0.05.
    runs = {"a": made_run([1.0] * 5 + [0.0] * 9), "b": made_run([0.0] * 14)}
    for seed in range(8):
        pair = the_pair(runs, resamples=19, seed=seed)
        assert (pair.pvalue, pair.too_few, pair.better) == (2 / 32, True, None)


def test_groups_that_differ_count():
    # Forty rows of five images.
    runs = {"a": made_run(np.linspace(1, 2, 40)), "b": made_run([0.0] * 40)}
    pair = the_pair(runs, groups={str(row): row // 8 for row in range(40)})
    assert (pair.n_differing, pair.too_few, pair.better) == (5, True, None)


def test_a_level_is_read_as_it_is_written():
    # Nine of ten sums of signs are smaller: p = 0.1 exactly, and the float 1 - 0.9 is less.
    runs = {"a": made_run(range(1, 41)), "b": made_run([0] * 40)}
    pair = the_pair(runs, resamples=9, level=0.9)
    assert (pair.pvalue, pair.better) == (0.1, "a")


def test_one_seed_gives_the_same_pvalues_in_any_order_of_systems_and_rows():
    rng = np.random.default_rng(50)
    base = rng.normal(size=40)
    scores = {name: base + 0.3 * rng.normal(size=40) + 0.05 * i for i, name in enumerate("abcdefgh")}

    def pvalues(names, order):
        runs = {name: made_run(scores[name][order], ids=order.tolist()) for name in names}
        pairs = only(compare(runs, ["rovist_nr"])).pairs
        return {frozenset((pair.first, pair.second)): (pair.pvalue, pair.adjusted_pvalue) for pair in pairs}

    expected = pvalues("abcdefgh", np.arange(40))
    assert pvalues("gbhafecd", rng.permutation(40)) == expected
    # Up to 50 pairs have the same number of samples, and other pairs do not change a p-value.
    some = pvalues("dgb", np.arange(40))
    assert {pair: p for pair, (p, _) in some.items()} == {pair: expected[pair][0] for pair in some}


# -- Caption sets of unequal sizes ------------------------------------------------------------------------------------
SETS = "trm|v:0.1.0|profile:paper"


def sets(scores, excess=None, sizes=None):
    run = made_run(scores, "trm") | {"trm_signature": f"{SETS}|pvalue:auto" if excess else SETS}
    return run | ({"trm_excess_scores": excess} if excess else {}) | ({"sizes": sizes} if sizes else {})


def test_sets_of_equal_sizes_are_compared():
    sizes = [(5, 5), (8, 5), (5, 5)]
    compared = only(
        compare({name: sets(own, sizes=sizes) for name, own in {"a": [1] * 3, "b": [1] * 3}.items()}, ["trm"])
    )
    assert (compared.value, compared.pairs[0].difference) == ("score", 0.0)


def test_unequal_sets_are_refused_with_the_command_that_makes_them_equal():
    sizes = {"a": [(5, 5)] * 3, "b": [(5, 5), (8, 5), (5, 5)], "c": [(4, 5), (5, 5), (3, 5)]}
    # The excess over the null depends on the sizes as well.
    runs = {name: sets([1, 2, 3], [0.1, 0.2, 0.3], own) for name, own in sizes.items()}
    said = r"a and b have unequal numbers; compare the predictions of all systems instead of their scores: .* system, "
    with pytest.raises(ValueError, match=said + "or score every system again with --captions-per-row 3, the smallest"):
        compare(runs, ["trm"])
    # With a single caption, no row would have a score.
    runs["c"]["sizes"] = [(4, 5), (1, 5), (3, 5)]
    with pytest.raises(ValueError, match=r"instead of their scores: "):
        compare(runs, ["trm"])
    people = {"a": sets([1], sizes=[(5, 5)]), "b": sets([1], sizes=[(5, 4)])}
    with pytest.raises(ValueError, match="same ref"):
        compare(people, ["trm"])


def test_what_a_set_was_drawn_from_does_not_part_systems():
    runs = {name: sets([1, 2], sizes=[(3, 5)] * 2) for name in "ab"}
    runs["a"]["trm_signature"] += "|sets:3v5"
    runs["b"]["trm_signature"] += "|sets:3v5|drawn_from:10|draw_seed:0"
    assert only(compare(runs, ["trm"])).signature == f"{SETS}|sets:3v5"
    runs["b"]["trm_signature"] += "|ties:paper"
    with pytest.raises(ValueError, match="ties absent"):
        compare(runs, ["trm"])


def test_settings_of_the_test_do_not_part_systems():
    runs = {name: sets([1, 2], sizes=[(3, 5)] * 2) for name in "ab"}
    runs["a"]["trm_signature"] += "|pvalue:auto|max_partitions:20000|permutations:9999|seed:0|sets:3v5"
    runs["b"]["trm_signature"] += "|sets:3v5"
    assert only(compare(runs, ["trm"])).signature == f"{SETS}|sets:3v5"


@pytest.mark.parametrize(
    ("signed", "message"),
    [
        (("2-5v5@0123abcd", "2-5v5@0123abcd"), None),
        (("3v5", "3v5"), None),
        (("2-5v5@0123abcd", "2-5v5@4567abcd"), r"got 2-5v5@0123abcd.*-5v5@4567abcd"),
        (("2-5v5", "2-5v5"), r"signatures.*got 2-5v5;"),
        (("2v5", "5v5"), r"got 2v5.*5v5"),
    ],
)
def test_signatures_show_sizes_that_the_scores_lack(signed, message):
    runs = {name: sets([1, 2]) for name in "ab"}
    for run, own in zip(runs.values(), signed, strict=True):
        run["trm_signature"] += f"|sets:{own}"
    if message is None:
        assert only(compare(runs, ["trm"])).signature.endswith(f"|sets:{signed[0]}")
        return
    with pytest.raises(ValueError, match=message):
        compare(runs, ["trm"])


def test_unknown_sizes_warn():
    with pytest.warns(UserWarning, match="compared if every"):
        assert only(compare({"a": sets([1, 2]), "b": sets([3, 2])}, ["trm"])).value == "score"


# -- BLEU, with summed counts -----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def by_bleu():
    """Return two systems that differ, one that is as good as the first."""
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


def test_where_no_four_words_match_the_corpora_tie():
    # Only the constants of the COCO code separate such values from 0 and from each other.
    references = ["a dog runs on the grass", "two cats sleep here now"] * 15
    said = {"a": ["a dog sat", "two cats sat"] * 15, "b": ["a hat", "two hats"] * 15}
    runs = {name: bleu_run(own, references) for name, own in said.items()}
    assert 0.0 < runs["b"]["bleu"] < 0.5 * runs["a"]["bleu"] < 1e-6
    compared = only(compare(runs, ["bleu"], resamples=500))
    (pair,) = compared.pairs
    assert (pair.difference, pair.low, pair.high, pair.pvalue, pair.better) == (0.0, 0.0, 0.0, 1.0, None)
    assert [one.groups for one in compared.systems] == [(1,), (1,)]


def test_the_interval_of_a_corpus_without_four_words_holds_its_value():
    references = [["a dog runs"], ["a cat sits"], ["a man"], ["two birds"], ["a red bus"]]
    said = {"a": ["a dog runs", "a cat", "a man walks", "birds fly", "a bus"], "b": [text for (text,) in references]}
    compared = only(compare({name: bleu_run(own, references) for name, own in said.items()}, ["bleu"], resamples=500))
    for one in compared.systems:
        assert 0.0 <= one.low <= one.value <= one.high
        assert one.value > 0.01


def test_sums_without_a_match_of_four_words_are_noise_where_rows_are_swapped_too():
    references = ["a dog runs on the grass", "two cats sleep here now", "a red hat lies there", "rain fell all day"]
    said = {"a": [references[0], "two cats", "a red", "rain"], "b": ["a dog", "two cats sleep", "a red hat", "hail"]}
    runs = {name: bleu_run(own, references) for name, own in said.items()}
    counts = {name: corpus_counts("bleu", run) for name, run in runs.items()}

    def value(sums):
        return float(COUNTED["bleu"].value(sums)) if sums[3] > 0 else 0.0

    apart = []
    for swapped in itertools.product((False, True), repeat=4):
        outs = np.array(swapped)[:, None]
        one, two = np.where(outs, counts["b"], counts["a"]), np.where(outs, counts["a"], counts["b"])
        apart.append(abs(value(one.sum(axis=0)) - value(two.sum(axis=0))))
    assert the_pair(runs, "bleu").pvalue == np.mean([one >= apart[0] * (1 - 1e-9) for one in apart])


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


def test_bleu_next_to_means_is_each_alone(by_bleu):
    runs = {name: own | made_run(own["bleu_scores"]) for name, own in by_bleu.items()}
    both = compare(runs, ["bleu", "rovist_nr"], family="metric", resamples=300).metrics
    for compared in both:
        assert compared == only(compare(runs, [compared.metric], resamples=300))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bleu_length": None}, r"^`runs\['b'\]`.*none for bleu_length"),
        ({"bleu_length": [2]}, r"another.*bleu_length"),
        ({"bleu_length": [2, "x"]}, r"bleu_length.*got \[2.*'x'"),
        ({"bleu_length": 3}, r"bleu_length.*got 3"),
        ({"bleu_length": [6, 9]}, r"bleu, got row 1.*bleu_matches_1 6"),
        ({"bleu_length": [6, NAN]}, r"row 1.*bleu_length.*nan"),
        ({"bleu_scores": [1.0, NAN]}, r"bleu, got row 1.*nan"),
    ],
)
def test_counts_that_are_not_those_of_the_scores_are_refused(change, message):
    captions = ["a dog runs on the grass"] * 2
    runs = {name: bleu_run(captions, captions) for name in "ab"}
    for key, value in change.items():
        runs["b"] = {name: own for name, own in runs["b"].items() if name != key} | ({key: value} if value else {})
    with pytest.raises(ValueError, match=message):
        compare(runs, ["bleu"])


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({"a": made_run([1])}, {}, r"^`runs`.*got 1"),
        (
            {"a": made_run([1]), "b": {"rovist_nr_scores": [1.0] * 99}},
            {},
            r"^`runs`.*`ids`.*b has none",
        ),
        ({"a": made_run([]), "b": made_run([])}, {}, r"^`ids`.*got none"),
        (
            {"a": made_run([1, 2]), "b": made_run([1, 2], ids=[0, "x"])},
            {},
            r"^`ids`.*'1'.*'x'",
        ),
        (
            {"a": made_run([1]), "b": made_run(range(6))},
            {},
            r"'1'.*'2'.*2 more",
        ),
        ({"a": made_run([1, 2]), "b": made_run([1, 2], ids=[7, "7"])}, {}, "'7'"),
        (
            {
                "a": made_run([1]),
                "b": made_run([1], rovist_nr_signature=made_signature(profile="embedded").replace("n:4", "n:3")),
            },
            {},
            r"way.*rovist_nr",
        ),
        (
            {"a": made_run([1, 2], rovist_nr=1.5), "b": made_run([5, 5], rovist_nr=0.7)},
            {},
            r"^`rovist_nr_scores of b`.*0\.7.*got 5",
        ),
        (
            {"a": made_run([1]), "b": made_run([1], rovist_nr_signature="trm|v:0.1.0")},
            {},
            r"^`runs`.*signature.*rovist_nr",
        ),
        (
            {"a": made_run([1]), "b": {"ids": [0]}},
            {},
            r"signature.*rovist_nr",
        ),
        (
            {"a": made_run([1]), "b": {"ids": [0], "rovist_nr_signature": made_signature()}},
            {},
            r"^`runs`.*rovist_nr_scores",
        ),
        (
            {"a": made_run([1, 2]), "b": made_run([NAN, NAN])},
            {},
            r"^`rovist_nr_scores of b`.*2 rows.*got NaN",
        ),
        (
            {"a": made_run([1, math.inf]), "b": made_run([1, 2])},
            {},
            r"^`rovist_nr_scores of a`.*got inf",
        ),
        (
            {"a": made_run([1, 2]), "b": made_run([1, 0]) | {"rovist_nr_scores": [1e308, -1e308]}},
            {},
            r"^`rovist_nr_scores of b`.*got 1e.308",
        ),
        (
            {"a": made_run([1]) | {"rovist_nr_scores": ["x"]}, "b": made_run([1])},
            {},
            r"got 'x'.*'0'",
        ),
        (
            {"a": made_run([1]) | {"rovist_nr_scores": [1, 2]}, "b": made_run([1])},
            {},
            r"^`rovist_nr_scores of a`.*got 2.*1 rows",
        ),
        ({"a": made_run([1]), "b": made_run([1])}, {"baseline": "A"}, r"^`baseline`.*got 'A'"),
        ({"a": made_run([1]), "b": made_run([1])}, {"baseline": 3}, r"^`baseline`.*got 3; known are a, b"),
        ({"a": made_run([1]), "b": made_run([1])}, {"baseline": ["a"]}, r"^`baseline`.*got \['a'\]"),
        (
            {"a": made_run([1, 2]), "b": made_run([1, 2])},
            {"groups": {"0": "x"}},
            r"^`groups`.*got none",
        ),
        *(
            (
                {"a": made_run([1, 2]), "b": made_run([1, 2])},
                {"groups": {"0": "x", "1": nothing}},
                r"^`groups`.*got none",
            )
            for nothing in (None, math.nan, " ")
        ),
        ({"a": made_run([1]), "b": made_run([1])}, {"level": 1.0}, r"^`level`.*got 1\.0"),
        ({"a": made_run([1]), "b": made_run([1])}, {"resamples": 0}, r"^`resamples`.*at least 1.*got 0"),
    ],
)
def test_what_cannot_be_compared(runs, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace("|", r"\|")):
        compare(runs, ["rovist_nr"], **options)


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


def chair_run(invented, mentions):
    counts = np.array([invented, mentions], dtype=np.float64)
    scores = [i / m if m > 0 else NAN for i, m in counts.T.tolist()]
    signature = "chair|v:0.1.0|profile:paper|variant:fixed"
    made = {"chair_scores": scores, "chair_invented": counts[0].tolist(), "chair_mentions": counts[1].tolist()}
    return {"ids": list(range(len(scores))), **made, "chair_signature": signature}


@pytest.mark.filterwarnings("error")
def test_a_system_without_a_value_on_the_common_rows_is_refused():
    # The silent system names an object only in the row that is undefined for the other. It was bold, as "nan".
    silent = chair_run([0] * 12 + [1], [0] * 12 + [2])
    other = chair_run([1, 0] * 6 + [NAN], [2, 1] * 6 + [NAN])
    with pytest.raises(ValueError, match="12 rows"):
        compare({"silent": silent, "other": other}, ["chair"])
