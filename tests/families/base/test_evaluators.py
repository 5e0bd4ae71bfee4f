"""Metrics called by the evaluators of `evaluate`."""

import evaluate
import numpy as np
import pytest

import vlgauge

PREDICTIONS = [f"a dog number {i} ran" for i in range(12)]
REFERENCES = [[f"the dog number {i} ran", "a dog"] for i in range(12)]


class OneNumber:
    """Metric that returns only its score."""

    def __init__(self, metric):
        self.metric = metric

    def compute(self, **columns):
        return {self.metric.name: self.metric.compute(**columns)[self.metric.name]}


@pytest.fixture
def computed():
    evaluator = pytest.importorskip("evaluate.evaluator.base").Evaluator
    assert evaluate.Evaluator is evaluator

    def compute(metric, references, strategy):
        held = type(
            "Held",
            (),
            {"METRIC_KWARGS": {}, "_compute_confidence_interval": staticmethod(evaluator._compute_confidence_interval)},
        )()
        inputs = {"predictions": PREDICTIONS, "references": references}
        return evaluator.compute_metric(held, metric, inputs, strategy, n_resamples=20, random_state=0)

    return compute


def test_the_simple_strategy_is_compute(computed):
    rouge_l = vlgauge.load("rouge_l", keep_in_memory=True)
    expected = rouge_l.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert computed(rouge_l, REFERENCES, "simple") == expected


@pytest.mark.filterwarnings("ignore")  # warnings from scipy
def test_the_bootstrap_strategy_fails_as_the_documentation_says(computed):
    rouge_l = vlgauge.load("rouge_l", keep_in_memory=True)
    firsts = [own[0] for own in REFERENCES]
    for metric, references in ((rouge_l, firsts), (OneNumber(rouge_l), REFERENCES)):
        with pytest.raises(ValueError, match="shape"):
            computed(metric, references, "bootstrap")
    found = computed(OneNumber(rouge_l), firsts, "bootstrap")["rouge_l"]
    assert np.isfinite(found["confidence_interval"]).all()
