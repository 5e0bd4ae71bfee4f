"""Nouns among tagged tokens, by the embedded pipeline and by NLTK."""

import json
from collections import Counter

import folders
import numpy as np
import pytest

import vlgauge
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.inputs.text.language import punkt_splitter, replace_placeholders
from vlgauge.inputs.text.noun_phrases import NltkNouns, nouns_among, phrase_source

GOLDEN = folders.GOLDEN / "rovist_vg.json"


@pytest.fixture(scope="module")
def embedded():
    return phrase_source("embedded")


def test_nouns_among():
    tagged = [
        ("Dogs", "NNPS"),
        ("ran", "VBD"),
        ("i", "NN"),
        ("home", "NN"),
        ("I", "NNP"),
        ("home", "NN"),
        ("ox", "NNS"),
    ]
    assert nouns_among(tagged) == ["Dogs", "home", "I", "ox"]


def stories_tagged_by_nltk():
    """Return stories written for this purpose, as lists of sentences of (word, tag) with the tags of NLTK 3.8.1."""
    return json.loads(GOLDEN.read_text("utf-8"))["extract_nouns"].items()


def test_nouns_of_golden_tags():
    for name, story in stories_tagged_by_nltk():
        if story["nouns_per_sentence_sorted"]:
            found = [sorted(nouns_among(map(tuple, sentence))) for sentence in story["pos_tags"]]
            assert found == story["nouns_per_sentence_sorted"], name


def test_nltk_tagger_is_the_published_one(monkeypatch, shared_folder):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(shared_folder / "data" / "nltk_data"), *nltk.data.path])
    try:
        split = punkt_splitter()
        source = NltkNouns(split)
    except WeightsNotFoundError:
        pytest.skip("NLTK's data are not here")
    for name, story in stories_tagged_by_nltk():
        found = source.nouns(split(replace_placeholders(story["story"])))
        assert [sorted(each) for each in found] == story["nouns_per_sentence_sorted"], name


def test_what_a_call_looks_for_in_the_data_of_nltk_is_loaded_once(monkeypatch, tmp_path):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    loaded = []

    class Loaded:
        def __init__(self, *given, **how):
            loaded.append({**how} or given)

        def tokenize(self, text):
            return text.split("|")

        def tag(self, tokens):
            return [(token, "NN") for token in tokens]

    monkeypatch.setattr("nltk.tokenize.punkt.PunktTokenizer", Loaded)
    monkeypatch.setattr("nltk.tag.perceptron.PerceptronTagger", Loaded)
    metric = vlgauge.load("rovist_vg", sentences="punkt", nouns="nltk", idf=None)
    features = [{"text": {"dog": [1.0, 0.0], "cat": [0.0, 1.0]}, "images": [[[0.8, 0.6]]]}] * 2
    for _ in range(2):
        result = metric.compute(predictions=["dog|cat", "cat"], features=features)
        assert np.isfinite(result["rovist_vg_scores"]).all()
    assert loaded == [("english",), {"lang": "eng"}]


def test_nltk_data_is_missing(monkeypatch, tmp_path):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(
        WeightsNotFoundError, match=r"python -m nltk.downloader averaged_perceptron_tagger_eng.*NLTK_DATA"
    ):
        phrase_source("nltk", argument="nouns")


def test_embedded_nouns_next_to_those_of_nltk(embedded):
    """Check the differences to NLTK: 25 of 156 nouns are missing and 7 are new at the time of writing.

    Both taggers make mistakes, and "home" is debatable.
    """
    missing, more, n = Counter(), Counter(), 0
    for _, story in stories_tagged_by_nltk():
        sentences = [" ".join(word for word, _ in sentence) for sentence in story["pos_tags"]]
        for ours, theirs in zip(embedded.nouns(sentences), story["nouns_per_sentence_sorted"], strict=True):
            missing += Counter(theirs) - Counter(ours)
            more += Counter(ours) - Counter(theirs)
            n += len(theirs)
    assert n == 156
    assert missing["home"] >= 8
    assert missing.total() <= 28
    assert more.total() <= 10


@pytest.mark.parametrize("rest", ["", " in the garden", " after dinner with us"])
def test_what_was_done_in_the_past_is_seldom_a_noun(embedded, rest):
    """Check that most subjects are found unchanged: 135, 140 and 140 of 144. "A bird swam" is not one of them."""
    verbs = ["sang", "slept", "swam", "leapt", "rode", "hid", "shone", "wept", "laughed", "jumped", "waved", "ate"]
    subjects = ["A bird", "The boy", "The children", "A small dog", "My grandmother", "They"]
    sentences = [
        (subject, f"{subject} {verb}{rest}{end}") for subject in subjects for verb in verbs for end in (".", "")
    ]
    found = embedded.noun_phrases([text for _, text in sentences])
    right = [phrases[:1] == [subject.lower()] for phrases, (subject, _) in zip(found, sentences, strict=True)]
    assert sum(right) >= 0.9 * len(right)
