"""Trees of short sentences in the simple past, made by a grammar: as visual stories are told, and weblogs seldom are.

The treebank has neither "sang" nor "leapt"; a tagger that knows no better takes "a bird sang" for a phrase. The
verbs are the irregular ones that stories use, and everyday regular ones.
"""

from __future__ import annotations

import numpy as np
from english_scenes import OBJECTS
from english_scenes import PEOPLE
from english_scenes import TRAITS
from english_scenes import Sentence
from english_scenes import spelled
from english_trees import Tree

ALONE = (
    *("sang", "slept", "swam", "flew", "sat", "stood", "ran", "crept", "hid", "burst", "wept", "shone", "fled", "rose"),
    *("woke", "sank", "sprang", "swung", "froze", "knelt", "leapt", "lay", "grew", "drove", "dove", "fell", "came"),
    *(
        "went",
        "left",
        "spoke",
        "shook",
        "spun",
        "slid",
        "rang",
        "rode",
        "ate",
        "drank",
        "won",
        "drew",
        "began",
        "clung",
    ),
    *("laughed", "smiled", "waved", "danced", "jumped", "played", "walked", "looked", "waited", "cried", "barked"),
    *("cheered", "clapped", "climbed", "rested", "fished", "prayed", "arrived", "stopped", "listened", "dreamed"),
)
WITH_OBJECT = (
    *("ate", "drank", "rode", "drew", "hid", "swept", "fed", "blew", "bit", "bought", "brought", "built", "caught"),
    *("chose", "cut", "drove", "dug", "felt", "found", "flung", "gave", "held", "hit", "kept", "left", "lit", "lost"),
    *("made", "met", "put", "rang", "read", "sang", "saw", "sold", "sent", "shook", "stole", "struck", "swung", "tore"),
    *("threw", "took", "won", "wore", "wrote", "broke", "bent", "flew", "sewed", "spread", "stuck", "wove", "knitted"),
    *("hugged", "kissed", "painted", "pulled", "opened", "carried", "baked", "cooked", "climbed", "loved", "watched"),
)
KIN = ("grandmother", "brother", "friend", "dog", "mother", "uncle", "sister", "teacher", "cat", "family")
MANY = ("children", "girls", "boys", "friends", "dogs", "birds", "guests", "players", "people", "horses", "kids")
NAMES = ("Anna", "Tom", "Maria", "Ben", "Lucy", "Sam")
WHERE = ("in", "on", "at", "near", "behind", "under", "by", "around", "into", "over", "past", "through")
PLACES = ("park", "garden", "house", "beach", "river", "street", "kitchen", "field", "lake", "church", "table", "snow")
HOW = ("happily", "loudly", "quietly", "again", "together", "home", "away", "outside", "slowly")
WHEN = ("then", "later", "suddenly", "finally", "soon", "afterwards")


def actor(s: Sentence) -> int:
    """Who did it: "the old man", "my grandmother", "two boys", "Anna", "she"."""
    kind = int(s.rng.integers(5))
    if kind == 0:
        return s.add(s.pick(("he", "she", "they", "we", "it")), "nsubj", None, "PRP", "PRON")
    if kind == 1:
        whose = s.add(s.pick(("my", "her", "his", "our", "their")), "poss", None, "PRP$", "PRON")
        return held(s, [whose], s.add(s.pick(KIN), "nsubj", None, "NN", "NOUN"))
    if kind == 2:
        two = s.rng.random() < 0.3
        first = s.add(*(("two", "nummod", None, "CD", "NUM") if two else ("the", "det")))
        return held(s, [first], s.add(s.pick(MANY), "nsubj", None, "NNS", "NOUN"))
    if kind == 3 and s.rng.random() < 0.4:
        return s.add(s.pick(NAMES), "nsubj", None, "NNP", "PROPN")
    return s.phrase("nsubj", None, PEOPLE)


def held(s: Sentence, places: list[int], noun: int) -> int:
    """Hang the words from the noun, which is returned."""
    s.hang(places, noun)
    return noun


def deed(s: Sentence, label: str, head: int | None) -> int:
    """What was done, perhaps to something, perhaps somewhere: "sang in the park", "threw a red ball"."""
    if s.rng.random() < 0.6:
        verb = s.add(s.pick(ALONE), label, head, "VBD", "VERB")
    else:
        verb = s.add(s.pick(WITH_OBJECT), label, head, "VBD", "VERB")
        if s.rng.random() < 0.2:
            s.add(s.pick(("it", "him", "her", "them")), "dobj", verb, "PRP", "PRON")
        else:
            s.phrase("dobj", verb, OBJECTS)
    if s.rng.random() < 0.25:
        s.adverb(s.pick(HOW), verb)
    if s.rng.random() < 0.35:
        traits = [s.pick(TRAITS)] * (s.rng.random() < 0.2)
        s.noun(s.pick(PLACES), traits, "pobj", s.preposition(s.pick(WHERE), verb), s.pick(("the", "the", "a")))
    return verb


def told(s: Sentence) -> None:
    """Such as "a bird sang", "then my grandmother threw a red ball and laughed in the garden."."""
    before = []
    if s.rng.random() < 0.2:
        before = [s.adverb(s.pick(WHEN))]
        if s.rng.random() < 0.5:
            before.append(s.add(",", "punct"))
    subject = actor(s)
    verb = deed(s, "ROOT", None)
    s.hang([*before, subject], verb)
    if s.rng.random() < 0.25:
        s.add("and", "cc", verb)
        deed(s, "conj", verb)
    if s.rng.random() < 0.8:
        s.add(".", "punct", verb)


def story_trees(n: int, seed: int) -> list[Tree]:
    """So many trees; the same ones come again for the same seed."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(n):
        sentence = Sentence(rng)
        told(sentence)
        trees.append(spelled(sentence.tree, rng))
    return trees
