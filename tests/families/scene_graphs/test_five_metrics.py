"""The metrics of scene content, loaded as users load them: given graphs, errors, unusual captions."""

import warnings

import numpy as np
import pytest
from apart_cases import fake_encoder
from foreign_captions import FOREIGN_CAPTIONS
from graph_parsers import WordParser

import vlgauge
from vlgauge.families.aggregation import corpus_value
from vlgauge.families.base.parts import merge_partial_results
from vlgauge.leaderboard import compare

PARSED = ("spice", "soft_spice", "capture", "aloha")
GRAPHED = ("spice", "soft_spice", "capture")
EVERY = (*PARSED, "chair")
ENCODED = ("soft_spice", "capture", "aloha")
CAPTIONS = ["a brown dog chases a cat", "two men ride a red bus", "a bird on a bench beside a boat", "a dog or a cat"]
REFERENCES = [
    ["a dog runs after a cat", "a brown dog"],
    ["a bus", "two men on a bus"],
    ["a bird"],
    ["a dog", "a horse"],
]
DOG = "( dog , is , brown ) , ( dog , chase , cat )"


def loaded(name, **settings):
    if name in ENCODED:
        settings.setdefault("encoder", fake_encoder)
    if name in PARSED:
        settings.setdefault("profile", "embedded")
    return vlgauge.load(name, keep_in_memory=True, progress=False, **settings)


@pytest.mark.parametrize("name", EVERY)
def test_a_score_does_not_depend_on_its_neighbours(name):
    metric = loaded(name)
    together = metric.compute(predictions=CAPTIONS, references=REFERENCES)[f"{name}_scores"]
    for row, (caption, references) in enumerate(zip(CAPTIONS, REFERENCES, strict=True)):
        alone = metric.compute(predictions=[caption], references=[references])[f"{name}_scores"]
        assert alone == pytest.approx(together[row : row + 1], rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", GRAPHED)
def test_forms_of_a_given_graph_are_one(name):
    metric = loaded(name)
    forms = [
        DOG,
        [["dog"], ["dog", "brown"], ["dog", "chase", "cat"]],
        {"objects": ["dog", "cat"], "attributes": [["Dog", "brown"]], "relations": [["dog", "chase", "cat"]]},
    ]
    graphs = {"predictions": forms, "references": [["( dog , chase , cat )", "( cat , is , black )"]] * 3}
    result = metric.compute(predictions=["."] * 3, references=[[".", "."]] * 3, graphs=graphs)
    assert len(set(result[f"{name}_scores"])) == 1
    assert "|parser:given" in result[f"{name}_signature"]


def test_no_model_takes_part_in_spice_of_given_graphs():
    metric = vlgauge.load("spice", keep_in_memory=True, progress=False, profile="embedded")
    result = metric.compute(predictions=["."], references=["."], graphs={"predictions": [DOG], "references": [[DOG]]})
    assert result["spice"] == 1.0
    assert "|profile:paper|" in result["spice_signature"]
    assert result["spice_colours_signature"] == result["spice_signature"].replace("spice", "spice_colours", 1)


@pytest.mark.parametrize("name", GRAPHED)
@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([DOG], r"^`graphs`.*got list"),
        ({"predictions": [DOG]}, r'^`graphs`.*"predictions".*"references"'),
        ({"predictions": [], "references": [[DOG]]}, r"`graphs\['predictions'\]` must have .* 1.*0"),
        ({"predictions": [DOG], "references": [[]]}, r"`graphs\['references'\]\[0\]` must have .* 1.*0"),
        ({"predictions": [DOG], "references": [DOG]}, r"^`graphs\['references'\]\[0\]`.*per reference.*got str"),
        ({"predictions": ["a dog"], "references": [[DOG]]}, r"a graph such as '\( dog , is , brown \)'"),
        ({"predictions": [7], "references": [[DOG]]}, r"^`graphs\['predictions'\]\[0\]`.*got int"),
        (
            {"predictions": [{"objects": ["dog"], "relations": [["dog", "on", "bed"]]}], "references": [[DOG]]},
            "got 'bed'",
        ),
        (
            {"predictions": [{"objects": ["dog", "dog"]}], "references": [[DOG]]},
            r"once.*got 'dog'",
        ),
        (
            {"predictions": [[["a", "b", "c", "d"]]], "references": [[DOG]]},
            r"^`graphs\['predictions'\]\[0\]\[0\]`.*1 to 3 parts.*got 4",
        ),
        ({"predictions": [[["a"]] * 10_001], "references": [[DOG]]}, "at most 10000 tuples, got 10001"),
    ],
)
def test_graphs_that_are_none(name, graphs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        loaded(name).compute(predictions=["."], references=[["."]], graphs=graphs)


@pytest.mark.parametrize("name", PARSED)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parser": 3}, r"^`parser`.*`graphs\(captions\)`.*got int"),
        ({"pipeline": 3}, r"^`pipeline`.*spaCy"),
        (
            {"parser": WordParser(), "pipeline": "embedded"},
            r'^`pipeline`.*`parser`.*"rules"',
        ),
    ],
)
def test_settings_that_are_none(name, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        loaded(name, **settings)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("soft_spice", {"direction": "recall"}, r"^`direction`.*'precision'.*'both'"),
        ("capture", {"variant": "old"}, r"^`variant`.*'paper'.*'released'"),
        ("capture", {"soft": 1}, r"^`soft`"),
        ("capture", {"no_objects": "sky"}, r"^`no_objects`.*got 'sky'"),
        ("aloha", {"variant": "old"}, r"^`variant`.*'paper'.*'released'"),
        ("chair", {"variant": "2019"}, r"^`variant`.*'2018'.*'opera'"),
        ("chair", {"table": "dog"}, r"^`table`.*got str"),
        ("chair", {"table": [["dog"], []]}, r"^`table\[1\]`"),
        ("chair", {"table": [["dog", " "]]}, r"^`table\[0\]`"),
        (
            "chair",
            {"table": [["dog", "pet"], ["cat", "pet"]]},
            r"got 'pet'.*'dog'",
        ),
    ],
)
def test_other_settings_that_are_none(name, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        loaded(name, **settings)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (["dog"], r"^`objects`.*got list"),
        ({"predictions": [], "references": [["dog"]]}, r"^`objects\['predictions'\]`.*got 0"),
        (
            {"predictions": ["dog"], "references": [["dog"]]},
            r"^`objects\['predictions'\]\[0\]`",
        ),
        ({"predictions": [[3]], "references": [["dog"]]}, "got 3"),
        ({"predictions": [[" "]], "references": [["dog"]]}, "an empty word"),
        ({"predictions": [[["a", "b"]] * 13], "references": [["dog"]]}, "at most 4096 choices, got 8192"),
    ],
)
def test_objects_of_aloha_that_are_none(objects, message):
    with pytest.raises((ValueError, TypeError), match=message):
        loaded("aloha").compute(predictions=["."], references=[["."]], objects=objects)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, r"^`references`.*`objects`"),
        ({"objects": "dog"}, r"^`objects`.*got str"),
        ({"objects": [["dog"], ["cat"]]}, r"^`objects`.*got 2"),
        ({"objects": ["dog"]}, r"^`objects\[0\]`.*got 'dog'"),
    ],
)
def test_objects_of_chair_that_are_none(columns, message):
    with pytest.raises((ValueError, TypeError), match=message):
        loaded("chair").compute(predictions=["a dog"], **columns)


def test_chair_of_given_objects_and_of_a_table_of_ones_own():
    result = loaded("chair").compute(predictions=["a puppy and a horse"], objects=[["Dog"]])
    assert (result["chair"], result["chair_s"], result["chair_recall"]) == (0.5, 1.0, 1.0)
    own = loaded("chair", table=[["carpet", "rug"]])
    result = own.compute(predictions=["a dog on a rug"], objects=[[]], return_details=True)
    assert result["chair"] == 1.0
    assert result["chair_details"][0]["objects"][0] == {
        "word": "rug",
        "object": "carpet",
        "start": 4,
        "end": 5,
        "invented": True,
    }


def test_the_numbers_of_chair_add_counts():
    result = loaded("chair").compute(
        predictions=["a dog, a cat and a horse", "a bus", "nothing"], references=[["a dog"], ["a bus"], ["a car"]]
    )
    # 2 of 4 mentions are invented; 2 of 3 objects are named; 2 of 4 distinct ones are there.
    assert result["chair"] == 0.5
    assert result["chair_scores"] == pytest.approx([2 / 3, 0.0, np.nan], nan_ok=True)
    assert (result["chair_s"], result["chair_recall"], result["chair_precision"]) == pytest.approx((1 / 3, 2 / 3, 0.5))
    assert result["chair_f1"] == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


@pytest.mark.parametrize("columns", [{}, {"objects": [["dog"], None, None]}])
@pytest.mark.parametrize("nothing", [None, []])
def test_chair_of_an_image_of_which_nothing_is_known_is_undefined(columns, nothing):
    predictions = ["a dog and a cat", "a horse", "a horse and a red bus"]
    result = loaded("chair").compute(
        predictions=predictions, references=[["a dog"], nothing, nothing], **columns, return_details=True
    )
    (alone,) = (
        loaded("chair").compute(predictions=predictions[:1], references=[["a dog"]], **own)
        for own in [{name: cells[:1] for name, cells in columns.items()}]
    )
    assert result["chair_scores"] == pytest.approx([0.5, np.nan, np.nan], nan_ok=True)
    assert (result["chair_undefined"], result["chair_s_undefined"]) == (2, 2)
    for name in ("chair", "chair_s", "chair_recall", "chair_precision", "chair_f1", "chair_length"):
        assert result[name] == alone[name], name
    assert result["chair_mentions"] == pytest.approx([2, np.nan, np.nan], nan_ok=True)
    assert [one["present"] for one in result["chair_details"]] == [["dog"], None, None]
    assert [one["invented"] for one in result["chair_details"][2]["objects"]] == [None, None]
    assert corpus_value("chair", result) == result["chair"]


def test_an_empty_list_says_that_an_image_has_no_object():
    result = loaded("chair").compute(predictions=["a dog", "a cat"], references=[["a dog"], []], objects=[None, []])
    assert result["chair_scores"] == [0.0, 1.0]
    assert (result["chair"], result["chair_undefined"]) == (0.5, 0)


def test_chair_names_given_objects_in_its_signature():
    rows = {"predictions": ["a cat"], "references": [["a dog"]]}
    without, given = (loaded("chair").compute(**rows, **own) for own in ({}, {"objects": [["cat"]]}))
    assert (without["chair"], given["chair"]) == (1.0, 0.0)
    for name in ("chair", "chair_s"):
        assert given[f"{name}_signature"] == without[f"{name}_signature"] + "|objects:given"
    with pytest.raises(ValueError, match="differ in objects"):
        compare({"a": {"ids": [0]} | without, "b": {"ids": [0]} | given}, ["chair"])
    assert loaded("chair").compute(**rows, objects=[None])["chair_signature"] == without["chair_signature"]


def test_a_row_of_chair_adds_the_same_alone():
    chair = loaded("chair")
    rows = {"predictions": ["a dog and a cat", "a horse"], "references": [["a dog"], None]}
    parts = [chair.score_batch({k: [cell] for k, cell in row.items()}, [0]) for row in chair.as_computed(rows)]
    np.testing.assert_equal(chair.combine(merge_partial_results(parts)), loaded("chair").compute(**rows))


def test_systems_are_compared_by_all_their_mentions():
    references = [["a dog"]] * 12
    # a hallucinates 5 of 17 mentions and b 3 of 4. b mentions nothing in eight rows that a has right.
    a = ["a dog and a cat"] * 5 + ["a dog"] * 7
    b = ["a cat"] * 3 + ["a dog"] + ["a thing"] * 8
    runs = {
        name: {"ids": list(range(12))} | loaded("chair").compute(predictions=own, references=references)
        for name, own in {"a": a, "b": b}.items()
    }
    (found,) = compare(runs, ["chair"]).metrics
    assert {one.name: one.value for one in found.systems} == {name: run["chair"] for name, run in runs.items()}
    assert [(one.name, one.n, one.undefined) for one in found.systems] == [("a", 12, 0), ("b", 12, 0)]
    (pair,) = found.pairs
    assert pair.difference == pytest.approx(5 / 17 - 3 / 4)
    assert (pair.n, pair.undefined, pair.wins, pair.losses, pair.ties) == (12, 0, 3, 1, 0)
    # One of the four swaps of three rows leaves a system without a mention, which counts as a large difference.
    silent = {"ids": [0, 1, 2]} | loaded("chair").compute(
        predictions=["a cat", "a thing", "a thing"], references=references[:3]
    )
    loud = {"ids": [0, 1, 2]} | loaded("chair").compute(
        predictions=["a thing", "a dog", "a dog"], references=references[:3]
    )
    (pair,) = compare({"silent": silent, "loud": loud}, ["chair"]).metrics[0].pairs
    assert (pair.difference, pair.low, pair.pvalue) == (1.0, None, 0.5)


@pytest.mark.parametrize("name", PARSED)
def test_a_caption_too_long_for_a_parser(name):
    with pytest.raises(ValueError, match=r"at most 2000 words.*got 20000"):
        loaded(name).compute(predictions=["dog " * 20_000], references=[["a dog"]])


@pytest.mark.parametrize("variant", ["2018", "fixed"])
def test_chair_of_a_long_caption(variant):
    result = loaded("chair", variant=variant).compute(predictions=["dog cat " * 10_000], references=[["a dog"]])
    assert (result["chair"], result["chair_mentions"]) == (0.5, [20_000])


@pytest.mark.parametrize("name", EVERY)
def test_another_language_is_told_of(name):
    german = FOREIGN_CAPTIONS["German"][:3]
    with pytest.warns(UserWarning, match="captions are English"):
        loaded(name).compute(predictions=german, references=[[one] for one in german])


@pytest.mark.parametrize("name", PARSED)
def test_another_parser_may_read_any_language(name):
    german = FOREIGN_CAPTIONS["German"][:3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = loaded(name, parser=WordParser()).compute(predictions=german, references=[[one] for one in german])
    assert result[f"{name}_undefined"] == 0


def test_aloha_names_what_a_parser_lacks():
    class Graphs:
        identity = "graphs-only"

        def graphs(self, captions, *, progress=None):
            return []

    with pytest.raises(TypeError, match=r"^`parser`.*`object_groups\(captions\)`.*`objects`"):
        loaded("aloha", parser=Graphs()).compute(predictions=["a"], references=["a"])


def test_sides_of_aloha_without_an_object():
    objects = {"predictions": [[], ["dog"], []], "references": [["dog"], [], []]}
    columns = {"predictions": ["."] * 3, "references": [["."]] * 3, "objects": objects}
    paper, released = (loaded("aloha", variant=one).compute(**columns) for one in ("paper", "released"))
    assert paper["aloha_scores"] == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)
    assert (released["aloha_undefined"], paper["aloha_n_empty"]) == (3, 2)


@pytest.mark.parametrize("name", PARSED)
def test_a_parser_need_not_know_of_bars(name):
    class Plain:
        identity = "plain"

        def graphs(self, captions):
            return WordParser().graphs(captions)

        def object_groups(self, captions):
            return WordParser().object_groups(captions)

    columns = {"predictions": CAPTIONS, "references": REFERENCES}
    plain, other = (loaded(name, parser=one).compute(**columns) for one in (Plain(), WordParser("plain")))
    assert plain == other


def test_a_parser_gives_one_graph_per_caption():
    class Faulty:
        identity = "faulty"

        def __init__(self, found):
            self.found = found

        def graphs(self, captions):
            return self.found

    columns = {"predictions": ["a dog"], "references": [["a cat"]]}
    with pytest.raises(ValueError, match=r"^`parser\.graphs`.*got 0"):
        loaded("spice", parser=Faulty([])).compute(**columns)
    with pytest.raises(TypeError, match=r"`vlgauge\.families\.scene_graphs\.Graph`.*got dict"):
        loaded("spice", parser=Faulty([{"objects": ["dog"]}] * 2)).compute(**columns)


@pytest.mark.parametrize("variant", ["2018", "fixed"])
def test_chair_finds_names_of_several_words_of_a_table(variant):
    table = [["fire truck"], ["polar bear"], ["bear"], ["ice cream cone"], ["french fries"]]
    captions = ["two fire trucks", "a polar bear and bears", "an ice cream cone", "French fries", "a teddy bear"]
    chair = loaded("chair", variant=variant, table=table)
    result = chair.compute(predictions=captions, objects=[[name] for (name,) in table], return_details=True)
    named = [[one["object"] for one in detail["objects"]] for detail in result["chair_details"]]
    assert named == [["fire truck"], ["polar bear", "bear"], ["ice cream cone"], ["french fries"], []]
