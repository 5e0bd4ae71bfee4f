"""Graphs: by hand, given in four forms, and all error messages."""

import pytest

from vlgauge.families.scene_graphs.graph import Graph, convert_graph, merge_graphs

DOG = Graph(("dog", "cat"), (("dog", "brown"),), (("dog", "chase", "cat"),))


def test_of_tuples():
    graph = Graph.of([("Dog", "Brown"), ("dog",), ("dog", "chase", " the  Cat "), ("", "red"), ("dog", "brown")])
    assert graph == Graph(("dog", "the cat"), (("dog", "brown"),), (("dog", "chase", "the cat"),))
    assert graph.tuples == (("dog",), ("the cat",), ("dog", "brown"), ("dog", "chase", "the cat"))
    assert not Graph(())


def test_merged():
    assert merge_graphs([DOG, Graph(("dog",), (("dog", "big"),)), DOG]) == Graph(
        ("dog", "cat"), (("dog", "brown"), ("dog", "big")), (("dog", "chase", "cat"),)
    )


@pytest.mark.parametrize(
    "given",
    [
        DOG,
        {"objects": ["Dog", "cat"], "attributes": [["dog", "brown"]], "relations": [("dog", "chase", "cat")]},
        [["dog"], ["cat"], ["dog", "brown"], ["dog", "chase", "cat"]],
        "( dog ) , ( cat ) , ( dog , is , brown ) , ( dog , chase , cat )",
        "(dog,is,brown),(dog,chase,cat),( , )",
    ],
)
def test_given_forms(given):
    assert convert_graph(given, "graph") == DOG


def test_a_relation_of_several_words_between_commas():
    assert convert_graph("( man , in , front of , house )", "graph").relations == (("man", "in front of", "house"),)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (7, TypeError, r"^`graph`.*got int"),
        ("a dog", ValueError, r"^`graph`.*got 'a dog'"),
        ("( dog , is , brown", ValueError, r"^`graph`.*got '\( dog , is , brown'"),
        ("( dog ) , ( , is , brown )", ValueError, r"^`graph`.*got '\( dog \) , \( , is"),
        ([["a", "b", "c", "d"]], ValueError, r"^`graph\[0\]`.*1 to 3 parts.*got 4"),
        (["dog"], TypeError, r"^`graph\[0\]`.*got 'dog'"),
        ([["dog", " "]], ValueError, r"^`graph\[0\]`.*empty"),
        ({"objects": ["dog"], "edges": []}, ValueError, r"^`graph`.*edges"),
        ({"objects": "dog"}, TypeError, r"^`graph\['objects'\]`.*got str"),
        ({"objects": ["dog", "Dog"]}, ValueError, r"got 'dog'.*twice"),
        (
            {"objects": ["dog"], "attributes": [["cat", "red"]]},
            ValueError,
            r"^`graph\['attributes'\]\[0\]`.*got 'cat'",
        ),
        (
            {"objects": ["dog"], "relations": [["dog", "chase", "cat"]]},
            ValueError,
            r"^`graph\['relations'\]\[0\]`.*got 'cat'",
        ),
        ([["dog"]] * 10_001, ValueError, r"^`graph`.*at most 10000 tuples.*got 10001"),
    ],
)
def test_refused(given, error, message):
    with pytest.raises(error, match=message):
        convert_graph(given, "graph")
