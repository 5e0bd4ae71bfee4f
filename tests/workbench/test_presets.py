"""Known datasets: their split and columns are selected if they exist, and guessed as usual otherwise."""

import json

import gradio as gr
import pytest
from hub_data_sets import Repository, commit_of, hub_of_data_sets

from vlgauge.api.row_sources.hub import pin_dataset
from vlgauge_workbench import data_set, presets, runs
from vlgauge_workbench.hosting import OWN_MACHINE
from vlgauge_workbench.scoring import metric_of

KNOWN = "lmms-lab-encoder/NoCaps"


def files(**row):
    lines = "".join(json.dumps({"image_id": f"i{i}", **row}) + "\n" for i in range(2))
    return {name: lines.encode() for name in ("test.jsonl", "validation.jsonl")}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    with hub_of_data_sets(tmp_path_factory.mktemp("home")) as served:
        yield served


def chosen(hub, **row):
    """Return the split and the columns of predictions, references and ids when the known dataset is opened."""
    made = files(**row)
    hub.repositories[KNOWN] = Repository({commit_of(made): made})
    split = data_set._splits_of(pin_dataset(KNOWN), "default").value
    source = runs.open_hub_rows(KNOWN, None, split, None, "", OWN_MACHINE)
    predictions, references, *_, name, _groups = data_set.guess_columns("rouge_l", "", source)[:-1]
    return split, predictions.value, references.value, name.value


def test_split_and_columns_of_a_known_set_are_chosen(hub):
    found = chosen(hub, story="A dog.", annotations_captions=["A hound.", "A dog."], refs="Another.")
    assert found == ("validation", "story", ["annotations_captions"], "image_id")


def test_other_columns_than_expected_are_guessed_as_usual(hub):
    assert chosen(hub, story="A dog.", refs="A hound.")[1:3] == ("story", ["refs"])
    assert chosen(hub, story="A dog.", annotations_captions=3, refs="A hound.")[1:3] == ("story", ["refs"])


def test_a_split_that_is_not_there_is_none_of_ours():
    assert presets.preset_split(KNOWN, ["train", "test"]) == "train"
    assert presets.preset_split("org/other", ["train", "validation"]) == "train"


def test_images_without_a_type_and_columns_of_another_kind():
    (identity, preset), *_ = presets.PRESETS.items()
    kinds = dict.fromkeys(("GT_Caption_GPT4O", "GT_Caption_GPT4V", "GT_Caption_Gemini15Pro", "image"), "text")
    found = presets.preset_titles(identity, metric_of("clip_s").columns, kinds | {"binary": "other"})
    assert found == preset.columns
    # Caption sets are not single captions.
    assert "predictions" not in presets.preset_titles(identity, metric_of("trm").columns, kinds)
    assert presets.preset_titles("org/other", metric_of("clip_s").columns, kinds) == {}


def test_known_sets_are_in_the_list_and_marked_as_untried(page):
    boxes = [one for one in page.blocks.values() if isinstance(one, gr.Dropdown) and one.label == "Dataset"]
    (box,) = [one for one in boxes if one.allow_custom_value]
    assert [value for _, value in box.choices] == list(presets.PRESETS)
    assert "not tested" in box.info
    assert box.value is None
