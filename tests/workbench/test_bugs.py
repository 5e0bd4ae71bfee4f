"""A bug is logged with its traceback under the number on the page, and the page shows no detail of it."""

import logging
import re

import gradio as gr
import pytest

from vlgauge.core.errors import UsageError
from vlgauge_workbench import scoring
from vlgauge_workbench.errors import in_one_sentence

CALL = ("bleu", "embedded", "", {"predictions": "A dog ran.", "references": ["A dog sat."]}, "example")
PLACES = {
    "page": "vlgauge_workbench.scoring.metric_of",
    "metric": "vlgauge.families.base.metric.Metric.signature",
}


@pytest.fixture
def logged(monkeypatch):
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    monkeypatch.setattr(logging.getLogger("vlgauge_workbench"), "handlers", [handler])
    return records


def plant(monkeypatch, place, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(place, fail)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("bug", [KeyError("scores_of_rows"), TypeError("inner"), ValueError("inner")], ids=repr)
def test_a_bug_is_a_number(monkeypatch, logged, place, bug):
    plant(monkeypatch, place, bug)
    with pytest.raises(gr.Error) as raised:
        in_one_sentence(scoring.score_example)(*CALL)
    (number,) = re.fullmatch(
        r"'Internal error ([0-9a-f]{8}); its details are in the log of the server\.'", str(raised.value)
    ).groups()
    (text,) = logged
    assert number in text
    assert "Traceback (most recent call last)" in text
    assert type(bug).__name__ in text


def test_a_token_is_not_logged(monkeypatch, logged):
    token = "hf_" + "a" * 34
    plant(monkeypatch, PLACES["metric"], RuntimeError(f"no {token}"))
    with pytest.raises(gr.Error):
        in_one_sentence(scoring.score_example)(*CALL)
    assert token not in logged[0]


def test_what_a_visitor_can_fix_is_a_sentence(monkeypatch, logged):
    plant(monkeypatch, PLACES["metric"], UsageError("`df` must be a table"))
    with pytest.raises(gr.Error, match="must be a table"):
        in_one_sentence(scoring.score_example)(*CALL)
    assert logged == []
