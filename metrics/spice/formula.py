"""SPICE (Anderson et al., 2016) of parsed scene graphs: F-score of the tuples of a caption and its references.

In the symbols of the paper, T(G) is the set of tuples of a graph. Tuples are matched, and P, R and F1 are computed by
Eqs. 2 to 5.
"""

import math
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from vlgauge.inputs.text.word_lists import word_list

Synsets = Callable[[str], frozenset[str]]
Words = tuple[str, ...]

# Attributes in the color, number and size sub-scores of the paper. "gray" and "grey" are spellings of one word.
ATTRIBUTES = {kind: word_list(f"spice_{kind}") for kind in ("colours", "numbers", "sizes")}


@dataclass(eq=False)
class Concept:
    """Words that denote the same thing, and the synsets that they may belong to."""

    words: frozenset[str]
    synsets: frozenset[str]

    def similar(self, other: "Concept") -> bool:
        """Return whether two concepts share a word or a synset."""
        return not self.synsets.isdisjoint(other.synsets) or not self.words.isdisjoint(other.words)

    def similarity(self, other: "Concept") -> float:
        """Return 1 if the concepts share a word, otherwise the Jaccard similarity of their synsets. Range [0, 1]."""
        if not self.words.isdisjoint(other.words):
            return 1.0
        return len(self.synsets & other.synsets) / max(1, len(self.synsets | other.synsets))

    def merge(self, other: "Concept") -> None:
        """Add the words and synsets of another concept."""
        self.words |= other.words
        self.synsets |= other.synsets


@dataclass(eq=False)
class Node:
    """Object of a merged graph with its attributes."""

    thing: Concept
    attributes: list[Concept] = field(default_factory=list)


@dataclass
class MergedGraph:
    """Scene graph with similar objects, attributes and relations merged, as SPICE merges a caption and its references.

    An object is merged with the equal object or, if there is none, with the most similar one, the first one of ties. An
    attribute is merged with the first similar attribute of its object, and a relation with the first similar relation
    between the same objects.
    """

    synsets: Synsets
    nodes: list[Node] = field(default_factory=list)
    relations: list[tuple[Node, Concept, Node]] = field(default_factory=list)
    # Indices of the nodes that contain a word or a synset, and the relations from one node to another.
    _sharing: dict[str, set[int]] = field(default_factory=dict)
    _between: dict[tuple[int, int], list[Concept]] = field(default_factory=dict)

    def add(self, words: Words) -> None:
        """Add an (object), (object, attribute) or (subject, relation, object) tuple."""
        source = self._node(words[0])
        if len(words) == 2:
            _add_merged(source.attributes, self._concept(words[1]))
        elif len(words) == 3:
            target, relation = self._node(words[2]), self._concept(words[1].removeprefix("be "))
            between = self._between.setdefault((id(source), id(target)), [])
            if _add_merged(between, relation):
                self.relations.append((source, relation, target))

    def tuples(self) -> list[tuple[Concept, ...]]:
        """Return T(G) (Anderson et al., 2016, Eq. 2): each object followed by its attributes, then the relations."""
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
        # All other nodes have the similarity 0.
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
    """Merge a concept with the first similar one, or append it, and return whether it was appended."""
    for concept in concepts:
        if concept.similar(new):
            concept.merge(new)
            return False
    concepts.append(new)
    return True


def merge_tuples(graph: Iterable[Words], synsets: Synsets) -> list[tuple[Concept, ...]]:
    """Return T(G) of word tuples, with similar objects, attributes and relations merged.

    Args:
        graph: Tuples of one caption, or of all references of one caption.
        synsets: Function that returns the synsets that a word or compound may belong to.
    """
    found = MergedGraph(synsets)
    for words in graph:
        found.add(words)
    return found.tuples()


def match_tuples(candidate: Sequence[tuple[Concept, ...]], references: Sequence[tuple[Concept, ...]]) -> list[bool]:
    """Return which tuples of a candidate have a similar tuple in the references.

    Similar tuples have the same length and similar parts. As in the authors' code, several tuples may match the same
    reference tuple.
    """
    # The first parts of similar tuples have a word or a synset in common.
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
    """Compute precision, recall and F1 from tuple counts (Anderson et al., 2016, Eq. 5; Eqs. 3 and 4).

    P = matched / candidate, R = matched / references, F1 = 2 P R / (P + R). As in the authors' code, all three are 0 if
    nothing matches and NaN if the references have no tuples. R can exceed 1, because two candidate tuples may match the
    same reference tuple.
    """
    if n_references == 0:
        return math.nan, math.nan, math.nan
    if n_matched == 0:
        return 0.0, 0.0, 0.0
    precision, recall = n_matched / n_candidate, n_matched / n_references
    return precision, recall, 2 * precision * recall / (precision + recall)


KINDS = ("objects", "attributes", "relations", *ATTRIBUTES)


def is_kind(kind: str, found: tuple[Concept, ...]) -> bool:
    """Return whether a tuple belongs to a sub-score."""
    if kind in ("objects", "attributes", "relations"):
        return len(found) == 1 + ("objects", "attributes", "relations").index(kind)
    return len(found) == 2 and not found[1].words.isdisjoint(ATTRIBUTES[kind])
