"""Every crop and every text goes through the encoder once for the whole table of ablations, both units included."""

import json

import numpy as np
import pytest
from PIL import Image
from tiny_clip import TINY, write_tiny

import vlgauge
from vlgauge import cli, scenes
from vlgauge.inputs.text.story_idf import fit_idf
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.features import memory
from vlgauge.research.studies import groovist as study

pytestmark = pytest.mark.usefixtures("no_sockets")


@pytest.fixture
def asked(monkeypatch):
    """Keys of the images and texts passed to any encoder, with repetitions."""
    found = {"image": [], "text": []}
    kind = type(clip_encoder(profile="embedded"))
    images, texts = kind.image_hidden, kind.text_hidden

    def image_hidden(self, lazy_images, **options):
        found["image"] += [(image.convert, image.key) for image in lazy_images]
        return images(self, lazy_images, **options)

    def text_hidden(self, given, **options):
        found["text"] += given
        return texts(self, given, **options)

    monkeypatch.setattr(kind, "image_hidden", image_hidden)
    monkeypatch.setattr(kind, "text_hidden", text_hidden)
    return found


def distinct(asked):
    return {side: len(set(items)) for side, items in asked.items()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return {"backbone": TINY, "weights": str(write_tiny(tmp_path_factory.mktemp("clip"))), "device": "cpu"}


@pytest.fixture(scope="module")
def data():
    """Return stories whose images differ, except for one image that two stories share."""
    rng = np.random.default_rng(3)
    images = [Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)) for _ in range(7)]
    stories = [
        ["A dog ran.", "He saw the tall tree."],
        ["The dog met a cat."],
        ["A boat left."],
        ["We saw a red boat."],
    ]
    return study.Stories(stories, [images[:2], images[2:4], images[1:2], images[4:]])


def test_one_pass_over_crops_and_texts_serves_all_variants(asked, tiny, data):
    def load(**more):
        settings = {"theta": 0.5, "regions": "grid", "noun_phrases": "embedded"}
        return vlgauge.load("groovist", keep_in_memory=True, **tiny | settings | more)

    encoder = clip_encoder(**tiny)
    memory.process_memory.forget(encoder._scope)
    before = encoder.forwards.copy()
    found = study.ablations(load, data, fit_idf(data.stories, lowercase=True), n_random=2)
    assert len(found) == 7
    assert dict(encoder.forwards - before) == distinct(asked) == {"image": 70, "text": 10}
    assert len(asked["image"]) > 300  # most of them from the memory


def drawn(folder, n):
    """Write a file of synthetic stories with their images and boxes."""
    rows = []
    for i, story in enumerate(scenes.stories(n, seed=21, split="test")):
        names = [f"{i}-{j}.png" for j in range(len(story.sentences))]
        for name, image in zip(names, story.images(), strict=True):
            image.save(folder / name)
        boxes = [{"boxes": [list(box) for box in drawing.boxes]} for drawing in story.drawings()]
        rows.append({"predictions": story.sentences, "images": names, "regions": boxes, "rating": i % 3})
    (folder / "stories.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(folder / "stories.jsonl")


@pytest.mark.parametrize("small_memory", [False, True])
def test_the_command_sees_each_crop_and_text_once(asked, tmp_path, capsys, monkeypatch, small_memory):
    encoder = clip_encoder(profile="embedded")
    memory.process_memory.forget(encoder._scope)
    options = [
        "--random",
        "2",
        "--resamples",
        "10",
        "--ratings",
        "rating",
        "--profile",
        "embedded",
        "--regions",
        "regions",
    ]
    if small_memory:  # like a dataset that does not fit in memory: the folder remembers
        monkeypatch.setattr(memory.process_memory, "most", 2_000)
        options += ["--set", f"feature_cache={tmp_path / 'features'}"]
    before = encoder.forwards.copy()
    assert cli.main(["grounding", "ablations", drawn(tmp_path, 4), "--no-progress", *options]) == 0
    assert "GROOViST (-C +idf -NPs +Ns)" in capsys.readouterr().out
    assert dict(encoder.forwards - before) == distinct(asked)
    assert distinct(asked)["image"] >= 20
