"""METEOR 1.5 of many pairs of texts."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from vlgauge.distances.meteor15.alignment import found_matches
from vlgauge.distances.meteor15.formula import COLUMNS, Floats, Match, scores_of, statistics_of
from vlgauge.distances.meteor15.sources import Sources
from vlgauge.distances.meteor15.texts import Text, TextFamily
from vlgauge.text.meteor_tokens import meteor_tokens

SEPARATOR = "|||"  # of the texts in the program's protocol, which no text can hold
_LINE_ENDS = str.maketrans("\r\n", "  ")


class Pair(NamedTuple):
    """A hypothesis and a reference.

    Attributes:
        own: The hypothesis.
        reference: The reference.
        matches: In the order of the reference.
        statistics: In the order of `vlgauge.distances.meteor15.formula.COLUMNS`.
    """

    own: Text
    reference: Text
    matches: list[Match]
    statistics: list[int]


@dataclass(frozen=True)
class Row:
    """A hypothesis with its references.

    Attributes:
        pairs: One per reference or part of it, at least one.
        scores: Of each pair.
        of: Index of the reference of each pair.
    """

    pairs: Sequence[Pair]
    scores: Sequence[float]
    of: Sequence[int]

    @property
    def best(self) -> int:
        """Index of the pair that counts: the first with the highest score."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)

    @property
    def counted(self) -> Pair:
        """The pair that counts."""
        return self.pairs[self.best]

    @property
    def best_pairs(self) -> list[Pair]:
        """Of each reference the pair whose score is its own."""
        found: dict[int, tuple[float, Pair]] = {}
        for index, score, pair in zip(self.of, self.scores, self.pairs, strict=True):
            if index not in found or score > found[index][0]:
                found[index] = score, pair
        return [pair for _, pair in found.values()]

    @property
    def per_reference(self) -> list[float]:
        """The score against each reference: the highest of its parts."""
        found: dict[int, float] = {}
        for index, score in zip(self.of, self.scores, strict=True):
            found[index] = max(score, found.get(index, 0.0))
        return list(found.values())


def sent_hypothesis(text: str) -> str:
    """Return what the COCO caption evaluation sends of a hypothesis to the program."""
    return text.translate(_LINE_ENDS).replace(SEPARATOR, "").replace("  ", " ")


def sent_references(text: str) -> list[str]:
    """Return what the program takes a reference of the COCO caption evaluation for: one or several."""
    return text.translate(_LINE_ENDS).split(SEPARATOR)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause the garbage collector: what is made here has no cycles, and looking for some takes half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_collection_paused()
def coco_rows(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sources,
    advance: Callable[[int], object] = lambda n: None,
) -> list[Row]:
    """Score rows as the COCO caption evaluation does.

    Args:
        hypotheses: Tokenized texts.
        references: Those of each hypothesis, at least one.
        sources: Of the files.
        advance: Told the number of rows that are done.
    """
    own = [sent_hypothesis(text) for text in hypotheses]
    parts = [[(k, part) for k, text in enumerate(texts) for part in sent_references(text)] for texts in references]
    theirs = [[part for _, part in one] for one in parts]
    tokens = _tokens(chain(own, chain.from_iterable(theirs)), sources)
    family = TextFamily(sources.lists, sources.table, tokens.values())
    prepared = {text: family.text(found) for text, found in tokens.items()}
    pairs = []
    for text, others in zip(own, theirs, strict=True):
        pairs.append([_pair(family, prepared[text], prepared[other]) for other in others])
        advance(1)
    scores = iter(_scores(chain.from_iterable(pairs)).tolist())
    return [Row(row, [next(scores) for _ in row], [k for k, _ in one]) for row, one in zip(pairs, parts, strict=True)]


def distance_matrices(texts: Iterable[str], sources: Sources) -> Callable[[Iterable[Sequence[str]]], Iterator[Floats]]:
    """Prepare the distances 1 - METEOR 1.5 within each of many examples.

    Args:
        texts: Every tokenized text of the examples.
        sources: Of the files.

    Returns:
        From the texts of examples to one matrix per example, shape ``(N, N)``, in [0, 1]: entry [a, b] has text a as
        reference and b as hypothesis.
    """
    tokens = _tokens(map(_sendable, texts), sources)
    family = TextFamily(sources.lists, sources.table, tokens.values())

    def matrices(examples: Iterable[Sequence[str]]) -> Iterator[Floats]:
        for example in examples:
            own = [family.text(tokens[_sendable(text)]) for text in example]
            scores = _scores(_pair(family, mine, reference) for reference in own for mine in own)
            yield 1.0 - scores.reshape(len(own), len(own))

    return matrices


def _sendable(text: str) -> str:
    """A text without separators and line ends, which the program's protocol cannot send."""
    return text.translate(_LINE_ENDS).replace(SEPARATOR, " ")


def _tokens(texts: Iterable[str], sources: Sources) -> dict[str, list[str]]:
    return {text: meteor_tokens(text, sources.lists.prefixes) for text in dict.fromkeys(texts)}


def _pair(family: TextFamily, own: Text, reference: Text) -> Pair:
    """Match two texts."""
    if own.codes == reference.codes:
        # Equal texts are matched by the exact stage alone, whose best path is the diagonal.
        matches: list[Match] = [(at, 1, at, 1, 0) for at in range(len(own.codes))]
    else:
        matches = found_matches(family.candidates(own, reference), len(own.codes))
    return Pair(own, reference, matches, statistics_of(matches, own.is_function, reference.is_function))


def _scores(pairs: Iterable[Pair]) -> Floats:
    statistics = np.array([pair.statistics for pair in pairs], dtype=np.float64)
    return scores_of(statistics.reshape(-1, len(COLUMNS)))
