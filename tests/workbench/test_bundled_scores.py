"""Position of the score of one example among the scores of the bundled ones."""

import html
import math
import re
from types import SimpleNamespace

import pytest

from vlgauge.core.catalog import metric_facts
from vlgauge.explain.scale import show_among
from vlgauge_workbench import score_tab, scoring
from vlgauge_workbench.bundled_scores import list_bundled, place_of, rank_bundled

HIGHER = (("a", 3.0), ("b", 2.0), ("c", 1.0))
LOWER = HIGHER[::-1]


def explained(score, *, higher=True):
    return SimpleNamespace(scores=[score], digits=1, facts=SimpleNamespace(higher_is_better=higher))


@pytest.mark.parametrize(
    ("score", "higher", "said"),
    [
        (4.0, True, "Better than all 3 bundled examples, the best of them “a” (3.0)."),
        (2.5, True, "Between the bundled examples “a” (3.0), which is better, and “b” (2.0), which is worse."),
        (2.0, True, "The same score as the bundled example “b” (2.0)."),
        (0.5, True, "Worse than all 3 bundled examples, the worst of them “c” (1.0)."),
        (4.0, False, "Worse than all 3 bundled examples, the worst of them “a” (3.0)."),
        (2.5, False, "Between the bundled examples “b” (2.0), which is better, and “a” (3.0), which is worse."),
        (0.5, False, "Better than all 3 bundled examples, the best of them “c” (1.0)."),
        (float("nan"), True, ""),
    ],
)
def test_a_score_lies_where_the_direction_of_its_metric_says(score, higher, said):
    assert place_of(explained(score, higher=higher), HIGHER if higher else LOWER) == said


def test_of_one_example_there_is_no_all():
    assert place_of(explained(0.5), (("a", 3.0),)) == "Worse than the bundled example “a” (3.0)."
    assert place_of(explained(0.5), ()) == ""


@pytest.mark.parametrize("name", ["rouge_l", "trm", "d_hm"])  # higher is better, lower is better
def test_the_best_of_the_bundled_scores_is_first(name):
    found = rank_bundled(name, "embedded", "")
    values = [score for _, score in found]
    assert len(set(values)) > 2
    assert values == sorted(values, reverse=metric_facts(name).higher_is_better)
    assert rank_bundled(name, "embedded", "") is found


def test_the_page_says_it():
    page = html.unescape(score_tab.score_fields("rovist_nr", "", "embedded", "I ran. I ran.", "", "", None, None)[0])
    assert "“One idea in every sentence” (0.64), which is better, and “The same words again and again” (0.19)" in page


@pytest.mark.parametrize(
    ("score", "ends", "higher", "axis"),
    [
        (0.6, (0.0, 4 / 3), True, (0.0, 4 / 3)),
        (1.6, (0.0, 4 / 3), True, (0.0, 1.6)),  # settings with a larger range
        (0.4, (0.0, None), False, (0.0, 1.3)),
        (2.0, (None, None), True, (-0.6, 2.6)),
        (-3.0, (None, 1.0), True, (-4.0, 1.0)),
        (math.nan, (None, 1.0), True, (-0.3, 1.0)),
    ],
)
def test_the_axis_is_the_range_and_goes_on_where_that_has_no_end(score, ends, higher, axis):
    facts = SimpleNamespace(higher_is_better=higher, ends_of=lambda kind: ends)
    one = SimpleNamespace(scores=[score], on_axis=(0.0,), facts=facts, kind="", reference_value=lambda row: math.nan)
    show_among(one, (1.0, 0.5))
    assert (one.axis.low, one.axis.high) == pytest.approx(axis)
    assert one.axis.higher_is_better == higher
    assert one.others == (1.0, 0.5)


@pytest.mark.parametrize(("name", "config"), [("trm", ""), ("d_hm", ""), ("clip_s", "image"), ("clip_s", "video")])
def test_no_example_of_ours_is_the_best_or_the_worst_there_could_be(name, config):
    page = score_tab.show_first(name, "embedded", config, 0)
    (drawn,) = re.findall('class="me" style="left:([0-9.]+)%"', page)
    assert 1 < float(drawn) < 99
    assert len(re.findall(r'class="m \w+( on)?" style', page)) == len(list_bundled(name, "embedded", config))


def test_published_models_are_asked_for_none(monkeypatch):
    monkeypatch.setattr(scoring, "score_rows", None)
    assert rank_bundled("clip_s", "paper", "image") == ()
