"""SPICE's numbers of given graphs (Anderson et al., 2016): tuples of a caption that its references say too.

Symbols of the paper: T(G), the tuples of a graph; the matching of tuples; P, R and F1 (Eqs. 2 to 5).
"""

import math
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

Synsets = Callable[[str], frozenset[str]]
Words = tuple[str, ...]

# Attributes that are colours and numbers, as the paper's sub-scores sort them; "gray" and "grey" are one word twice.
COLOURS = frozenset(
    """black blue brown cyan gold golden gray green grey indigo maroon orange pink purple red silver tan turquoise
    violet white yellow""".split()  # noqa: SIM905
)
NUMBERS = frozenset("one two three four five six seven eight nine ten".split())  # noqa: SIM905
SIZES = frozenset(
    """big broad bulky compact colossal deep enormous fat giant gigantic great high huge immense jumbo large little
    long low massive miniature mini narrow petite puny short shallow skinny slender slim small tall teeny thick
    thin tiny towering vast wide""".split()  # noqa: SIM905
)


@dataclass(eq=False)
class Concept:
    """Words that stand for one thing, and the synsets that they may be in."""

    words: frozenset[str]
    synsets: frozenset[str]

    def similar(self, other: "Concept") -> bool:
        """Whether a word or a synset is in both."""
        return not self.synsets.isdisjoint(other.synsets) or not self.words.isdisjoint(other.words)

    def similarity(self, other: "Concept") -> float:
        """1 where a word is in both, else how large a share of the synsets is; in [0, 1]."""
        if not self.words.isdisjoint(other.words):
            return 1.0
        return len(self.synsets & other.synsets) / max(1, len(self.synsets | other.synsets))

    def merge(self, other: "Concept") -> None:
        """Take in the words and synsets of another."""
        self.words |= other.words
        self.synsets |= other.synsets


@dataclass(eq=False)
class Node:
    """An object of a merged graph with its attributes."""

    thing: Concept
    attributes: list[Concept] = field(default_factory=list)


@dataclass
class MergedGraph:
    """Objects, attributes and relations in which similar ones are one, as SPICE merges a caption and its references.

    An object becomes one with the object that is equal to it, else with the most similar one, the first of several. An
    attribute becomes one with the first similar attribute of its object, a relation with the first similar one between
    the same objects.
    """

    synsets: Synsets
    nodes: list[Node] = field(default_factory=list)
    relations: list[tuple[Node, Concept, Node]] = field(default_factory=list)
    # Places of the nodes that have a word or a synset, and the relations from one node to another.
    _sharing: dict[str, set[int]] = field(default_factory=dict)
    _between: dict[tuple[int, int], list[Concept]] = field(default_factory=dict)

    def add(self, words: Words) -> None:
        """Add (object), (object, attribute) or (subject, relation, object)."""
        source = self._node(words[0])
        if len(words) == 2:
            _add_merged(source.attributes, self._concept(words[1]))
        elif len(words) == 3:
            target, relation = self._node(words[2]), self._concept(words[1].removeprefix("be "))
            between = self._between.setdefault((id(source), id(target)), [])
            if _add_merged(between, relation):
                self.relations.append((source, relation, target))

    def tuples(self) -> list[tuple[Concept, ...]]:
        """T(G) (Anderson et al., 2016, Eq. 2): objects, each with its attributes behind it, then relations."""
        found: list[tuple[Concept, ...]] = []
        for node in self.nodes:
            found += [(node.thing,), *((node.thing, attribute) for attribute in node.attributes)]
        return found + [(source.thing, relation, target.thing) for source, relation, target in self.relations]

    def _concept(self, word: str) -> Concept:
        return Concept(frozenset((word,)), self.synsets(word))

    def _node(self, word: str) -> Node:
        thing = self._concept(word)
        names = thing.words | thing.synsets
        best, most = None, 0.0
        # All others have the similarity 0.
        for place in sorted(set().union(*(self._sharing.get(name, ()) for name in names))):
            node = self.nodes[place]
            if node.thing.words == thing.words and node.thing.synsets == thing.synsets:
                return node
            if (similarity := node.thing.similarity(thing)) > most:
                best, most = place, similarity
        if best is None:
            best = len(self.nodes)
            self.nodes.append(Node(thing))
        else:
            self.nodes[best].thing.merge(thing)
        for name in names:
            self._sharing.setdefault(name, set()).add(best)
        return self.nodes[best]


def _add_merged(concepts: list[Concept], new: Concept) -> bool:
    """Merge a concept with the first similar one, or add it; whether it was added."""
    for concept in concepts:
        if concept.similar(new):
            concept.merge(new)
            return False
    concepts.append(new)
    return True


def merged_tuples(graph: Iterable[Words], synsets: Synsets) -> list[tuple[Concept, ...]]:
    """T(G) of tuples of words in which similar ones are merged.

    Args:
        graph: Of one caption, or of all references of one.
        synsets: The synsets that a word or compound may be in.
    """
    found = MergedGraph(synsets)
    for words in graph:
        found.add(words)
    return found.tuples()


def matched(candidate: Sequence[tuple[Concept, ...]], references: Sequence[tuple[Concept, ...]]) -> list[bool]:
    """Which tuples of a candidate have a similar tuple in the references: of as many parts, each of which is similar.

    Several may have the same one, as in the authors' code.
    """
    # Similar tuples have a word or a synset of their first parts in common.
    sharing: dict[str, list[tuple[Concept, ...]]] = {}
    for other in references:
        for name in other[0].words | other[0].synsets:
            sharing.setdefault(name, []).append(other)
    return [
        any(_similar(one, other) for name in one[0].words | one[0].synsets for other in sharing.get(name, ()))
        for one in candidate
    ]


def _similar(one: tuple[Concept, ...], other: tuple[Concept, ...]) -> bool:
    return len(one) == len(other) and all(mine.similar(theirs) for mine, theirs in zip(one, other, strict=True))


def f_score(n_matched: int, n_candidate: int, n_references: int) -> tuple[float, float, float]:
    """P, R and F1 of numbers of tuples (Anderson et al., 2016, Eqs. 3 and 4, and Eq. 5).

    P = matched / candidate, R = matched / references, F1 = 2 P R / (P + R), as the authors' code computes them: all are
    0 where nothing matches, NaN where the references have no tuple. R may be above 1, since two tuples of a candidate
    may match one of the references.
    """
    if n_references == 0:
        return math.nan, math.nan, math.nan
    if n_matched == 0:
        return 0.0, 0.0, 0.0
    precision, recall = n_matched / n_candidate, n_matched / n_references
    return precision, recall, 2 * precision * recall / (precision + recall)


KINDS = ("objects", "attributes", "relations", "colours", "numbers", "sizes")


def is_kind(kind: str, found: tuple[Concept, ...]) -> bool:
    """Whether a tuple counts for a sub-score."""
    if kind in ("objects", "attributes", "relations"):
        return len(found) == 1 + ("objects", "attributes", "relations").index(kind)
    words = {"colours": COLOURS, "numbers": NUMBERS, "sizes": SIZES}[kind]
    return len(found) == 2 and not found[1].words.isdisjoint(words)
