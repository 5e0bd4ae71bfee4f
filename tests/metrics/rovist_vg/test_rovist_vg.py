"""rovist_vg as a metric: nouns, word vectors, idf, regions and images through `evaluate.load`."""

import json
import math
from contextlib import nullcontext

import evaluate
import folders
import numpy as np
import pytest
from folders import METRICS
from PIL import Image
from tiny_vit import TEXT_WIDTH, heads, write_ours

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.pool import pool
from vlgauge.core.signatures import parse_signature
from vlgauge.inputs.text.story_idf import IdfTable

METRIC = str(METRICS / "rovist_vg")
GOLDEN = json.loads((folders.GOLDEN / "rovist_vg.json").read_text("utf-8"))
STORIES = [["The dog saw a cat.", "The dog ran home."], ["A bird sang."]]
NOUNS = [[["dog", "cat"], ["dog", "home"]], ["bird"]]
WORDS = ("dog", "cat", "home", "unk")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A checkpoint with a tiny vision transformer, and word vectors."""
    folder = tmp_path_factory.mktemp("rovist_vg")
    rng = np.random.default_rng(5)
    lines = [" ".join([word, *(f"{x:.5f}" for x in rng.normal(size=TEXT_WIDTH))]) for word in WORDS]
    (folder / "glove.txt").write_text("\n".join(lines) + "\n")
    yield {"checkpoint": write_ours(folder / "checkpoint"), "glove_path": folder / "glove.txt"}
    pool.unload()


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(6)
    return [[Image.fromarray(rng.integers(0, 256, (40, 30, 3), dtype=np.uint8)) for _ in range(n)] for n in (2, 1)]


@pytest.fixture
def load(files):
    """`load(**settings)`: the metric on the tiny checkpoint, one region per image, without idf."""

    def load(**settings):
        settings = {**files, "idf": None, "regions": "whole", "profile": "paper", **settings}
        return evaluate.load(METRIC, keep_in_memory=True, **settings)

    return load


def text_vectors(files):
    """Return the unit vectors of the words after the text head."""
    _, _, weight, bias = heads()
    rows = (line.split() for line in files["glove_path"].read_text().splitlines())
    found = {}
    for word, *values in rows:
        hidden = np.tanh(weight @ np.array(values, dtype=float) + bias)
        found[word] = hidden / np.linalg.norm(hidden)
    return found


def authors_value(case, aggregate, key):
    """Return the score of the oracle.

    The authors' code raises an error for the noun without idf. Its score is computed from the parts of the formula.
    """
    formula = case.get("by_formula", case)
    if key in formula or "recall" not in formula:
        return formula.get(key, math.nan)
    unseen = formula["idf_of_unseen_noun"]
    weighted = [case["idf"].get(noun, unseen) * c for noun, c in zip(case["nouns"], formula["recall"], strict=True)]
    return sum(weighted) / (len(weighted) if aggregate == "mean" else 1)


def authors_call(case):
    """Return the idf table and the input of a case of the oracles."""
    weight = np.array(case["W_text"])
    vectors = {word: np.tanh(np.array(row) @ weight).tolist() for word, row in case["glove_toy"].items()}
    features = {"text": {noun: vectors.get(noun, vectors["unk"]) for noun in case["nouns"]}}
    idf = case["idf"]
    if case["name"] == "idf_missing_noun":
        idf = IdfTable(5, {word: 5 / math.exp(value) - 1 for word, value in case["idf"].items()})
    features["images"] = case["region_features"]
    return idf or None, {"predictions": [["A story."]], "nouns": [case["nouns"]], "features": [features]}


@pytest.mark.parametrize(("aggregate", "key"), [("log_sum_exp", "vg"), ("sum", "vg_sum"), ("mean", "vg_mean")])
@pytest.mark.parametrize("case", GOLDEN["full_scoring_given_features"], ids=lambda case: case["name"])
def test_whole_scoring_of_the_authors(case, aggregate, key):
    idf, call = authors_call(case)
    metric = evaluate.load(METRIC, keep_in_memory=True, idf=idf, aggregate=aggregate)
    if case["name"] == "no_images":
        with pytest.raises(ValueError, match=r"^`features\[0\]`.*got none"):
            metric.compute(**call)
        return
    empty = case["name"] == "image_with_no_boxes"
    with pytest.warns(UserWarning, match=r"ignored.*2") if empty else nullcontext():
        result = metric.compute(**call, return_details=True)
    expected = authors_value(case, aggregate, key)
    assert result["rovist_vg_scores"] == [pytest.approx(expected, abs=1e-5, nan_ok=True)]
    rows = result["rovist_vg_details"][0]["nouns"]
    assert [row["text"] for row in rows] == case["nouns"]
    if not math.isnan(expected):
        assert [row["cosine"] for row in rows] == pytest.approx(case.get("by_formula", case)["recall"], abs=1e-5)
        assert [row["image"] for row in rows] == case.get("best_image", [row["image"] for row in rows])


def test_scores_of_images(load, files, images):
    result = load().compute(predictions=STORIES, images=images, nouns=NOUNS, return_details=True)
    details = result["rovist_vg_details"]
    assert [row["text"] for row in details[0]["nouns"]] == ["dog", "cat", "dog", "home"]
    assert details[1]["n_oov"] == 1
    vectors = text_vectors(files)
    from vlgauge.inputs.images.cells import image_cell
    from vlgauge.inputs.images.lazy_images import WholeImage
    from vlgauge.models.grounding.model import grounding_model

    model = grounding_model(files["checkpoint"])
    for story, detail, score in zip(images, details, result["rovist_vg_scores"], strict=True):
        seen = model.regions([WholeImage(image_cell(image, "x"), "x", "early") for image in story])
        total = 0.0
        for row in detail["nouns"]:
            cosines = seen @ vectors.get(row["text"], vectors["unk"])
            assert row["cosine"] == pytest.approx(cosines.max(), abs=1e-6)
            assert row["image"] == cosines.argmax()
            assert row["box"] == [0, 0, 30, 40]
            total += math.exp(cosines.max())
        assert score == pytest.approx(math.log(total), abs=1e-6)
    assert result["rovist_vg"] == pytest.approx(np.mean(result["rovist_vg_scores"]), rel=1e-12)
    assert result["rovist_vg_undefined"] == 0


def test_signature_names_the_sources(load, images):
    signature = load(oov="skip").compute(predictions=STORIES, images=images, nouns=NOUNS)["rovist_vg_signature"]
    fields = parse_signature(signature)[1]
    assert fields["enc"].startswith("local@sha256-")
    assert fields["vectors"].startswith("local@sha256-")
    assert (fields["regions"], fields["nouns"], fields["idf"], fields["oov"]) == ("whole", "given", "none", "skip")
    assert fields["profile"] == "paper"


def test_nouns_of_sentences_are_extracted(load, images):
    lists = [["dog", "cat", "dog"], ["bird"]]
    stories = [STORIES[0], ["A bird is here."]]
    found = load(nouns="embedded").compute(predictions=stories, images=images, return_details=True)
    assert [[row["text"] for row in each["nouns"]][:3] for each in found["rovist_vg_details"]] == lists
    assert "nouns:en_core_web_sm-3.8.0@" in found["rovist_vg_signature"]


def test_placeholders_are_replaced(load, images):
    story = [["She saw the [location0] of [male]."]]
    for mode, expected in (("released", "location0"), ("all", "location")):
        metric = load(nouns="embedded", placeholders=mode)
        details = metric.compute(predictions=story, images=images[:1], return_details=True)["rovist_vg_details"]
        assert expected in [row["text"] for row in details[0]["nouns"]]


def test_messages_name_the_story(load, images):
    regions = [[{"boxes": [[0, 0, 9, 9]]}] for _ in range(18)]
    regions[17][0]["boxes"] = [[0, 0, 0, 9]]
    call = {"predictions": [["A dog."]] * 18, "images": [images[1]] * 18, "nouns": [["dog"]] * 18}
    with pytest.raises(ValueError, match=r"^`regions\[17\]\[0\]`"):
        load().compute(**call, regions=regions)


def test_one_story_does_not_change_another(load, images):
    together = load().compute(predictions=STORIES, images=images, nouns=NOUNS)["rovist_vg_scores"]
    alone = load().compute(predictions=STORIES[1:], images=images[1:], nouns=NOUNS[1:])["rovist_vg_scores"]
    turned = load().compute(predictions=STORIES[::-1], images=images[::-1], nouns=NOUNS[::-1])["rovist_vg_scores"]
    small = load(batch_size=1).compute(predictions=STORIES, images=images, nouns=NOUNS)["rovist_vg_scores"]
    found = [*turned[::-1], *alone, *small]
    assert found == pytest.approx([*together, together[1], *together], abs=1e-6)


def test_boxes_and_crops_are_the_same_regions(load, images):
    box = (3, 4, 20, 33)
    boxes = [[{"boxes": [box]} for _ in story] for story in images]
    crops = [[[image.crop(box)] for image in story] for story in images]
    first = load().compute(predictions=STORIES, images=images, nouns=NOUNS, regions=boxes)["rovist_vg_scores"]
    second = load().compute(predictions=STORIES, nouns=NOUNS, regions=crops)["rovist_vg_scores"]
    assert first == pytest.approx(second, abs=1e-6)


def test_the_best_boxes_are_kept(load, images):
    boxes = [[2, 3, 9, 30], [0, 0, 30, 40], [5, 5, 25, 12]]
    call = {"predictions": STORIES[1:], "images": images[1:], "nouns": NOUNS[1:]}
    every = {"boxes": boxes, "scores": [0.4, 0.2, 0.9]}
    for settings, chosen in (({"top_k": 1}, [2]), ({"top_k": 2}, [2, 0]), ({"min_score": 0.3}, [2, 0])):
        found = load(**settings).compute(**call, regions=[[every]], return_details=True)
        expected = load().compute(**call, regions=[[{"boxes": [boxes[i] for i in chosen]}]], return_details=True)
        assert found["rovist_vg_details"] == expected["rovist_vg_details"]
        assert found["rovist_vg_details"][0]["nouns"][0]["box"] in [boxes[i] for i in chosen]


def test_stories_without_nouns_or_regions_are_undefined(load, images):
    result = load(oov="skip").compute(
        predictions=[["Go!"], [""], ["A bird."], ["A dog."]],
        images=[images[0]] * 4,
        nouns=[[], [], ["bird"], ["dog"]],
        return_details=True,
    )
    assert [math.isnan(score) for score in result["rovist_vg_scores"]] == [True, True, True, False]
    assert result["rovist_vg_undefined"] == 3
    assert result["rovist_vg_details"][2]["skipped"] == ["bird"]
    nothing = [[{"boxes": []}, {"boxes": []}]]
    with pytest.warns(UserWarning, match=r"images.*2"):
        none = load().compute(
            predictions=[["A dog."]], images=images[:1], nouns=[["dog"]], regions=nothing, return_details=True
        )
    assert math.isnan(none["rovist_vg"])
    (detail,) = none["rovist_vg_details"]
    assert detail["images_without_regions"] == [0, 1]
    lacking = dict.fromkeys(("cosine", "weighted", "image", "region", "box"))
    assert detail["nouns"] == [{"text": "dog", "idf": 1.0, "seen": True, "oov": False, **lacking}]


def test_nouns_that_a_table_without_n_lacks_are_told(load, images):
    """Check the weight of nouns that the table lacks: as if one of its words were in one story of the corpus."""
    call = {"predictions": [["x"], ["y"]], "nouns": [["dog", "cat", "cat"], ["dog"]], "images": images}
    with pytest.warns(UserWarning, match=r"nouns.*2"):
        details = load(idf={"dog": 2.0, "a": 0.5}).compute(**call, return_details=True)["rovist_vg_details"]
    assert [row["idf"] for row in details[0]["nouns"]] == [2.0, *[pytest.approx(2.0 + math.log(2))] * 2]
    assert [row["seen"] for row in details[0]["nouns"]] == [True, False, False]
    assert [each["n_unseen"] for each in details] == [2, 0]
    load(idf={"dog": 2.0, "cat": 0.5}).compute(**call)  # no noun is missing, so there is no warning
    load(idf=[["A dog."], ["A tree."]]).compute(**call)  # with N, df = 0 defines the weight


def test_idf_weights(load, images):
    call = {"predictions": STORIES, "images": images, "nouns": NOUNS, "return_details": True}
    corpus = ["the dog ran .", "a dog and a cat .", "home ."]
    rows = load(idf=corpus).compute(**call)["rovist_vg_details"]
    expected = {"dog": math.log(3 / 3), "cat": math.log(3 / 2), "home": math.log(3 / 2), "bird": math.log(3)}
    for row in [*rows[0]["nouns"], *rows[1]["nouns"]]:
        assert row["idf"] == pytest.approx(expected[row["text"]])
        assert row["seen"] is (row["text"] != "bird")
        assert row["weighted"] == pytest.approx(row["idf"] * row["cosine"])
    assert rows[1]["n_unseen"] == 1
    scaled = load(idf=corpus, scale=True).compute(**call)["rovist_vg_scores"]
    plain = load(idf=corpus).compute(**call)["rovist_vg_scores"]
    assert scaled == pytest.approx([2 / (1 + math.exp(-score / 2)) - 1 for score in plain])


def test_scores_again_from_the_details(load, images):
    call = {"predictions": STORIES, "images": images, "nouns": NOUNS}
    corpus = ["the dog ran .", "a dog and a cat .", "home ."]
    metric = load(idf=corpus, scale=True)
    details = metric.compute(**call, return_details=True)["rovist_vg_details"]
    for aggregate in ("log_sum_exp", "sum", "mean"):
        expected = load(idf=corpus, scale=True, aggregate=aggregate).compute(**call)["rovist_vg_scores"]
        assert [metric.rescore(story, aggregate=aggregate) for story in details] == expected
    assert [metric.rescore(story) for story in details] == metric.compute(**call)["rovist_vg_scores"]
    # The idf values of dog, cat, dog and home are 0, ln 3/2, 0 and ln 3/2.
    known = load(idf=corpus, aggregate="sum").rescore(details[0], cosine={"dog": 1.0, "cat": 0.5, "home": -1.0}.get)
    assert known == pytest.approx(-0.5 * math.log(3 / 2))
    assert math.isnan(metric.rescore({"nouns": [{"text": "dog", "idf": 1.0, "cosine": None}]}))


def test_what_is_required(load, images, files):
    call = {"predictions": STORIES, "images": images, "nouns": NOUNS}
    with pytest.raises(ValueError, match=r"^`idf`.*JSON.*idf=None"):
        load(idf="required").compute(**call)
    with pytest.raises(ValueError, match=r"`glove_path` is missing: .*glove\.6B\.300d\.txt"):
        load(glove_path=None).compute(**call)
    with pytest.raises(WeightsNotFoundError, match="`checkpoint` is missing"):
        load(checkpoint=None).compute(**call)
    with pytest.raises(ValueError, match=r"^`images`.*rovist_vg"):
        load().compute(predictions=STORIES, nouns=NOUNS)
    with pytest.raises(ValueError, match=r"^`regions`.*`features`"):
        load().compute(**call, regions=[], features=[])
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*got none"):
        load().compute(predictions=STORIES, images=[images[0], []], nouns=NOUNS)
    with pytest.raises(ValueError, match=r"^`images\[0\]`.*got none"):
        load().compute(predictions=STORIES, images=[None, images[1]], nouns=NOUNS)


def test_word_vectors_of_another_training(load, images, files, tmp_path):
    call = {"predictions": STORIES, "images": images, "nouns": NOUNS}
    known = {"word_vectors": {"file": "g.txt", "sha256": "ab" * 32}}
    folder = write_ours(tmp_path / "other", config=known)
    message = r"must name the word vectors that local@sha256-\w+ was trained with, g.txt@abababab, got glove"
    with pytest.raises(ValueError, match=f"`glove_path` {message}"):
        load(checkpoint=folder).compute(**call)
    (tmp_path / "wide.txt").write_text("dog 1 2\nunk 0 0\n")
    with pytest.raises(ValueError, match=r"^`glove_path`.*5.*got 2"):
        load(glove_path=tmp_path / "wide.txt").compute(**call)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"checkpoint": 3}, r"^`checkpoint`.*got 3"),
        ({"glove_path": ""}, r"^`glove_path`.*got ''"),
        ({"oov": "zero"}, r"^`oov`.*got 'zero'"),
        ({"aggregate": "max"}, r"^`aggregate`"),
        ({"scale": "False"}, r"^`scale`"),
        ({"nouns": 3}, r'spacy\.Language.*"embedded".*got int'),
        ({"placeholders": "some"}, r"^`placeholders`"),
        ({"top_k": 0}, r"^`top_k`.*at least 1"),
        ({"detector_weights": "w.pth", "regions": "grid"}, r"detector.*`regions`"),
        ({"min_score": math.nan}, r"^`min_score`.*got nan"),
        ({"regions": "boxes"}, "`regions` must be one of"),
    ],
)
def test_settings_that_are_none(load, settings, message):
    with pytest.raises(ValueError, match=message):
        load(**settings)
