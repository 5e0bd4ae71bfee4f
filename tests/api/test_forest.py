"""Two systems by every metric: the sentence and the lines."""

import re

import numpy as np
import pytest
from made_runs import bleu_run, made_run

from vlgauge.api.forest import forest, summarize_pair
from vlgauge.leaderboard import compare

BOTH = ["rovist_nr", "d_hm"]
LOW, HIGH, MIXED = [0.1] * 30, [0.9] * 30, [0.1, 0.9] * 15


def compared(first, second):
    """Return a comparison of two systems by two metrics. Lower is better by the second metric."""
    runs = {}
    for name, scores in (("one", first), ("two", second)):
        noise = [[score + 0.001 * (i % 7) for i, score in enumerate(own)] for own in scores]
        runs[name] = made_run(noise[0]) | made_run(noise[1], "d_hm")
    return compare(runs, ["rovist_nr", "d_hm"], resamples=200)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ((HIGH, LOW), (LOW, HIGH), "one is better by two of two metrics."),
        ((LOW, HIGH), (HIGH, LOW), "two is better by two of two metrics."),
        ((HIGH, HIGH), (LOW, LOW), "one is better by one of two metrics, two by one."),
        ((HIGH, MIXED), (LOW, MIXED[::-1]), "one is better by one of two metrics; one does not distinguish them."),
        ((MIXED, MIXED), (MIXED[::-1], MIXED[::-1]), "Neither is better: no metric distinguishes one and two."),
    ],
)
def test_what_is_found_is_said(first, second, said):
    assert summarize_pair(compared(first, second), "one", "two") == said


def test_right_is_better_for_the_first_also_where_lower_is_better():
    page = str(forest(compared((HIGH, LOW), (LOW, HIGH)), "one", "two"))
    dots = [float(one) for one in re.findall(r'<circle cx="([0-9.]+)%"', page)]
    assert len(dots) == 2
    assert min(dots) > 90
    assert page.count('class="for"') == 2
    assert "one better by<small>" in page
    assert re.findall(r'data-label="one better by"><b>(.)', page) == ["+", "+"]
    # The names are the display names, as on the chips.
    assert re.findall(r'scope="row"[^>]*>([^<]*)', page) == ["RoViST-NR ↑", "d_HM ↓"]
    page = str(forest(compared((LOW, LOW), (HIGH, HIGH)), "one", "two", ("A", "B")))
    dots = [float(one) for one in re.findall(r'<circle cx="([0-9.]+)%"', page)]
    assert dots[0] < 10 < 90 < dots[1]
    assert "B is better" in page
    assert "one" not in re.findall(r"<th[^>]*>([^<]*)", page)


def test_a_value_of_the_corpus_is_called_so_and_holm_needs_several_tests():
    references = [f"a dog number {row} runs on the grass" for row in range(8)]
    runs = {"one": bleu_run(references, references), "two": bleu_run(["a dog"] * 8, references)}
    page = str(forest(compare(runs, ["bleu"]), "one", "two"))
    assert re.findall(r'scope="row"[^>]*>([^<]*)', page) == ["BLEU (corpus) ↑"]
    assert "sentence" not in page
    assert "Holm" not in page
    assert "Holm" in str(forest(compared((HIGH, LOW), (LOW, HIGH)), "one", "two"))
    alone = compare({name: made_run(own) | made_run(own, "d_hm") for name, own in (("one", HIGH), ("two", LOW))}, BOTH)
    assert "Holm" in str(forest(alone, "one", "two"))
    each = compare(
        {name: made_run(own) | made_run(own, "d_hm") for name, own in (("one", HIGH), ("two", LOW))},
        BOTH,
        family="metric",
    )
    assert "Holm" not in str(forest(each, "one", "two"))


def test_two_equal_systems_are_rarely_told_apart_by_ten_metrics():
    metrics = ["rovist_nr", "meteor", "rouge_l", "cider", "spice"]
    rng, told = np.random.default_rng(0), 0
    for _ in range(40):
        runs = {"one": {}, "two": {}}
        for metric in metrics:
            for name in runs:
                runs[name] |= made_run(rng.normal(size=25), metric)
        told += not summarize_pair(compare(runs, metrics, resamples=999), "one", "two").startswith("Neither")
    assert told <= 5  # 8 if each metric is corrected separately


def test_names_of_systems_are_shown_and_not_obeyed():
    runs = {name: made_run(scores) for name, scores in (("<b>x", HIGH), ("y", LOW))}
    comparison = compare(runs, ["rovist_nr"], resamples=200)
    assert "<b>x" not in str(forest(comparison, "<b>x", "y"))
