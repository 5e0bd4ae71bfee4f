"""Groovist with a real CLIP of random weights: number of encoded inputs, and sharing with other metrics."""

import json

import folders
import numpy as np
import pytest
from colour_stories import PHRASES, STORY, load, score
from PIL import Image

import vlgauge

GOLDEN = folders.GOLDEN / "groovist"
pytestmark = pytest.mark.usefixtures("no_sockets")


# -- a real CLIP of random weights ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    from tiny_clip import TINY, write_tiny

    weights = write_tiny(tmp_path_factory.mktemp("clip"))
    return {"backbone": TINY, "weights": str(weights), "device": "cpu"}


def noise(seed):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (40, 50, 3), dtype=np.uint8))


def test_tiny_clip_sees_each_crop_once(tiny, monkeypatch):
    from vlgauge.core.pool import pool
    from vlgauge.inputs.images import lazy_images
    from vlgauge.models.clip.loading import clip_encoder

    pool.unload()  # another test may have shown these weights the same texts
    opened, real = [], lazy_images.open_image
    monkeypatch.setattr(lazy_images, "open_image", lambda *a, **k: opened.append(a[1]) or real(*a, **k))
    settings = {"theta": 0.5, "concreteness": None}
    metric = vlgauge.load("groovist", keep_in_memory=True, regions="grid", **settings, **tiny)
    encoder = clip_encoder(**tiny)
    before = encoder.forwards.copy()
    images, phrases = [noise(1), noise(2)], [["a dog"], ["a cat", "a dog"]]
    result = score([STORY] * 2, [images] * 2, [phrases] * 2, metric=metric, return_details=True)
    assert encoder.forwards - before == {"image": 20, "text": 2}
    assert opened == ["images[0][0]", "images[0][1]"]
    again = score([STORY], [images[::-1]], [phrases], metric=metric)
    assert encoder.forwards - before == {"image": 20, "text": 2}
    assert again["groovist"] == pytest.approx(result["groovist"], abs=1e-6)
    # One crop at a time, from the vectors themselves.
    row = result["groovist_details"][0]["noun_phrases"][1]
    crop = images[row["image"]].crop(row["box"])
    alone = score([["x"]], None, [["a cat"]], regions=[[[crop]]], metric=metric, return_details=True)
    assert alone["groovist_details"][0]["noun_phrases"][0]["cosine"] == pytest.approx(row["cosine"], abs=1e-6)


def test_whole_images_are_shared_with_clip_s(tiny):
    from vlgauge.models.clip.loading import clip_encoder

    images = [noise(seed) for seed in (5, 6)]
    metric = vlgauge.load("groovist", keep_in_memory=True, regions="whole", theta=0.5, concreteness=None, **tiny)
    clip_s = vlgauge.load("clip_s", keep_in_memory=True, **tiny)
    encoder = clip_encoder(**tiny)
    before = encoder.forwards["image"]
    score([STORY], [images], [PHRASES], metric=metric)
    clip_s.compute(predictions=["a dog", "a cat"], images=images)
    assert encoder.forwards["image"] - before == 2


def test_given_features_give_the_score_of_the_encoder(tiny):
    from vlgauge.inputs.images.cells import image_cell
    from vlgauge.inputs.images.lazy_images import WholeImage
    from vlgauge.models.clip.loading import clip_encoder

    encoder = clip_encoder(**tiny)
    text = encoder.project(encoder.text_hidden(["a dog", "a cat"]).end, "text")
    images = [WholeImage(image_cell(noise(seed), "x"), "x", "early") for seed in (1, 2)]
    image = encoder.project(encoder.image_hidden(images), "image")
    features = {"text": {"a dog": text[0], "a cat": text[1]}, "images": [image[:1], image[1:]]}
    settings = {"theta": 0.5, "concreteness": None}
    given = load(**settings).compute(predictions=["x"], noun_phrases=[["a dog", "a cat"]], features=[features])
    metric = vlgauge.load("groovist", keep_in_memory=True, regions="whole", **settings, **tiny)
    seen = score([["x"]], [[noise(1), noise(2)]], [["a dog", "a cat"]], metric=metric)
    assert given["groovist"] == pytest.approx(seen["groovist"], abs=1e-6)


def test_phrases_become_the_ids_of_clip(tiny):
    from vlgauge.models.clip.loading import clip_encoder

    expected = json.loads((GOLDEN / "clip_tokens.json").read_text("utf-8"))["ids"]
    hidden = clip_encoder(**tiny).text_hidden(list(expected))
    assert [ids.tolist() for ids in hidden.ids] == list(expected.values())


def test_phrases_that_spell_a_token_of_clip_are_counted(tiny):
    metric = vlgauge.load("groovist", keep_in_memory=True, regions="whole", theta=0.5, concreteness=None, **tiny)
    rows = ([["x"], ["x"]], [[noise(1)], [noise(1)]], [["a dog<|endoftext|> cat", "a dog"], ["a cat<end_of_text>"]])
    with pytest.warns(UserWarning, match="1 of 3 noun phrases") as caught:
        shown = score(*rows, metric=metric, return_details=True)["groovist_details"][0]["noun_phrases"]
    assert len(caught) == 1
    assert shown[0]["cosine"] == pytest.approx(shown[1]["cosine"], abs=1e-6)


def test_phrase_over_the_context_is_cut_and_keeps_its_end(tiny):
    long = " ".join(["lighthouse"] * 200)
    metric = vlgauge.load("groovist", keep_in_memory=True, regions="whole", theta=0.5, concreteness=None, **tiny)
    with pytest.warns(UserWarning, match=r"maximum.*1"):
        shown = score([["x"]], [[noise(1)]], [[long]], metric=metric, return_details=True)["groovist_details"][0]
    assert shown["truncated"] == [long]
    cut = " ".join(["lighthouse"] * 75)
    same = score([["x"]], [[noise(1)]], [[cut]], metric=metric, return_details=True)["groovist_details"][0]
    assert same["noun_phrases"][0]["cosine"] == pytest.approx(shown["noun_phrases"][0]["cosine"], abs=1e-6)
    assert same["truncated"] == []
