"""Several statistics of one metric: their keys, tests, and which tail speaks against the null hypothesis."""

import evaluate
import numpy as np
import pytest
from folders import DEMO_METRICS

from vlgauge.families import caption_sets
from vlgauge.families.caption_sets.corpus_statistic import CorpusStatistic

NULL = np.array([[1.0, 0.0, 2.0, 3.0], [4.0, 4.0, 4.0, 4.0]])


def statistic(extreme):
    found = CorpusStatistic(3, extreme, draws=999, seed=0)
    found.add([2, 0], caption_sets.Statistic(NULL[:, 0], NULL))
    return found.keys("base", "exact")


def test_large_values_speak_against_the_null_hypothesis():
    keys = statistic("large")
    assert keys["base"] == 2.5
    assert keys["base_scores"].tolist() == pytest.approx([4.0, np.nan, 1.0], nan_ok=True)
    assert keys["base_pvalues"] == pytest.approx([1.0, np.nan, 0.75], nan_ok=True)


def test_small_values_speak_against_the_null_hypothesis():
    large, small = statistic("large"), statistic("small")
    assert small["base_pvalues"] == pytest.approx([1.0, np.nan, 0.5], nan_ok=True)
    # Means and z have the same sign as the statistic.
    for key in ("base", "base_null_means", "base_null_mean", "base_zscores", "base_z"):
        assert small[key] == pytest.approx(large[key], nan_ok=True)
    assert small["base_zscores"][2] == pytest.approx((1.0 - 1.5) / np.std(NULL[0]))
    assert small["base_pvalue"] == pytest.approx(0.5, abs=0.07)
    assert large["base_pvalue"] == pytest.approx(0.75, abs=0.07)


def test_given_pvalues_are_kept():
    found = CorpusStatistic(1, "large", draws=9, seed=0)
    found.add([0], caption_sets.Statistic(NULL[:1, 0], NULL[:1], pvalues=np.array([0.25])))
    assert found.keys("", "exact")["pvalues"] == [0.25]


def test_statistics_without_a_test_have_scores_only():
    found = CorpusStatistic(2, "large", draws=9, seed=0)
    found.add([1], caption_sets.Statistic(np.ones(1)))
    assert set(found.keys("base", None)) == {"base", "base_scores"}
    assert found.keys("", None) == {}


@pytest.mark.parametrize("chunk_bytes", [1, 100])
@pytest.mark.parametrize(("minimum", "order"), [(2, [0, 3, 1, 4]), (1, [0, 3, 1, 4, 2])])
def test_examples_are_scored_by_their_sizes_each_from_its_own_input(chunk_bytes, minimum, order):
    metric = evaluate.load(str(DEMO_METRICS / "set_demo"), chunk_bytes=chunk_bytes, keep_in_memory=True)
    sets = [["a"] * 2, ["a"] * 3, ["a"], ["a"] * 2, ["a"] * 3]
    asked = []

    def inputs(rows):
        asked.extend(rows)
        return (10 * row + len(sets[row]) for row in rows)

    def scored(found, n, ways):
        assert {number % 10 for number in found} == {n}
        return {"": caption_sets.Statistic(np.array(found) // 10.0)}, [{}] * len(found)

    with pytest.warns(UserWarning, match="sizes") as caught:
        result = metric.score_statistics(
            sets, sets, inputs, scored, lambda *_: 50, minimum=minimum, return_details=False, signature_extra={}
        )
    assert asked == order
    assert result["set_demo_scores"] == pytest.approx(
        [row if row in order else np.nan for row in range(5)], nan_ok=True
    )
    assert caught[0].filename == __file__
