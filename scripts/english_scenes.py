"""Trees of sentences about drawn scenes and of plain captions, made by a grammar: what the treebank has little of.

"a red circle left of a star" is no sentence of a weblog. The sentences are made in spaCy's style right away.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
from english_trees import Tree

SHAPES = ("circle", "disc", "square", "box", "triangle", "star", "cross", "ring", "hoop", "shape", "ball", "line")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "violet", "pink", "brown", "white", "black", "beige")
GROUNDS = ("white", "grey", "gray", "black", "beige", "green", "dark", "light", "plain")
SIZES = ("small", "little", "tiny", "large", "big", "huge")
PLACES = ("background", "backdrop", "background", "wall", "table", "field")
PEOPLE = ("girl", "boy", "man", "woman", "child", "dog", "cat", "bird", "horse", "player", "dancer", "bride")
OBJECTS = ("train", "bench", "tree", "ball", "cake", "bridge", "boat", "kite", "car", "hat", "fence", "lamp", "river")
TRAITS = ("young", "old", "tall", "happy", "wet", "new", "wooden", "long", "passing", "smiling")
BESIDE = ("above", "over", "below", "under", "beneath", "beside", "near")
TOWARDS = ("at", "with", "on", "behind", "near", "past", "from", "in")
MOVES = ("moves", "jumps", "stands", "appears", "stays", "waits", "rests")
MEETS = ("meets", "finds", "touches", "follows")
ACTS = ("waves", "looks", "sits", "stands", "runs", "plays", "sleeps", "jumps", "walks", "stops", "poses", "dances")
HOLDS = ("holds", "carries", "throws", "paints", "pulls", "watches", "eats", "opens", "rides")

TAGS = {
    "a": ("DT", "DET"), "an": ("DT", "DET"), "the": ("DT", "DET"), "is": ("VBZ", "AUX"), "are": ("VBP", "AUX"),
    "was": ("VBD", "AUX"), "there": ("EX", "PRON"), "here": ("RB", "ADV"), "and": ("CC", "CCONJ"),
    "it": ("PRP", "PRON"), "that": ("DT", "PRON"), "this": ("DT", "PRON"), "all": ("DT", "PRON"),
    ",": (",", "PUNCT"), ".": (".", "PUNCT"), "alone": ("JJ", "ADJ"),
}  # fmt: skip


class Sentence:
    """A tree that grows word by word; the head may be told later."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.tree = Tree([], [], [], [], [], [])

    def pick(self, words: Sequence[str]) -> str:
        """One of the words."""
        return words[int(self.rng.integers(len(words)))]

    def add(self, word: str, label: str, head: int | None = None, tag: str = "", part: str = "") -> int:
        """Append a word and return its place; without a head it is a root."""
        place, tree = len(self.tree.words), self.tree
        known = TAGS.get(word, ("", ""))
        values = (word, True, tag or known[0], part or known[1], place if head is None else head, label)
        for column, value in zip(vars(tree).values(), values, strict=True):
            column.append(value)
        return place

    def hang(self, places: Sequence[int], head: int) -> None:
        """Give words that came before their head that head."""
        for place in places:
            self.tree.heads[place] = head

    def verb(self, words: Sequence[str]) -> int:
        """The verb of the sentence."""
        return self.add(self.pick(words), "ROOT", None, "VBZ", "VERB")

    def adverb(self, word: str, head: int | None = None) -> int:
        """Such as "then", "left"."""
        return self.add(word, "advmod", head, "RB", "ADV")

    def phrase(self, label: str, head: int | None, nouns: Sequence[str] = SHAPES, article: str | None = None) -> int:
        """Article, properties and noun; returns the place of the noun."""
        shaped = nouns is SHAPES
        properties = [self.pick(SIZES)] * (self.rng.random() < 0.7) if shaped else []
        properties += [self.pick(COLOURS if shaped or self.rng.random() < 0.4 else TRAITS)] * (self.rng.random() < 0.7)
        return self.noun(self.pick(nouns), properties, label, head, article or ("a", "the")[self.rng.random() < 0.3])

    def noun(self, noun: str, properties: Sequence[str], label: str, head: int | None, article: str) -> int:
        """The phrase of these words; returns the place of the noun."""
        first = [*properties, noun][0]
        before = [self.add("an" if article == "a" and first[0] in "aeiou" else article, "det")]
        before += [self.add(word, "amod", None, "JJ", "ADJ") for word in properties]
        place = self.add(noun, label, head, "NN", "NOUN")
        self.hang(before, place)
        return place

    def preposition(self, word: str, head: int | None = None) -> int:
        """Such as "on"."""
        return self.add(word, "prep", head, "IN", "ADP")

    def ground(self, head: int | None = None) -> int:
        """Such as "on a white background"; returns the place of the preposition."""
        on = self.preposition(self.pick(("on", "on", "against")), head)
        self.noun(self.pick(PLACES), [self.pick(GROUNDS)], "pobj", on, "a")
        return on

    def relation(self, head: int) -> None:
        """Where something is seen from another thing: "left of a star", "to the left of it", "above the ring"."""
        kind = int(self.rng.integers(4))
        if kind == 0:
            place = self.adverb(self.pick(("left", "right")), head)
            of = self.preposition("of", place)
        elif kind == 1:
            to = self.preposition(self.pick(("to", "on")), head)
            side = self.noun(self.pick(("left", "right")), [], "pobj", to, "the")
            of = self.preposition("of", side)
        else:
            of = self.preposition(self.pick(BESIDE), head)
        if self.rng.random() < 0.1:
            self.add("it", "pobj", of)
        else:
            self.phrase("pobj", of)

    def opening(self) -> list[int]:
        """A word of sequence or a background; returns what has to hang from the verb."""
        kind = self.rng.random()
        if kind < 0.5:
            return []
        if kind < 0.65:
            places = [self.ground()]
        elif kind < 0.75:
            places = [self.preposition("after")]
            self.add(self.pick(("that", "this")), "pobj", places[0])
        elif kind < 0.8:
            places = [self.add("last", "advmod", None, "RB", "ADV")]
            self.add("all", "pobj", self.preposition("of", places[0]))
        else:
            words = ("then", "soon", "next", "later", "finally", "afterwards", "eventually", "once")
            places = [self.adverb(self.pick(words))]
        return [*places, self.add(",", "punct")] if self.rng.random() < 0.5 else places

    def ending(self, head: int) -> None:
        """Perhaps the background, perhaps the stop."""
        if self.rng.random() < 0.6:
            self.ground(head)
        if self.rng.random() < 0.5:
            self.add(".", "punct", head)


def fragment(s: Sentence) -> None:
    """Such as "a red circle left of a star on a white background", perhaps behind "a picture of"."""
    if s.rng.random() < 0.4:
        picture = s.noun(s.pick(("picture", "drawing", "photo")), [], "ROOT", None, "a")
        noun = s.phrase("pobj", s.preposition("of", picture))
    else:
        noun = s.phrase("ROOT", None)
    if s.rng.random() < 0.7:
        s.relation(noun)
    else:
        s.add("and", "cc", noun)
        s.phrase("conj", noun)
    s.ending(noun)


def existence(s: Sentence) -> None:
    """Such as "on a white background there is a red circle above a star"."""
    before = s.opening()
    there = s.add(s.pick(("there", "there", "here")), "expl")
    if s.tree.words[there] == "here":
        s.tree.labels[there] = "advmod"
    verb = s.add(s.pick(("is", "is", "was", "are")), "ROOT")
    s.hang([*before, there], verb)
    noun = s.phrase("attr", verb)
    if s.tree.words[verb] == "are":
        s.add("and", "cc", noun)
        s.phrase("conj", noun)
    elif s.rng.random() < 0.7:
        s.relation(noun)
    s.ending(verb)


def event(s: Sentence) -> None:
    """Such as "then the circle jumps above the star", "it meets a ring", "a box is alone"."""
    before = s.opening()
    subject = s.add("it", "nsubj") if s.rng.random() < 0.25 else s.phrase("nsubj", None)
    kind = s.rng.random()
    verb = s.add("is", "ROOT") if kind < 0.4 else s.verb(MEETS if kind < 0.6 else MOVES)
    s.hang([*before, subject], verb)
    if kind < 0.1:
        s.add("alone", "acomp", verb)
    elif 0.4 <= kind < 0.6:
        s.phrase("dobj", verb)
    else:
        s.relation(verb)
    s.ending(verb)


def caption(s: Sentence) -> None:
    """Such as "a young girl waves at a passing train", "the dog holds a red ball near the river"."""
    subject = s.phrase("nsubj", None, PEOPLE)
    if s.rng.random() < 0.5:
        verb = s.verb(ACTS)
        s.hang([subject], verb)
    else:
        verb = s.verb(HOLDS)
        s.hang([subject], verb)
        s.phrase("dobj", verb, OBJECTS)
    if s.rng.random() < 0.8:
        s.phrase("pobj", s.preposition(s.pick(TOWARDS), verb), OBJECTS)
    if s.rng.random() < 0.5:
        s.add(".", "punct", verb)


KINDS: tuple[tuple[Callable[[Sentence], None], float], ...] = (
    (fragment, 0.25),
    (existence, 0.25),
    (event, 0.3),
    (caption, 0.2),
)


def scene_trees(n: int, seed: int) -> list[Tree]:
    """So many trees; half of them begin with a capital.

    Args:
        n: How many.
        seed: The same trees come again for the same seed.
    """
    rng = np.random.default_rng(seed)
    trees = []
    for kind in rng.choice(len(KINDS), size=n, p=[share for _, share in KINDS]):
        sentence = Sentence(rng)
        KINDS[int(kind)][0](sentence)
        trees.append(spelled(sentence.tree, rng))
    return trees


def spelled(tree: Tree, rng: np.random.Generator) -> Tree:
    """The tree with the spaces of a sentence; every second one begins with a capital."""
    if rng.random() < 0.5:
        tree.words[0] = tree.words[0].capitalize()
    for place in range(1, len(tree.words)):
        tree.spaces[place - 1] = tree.words[place] not in (",", ".")
    return tree
