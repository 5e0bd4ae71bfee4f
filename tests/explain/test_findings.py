"""Findings of a report in a sentence: the corpus-level value, and the row with the worst score."""

import math

import pytest
from explained import scored

from vlgauge.explain import explain
from vlgauge.explain.findings import finding_of_metrics, finding_of_rows, reason_of_the_worst

DETAIL = {"sentences": ["a b.", "d."], "words": [["a"], ["d"]], "pairs": [], "ngrams": [], "inter": 0.0, "intra": 0.0}


def rows(name, scores, value):
    """Return rows of a metric with these scores and with letters as ids."""
    detail = DETAIL if name == "rovist_nr" else scored(name)[1][f"{name}_details"][0]
    result = {name: value, f"{name}_scores": scores, f"{name}_details": [detail] * len(scores)}
    result[f"{name}_signature"] = f"{name}|v:0.1.0|variant:released|n:4"
    text = ["a b.", "d."] if name == "rovist_nr" else "a"
    columns = {"predictions": [text] * len(scores), "references": [["a"]] * len(scores)}
    return explain(name, columns | {"id": list("abcdefghi"[: len(scores)])}, result)


@pytest.mark.parametrize(
    ("scores", "value", "said"),
    [
        ([0.5, 0.25, 0.75], 0.5, "RoViST-NR is 0.50 on average over 3 rows; “b” is the worst, with 0.25."),
        ([0.5, math.nan, 0.7], 0.6, "RoViST-NR is 0.60 on average over 2 of 3 rows; “a” is the worst, with 0.50."),
        ([0.5, 0.2501, 0.2502], 0.33, "RoViST-NR is 0.33 on average over 3 rows; 2 share the worst score, 0.25."),
        ([0.5, 0.5], 0.5, "RoViST-NR is 0.50 on average over 2 rows; all score the same."),
        ([0.5], 0.5, "RoViST-NR is 0.50 over 1 row."),
        ([math.nan, 0.5], 0.5, "RoViST-NR is 0.50 on average over 1 of 2 rows."),
        ([math.nan] * 2, math.nan, "RoViST-NR has no score for any of 2 rows."),
        ([math.nan], None, "RoViST-NR has no score for the row."),
    ],
)
def test_the_whole_and_the_worst_row(scores, value, said):
    assert finding_of_rows(rows("rovist_nr", scores, value)) == said


def test_lower_is_better_and_a_corpus_is_no_average():
    assert finding_of_rows(rows("trm", [0.1, 0.4], 0.25)).endswith("“b” is the worst, with 0.40.")
    found = finding_of_rows(rows("bleu", [0.1, 0.4], 0.3))
    assert found == "BLEU is 0.300 over 2 rows; “a” is the worst, with 0.100."


def test_the_reason_is_that_of_the_metric_and_names_the_row():
    found = rows("rovist_nr", [0.5, 0.25], 0.4)
    assert reason_of_the_worst(found) == f"<b>“b”</b>: {found.headline(1)}"
    alone = rows("rovist_nr", [0.5], 0.5)
    assert reason_of_the_worst(alone) == alone.headline(0)
    assert reason_of_the_worst(rows("rovist_nr", [math.nan] * 2, math.nan)).startswith("No score: ")


@pytest.mark.parametrize(
    ("bleu", "cider", "said"),
    [
        ([0.1, 0.4], [1.0, 2.0], "2 rows by two metrics: “a” has the worst score by all."),
        ([0.1, 0.4], [2.0, 1.0], "2 rows by two metrics: no row is the worst by two of them."),
        ([0.1, 0.1, 0.4], [1.0, 1.0, 2.0], "3 rows by two metrics: “a” and one other have the worst score by all."),
        ([0.4, 0.4], [1.0, 1.0], "2 rows by two metrics."),
        ([math.nan], [math.nan], "1 row by two metrics."),
    ],
)
def test_a_row_that_is_the_worst_by_most_metrics(bleu, cider, said):
    assert finding_of_metrics([rows("bleu", bleu, 0.2), rows("cider", cider, 1.0)]) == said
