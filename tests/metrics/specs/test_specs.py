"""specs: the formula, the values of the authors' code on generated weights, settings, and input errors."""

import ast
import inspect
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from chosen_clip import ChosenClip, grey
from oracle_backbones import TURNED, arrays, inputs, maker, tiny_clip_row, unpacked

import vlgauge
from vlgauge.families.clip_score.backbone_metric import Backbone

EAST, NORTHEAST, WEST = [1, 0, 0], [1, 1, 0], [-1, 0, 0]
# Scores of the authors' example, an image in their repository.
CAT = (0.4293, 0.4457, 0.4583)


def specs_scores(cosines):
    return inspect.getmodule(type(vlgauge.load("specs"))).specs_scores(cosines)


@pytest.fixture
def load(monkeypatch):
    """`load(**settings)`: the metric with a fake encoder."""
    encoder = ChosenClip({1: EAST}, {"east": EAST, "northeast": NORTHEAST, "west": WEST})

    def load(**settings):
        metric = vlgauge.load("specs", keep_in_memory=True, **settings)
        monkeypatch.setattr(Backbone, "encoder_and_adapter", lambda self: (encoder, None))
        return metric

    return load


def test_worked_example(load):
    found = load().compute(predictions=["east", "northeast", "west"], images=[grey(1)] * 3, return_details=True)
    assert found["specs_scores"] == pytest.approx([1, (math.sqrt(0.5) + 1) / 2, 0], abs=1e-6)
    assert [note["cosine"] for note in found["specs_details"]] == pytest.approx([1, math.sqrt(0.5), -1], abs=1e-6)
    assert "|prompt:none|long:truncate|" in found["specs_signature"]


def test_the_definition_as_plain_loops():
    rng = np.random.default_rng(3)
    cosines = rng.uniform(-1, 1, size=(7, 5))
    wanted = [[max((c + 1) / 2, 0.0) for c in row] for row in cosines.tolist()]
    np.testing.assert_allclose(specs_scores(cosines), wanted, rtol=1e-15)
    assert specs_scores(-1 - 1e-7) == 0
    assert math.isnan(float(specs_scores(math.nan)))


def test_rows_stand_alone(load):
    captions = ["east", "west", "northeast", "east"]
    straight = load().compute(predictions=captions, images=[grey(1)] * 4)["specs_scores"]
    turned = load().compute(predictions=captions[::-1], images=[grey(1)] * 4)["specs_scores"]
    assert turned == straight[::-1]
    assert straight[0] > straight[2] > straight[1]


def test_images_that_cannot_be_read(load, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"none")
    rows = {"predictions": ["east", "east"], "images": [grey(1), str(tmp_path / "broken.png")]}
    with pytest.warns(UserWarning, match="1 of 2 images could"):
        found = load(on_error="nan").compute(**rows)
    assert found["specs_undefined"] == 1
    with pytest.raises(ValueError, match=r"^`images\[1\]`"):
        load().compute(**rows)


def test_its_backbone():
    metric = vlgauge.load("specs")
    assert metric.clip.chosen_backbone == "specs"
    assert metric.clip.tokens().context == 248
    assert vlgauge.load("specs", profile="embedded").clip.tokens().context == 77


@pytest.mark.parametrize("name", ["clip_s", "pac_s"])
@pytest.mark.parametrize("backbone", ["specs", "Xiaohud/SPECS", "hf-hub:Xiaohud/SPECS"])
def test_no_other_metric_takes_its_backbone(name, backbone):
    with pytest.raises(ValueError, match=rf"^`backbone`.*got {name}"):
        vlgauge.load(name, backbone=backbone)


def test_long_captions(load):
    long = "dog " * 300
    with pytest.warns(UserWarning, match=r"1 of 1 captions.*than 248 tokens"):
        load().compute(predictions=[long], images=[grey(1)])
    with pytest.raises(ValueError, match=r"^`predictions\[0\]`.*at most 248 tokens"):
        load(long_text="error").compute(predictions=[long], images=[grey(1)])


# -- golden numbers ---------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:.*captions and references")
def test_numbers_are_those_of_the_authors(shared_folder, tmp_path):
    oracle = shared_folder / "oracles" / "specs"
    row = tiny_clip_row("specs", maker(oracle, "tinyweights").CONFIGS["specs-B32-tiny"])
    weights = unpacked(oracle / "checkpoints" / "spec.pt.xz", tmp_path / "spec.pt")
    metric = vlgauge.load("specs", backbone=row, weights=weights.parent, device="cpu")
    texts, images = inputs(oracle)
    wanted = arrays(oracle / "specs-B32-tiny.npz")["specs"]
    for number, image in enumerate(images):
        if image != TURNED:
            rows = [str(oracle / "images" / image)] * len(texts)
            found = metric.compute(predictions=list(texts.values()), images=rows)["specs_scores"]
            np.testing.assert_allclose(found, wanted[number], rtol=0, atol=1e-5, err_msg=image)
    assert (wanted < 0.5).sum() == 442


@pytest.mark.weights
def test_the_authors_example():
    """Compare with the authors' example, whose image and captions are in the clone that VLGAUGE_SPECS names."""
    folder = os.environ.get("VLGAUGE_SPECS")
    if not folder:
        pytest.skip("VLGAUGE_SPECS names no clone of mbzuai-nlp/SPECS")
    told = (Path(folder) / "README.md").read_text("utf-8")
    captions = ast.literal_eval(re.search(r"texts = (\[.*?\])", told, re.DOTALL)[1])
    images = [str(Path(folder) / "images" / "cat.png")] * 3
    found = vlgauge.load("specs", device="cpu").compute(predictions=captions, images=images)["specs_scores"]
    assert found == pytest.approx(CAT, abs=2e-3)
