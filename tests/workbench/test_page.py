"""What the page shows before, and when, a metric is chosen."""

import gradio as gr
import pytest
from starlette.requests import Request

from vlgauge.workbench.app import _chosen, _opened


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("rovist_nr", ["Story"]),
        ("stylecider", ["Caption", "References", "Style"]),
        ("clip_s", ["Caption", "References (optional)", "Picture"]),
    ],
)
def test_the_page_begins_with_the_form_of_its_metric(built, metric, expected):
    page = built(metric=metric)
    blocks = list(page.blocks.values())
    (examples,) = [one for one in blocks if isinstance(one, gr.Dataset)]
    fields = [one for one in blocks if isinstance(one, (gr.Textbox, gr.Gallery, gr.Video)) and one.visible]
    labels = [one.label for one in fields if examples.parent in (one.parent, one.parent.parent)]
    assert labels == expected
    assert all(label for (label,) in examples.samples)
    assert any("is better" in (one.value or "") for one in blocks if isinstance(one, gr.Markdown))


def asked(query):
    return gr.Request(Request({"type": "http", "headers": [], "query_string": query}))


@pytest.mark.parametrize("query", [b"", b"metric=rovist_nr", b"metric=nobody"])
def test_an_address_that_names_no_other_metric_changes_nothing(query):
    assert _opened("rovist_nr", "embedded", asked(query)) == gr.skip()


def test_an_address_names_the_metric():
    assert _opened("rovist_nr", "embedded", asked(b"metric=trm"))[0] == "trm"


def test_a_metric_that_was_chosen_before_empties_no_form():
    """Gradio tells a list that is left as it was like a choice."""
    assert _chosen("clip_s", "embedded", ("clip_s", "video")) == gr.skip()
    assert ("rouge_l", "") in _chosen("rouge_l", "embedded", ("clip_s", "video"))
