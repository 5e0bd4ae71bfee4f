"""Warnings about captions in other scripts than Latin, for metrics that need English."""

import re
import warnings

import numpy as np
import pytest

import vlgauge
from vlgauge.core.catalog import metric_facts, metric_names
from vlgauge.inputs.text.tokenizers import coco_tokens
from vlgauge.integrations.batches import RowScorer
from vlgauge.models.clip.architectures import TABLE

RUSSIAN, ENGLISH = "собака бежит по траве", "a dog runs on grass"
IMAGE = np.zeros((8, 8, 3), np.uint8)
EMBEDDED = {"profile": "embedded", "progress": False}


def messages_of(metric, **call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric.compute(**call)
    return [str(one.message) for one in caught]


def of_languages(metric, **call):
    return [one for one in messages_of(metric, **call) if "supports English only" in one]


def test_the_message_names_language_and_remedy():
    metric = vlgauge.load("clip_s", **EMBEDDED)
    assert of_languages(metric, predictions=[RUSSIAN, ENGLISH], images=[IMAGE] * 2) == [
        "1 of 2 captions are not in Latin script, but clip_s supports English only, so the scores are meaningless; "
        "translate them, or pass `backbone` for their language"
    ]
    assert not of_languages(metric, predictions=[RUSSIAN] + [ENGLISH] * 9, images=[IMAGE] * 10)
    metric.add_batch(predictions=[RUSSIAN], images=[IMAGE])
    assert of_languages(metric)


STORY = [[RUSSIAN, RUSSIAN], [RUSSIAN, "да"]]
REFERENCES = {"predictions": [RUSSIAN], "references": [[RUSSIAN]]}
SETS = {"predictions": [[RUSSIAN, ENGLISH]], "references": [[ENGLISH, ENGLISH]]}
ONE_IMAGE = {"predictions": [RUSSIAN], "images": [IMAGE]}


@pytest.mark.parametrize(
    ("name", "settings", "call", "remedy"),
    [
        ("specs", {}, ONE_IMAGE, "translate them"),
        ("pac_s", {}, ONE_IMAGE, "translate them, or pass `backbone` for their language"),
        ("polos", {}, ONE_IMAGE | REFERENCES, "translate them"),
        ("fleur", {}, ONE_IMAGE, "translate them, or pass `model` for their language"),
        ("vqascore", {}, ONE_IMAGE, "translate them, or pass `model` for their language"),
        ("bertscore", {}, REFERENCES, "translate them, or pass `model` for their language"),
        ("clair", {}, REFERENCES, "translate them, or pass `model` for their language"),
        ("mmd_bert", {}, SETS, "translate them, or pass `encoder`, or `embeddings` for their language"),
        ("frechet_bert", {}, SETS, "translate them, or pass `encoder`, or `embeddings` for their language"),
        ("trm", {"distance": "bert"}, SETS, "translate them, or pass `encoder` for their language"),
        ("rovist_c", {}, {"predictions": STORY}, "translate them, or pass `model` for their language"),
        ("meteor", {}, REFERENCES, 'translate them, or pass `version="2007"` for their language'),
        (
            "trm",
            {"distance": "meteor_1.5"},
            SETS,
            'translate them, or pass `distance="meteor"` for their language',
        ),
        (
            "groovist",
            {"dataset": "scenes"},
            {"predictions": STORY, "images": [[IMAGE]] * 2},
            "translate them, or pass `noun_phrases` and `backbone` and `concreteness`, or `noun_phrases` and "
            "`features` and `concreteness` for their language",
        ),
        (
            "rovist",
            {},
            {"predictions": STORY, "images": [[IMAGE]] * 2},
            "translate them, or pass `vg` and `c` for their language",
        ),
    ],
)
def test_every_metric_of_english_warns_once(name, settings, call, remedy):
    metric = vlgauge.load(name, **EMBEDDED, **settings)
    (message,) = of_languages(metric, **call)
    assert message.partition("; ")[2] == remedy
    assert re.match(rf"\d of \d (captions|stories) are not in Latin script, but {name} supports", message)


@pytest.mark.parametrize("name", ["spice", "soft_spice", "capture", "aloha", "spider", "chair"])
def test_metrics_that_check_words_warn_once_and_name_the_remedy(name):
    call = {"predictions": [RUSSIAN], "references": [[RUSSIAN]]}
    (message,) = of_languages(vlgauge.load(name, **EMBEDDED), **call)
    ways = metric_facts(name).other_languages
    assert all(f"`{one}`" in message for together in ways for one in together)
    assert message.startswith(f"{'spice' if name == 'spider' else name} supports English only, but only 0 of ")


@pytest.mark.parametrize("name", [name for name in metric_names() if metric_facts(name).languages == ("any",)])
def test_metrics_of_any_language_do_not_warn(name):
    metric = vlgauge.load(name, **EMBEDDED)
    assert metric.languages_of_call() == ("any",)
    metric.warn_of_other_scripts(*metric.count_other_scripts([RUSSIAN]))


def test_settings_and_inputs_for_other_languages():
    def languages(name, given=(), **settings):
        return vlgauge.load(name, **EMBEDDED, **settings).languages_of_call(given)

    english, any_language = ("en",), ("any",)
    assert languages("meteor") == english
    assert languages("meteor", tokenizer=coco_tokens) == english
    assert languages("meteor", version="2007") == any_language
    assert languages("trm", distance="bert", encoder="some/multilingual") == any_language
    for backbone, expected in (("ViT-B/16", english), ("siglip2-base-patch16-224", any_language)):
        assert TABLE[backbone].multilingual == (expected == any_language)
        assert languages("clip_s", backbone=backbone) == expected
        own = {"noun_phrases": "de_core_news_sm", "concreteness": None, "backbone": backbone}
        assert languages("groovist", **own) == expected
    assert languages("groovist", **own | {"noun_phrases": "en_core_web_lg"}) == english
    assert languages("groovist", **own | {"noun_phrases": "embedded"}) == english
    assert languages("groovist", **own | {"concreteness": "brysbaert"}) == english
    assert languages("groovist", ["noun_phrases", "features"]) == english
    assert languages("groovist", ["noun_phrases", "features"], concreteness=None) == any_language
    assert languages("rovist_vg", ["nouns", "features"]) == english
    assert languages("rovist_vg", ["nouns", "features"], idf=None) == any_language
    assert languages("rovist_vg", ["features"], idf=None, nouns="nltk") == english
    assert languages("rovist", ["nouns", "features"], vg={"idf": None}) == english
    assert languages("rovist", ["nouns", "features"], vg={"idf": None}, c={"model": abs}) == any_language
    assert languages("rovist", c={"model": abs}) == english
    assert languages("chair", table=[["собака"]]) == any_language


def test_batches_count_the_captions():
    scorer = RowScorer("meteor")
    batches = [{"id": [i], "predictions": [RUSSIAN], "references": [[RUSSIAN]]} for i in range(3)]
    with pytest.warns(UserWarning, match=r"3 .*captions are not in Latin script, but meteor supports English only"):
        scorer.combine([scorer.score_rows(batch) for batch in batches])


def test_a_call_with_embeddings_does_not_warn():
    call = SETS | {"embeddings": {RUSSIAN: [1.0, 0.0], ENGLISH: [0.0, 1.0]}}
    metric = vlgauge.load("mmd_bert", **EMBEDDED)
    assert not of_languages(metric, **call)
    assert of_languages(metric, **SETS)
