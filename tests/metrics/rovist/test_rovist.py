"""RoViST: the sum of its three parts, on rows that are validated once."""

import copy
import json
import math
import pickle

import evaluate
import numpy as np
import pytest

import vlgauge
from vlgauge import scenes
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.families import base

GROUNDING = [1.5, math.nan, -2.0, 0.25]
STORIES = [
    ["A dog ran.", "It stopped."],
    ["A cat slept.", "It woke."],
    ["One sentence."],
    ["Rain fell.", "Wind blew.", "Rain fell."],
]
IMAGES = [[np.full((2, 3, 3), i, np.uint8)] for i in range(4)]
NAMES = ("rovist_vg", "rovist_c", "rovist_nr")


def steady(pairs):
    """Return constant probabilities in place of a model of sentence order."""
    return [0.5] * len(pairs)


class FakeGrounding(base.Metric):
    """Metric that returns the scores of `GROUNDING` for the first gray level of a story."""

    papers = ("https://example.org",)
    columns = (base.Story("predictions"), base.Images("images"))

    def __init__(self, *args, scale=False, top_k=10, device="auto", **host):
        self.scale, self.top_k, self.device, self.seen = scale, top_k, device, []
        super().__init__(*args, **host)

    def cite(self):
        return "@misc{x}"

    def check_sources(self, images, nouns, regions, features):
        return Preflight(self.name, "rovist-vg")

    def _compute(self, predictions, images, regions=None, nouns=None, return_details=False):
        self.seen.append({"predictions": predictions, "images": images, "regions": regions, "nouns": nouns})
        levels = [int(cells[0]["bytes"][-1]) for cells in images]
        scores = [math.tanh(GROUNDING[i] / 4) if self.scale else GROUNDING[i] for i in levels]
        result = self.result(scores)
        parts = {key.replace("fake_grounding", "rovist_vg"): value for key, value in result.items()}
        return parts | ({"rovist_vg_details": [{}] * len(scores)} if return_details else {})


@pytest.fixture
def load(monkeypatch):
    """Function `load(**settings)` that loads rovist with a replacement of rovist_vg."""
    real = evaluate.loading.load

    def load_part(path, **settings):
        return FakeGrounding(**settings) if path.endswith("rovist_vg") else real(path, **settings)

    monkeypatch.setattr(evaluate.loading, "load", load_part)
    return lambda **settings: vlgauge.load("rovist", **{"c": {"model": steady}, "keep_in_memory": True, **settings})


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_worked_example(load):
    result = load().compute(predictions=STORIES, images=IMAGES)
    # NR of the last: of three pairs of sentences one is identical, (1/1 + 0 + 0) / 3.
    nr = 1 - (1 / 3) / 2
    assert result["rovist_scores"] == pytest.approx([1.5 + 0.5 + 1, math.nan, math.nan, 0.25 + 0.5 + nr], nan_ok=True)
    assert result["rovist"] == pytest.approx((3 + 0.75 + nr) / 2)
    assert result["rovist_undefined"] == 2


def test_every_part_has_its_four_keys(load):
    metric = load()
    result = metric.compute(predictions=STORIES, images=IMAGES)
    for name in NAMES:
        assert {name, f"{name}_scores", f"{name}_undefined", f"{name}_signature"} <= result.keys()
        assert result[f"{name}_signature"].startswith(("fake_grounding|", f"{name}|"))
    alone = vlgauge.load("rovist_nr").compute(predictions=STORIES)
    assert json.dumps({key: result[key] for key in alone}) == json.dumps(alone)
    assert list(result)[:4] == ["rovist", "rovist_scores", "rovist_undefined", "rovist_signature"]


def test_scaled_grounding(load):
    result = load(scale_vg=True).compute(predictions=STORIES, images=IMAGES)
    # Eq. 3: 2 / (1 + exp(-S / 2)) - 1.
    assert result["rovist_vg_scores"][0] == pytest.approx(2 / (1 + math.exp(-0.75)) - 1, rel=1e-12)
    assert result["rovist_scores"][0] == pytest.approx(result["rovist_vg_scores"][0] + 1.5, rel=1e-12)
    assert "|scale_vg:True|" in result["rovist_signature"]


def test_details(load):
    result = load().compute(predictions=STORIES, images=IMAGES, return_details=True)
    assert result["rovist_details"][0] == pytest.approx({"score": 3.0, "vg": 1.5, "c": 0.5, "nr": 1.0})
    assert all(len(result[f"{name}_details"]) == 4 for name in NAMES)
    assert not [key for key in load().compute(predictions=STORIES, images=IMAGES) if key.endswith("_details")]


# -- composition ------------------------------------------------------------------------------------------------------
def test_settings_reach_their_part(load):
    metric = load(vg={"top_k": 3}, c={"model": steady, "context": "prefix"}, nr={"variant": "paper"})
    assert metric.parts["vg"].top_k == 3
    assert metric.parts["c"].context == "prefix"
    chosen = load(device="cpu", c={"model": steady, "device": "meta"}).parts
    assert (chosen["vg"].device, chosen["c"].device) == ("cpu", "meta")
    result = metric.compute(predictions=STORIES, images=IMAGES)
    assert "variant:paper" in result["rovist_nr_signature"]
    plain = load().compute(predictions=STORIES, images=IMAGES)
    signatures = [each["rovist_signature"].rpartition("|parts:") for each in (result, plain)]
    assert signatures[0][0] == signatures[1][0]
    assert signatures[0][2] != signatures[1][2]


def test_rows_are_read_once_and_per_call_data_passed_on(load, monkeypatch):
    metric = load()
    stored = []
    real = type(metric)._store_rows
    monkeypatch.setattr(
        base.Metric, "_store_rows", lambda self, columns: stored.append(self.name) or real(self, columns)
    )
    regions, nouns = [[["r"]]] * 4, [["dog"]] * 4
    metric.compute(predictions=STORIES, images=IMAGES, regions=regions, nouns=nouns)
    assert stored == ["rovist"]
    (seen,) = metric.parts["vg"].seen
    assert (seen["predictions"], seen["regions"], seen["nouns"]) == (STORIES, regions, nouns)


def test_profile_and_progress_are_those_of_the_parts(load):
    def report(done, total):
        pass

    metric = load(profile="embedded", progress=report)
    assert {part.profile for part in metric.parts.values()} == {"embedded"}
    assert {part.progress for part in metric.parts.values()} == {report}


def test_add_gives_what_compute_gives(load):
    expected = load().compute(predictions=STORIES, images=IMAGES)
    metric = load(keep_in_memory=False)
    for story, images in zip(STORIES, IMAGES, strict=True):
        metric.add(prediction=story, image=images)
    assert json.dumps(metric.compute()) == json.dumps(expected)


def test_copies_score_the_same(load):
    metric = load()
    expected = json.dumps(metric.compute(predictions=STORIES, images=IMAGES))
    assert json.dumps(copy.deepcopy(metric).compute(predictions=STORIES, images=IMAGES)) == expected
    assert pickle.dumps(metric.parts["nr"])


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"vg": 3}, ValueError, r"^`vg`.*got 3"),
        ({"nr": {1: 2}}, ValueError, r"^`nr`.*got \{1"),
        ({"vg": {"scale": True}}, ValueError, r"^`vg`.*`scale`.*`scale_vg`"),
        ({"scale_vg": "yes"}, ValueError, r"^`scale_vg`.*got 'yes'"),
        ({"nr": {"m": 2}}, TypeError, r"^`m`.*rovist_nr"),
        (
            {"c": {"context": "all"}},
            ValueError,
            r"^`context`.*got 'all'.*`c`",
        ),
        ({"n": 4}, TypeError, r"^`n`"),
    ],
)
def test_bad_settings_are_refused(load, settings, kind, message):
    with pytest.raises(kind, match=message):
        load(**settings)


def test_missing_weights_of_a_part_say_where_to_name_them(load):
    metric = load(c={"model": "/no/such/folder"})
    message = r"^`model`.*`c`.*c=\{\.\.\.\}"
    with pytest.raises(WeightsNotFoundError, match=message):
        metric.compute(predictions=STORIES, images=IMAGES)


def test_numbers_of_stories_and_image_lists_must_agree(load):
    with pytest.raises(ValueError, match=r"^`images`.*`predictions`.*got 3"):
        load().compute(predictions=STORIES, images=IMAGES[:3])


# -- with the shipped models ------------------------------------------------------------------------------------------
def test_drawn_stories_score_above_spoiled_ones(no_sockets):
    stories = scenes.stories(6, seed=3, split="test")
    metric = vlgauge.load("rovist", profile="embedded", keep_in_memory=True)
    images = [story.images() for story in stories]
    good = metric.compute(predictions=[story.sentences for story in stories], images=images)
    backwards = metric.compute(predictions=[story.sentences[::-1] for story in stories], images=images)
    assert good["rovist_undefined"] == 0
    assert good["rovist_c"] > backwards["rovist_c"] + 0.5
    assert good["rovist"] > backwards["rovist"]
    for i in range(6):
        assert good["rovist_scores"][i] == pytest.approx(sum(good[f"{name}_scores"][i] for name in NAMES), rel=1e-12)
