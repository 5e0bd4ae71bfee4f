"""Synsets, stems and lemmas: by hand, and the shipped table."""

import hashlib
import re

import pytest
from folders import ROOT

from vlgauge.families.scene_graphs.synsets import infinitive, is_lemma, lemma, singular, synsets

DATA = ROOT / "shared" / "vlgauge" / "data"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cab", "taxi"),
        ("traffic light", "stoplight"),
        ("dogs", "dog"),  # from the suffix rules
        ("men", "man"),  # an exception with two lemmas
        ("axes", "ax"),
        ("axes", "axis"),  # an exception of two lemmas
        ("big", "large"),
        ("sit", "sitting"),
        ("mouthful", "mouth"),  # the suffix "ful" is removed
        ("zebras", "zebra"),  # a synset of which it is the only member
    ],
)
def test_share_a_synset(one, other):
    assert synsets(one) & synsets(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("dog", "cat"), ("man", "woman"), ("zebra", "giraffe"), ("glass", "glas"), ("xyzzy", "xyzzy"), ("", "")],
)
def test_share_none(one, other):
    assert not synsets(one) & synsets(other)


def test_a_synset_of_one_lemma_is_a_synset_of_its_own():
    # "zebra" is one noun; were all lone synsets one, every two such words would be synonyms.
    assert len(synsets("zebra")) == 1
    assert len(synsets("dog")) == 8  # seven as a noun, one as a verb


@pytest.mark.parametrize(
    ("word", "part", "found"),
    [
        ("dogs", "noun", "dog"),
        ("geese", "noun", "goose"),
        ("bus", "noun", "bus"),
        ("glasses", "noun", "glass"),
        ("sitting", "verb", "sit"),
        ("was", "verb", "be"),
        ("redder", "adj", "red"),
        ("xyzzies", "noun", "xyzzies"),
        ("men", "noun", "men"),  # WordNet has the noun "men" too
    ],
)
def test_lemma(word, part, found):
    assert lemma(word, part) == found


def test_singular():
    assert [singular(word) for word in ("men", "people", "buses", "bus", "glasses")] == [
        *("man", "people", "bus", "bus", "glass")
    ]


@pytest.mark.parametrize(
    ("word", "found"),
    [("rides", "ride"), ("riding", "ride"), ("was", "be"), ("sits", "sit"), ("lying", "lie"), ("felt", "feel")],
)
def test_infinitive(word, found):
    assert infinitive(word) == found


def test_is_lemma():
    assert is_lemma("hot dog")
    assert not is_lemma("xyzzy")


def test_shipped_table_is_the_recorded_one():
    recorded = dict(re.findall(r"\| `(\S+)` \|[^|]*\| `(\w{64})`", (DATA / "SOURCES.md").read_text("utf-8")))
    digest = hashlib.sha256((DATA / "wordnet_synsets.txt.xz").read_bytes()).hexdigest()
    assert recorded["wordnet_synsets.txt.xz"] == digest
