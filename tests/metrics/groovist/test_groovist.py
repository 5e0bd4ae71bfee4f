"""The metric groovist from end to end, with an encoder that only distinguishes colors."""

import copy
import math
import pickle

import colour_stories
import numpy as np
import pytest
from colour_stories import BLUE, GREEN, IMAGES, PHRASES, RED, STORY, YELLOW, details, halves, load, plain, score, usual
from fake_clip import FakeClip

import vlgauge
from vlgauge.core.signatures import parse_signature

pytestmark = pytest.mark.usefixtures("no_sockets")


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_story_by_hand():
    # A primary color in the text is (1, 0, 0), and in an image (1, -1, -1) / sqrt(3).
    own, other = 2.5 / math.sqrt(3), -2.5 / math.sqrt(3)
    assert own > 1.2 > other
    weights = [(1.5 + 4.0 + 5.0) / 3, (1.5 + 5.0) / 2, (1.5 + 4.0 + 5.0) / 3]  # green has no rating
    result = score(return_details=True)
    assert result["groovist"] == pytest.approx(np.mean(weights) * own)
    shown = result["groovist_details"][0]
    assert [row["text"] for row in shown["noun_phrases"]] == ["a red dog", "the green tree", "the red dog"]
    assert [row["image"] for row in shown["noun_phrases"]] == [0, 1, 0]
    assert [row["box"] for row in shown["noun_phrases"]] == [[0, 0, 12, 9]] * 3
    assert [row["weight"] for row in shown["noun_phrases"]] == pytest.approx(weights)
    assert shown["per_image"] == [pytest.approx(row) for row in [[own, other], [other, own], [own, other]]]
    assert shown["dropped"] == [{"text": "it", "reason": "pronoun"}]
    assert shown["sentences"] == STORY
    assert shown["sentence_phrases"] == [["a red dog"], ["the green tree", "the red dog"]]
    regions = [(region["image"], region["box"], region["score"]) for region in shown["regions"]]
    assert regions == [(0, [0, 0, 12, 9], None), (1, [0, 0, 12, 9], None)]
    assert [region["scaled"] for region in shown["regions"]] == pytest.approx([own, own])
    wrong = score(images=[[plain(BLUE), plain(GREEN)]])
    assert wrong["groovist"] == pytest.approx((weights[0] * 2 * (other - 1.2) + weights[1] * own) / 3)


def test_result_keys_and_signature():
    result = score(stories=[STORY, [""]], images=[IMAGES, IMAGES], phrases=[PHRASES, []])
    assert list(result) == ["groovist", "groovist_scores", "groovist_undefined", "groovist_signature"]
    assert result["groovist"] == result["groovist_scores"][0]
    assert math.isnan(result["groovist_scores"][1])
    assert result["groovist_undefined"] == 1
    fields = parse_signature(result["groovist_signature"])[1]
    assert fields.pop("concreteness").startswith("brysbaert@")
    assert fields == {
        **{"v": vlgauge.__version__, "profile": "paper", "enc": "fake@00000000"},
        **{"variant": "released", "lemmatizer": "rules", "penalize": "True", "sentences": "rules"},
        **{"deduplicate": "True", "drop_pronouns": "True", "top_k": "10", "min_score": "0", "normalize": "None"},
        **{"regions": "whole", "phrases": "given", "theta": "1.2@given"},
    }


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"concreteness": None}, {"concreteness": "none"}),
        ({"regions": lambda image: ([[0, 0, 5, 5]], None)}, {"regions": f"custom({__name__}.<lambda>@"}),
        ({"concreteness": "idf", "idf": [STORY]}, {"concreteness": "idf@"}),
    ],
)
def test_signature_of_settings(settings, shown):
    fields = parse_signature(score(metric=load(**settings))["groovist_signature"])[1]
    assert {name: fields[name][: len(value)] for name, value in shown.items()} == shown
    assert ("lemmatizer" in fields) == ("concreteness" not in settings)


# -- regions ----------------------------------------------------------------------------------------------------------
def test_boxes_crops_grid_and_whole():
    image = halves(RED, GREEN)
    own = 2.5 / math.sqrt(3)
    boxes = {"boxes": [[0, 0, 6, 9], [6, 0, 12, 9]], "scores": [0.6, 0.9]}
    found = details(images=[[image]], regions=[[boxes]])
    assert [(row["region"], row["box"]) for row in found["noun_phrases"]] == [
        (1, [0, 0, 6, 9]),
        (0, [6, 0, 12, 9]),
        (1, [0, 0, 6, 9]),
    ]
    assert [row["scaled"] for row in found["noun_phrases"]] == pytest.approx([own] * 3)
    crops = details(images=None, regions=[[[image.crop((6, 0, 12, 9)), image.crop((0, 0, 6, 9))]]])
    assert [row["scaled"] for row in crops["noun_phrases"]] == pytest.approx([own] * 3)
    assert [row["box"] for row in crops["noun_phrases"]] == [None] * 3
    grid = details(images=[[image]], metric=load(regions="grid"))
    assert [row["box"] for row in grid["noun_phrases"]] == [[0, 0, 4, 3], [8, 0, 12, 3], [0, 0, 4, 3]]
    whole = details(images=[[image]])
    assert max(row["scaled"] for row in whole["noun_phrases"]) < own


def test_top_k_and_min_score():
    entry = {"boxes": [[0, 0, 6, 9], [6, 0, 12, 9]], "scores": [0.3, 0.9]}
    for settings in ({"top_k": 1}, {"min_score": 0.5}):
        found = details(images=[[halves(RED, GREEN)]], regions=[[entry]], metric=load(**settings))
        assert {row["box"] == [6, 0, 12, 9] for row in found["noun_phrases"]} == {True}


def test_images_without_regions_are_told_once():
    found = [[{"boxes": []}, {"boxes": [[0, 0, 5, 5]]}], [[], []]]
    with pytest.warns(UserWarning, match="3") as caught:
        result = score([STORY] * 2, [IMAGES] * 2, [PHRASES] * 2, regions=found, return_details=True)
    assert [warning.filename for warning in caught] == [colour_stories.__file__]
    assert result["groovist_undefined"] == 1
    first, second = result["groovist_details"]
    assert (first["images_without_regions"], second["images_without_regions"]) == ([0], [0, 1])
    assert math.isnan(first["per_image"][0][0])
    assert second["noun_phrases"][0]["cosine"] is None
    assert (second["regions"], second["per_image"][0][0]) == ([], pytest.approx(math.nan, nan_ok=True))


# -- work -------------------------------------------------------------------------------------------------------------
def test_each_distinct_phrase_once_and_stories_together():
    encoder = FakeClip()
    score([STORY] * 20, [IMAGES] * 20, [PHRASES] * 20, metric=load(encoder))
    assert encoder.texts == [["a red dog", "the green tree", "the red dog"]]
    assert [len(places) for places in encoder.places] == [32, 8]
    assert encoder.places[1][0] == "images[16][0], region 0"


def test_stories_do_not_depend_on_each_other():
    stories = [STORY, ["A blue sky."], [], STORY]
    images = [IMAGES, [plain(BLUE)], IMAGES, [plain(YELLOW), plain(RED)]]
    phrases = [PHRASES, [["a blue sky"]], [], PHRASES]
    together = score(stories, images, phrases)["groovist_scores"]
    for i, story in enumerate(stories):
        alone = score([story], [images[i]], [phrases[i]])["groovist_scores"][0]
        assert alone == pytest.approx(together[i], nan_ok=True)
    assert score(stories[::-1], images[::-1], phrases[::-1])["groovist_scores"][::-1] == pytest.approx(
        together, nan_ok=True
    )


def test_string_and_list_of_sentences():
    lists = score(metric=load(noun_phrases="embedded"), phrases=None)
    text = score(stories=[" ".join(STORY)], metric=load(noun_phrases="embedded"), phrases=None)
    assert lists["groovist_scores"] == text["groovist_scores"]
    assert not math.isnan(lists["groovist"])


def test_metric_survives_pickle_and_copy():
    metric = load()
    expected = score(metric=metric)
    for again in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert score(metric=again) == expected


# -- variants and ablations -------------------------------------------------------------------------------------------
def test_ablations_change_what_they_name():
    wrong = {"images": [[plain(BLUE), plain(GREEN)]]}
    rows = details(**wrong)["noun_phrases"]
    scaled = np.array([row["scaled"] for row in rows])
    weights = np.array([row["weight"] for row in rows])
    penalized = np.where(scaled < 1.2, scaled - 1.2, scaled)
    expected = {
        (): penalized * weights,
        ("penalize",): scaled * weights,
        ("concreteness",): penalized,
        ("penalize", "concreteness"): scaled,
    }
    off = {"penalize": False, "concreteness": None}
    for names, values in expected.items():
        metric = load(**{name: off[name] for name in names})
        assert score(**wrong, metric=metric)["groovist"] == pytest.approx(values.mean())
    by_idf = load(concreteness="idf", idf=[STORY, ["A red car."]])
    found = details(**wrong, metric=by_idf)["noun_phrases"]
    assert found[0]["weight"] == pytest.approx((2 * math.log(2 / 3) + math.log(1)) / 3)


def test_scores_again_from_the_details():
    wrong = {"images": [[plain(BLUE), plain(GREEN)]]}
    found = details(**wrong)
    own = {"concreteness": None, "concreteness_path": None}
    for settings, changed in (
        ({}, {}),
        ({"penalize": False}, {"penalize": False}),
        (own, {"weigh": lambda text: None}),
    ):
        assert usual().rescore(found, 1.2, **changed) == score(**wrong, metric=load(**settings))["groovist"]
        tanh = load(normalize="tanh").rescore(found, 1.2, **changed)
        assert tanh == math.tanh(usual().rescore(found, 1.2, **changed))
    assert load(penalize=False).rescore(found, 1.2) == usual().rescore(found, 1.2, penalize=False)
    assert math.isnan(usual().rescore({"noun_phrases": [{"text": "a", "weight": 1.0, "scaled": None}]}, 1.2))


def test_nouns_as_units():
    shown = details(phrases=None, metric=load(noun_phrases="embedded", units="nouns"))
    assert "dog" in [row["text"] for row in shown["noun_phrases"]]
    assert not [row for row in shown["noun_phrases"] if " " in row["text"]]


def test_tanh():
    assert score(metric=load(normalize="tanh"))["groovist"] == pytest.approx(math.tanh(score()["groovist"]))
