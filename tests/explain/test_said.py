"""The drawing of a graph: each object once, with its attributes and relations."""

import re

import pytest
from apart_cases import fake_encoder

import vlgauge
from vlgauge.explain import explain
from vlgauge.explain.said import arrange_graph, chip

OWN = "( dog , is , brown ) , ( dog , chase , cat ) , ( cat , on , sofa ) , ( elephant )"
THEIRS = "( dog , is , brown ) , ( dog , run after , cat ) , ( cat , on , couch )"


def test_each_object_is_drawn_once():
    tuples = [["dog"], ["cat"], ["dog", "brown"], ["dog", "chase", "cat"], ["cat", "on", "cat"]]
    dog, cat = arrange_graph((parts, chip(parts[0], parts != ["cat"], "note")) for parts in tuples)
    assert (dog["chip"]["text"], [one["text"] for one in dog["attributes"]]) == ("dog", ["brown"])
    ((chase, target),) = [(one["text"], one["target"]) for one in dog["relations"]]
    assert (chase, target["text"], target["tone"], target["note"]) == ("chase", "cat", "against", "")
    assert cat["relations"][0]["target"]["text"] == "cat"
    assert arrange_graph([]) == []


@pytest.mark.parametrize("name", ["spice", "soft_spice", "capture"])
def test_what_is_invented_is_drawn_apart(name):
    settings = {} if name == "spice" else {"encoder": fake_encoder}
    metric = vlgauge.load(name, keep_in_memory=True, progress=False, **settings)
    graphs = {"predictions": [OWN], "references": [[THEIRS]]}
    columns = {"predictions": ["a <b> dog & so on"], "references": [["another"]]}
    result = metric.compute(**columns, graphs=graphs, return_details=True)
    page = explain(name, columns, result).html()
    drawing = re.search(r'<ul class="graph".*?</ul>(?=\s*<[ph])', page, re.DOTALL)[0]
    words = {text.split(" <")[0]: tone for tone, text in re.findall(r'<(?:b|mark) class="(\w+)">(.*?)</', drawing)}
    assert (words["dog"], words["brown"]) == ("for", "for")
    assert words["elephant"] == "against" or name != "spice"
    assert drawing.count('<b class="') == 4 + 2  # each object, and the targets of two relations
    assert "a &lt;b&gt; dog &amp; so on" in page
