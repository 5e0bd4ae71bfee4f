"""Nouns among tagged tokens, by the embedded pipeline and by NLTK."""

import json
from collections import Counter
from pathlib import Path

import pytest

from vlgauge import english
from vlgauge.encoders import WeightsNotFound
from vlgauge.language import punkt_splitter
from vlgauge.language import replace_placeholders
from vlgauge.noun_phrases import NltkNouns
from vlgauge.noun_phrases import nouns_among
from vlgauge.noun_phrases import phrase_source

GOLDEN = Path(__file__).resolve().parent / "golden" / "rovist_vg.json"


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
    """Stories written for this purpose, as lists of sentences of (word, tag); NLTK 3.8.1 tagged them."""
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
    except LookupError:
        pytest.skip("NLTK's sentence splitter is not here")
    except WeightsNotFound:
        pytest.skip("NLTK's tagger data is not here")
    for name, story in stories_tagged_by_nltk():
        found = source.nouns(split(replace_placeholders(story["story"])))
        assert [sorted(each) for each in found] == story["nouns_per_sentence_sorted"], name


def test_nltk_data_is_missing(monkeypatch, tmp_path):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(WeightsNotFound, match=r"python -m nltk.downloader averaged_perceptron_tagger_eng.*NLTK_DATA"):
        phrase_source("nltk", argument="nouns")


def test_embedded_nouns_beside_those_of_nltk(embedded):
    """Counted, as the card of the pipeline has it; both err, and "home" is a matter of taste."""
    missing, more, n = Counter(), Counter(), 0
    stories = stories_tagged_by_nltk()
    for _, story in stories:
        sentences = [" ".join(word for word, _ in sentence) for sentence in story["pos_tags"]]
        for ours, theirs in zip(embedded.nouns(sentences), story["nouns_per_sentence_sorted"], strict=True):
            missing += Counter(theirs) - Counter(ours)
            more += Counter(ours) - Counter(theirs)
            n += len(theirs)
    often = {"home": 9, "slept": 3, "hello": 2, "]": 2}
    once = ("passing", "Run", "[", "male", "blue", "wait", "Wow", "outside")
    assert missing == Counter(often) + Counter(once)
    assert more == Counter(["female", "met", "someday", "No", "one", "table", "asleep"])
    assert n == 156
    card = (english.FOLDER / "README.md").read_text("utf-8").replace("\n", " ")
    assert f"{len(stories)} handmade stories, whose {n} nouns" in card
    assert f"not all right either: {missing.total()} of them are missing" in card
    assert f"and {more.total()} are new" in card


def test_what_was_done_in_the_past_is_no_noun(embedded):
    verbs = ["sang", "slept", "swam", "leapt", "rode", "hid", "shone", "wept", "laughed", "jumped", "waved", "ate"]
    subjects = ["A bird", "The boy", "The children", "A small dog", "My grandmother", "They"]
    sentences = [(subject, f"{subject} {verb}{end}") for subject in subjects for verb in verbs for end in (".", "")]
    texts = [text for _, text in sentences]
    assert embedded.noun_phrases(texts) == [[subject.lower()] for subject, _ in sentences]
    nouns = {noun for found in embedded.nouns(texts) for noun in found}
    assert nouns == {"bird", "boy", "children", "dog", "grandmother"}
