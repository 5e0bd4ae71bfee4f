"""The studies of Chan et al. on small data, by hand if possible."""

import math
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from coco_captions import coco, needs_coco

import vlgauge
from vlgauge.research.studies.central_captions import central_captions, central_captions_by_chance
from vlgauge.research.studies.people_splits import equal_splits, people_splits
from vlgauge.research.studies.sensitivity import sensitivity
from vlgauge.research.studies.temperature_curve import curve
from vlgauge.research.studies.unique_versus_correct import pools_of, unique_versus_correct
from vlgauge.stats import bootstrap_interval

LETTERS = [chr(97 + i) for i in range(26)]


def drawn(n_images, n_captions, seed):
    """Return captions of images, all from one distribution: each has four of the words of its image."""
    rng = np.random.default_rng(seed)
    images = [rng.choice(LETTERS, 8, replace=False) for _ in range(n_images)]
    return [[" ".join(rng.choice(words, 4)) for _ in range(n_captions)] for words in images]


@pytest.fixture(scope="module")
def trm():
    return vlgauge.load("trm", distance="rouge_l", pvalue="auto", mean_aggregate=True, keep_in_memory=True)


@pytest.fixture(scope="module")
def equal():
    """Return 60 images whose candidates have the distribution of their 4 references."""
    captions = drawn(60, 16, seed=2)
    return [row[:12] for row in captions], [row[12:] for row in captions]


def test_sensitivity_of_equal_distributions_is_flat_at_its_expectation(trm, equal):
    rows = sensitivity(*equal, {"trm": trm}, sizes=[2, 3, 4])
    assert len(rows) == 9
    for row in rows:
        assert row.mean_log_pvalue == pytest.approx(row.expected_mean_log_pvalue, abs=0.3)
        assert abs(row.z) < 3.5


def test_curve_of_equal_distributions_is_flat_at_its_expectation(trm, equal):
    candidates, references = equal
    sampled = {0.5 * (k + 1): [row[4 * k : 4 * k + 4] for row in candidates] for k in range(3)}
    points = curve(sampled, references, {"trm": trm})
    assert [(point.temperature, point.metric) for point in points[:4]] == [
        *((0.5, name) for name in ("trm", "trm:separate", "trm:base")),
        (1.0, "trm"),
    ]
    for point in points:
        assert point.sizes == "4v4"
        assert point.low <= point.score <= point.high
        assert point.excess == pytest.approx(point.score - point.null_mean)
        assert point.excess_low - 0.02 < 0.0 < point.excess_high + 0.02


def test_curve_sees_what_cold_samples_lack(trm, equal):
    candidates, references = equal
    points = curve(
        {1.0: [row[:4] for row in candidates], 0.1: [row[:1] * 4 for row in candidates]}, references, {"t": trm}
    )
    cold, warm = points[0], points[3]
    assert (cold.temperature, warm.temperature) == (0.1, 1.0)
    assert cold.score > warm.score + 0.2
    assert (cold.pvalue, cold.undefined) == (pytest.approx(1e-4), 0)


def test_curve_without_pvalues(equal):
    points = curve({1.0: equal[0]}, equal[1], {"t": vlgauge.load("trm", distance="rouge_l", keep_in_memory=True)})
    assert [point.metric for point in points] == ["t", "t:separate"]
    assert math.isnan(points[0].pvalue)
    assert math.isnan(points[0].null_mean)
    with pytest.raises(ValueError, match=r"^`predictions`.*got none"):
        curve({}, equal[1], {})
    with pytest.raises(ValueError, match=r"^`predictions\[0\.5\]\[0\]`.*got str"):
        curve({0.5: ["a dog"]}, [["a"]], {})


# -- unique versus correct --------------------------------------------------------------------------------------------
def test_pools_are_halves_and_captions_of_others():
    captions = [*drawn(4, 9, seed=3), ["too few"]]
    pools = pools_of(captions, 4, seed=1)
    assert len(pools) == 4
    for own, texts in zip(pools, captions, strict=False):
        assert len(own.references) == len(own.correct) == len(own.incorrect) == len(set(own.incorrect)) == 4
        assert set(own.references) | set(own.correct) <= set(texts)
        assert not set(own.incorrect) & set(texts)
    assert pools == pools_of(captions, 4, seed=1) != pools_of(captions, 4, seed=2)


def test_mixtures_have_k_of_either_pool_and_m_correct_ones():
    captions, seen = drawn(3, 8, seed=4), []

    def compute(predictions, references):
        seen.append(predictions)
        return {"x": 1.0, "x_scores": [1.0, math.nan, 3.0], "x_undefined": 1}

    metric = SimpleNamespace(name="x", compute=compute, among=lambda *_, **__: nullcontext())
    cells = unique_versus_correct(captions, {"my": metric}, per_side=4, uniques=[1, 3], corrects=[0, 3, 4], seed=5)
    assert [(cell.unique, cell.correct) for cell in cells] == [(k, m) for k in (1, 3) for m in (0, 3, 4)]
    assert (cells[0].metric, cells[0].score, cells[0].undefined) == ("my", 2.0, 1)
    for cell, mixed in zip(cells, seen, strict=True):
        for own, candidates in zip(pools_of(captions, 4, seed=5), mixed, strict=True):
            correct, incorrect = candidates[: cell.correct], candidates[cell.correct :]
            assert len(candidates) == 4
            assert set(correct) <= set(own.correct[: cell.unique])
            assert set(incorrect) <= set(own.incorrect[: cell.unique])


def test_plain_scores_ask_how_many_are_right_and_trm_also_how_many_differ(trm):
    found = unique_versus_correct(drawn(12, 12, seed=6), {"t": trm}, per_side=6, uniques=[1, 6], corrects=[0, 3, 6])
    score = {(cell.metric, cell.unique, cell.correct): cell.score for cell in found}
    for k in (1, 6):
        assert all(score["t:base", k, m] < score["t:base", k, n] for m, n in pairwise((0, 3, 6)))
    assert score["t", 1, 6] > score["t", 6, 6] + 0.2
    assert score["t", 6, 0] > score["t", 6, 6] + 0.2


@pytest.mark.parametrize(
    ("captions", "given", "message"),
    [
        ([["a", "b"]], {"per_side": 1}, r"^`per_side`.*at least 2.*got 1"),
        ([["a", "b", "c"]], {"per_side": 2}, r"^`references`.*4 captions.*got 3"),
        (
            [["a", "b", "c", "d"]],
            {"per_side": 2},
            r"^`references`.*2 captions.*got 0",
        ),
        ([["a"]], {"uniques": [0]}, r"^`uniques`.*at least 1, got 0"),
        ([["a"]], {"corrects": [11]}, r"^`corrects`.*at most 10, got 11"),
    ],
)
def test_grids_that_are_refused(captions, given, message):
    with pytest.raises(ValueError, match=message):
        unique_versus_correct(captions, {}, **given)


# -- human captions ---------------------------------------------------------------------------------------------------
def test_groups_of_a_size_are_paired():
    captions = [[f"{i}-{j}" for j in range(n)] for i, n in enumerate((8, 7, 1))]
    splits = equal_splits(captions, size=2)
    assert len(splits) == 6  # from four groups; the second image fills three
    assert [[len(row) for row in left] for left, _ in splits[2:3]] == [[2, 2, 0]]
    assert [[len(row) for row in right] for _, right in splits[2:3]] == [[2, 0, 0]]
    for left, right in splits:
        assert not set(left[0]) & set(right[0])
    halves = equal_splits(captions)
    assert [[len(row) for row in side] for side in halves[0]] == [[4, 3, 0], [4, 4, 0]]
    assert equal_splits(captions, seed=1) != halves
    with pytest.raises(ValueError, match=r"^`size`.*at least 1.*got 0"):
        equal_splits(captions, size=0)
    with pytest.raises(ValueError, match=r"^`references`.*10 captions.*got 8"):
        equal_splits(captions, size=5)


def test_people_are_like_people(trm):
    rows = people_splits(drawn(40, 8, seed=7), {"trm": trm}, size=4, draws=2)
    assert [(row.metric, row.sizes, row.splits) for row in rows] == [
        (name, "4v4", 2) for name in ("trm", "trm:separate", "trm:base")
    ]
    for row in rows:
        assert row.lowest <= row.mean_log_pvalue <= row.highest
        assert row.mean_log_pvalue == pytest.approx(row.expected_mean_log_pvalue, abs=0.3)
        assert abs(row.z) < 3
    with pytest.raises(ValueError, match=r"^`draws`.*at least 1.*got 0"):
        people_splits(drawn(2, 8, seed=7), {}, draws=0)


def test_the_central_caption_is_nearest_to_the_others():
    captions = [["a b c d", "a x y z", "a b c z", "q r"], ["a", "b"], ["m n", "m", "m n o"]]
    first, few, last = central_captions(captions, vlgauge.load("trm", distance="rouge_l", keep_in_memory=True))
    assert few is None
    assert (first.position, first.caption, first.words) == (2, "a b c z", 4)
    # ROUGE-L by hand: 3 of 4 words in common with the first, 2 of 4 with the second, none with the last.
    assert first.distance == pytest.approx((0.25 + 0.5 + 1.0) / 3)
    assert first.words_of_others == pytest.approx(10 / 3)
    assert last.caption == "m n"


def test_the_central_caption_is_the_hypothesis():
    """Check with METEOR, which weights recall, so that d(a, b) and d(b, a) differ."""
    captions = ["a dog runs fast", "a dog runs fast home today", "a dog"]
    found = central_captions([captions], vlgauge.load("trm", keep_in_memory=True))[0]
    others = [text for text in captions if text != found.caption]
    meteor = vlgauge.load("meteor", version="2007", keep_in_memory=True)
    own = meteor.compute(predictions=[found.caption] * 2, references=[[text] for text in others])["meteor_scores"]
    assert found.caption == "a dog runs fast home today"
    assert found.distance == pytest.approx(1 - np.mean(own))


def test_central_captions_of_random_draws_are_no_longer_than_by_chance():
    """Check random captions: directed METEOR finds the longest one central, although none of them is."""
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(12)]
    references = [
        [" ".join(rng.choice(words, rng.integers(4, 13), replace=False)) for _ in range(5)] for _ in range(120)
    ]
    trm = vlgauge.load("trm", keep_in_memory=True)
    found, chance = central_captions(references, trm), central_captions_by_chance(references, trm, seed=1)
    longer = bootstrap_interval([one.more_words for one in found])
    assert longer.low > 1.0
    apart = bootstrap_interval([own.more_words - other.more_words for own, other in zip(found, chance, strict=True)])
    assert apart.low < 0.0 < apart.high


def test_captions_are_dealt_once_each():
    captions = [["a b", "c d e", "f"], ["g"], ["h i", "j k l m", "n o", "p"]]
    seen = []

    class Compared:
        def from_others(self, row, texts):
            seen.append(list(texts))
            return np.arange(len(texts) ** 2.0).reshape(len(texts), -1)

    class Metric:
        def compared(self, captions, references):
            assert references == [list(texts) for texts in self.references]
            return Compared()

    metric = Metric()
    metric.references = captions
    found = central_captions_by_chance(captions, metric, seed=2)
    assert [one is None for one in found] == [False, True, False]
    assert list(map(len, seen)) == [3, 1, 4]
    assert sorted(seen[0] + seen[2]) == sorted(captions[0] + captions[2])
    assert seen[0] != captions[0]


@needs_coco
def test_central_captions_and_splits_of_five_references():
    """Check central captions and splits of five COCO references: 2 against 3, with p-values of at least 0.1."""
    references = coco()["references"][:100]
    rows = people_splits(references, {"trm": vlgauge.load("trm", pvalue="exact", keep_in_memory=True)})
    assert rows[0].sizes.startswith("2")
    assert rows[0].significant == 0.0
    assert abs(rows[0].z) < 3
    assert rows[0].mean_log_pvalue == pytest.approx(rows[0].expected_mean_log_pvalue, abs=0.15)
    found = central_captions(references, vlgauge.load("trm", keep_in_memory=True))
    assert all(one.distance < one.others for one in found)
    # Because METEOR weights recall, they are longer than the others and not sparse.
    assert np.mean([one.words - one.words_of_others for one in found]) > 0.5
