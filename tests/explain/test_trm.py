"""Six columns against a third, above small triangles."""

import re

import pytest
from explained import scored

from vlgauge.explain import explain
from vlgauge.explain.trm import thirds

SHARES = ([0.6, 0.3, 0.1], "the model"), ([1 / 3, 1 / 3, 1 / 3], "people")


def test_what_is_above_a_third_is_hatched_only_where_chance_hardly_explains_it():
    fair, told = thirds(SHARES, told=False), thirds(SHARES, told=True)
    assert "hatch" not in fair
    assert fair.count('class="bar over"') == 1
    assert told.count('class="hatch"') == told.count('class="ex"') == 1
    assert told.count('class="lack"') == 2
    assert 'class="lack"' not in fair


def test_the_label_tells_all_shares():
    label = re.search('aria-label="(.*?)"', thirds(SHARES, told=False))[1]
    assert label == (
        "two by the model: shortest 60%, middle 30%, longest 10%; "
        "two by people: shortest 33%, middle 33%, longest 33%. Fair would be a third each."
    )


def test_no_element_needs_an_id():
    assert " id=" not in thirds(SHARES, told=True)
    assert "url(#" not in thirds(SHARES, told=True)


def test_shares_are_those_of_the_details():
    columns, result = scored("trm")
    explained = explain("trm", columns, result)
    counts = result["trm_details"][1]["counts_lone_reference"]
    assert explained.shares(1, "counts_lone_reference") == pytest.approx([count / sum(counts) for count in counts])
    assert explained.reason(1) == "p 0.008; two by the model: the shortest side in 100%"
    assert " · separate " in explained.extra(1)
