"""The references that are shown next to a caption."""

import pytest

from vlgauge.explain.referenced import ReferencedCaption


@pytest.mark.parametrize(("metric", "scores"), [("meteor", [0.75, 0.5]), ("chair", [0.0, 0.5])])
def test_the_references_with_the_best_scores_are_shown(metric, scores):
    class Explained(ReferencedCaption):
        name = metric

    found = [0.5, scores[0], 0.0 if metric == "meteor" else 0.75]
    detail = {"tokens": ["a"], "references": [["a"], ["b"], ["c"]], "per_reference": found}
    rows = {"predictions": ["a"], "references": [["a", "b", "c"]]}
    told = Explained(rows, {f"{metric}_scores": [0.5], f"{metric}_details": [detail]})
    assert [one["score"] for one in told.values(0)["closest"]] == scores
