"""Rows of a metric: accepted forms, errors with their position, and types of the results."""

import io
import json
import math

import datasets
import numpy as np
import pandas as pd
import pytest
from demo_rows import SETS, STORIES, same

import vlgauge
from vlgauge.families.base.columns import Captions, Story, Text

SENTENCES = [["One two.", "Three"], ["Four"], []]


# -- forms ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "form",
    [
        tuple,
        iter,
        np.array,
        lambda rows: np.array(rows, dtype=object),
        pd.Series,
        lambda rows: pd.Series(rows, index=[7, 5, 3]),
        lambda rows: pd.DataFrame({"story": rows})["story"],
        lambda rows: datasets.Dataset.from_dict({"story": rows})["story"],
        lambda rows: (row for row in rows),
        lambda rows: dict.fromkeys(rows).keys(),
    ],
)
def test_column_may_have_any_form(story_demo, form):
    assert same(story_demo.compute(predictions=form(STORIES)), story_demo.compute(predictions=STORIES))


@pytest.mark.parametrize("form", [tuple, np.array, lambda row: np.array(row, dtype=object), pd.Series])
def test_row_may_have_any_form(story_demo, set_demo, form):
    stories = [form(row) if row else row for row in SENTENCES]
    assert same(story_demo.compute(predictions=stories), story_demo.compute(predictions=SENTENCES))
    sets = {name: [form(row) if row else row for row in rows] for name, rows in SETS.items()}
    assert same(set_demo.compute(**sets), set_demo.compute(**SETS))


def test_rows_of_a_dataset_are_taken(set_demo):
    data = datasets.Dataset.from_dict(SETS)
    assert same(set_demo.compute(**{name: data[name] for name in SETS}), set_demo.compute(**SETS))


def test_table_of_strings_is_a_column_of_lists(story_demo):
    table = np.array([["one", "two"], ["three", "four"]])
    assert story_demo.compute(predictions=table)["story_demo_scores"] == [6.0, 9.0]


@pytest.mark.parametrize("story", ["", "\ud800 half", "\0", "𝄞 é\u2028", np.str_("numpy"), '["no list"]'])
def test_story_comes_back_as_it_went(story):
    column = Story("predictions")
    stored = [column.store(story, "x"), column.store(str(story), "x")]
    assert [json.loads(text) for text in stored] == [story, story]


def test_string_and_list_of_one_sentence_are_told_apart(story_demo):
    whole = story_demo.compute(predictions=["One two."], return_details=True)["story_demo_letters"]
    parts = story_demo.compute(predictions=[["One", "two."]], return_details=True)["story_demo_letters"]
    assert (whole, parts) == ([[6]], [[3, 3]])


def test_optional_column_left_out_is_none_and_not_an_empty_list(image_demo):
    given = {"predictions": ["a", "b"], "images": [[], []], "return_details": True}
    assert image_demo.compute(**given)["image_demo_references"] == [None, None]
    mixed = image_demo.compute(**given, references=[[], None])
    assert mixed["image_demo_references"] == [[], None]


def test_optional_column_may_differ_from_batch_to_batch(image_demo):
    image_demo.add_batch(predictions=["a"], images=[[]])
    image_demo.add_batch(predictions=["b"], images=[[]], references=[["c"]])
    assert image_demo.compute(return_details=True)["image_demo_references"] == [None, ["c"]]


# -- invalid columns --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("one story", "str"),
        (b"bytes", "bytes"),
        ({"a": 1}, "dict"),
        (pd.DataFrame({"a": ["b"]}), "DataFrame"),
        ({"b", "a"}, "set"),
        (np.array("a"), "ndarray"),
        (3, "int"),
    ],
)
def test_column_that_is_no_list_is_refused(story_demo, column, kind):
    with pytest.raises(ValueError, match=rf"^`predictions`.*got {kind}"):
        story_demo.compute(predictions=column)


@pytest.mark.parametrize("name", ["add_batch", "compute"])
def test_missing_column_is_named(set_demo, name):
    with pytest.raises(ValueError, match=r"^`references`.*`predictions`.*`references`"):
        getattr(set_demo, name)(predictions=[["a"]])


def test_missing_image_column_is_named_and_the_optional_one_is_not(image_demo):
    with pytest.raises(ValueError, match=r"^`images`.*`predictions`.*`images`"):
        image_demo.compute(predictions=["a"])


def test_columns_of_different_lengths_are_refused(set_demo):
    with pytest.raises(ValueError, match=r"^`references`.*`predictions`.*got 1"):
        set_demo.add_batch(predictions=[["a"], ["b"]], references=[["a"]])
    with pytest.raises(ValueError, match=r"^`references`.*`predictions`.*got 0"):
        set_demo.add_batch(predictions=[["a"]], references=[])


# -- invalid rows -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, r"^`predictions\[1\]`.*sentences.*got NoneType"),
        (3.5, r"^`predictions\[1\]`.*got float"),
        (math.nan, r"^`predictions\[1\]`.*got float"),
        (b"bytes", r"^`predictions\[1\]`.*got bytes"),
        ({"a": "b"}, r"^`predictions\[1\]`.*got dict"),
        (np.array([["a"]]), r"^`predictions\[1\]`.*got ndarray"),
        (["a", None], r"^`predictions\[1\]\[1\]`.*got NoneType"),
        (["a", ["b"]], r"^`predictions\[1\]\[1\]`.*got list"),
    ],
)
def test_story_that_is_none_is_refused_with_its_place(story_demo, row, message):
    with pytest.raises(ValueError, match=message):
        story_demo.compute(predictions=["a", row])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a dog", r"^`references\[1\]`.*got str"),
        (None, r"^`references\[1\]`.*got NoneType"),
        (["a", 3], r"^`references\[1\]\[1\]`.*got int"),
        (["a\udfffb"], r"^`references\[1\]\[0\]`.*DFFF.*position 1"),
    ],
)
def test_captions_that_are_none_are_refused_with_their_place(set_demo, row, message):
    with pytest.raises(ValueError, match=message):
        set_demo.compute(predictions=[["a"], ["b"]], references=[["a"], row])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, r"^`predictions\[1\]`.*string, got NoneType"),
        (["a"], r"^`predictions\[1\]`.*got list"),
        ("\ud83d", r"^`predictions\[1\]`.*U\+D83D.*position 0"),
    ],
)
def test_text_that_is_none_is_refused_with_its_place(image_demo, row, message):
    with pytest.raises(ValueError, match=message):
        image_demo.compute(predictions=["a", row], images=[[], []])


def test_optional_text_may_be_none():
    assert Text("styles", optional=True).store(None, "x") is None
    assert Captions("references", optional=True).store(None, "x") is None


def test_stories_of_two_forms_in_one_call_are_refused(story_demo):
    message = r"^`predictions`.*row 2"
    with pytest.raises(ValueError, match=message):
        story_demo.compute(predictions=[["a"], ["b"], "c"])


def test_stories_of_two_forms_in_two_batches_are_refused_by_compute(story_demo):
    story_demo.add_batch(predictions=["a"])
    story_demo.add_batch(predictions=[["b"]])
    with pytest.raises(ValueError, match=r"^`predictions`.*sentences.*row 1"):
        story_demo.compute()
    assert story_demo.compute(predictions=["ab"])["story_demo"] == 2.0


# -- empty or whitespace references -----------------------------------------------------------------------------------
PREDICTIONS = ["a dog ran home", "a cat", "two birds sing"]


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
@pytest.mark.parametrize("metric", ["bleu", "chrf", "cider", "meteor", "rouge_l", "chair"])
@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
def test_blank_references_are_none(metric, blank):
    without = [["a dog ran", "the dog"], [], ["birds sing"]]
    own = vlgauge.load(metric, keep_in_memory=True).compute(predictions=PREDICTIONS, references=without)
    for given in ([["a dog ran", blank, "the dog"], [blank, blank], ["birds sing"]],):
        told = r"^`references`.* 3 .*2 of 3 rows"
        with pytest.warns(UserWarning, match=told):
            found = vlgauge.load(metric, keep_in_memory=True).compute(predictions=PREDICTIONS, references=given)
        assert same(found, own)
    alone = [["a dog ran", "the dog"], blank, "birds sing"]
    with pytest.warns(UserWarning, match=r" 1 .*1 of 3 rows.*row 1"):
        assert same(vlgauge.load(metric, keep_in_memory=True).compute(predictions=PREDICTIONS, references=alone), own)


def test_a_blank_candidate_of_a_set_is_one(set_demo):
    with pytest.warns(UserWarning, match=r"^`references`.* 1 .*1 of 1 rows"):
        stored = set_demo._store_rows({"predictions": [["", "a"]], "references": [["", "b"]]})
    assert stored == {"predictions": [["", "a"]], "references": [["b"]]}


# -- lists that became texts ------------------------------------------------------------------------------------------
LISTS = [["a dog ran", "it's a dog"], ["a cat"], ["birds sing", "birds"]]


def as_csv_gives_them_back():
    file = io.StringIO()
    pd.DataFrame({"references": LISTS}).to_csv(file, index=False)
    return pd.read_csv(io.StringIO(file.getvalue()))["references"]


@pytest.mark.parametrize(
    "rows",
    [
        as_csv_gives_them_back(),
        [repr(tuple(row)) for row in LISTS],
        [[repr(row)] for row in LISTS],
        list(map(json.dumps, LISTS)),
        [repr(LISTS[0]), repr(LISTS[1]), "birds"],
    ],
)
def test_lists_that_became_texts_are_refused(image_demo, rows):
    told = r"^`references`.*3 rows.*ast\.literal_eval"
    with pytest.raises(ValueError, match=told):
        vlgauge.load("rouge_l", keep_in_memory=True).compute(predictions=PREDICTIONS, references=rows)
    with pytest.raises(ValueError, match=told):
        image_demo.add_batch(
            predictions=PREDICTIONS,
            images=[[]] * 3,
            references=[[row] if isinstance(row, str) else row for row in rows],
        )


def test_stories_that_became_texts_are_refused_and_captions_told(story_demo):
    stories = ["['We went.', 'We ate.']"] * 2
    with pytest.raises(ValueError, match=r"^`predictions`.*got 2 of 2 rows"):
        story_demo.compute(predictions=stories)
    # A model may write so, also while it is trained.
    with pytest.warns(UserWarning, match=r"^`predictions`.*2 of 2 rows.*scored"):
        vlgauge.load("rouge_l", keep_in_memory=True).compute(predictions=stories, references=["a", "b"])


def test_captions_in_brackets_are_texts(story_demo):
    captions = ["[laughs]", "(music)", "['tis the season]", "['a', b]"]
    assert len(story_demo.compute(predictions=captions)["story_demo_scores"]) == 4
    told = r"^`predictions`.*1 of 2 rows.*row 1"
    with pytest.warns(UserWarning, match=told):
        story_demo.compute(predictions=["a", "['a']"])
