"""Corpus-level values of calls, and their intervals."""

import math

import numpy as np
import pytest
from made_runs import bleu_run, made_run, made_signature

import vlgauge
from vlgauge.core.catalog import MetricFacts, metric_facts, metric_names, score_facts
from vlgauge.families import aggregation
from vlgauge.families.aggregation import (
    COUNTED,
    CountBasedMetric,
    corpus_counts,
    corpus_interval,
    corpus_value,
    score_bounds,
)
from vlgauge.families.clip_score.formula import clip_scores, reference_scores
from vlgauge.families.ngram.bleu import compute_bleu
from vlgauge.stats import bootstrap_interval, count_statistic_intervals


def test_every_metric_that_is_no_mean_is_counted():
    assert {name for name in metric_names() if not metric_facts(name).is_mean} == set(COUNTED)


def test_the_interval_of_a_mean_is_that_of_its_scores():
    scores = [0.1, 0.5, math.nan, 0.9]
    result = made_run(scores) | {"rovist_nr_scores": [0.1, 0.5, None, 0.9]}  # None for NaN, as in JSON
    assert corpus_interval("rovist_nr", result, level=0.8) == bootstrap_interval(scores, level=0.8)
    assert corpus_value("rovist_nr", result) == pytest.approx(0.5)


def test_the_value_of_bleu_is_that_of_its_counts():
    result = bleu_run(["a dog runs on the grass", "two cats"], ["a dog runs on the grass", "two red cats"])
    assert corpus_value("bleu", result) == pytest.approx(result["bleu"], rel=1e-12)
    found = corpus_interval("bleu", result)
    assert found.low < result["bleu"] < found.high


def test_the_shorter_orders_of_bleu_have_intervals_of_the_same_counts():
    captions = ["a dog runs on the grass", "two red cats", "a plate of food", "a man rides a bike"]
    references = ["a dog runs on grass", "two cats", "a plate with food", "one man rides a red bike"]
    metric = vlgauge.load("bleu")
    result = metric.compute(predictions=captions, references=[[one] for one in references])
    for order in (1, 2, 3):
        name = f"bleu_{order}"
        counts = corpus_counts("bleu", result)
        (alone,) = count_statistic_intervals([counts], [(0,)], lambda sums, order=order: compute_bleu(sums, order))
        found = corpus_interval(name, result)
        assert found == alone.within((0.0, 1.0), result[name])
        assert found.low < result[name] < found.high
    assert corpus_interval("bleu_4", result) == corpus_interval("bleu", result)


def part(counts):
    return counts[..., 0] / np.maximum(counts[..., 1], 1)


ERRORS = CountBasedMetric(("wrong", "of"), lambda columns: columns, part)


def test_a_metric_without_constants_has_no_noise():
    counts = np.array([[0.0, 3.0], [2.0, 3.0]])
    assert ERRORS.without_noise(counts).tolist() == [0.0, 2 / 3]
    noisy = CountBasedMetric(
        ("wrong", "of"), lambda columns: columns, part, lambda sums: sums[..., 0] < 3, "few are wrong"
    )
    assert noisy.without_noise(counts).tolist() == [0.0, 0.0]


def test_any_metric_may_add_counts_of_its_own(monkeypatch):
    # trm represents a metric whose folder defines counts without constants.
    monkeypatch.setattr(aggregation, "COUNTED", {"trm": ERRORS})
    result = made_run([0.5, 0.25, math.nan], "trm") | {"trm_wrong": [1, 1, None], "trm_of": [2, 4, None]}
    assert corpus_value("trm", result) == 2 / 6
    assert corpus_interval("trm", result).low >= 0
    with pytest.raises(ValueError, match=r"row 1.*0\.25"):
        corpus_value("trm", result | {"trm_of": [2, 5, None]})


@pytest.mark.parametrize("captions", [[], ["a dog"]])
def test_nothing_is_known_of_fewer_than_two_examples(captions):
    result = bleu_run([*captions, "a cat"], [*captions, []])
    assert corpus_interval("bleu", result) is None
    assert math.isnan(corpus_value("bleu", result)) == (not captions)


def test_an_interval_keeps_to_the_range_with_the_settings_of_the_signature():
    scores = [0.01, 0.0, 0.3, 2.4]
    made = "enc:e|dtype:float32|prep:p|config:{}|variant:released|w:2.5|arch:a|proj:p|prompt:|long:error|on_error:nan"
    by_kind = {}
    for kind in ("image", "video"):
        signature = f"{made_signature('clip_s')}|{made.format(kind)}"
        by_kind[kind] = corpus_interval("clip_s", made_run(scores, "clip_s", clip_s_signature=signature))
    whole = bootstrap_interval(scores)
    assert whole.low < 0.0
    assert whole.high > 2.5
    assert (by_kind["image"].low, by_kind["image"].high) == (0.0, 2.5)
    assert by_kind["video"] == whole
    # A signature with a fault names no settings.
    assert corpus_interval("clip_s", made_run(scores, "clip_s", clip_s_signature="clip_s|w:2.5")) == whole
    assert corpus_interval("clip_s", made_run(scores, "clip_s", clip_s_signature="no signature|w")) == whole


def test_a_small_w_cuts_no_interval_of_scores_with_references():
    made = "enc:e|dtype:float32|prep:p|config:image|variant:paper|w:0.3|arch:a|proj:p|prompt:|long:error|on_error:nan"
    scores = [0.38, 0.42, 0.43, 0.32]
    signature = f"ref_{made_signature('clip_s')}|{made}"
    found = corpus_interval("ref_clip_s", made_run(scores, "ref_clip_s", ref_clip_s_signature=signature))
    whole = bootstrap_interval(scores)
    assert found == whole


@pytest.mark.parametrize("score", [0.99, 0.1, 1 / 3])
@pytest.mark.parametrize("n", [6, 10, 49])
def test_an_interval_of_equal_scores_holds_their_mean(score, n):
    # A sum of floats that is divided again may be another float.
    run = made_run([score] * n, "meteor")
    found = corpus_interval("meteor", run)
    assert found.low <= corpus_value("meteor", run) <= found.high
    assert (found.low, found.high) == pytest.approx((score, score), rel=1e-15)


def test_an_interval_is_computed_once(monkeypatch):
    scores = [0.123, 0.456, 0.789]
    first = corpus_interval("clip_s", made_run(scores, "clip_s"))
    monkeypatch.setattr(aggregation, "bootstrap_interval", None)
    assert corpus_interval("trm", made_run(scores, "trm")) == first.within((0.0, 4 / 3), np.mean(scores)) != first
    assert first.low < 0.0
    with pytest.raises(TypeError):
        corpus_interval("trm", made_run(scores, "trm"), seed=1)


def test_spice_and_spider_say_whose_parser_made_their_graphs():
    titles = {
        (name, parser): aggregation.number_title(name, called="S", signature=f"{name}|v:1|parser:{parser}")
        for name in ("spice", "spider", "spider_spice", "soft_spice")
        for parser in ("rules-1+en_core_web_sm-3.8.0@ebbb7ff4", "spice-1.0@6c6a73ae+corenlp-3.6.0@3935300e", "given")
    }
    own, theirs, given = (list(titles.values())[place::3] for place in range(3))
    assert own == [*["S (own parser)"] * 3, "S"]
    assert theirs == ["S"] * 4
    assert given == [*["S (another parser)"] * 3, "S"]


# -- Ranges -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fields", "bounds"),
    [
        ({}, (-1.0, None)),
        ({"kind": "half"}, (-1.0, 0.5)),
        ({"kind": "half", "scale": "True"}, (0.0, 0.5)),
        ({"kind": "half", "other": "x"}, (-1.0, None)),
        ({"scale": "True"}, (0.0, None)),
        ({"kind": "w", "w": "2.5"}, (-1.0, 2.5)),
        ({"kind": "w", "w": "inf"}, (-1.0, None)),
        ({"kind": "w", "w": "two"}, (-1.0, None)),
        ({"kind": "w"}, (-1.0, None)),
    ],
)
def test_ends_of_a_range_by_the_settings(fields, bounds):
    ends = (
        ({"kind": "half", "other": ""}, -7.0, 0.5),
        ({"scale": "True"}, 0.0, None),
        ({"kind": "w"}, None, "w"),
        ({"kind": "half", "scale": "False"}, 0.25, 0.25),
    )
    facts = MetricFacts("demo", "?", "[0, 1]", True, bounds=(-1.0, None), bounds_with=ends)
    assert facts.bounds_for(fields) == bounds


@pytest.mark.parametrize(
    ("signature", "bounds"),
    [
        ("mmd_bert|estimator:unbiased", (-1.0, 2.0)),
        ("mmd_bert|estimator:biased", (0.0, 2.0)),
        ("mmd_bert|variant:released", (0.0, 4.00002)),
        ("onlystyle|variant:paper|styles:4", (-1.0, 1.0)),
        ("stylecider|variant:paper", (0.0, 1.0)),
        ("stylecider|variant:released", (0.0, 10.0)),
        ("clip_s|config:image|w:2.5", (0.0, 2.5)),
        ("clip_s|config:video", (None, None)),
        ("ref_clip_s|config:image|w:2.5|variant:paper", (0.0, 2.0)),
        ("ref_clip_s|config:image|w:0.5|variant:released", (None, None)),
        ("ref_clip_s|config:image|calibration:c|w:0.5|variant:paper", (None, None)),
        ("ref_pac_s|config:image|w:0.25|variant:paper", (0.0, 2.0)),
        ("ref_pac_s|config:video|w:0.25|variant:paper", (None, None)),
        ("ref_fleur|variant:released", (0.0, 1.0)),
        ("pac_s|config:image|w:1.5", (0.0, 1.5)),
        ("rovist_nr|variant:paper", (0.0, 1.0)),
        ("rovist_nr|variant:released", (None, 1.0)),
        ("rovist|scale_vg:True", (None, 3.0)),
        ("rovist_vg|scale:True", (-1.0, 1.0)),
        ("groovist|normalize:tanh", (-1.0, 1.0)),
        ("capture|variant:paper", (0.0, 1.0)),
        ("soft_spice|direction:both", (0.0, 1.0)),
    ],
)
def test_ranges_of_the_metrics(signature, bounds):
    assert score_bounds(signature.partition("|")[0], signature) == bounds


@pytest.mark.parametrize("signature", ["", "soft_spice", "spice|direction:both", "soft_spice|direction"])
def test_the_signature_of_something_else_narrows_nothing(signature):
    assert score_bounds("soft_spice", signature) == (-1.0, 1.0)


@pytest.mark.parametrize("w", [0.01, 0.3, 1.0, 2.5])
def test_scores_with_references_are_within_their_range(w):
    cosines = np.linspace(-1.0, 1.0, 41)
    found = reference_scores(clip_scores(cosines, w)[:, None], cosines, clamp=True)
    low, high = score_facts("ref_clip_s").bounds_for({"config": "image", "variant": "paper", "w": str(w)})
    assert (found.min(), found.max()) == (low, pytest.approx(2 * w / (1 + w)))
    assert found.max() < high
    assert reference_scores(clip_scores(0.1, w), -0.11 * w, clamp=False) > 2 * w
