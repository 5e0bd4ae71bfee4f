"""Noun phrases and nouns by spaCy pipelines of other languages than English, and their errors."""

import re

import pytest

import vlgauge
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.families.scene_graphs import RuleParser
from vlgauge.inputs.text.noun_phrases import phrase_source

spacy = pytest.importorskip("spacy")
german_pipeline = pytest.importorskip("german_pipeline").german_pipeline

STORY = ["Der Mann jagt die Katze.", "Er sieht den Hund."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pipelines") / "german"
    german_pipeline().to_disk(path)
    return str(path)


def test_noun_phrases_of_another_language(folder):
    source = phrase_source(folder)
    assert source.language == "de"
    assert source.noun_phrases(STORY) == [["der mann", "die katze"], ["er", "den hund"]]
    assert source.noun_phrases(STORY, pronouns=False) == [["der mann", "die katze"], ["den hund"]]
    assert source.noun_phrases(["", "  \n"]) == [[], []]


def test_nouns_of_another_language_are_those_of_its_parts_of_speech(folder):
    assert phrase_source(folder, argument="nouns").nouns(STORY) == [["Mann", "Katze"], ["Hund"]]


def test_groovist_scores_a_story_and_names_the_pipeline(folder):
    vectors = {"der mann": [1.0, 0.0], "die katze": [0.0, 1.0], "den hund": [1.0, 1.0], "er": [1.0, 2.0]}
    features = {"text": vectors, "images": [[[0.8, 0.6]], [[1.0, 0.1]]]}
    settings = {"theta": 0.6, "concreteness": None, "noun_phrases": folder}
    call = {"predictions": [STORY], "features": [features], "return_details": True}
    result = vlgauge.load("groovist", **settings).compute(**call)
    assert re.search(r"\|phrases:de_tiny-1\.2\.3@[0-9a-f]{8}", result["groovist_signature"])
    phrases = [one["text"] for one in result["groovist_details"][0]["noun_phrases"]]
    assert phrases == ["der mann", "die katze", "den hund"]
    result = vlgauge.load("groovist", drop_pronouns=False, **settings).compute(**call)
    assert [one["text"] for one in result["groovist_details"][0]["noun_phrases"]] == [*phrases[:2], "er", phrases[2]]
    with pytest.raises(UsageError, match=r"^`concreteness`.*English words.*'de'; .*\"idf\".*`concreteness_path`"):
        vlgauge.load("groovist", **settings | {"concreteness": "brysbaert"}).compute(**call)


def test_rovist_vg_scores_a_story_and_names_the_pipeline(folder):
    vectors = {"Mann": [1.0, 0.0], "Katze": [0.0, 1.0], "Hund": [1.0, 1.0]}
    features = {"text": vectors, "images": [[[0.8, 0.6]]]}
    metric = vlgauge.load("rovist_vg", idf=None, nouns=folder)
    result = metric.compute(predictions=[STORY], features=[features], return_details=True)
    assert re.search(r"\|nouns:de_tiny-1\.2\.3@[0-9a-f]{8}", result["rovist_vg_signature"])
    assert [one["text"] for one in result["rovist_vg_details"][0]["nouns"]] == ["Mann", "Katze", "Hund"]


def test_the_rules_for_scene_graphs_require_english(folder):
    with pytest.raises(UsageError, match=r"^`pipeline` must be an English.*got de_tiny-1\.2\.3@.*'de'; .*`parser`$"):
        RuleParser(folder)
    spice = vlgauge.load("spice", pipeline=folder)
    with (
        pytest.warns(UserWarning, match="captions are English"),
        pytest.raises(UsageError, match=r"^`pipeline` must be an English"),
    ):
        spice.compute(predictions=STORY[:1], references=[STORY[1:]])


def test_a_language_without_noun_phrases_is_named_with_those_that_have_them():
    message = r"^`noun_phrases` must .*\(ca, da, de, .*, tr\), got cs_pipeline-0\.0\.0 of language 'cs'; pass lists"
    source = phrase_source(spacy.blank("cs"))
    with pytest.raises(UsageError, match=message):
        source.noun_phrases(["Pes běží."])


def test_missing_components_of_another_language(folder):
    blank = spacy.blank("de")
    with pytest.raises(UsageError, match=r"^`noun_phrases` must .* with a parser, got one with no component$"):
        phrase_source(blank).noun_phrases(STORY)
    without = spacy.load(folder, exclude=["morphologizer"])
    for argument in ("noun_phrases", "nouns"):
        extract = getattr(phrase_source(without, argument=argument), argument)
        with pytest.raises(UsageError, match=rf"^`{argument}` must .* parts of speech, got one with parser$"):
            extract(STORY)


def test_a_pipeline_of_another_language_that_is_not_installed():
    message = (
        "`noun_phrases` names the spaCy pipeline 'de_core_news_sm', which is not installed; run: python -m spacy "
        "download de_core_news_sm, or pass lists of phrases to `compute`"
    )
    with pytest.raises(WeightsNotFoundError, match=f"^{re.escape(message)}$"):
        phrase_source("de_core_news_sm")


@pytest.mark.parametrize("name", ["no/such/folder", "de core", "\0"])
def test_a_name_that_no_package_can_have(name):
    with pytest.raises(WeightsNotFoundError, match=r"^`nouns` must be an installed spaCy pipeline or its folder, got"):
        phrase_source(name, argument="nouns")


def test_a_package_that_is_no_pipeline():
    with pytest.raises(UsageError, match=r"^`nouns` must name a pipeline that loads, got 'spacy'"):
        phrase_source("spacy", argument="nouns")


@pytest.mark.parametrize("component", ["morphologizer", "parser"])
def test_a_pipeline_that_is_not_trained(component):
    nlp = spacy.blank("de")
    nlp.add_pipe(component)
    for argument in ("nouns", "noun_phrases"):
        with pytest.raises(UsageError, match=rf"^`{argument}` must be a trained spaCy pipeline, got one that fails"):
            getattr(phrase_source(nlp, argument=argument), argument)(STORY)
