"""Six columns compared with the values of all splits, above small triangles."""

import re

import pytest
from explained import scored

from vlgauge.core.catalog import folder_module
from vlgauge.explain import explain

rank_columns = folder_module("trm", "explanation").rank_columns
EXPECTED = [0.3, 0.4, 0.3]
SHARES = ([0.6, 0.3, 0.1], "the model"), (EXPECTED, "people")


def test_what_is_above_the_mean_of_all_splits_is_hatched_only_where_chance_hardly_explains_it():
    fair, told = rank_columns(SHARES, EXPECTED, is_surprising=False), rank_columns(SHARES, EXPECTED, is_surprising=True)
    assert "hatch" not in fair
    assert fair.count('class="bar over"') == 1
    assert told.count('class="hatch"') == told.count('class="ex"') == 1
    assert told.count('class="lack"') == 2
    assert 'class="lack"' not in fair


def test_the_label_tells_all_shares():
    label = re.search('aria-label="(.*?)"', rank_columns(SHARES, EXPECTED, is_surprising=False))[1]
    assert label == (
        "two by the model: shortest 60%, middle 30%, longest 10%; "
        "two by people: shortest 30%, middle 40%, longest 30%. Over all splits: shortest 30%, middle 40%, longest 30%."
    )


def test_the_dashes_are_at_the_mean_of_all_splits():
    heights = re.findall(r'class="third".*? y1="(.*?)" y2="(.*?)"', rank_columns(SHARES, EXPECTED, is_surprising=False))
    assert heights == [(f"{134 - 104 * share:.1f}",) * 2 for share in EXPECTED * 2]


def test_no_element_needs_an_id():
    assert " id=" not in rank_columns(SHARES, EXPECTED, is_surprising=True)
    assert "url(#" not in rank_columns(SHARES, EXPECTED, is_surprising=True)


def test_shares_are_those_of_the_details():
    columns, result = scored("trm")
    explained = explain("trm", columns, result)
    counts = result["trm_details"][1]["counts_lone_reference"]
    assert explained.shares(1, "counts_lone_reference") == pytest.approx([count / sum(counts) for count in counts])
    assert explained.reason(1) == "p 0.0079; two by the model: the shortest side in 100%"
    assert " · separate " in explained.extra(1)
