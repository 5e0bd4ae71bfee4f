"""Numbers of whole calls and their intervals."""

import math

import pytest
from made_runs import bleu_run, made_run

from vlgauge import corpus_values
from vlgauge.catalog import metric_facts, metric_names
from vlgauge.corpus_values import COUNTED, corpus_interval, corpus_value
from vlgauge.statistics import bootstrap_interval


def test_every_metric_that_is_no_mean_is_counted():
    assert {name for name in metric_names() if not metric_facts(name).is_mean} == set(COUNTED)


def test_the_interval_of_a_mean_is_that_of_its_scores():
    scores = [0.1, 0.5, math.nan, 0.9]
    result = made_run(scores) | {"rovist_nr_scores": [0.1, 0.5, None, 0.9]}  # as JSON has it
    assert corpus_interval("rovist_nr", result, level=0.8) == bootstrap_interval(scores, level=0.8)
    assert corpus_value("rovist_nr", result) == pytest.approx(0.5)


def test_the_value_of_bleu_is_that_of_its_counts():
    result = bleu_run(["a dog runs on the grass", "two cats"], ["a dog runs on the grass", "two red cats"])
    assert corpus_value("bleu", result) == pytest.approx(result["bleu"], rel=1e-12)
    found = corpus_interval("bleu", result)
    assert found.low < result["bleu"] < found.high


@pytest.mark.parametrize("captions", [[], ["a dog"]])
def test_nothing_is_known_of_fewer_than_two_examples(captions):
    result = bleu_run([*captions, "a cat"], [*captions, []])
    assert corpus_interval("bleu", result) is None
    assert math.isnan(corpus_value("bleu", result)) == (not captions)


def test_an_interval_is_computed_once(monkeypatch):
    scores = [0.123, 0.456, 0.789]
    first = corpus_interval("rovist_nr", made_run(scores))
    monkeypatch.setattr(corpus_values, "bootstrap_interval", None)
    assert corpus_interval("trm", made_run(scores, "trm")) == first
    with pytest.raises(TypeError):
        corpus_interval("trm", made_run(scores, "trm"), seed=1)
