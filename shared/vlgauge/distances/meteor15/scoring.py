"""METEOR 1.5 of many pairs of texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    texts = _prepared(chain(own, chain.from_iterable(theirs)), sources)
    pairs = []
    for text, others in zip(own, theirs, strict=True):
        pairs.append([texts.pair(text, other) for other in others])
        advance(1)
    scores = iter(_scores(chain.from_iterable(pairs)).tolist())
    return [Row(row, [next(scores) for _ in row], [k for k, _ in one]) for row, one in zip(pairs, parts, strict=True)]


def distance_matrices(examples: Iterable[Sequence[str]], sources: Sources) -> Iterator[Floats]:
    """Compute the distances 1 - METEOR 1.5 within each of many examples.

    Args:
        examples: Tokenized texts of each.
        sources: Of the files.

    Returns:
        One matrix per example, shape ``(N, N)``, in [0, 1]: entry [a, b] has text a as reference and b as hypothesis.
    """
    # Neither the separator nor a line end can be sent.
    every = [[text.translate(_LINE_ENDS).replace(SEPARATOR, " ") for text in texts] for texts in examples]
    prepared = _prepared(chain.from_iterable(every), sources)
    for texts in every:
        scores = _scores(prepared.pair(own, reference) for reference in texts for own in texts)
        yield 1.0 - scores.reshape(len(texts), len(texts))


class _Prepared:
    """Texts that are prepared once each."""

    def __init__(self, texts: Mapping[str, Sequence[str]], family: TextFamily) -> None:
        self._family = family
        self._texts = {text: family.text(tokens) for text, tokens in texts.items()}

    def pair(self, own: str, reference: str) -> Pair:
        """Match two of them."""
        mine, theirs = self._texts[own], self._texts[reference]
        if mine.codes == theirs.codes:
            # Equal texts are matched by the exact stage alone, whose best path is the diagonal.
            matches: list[Match] = [(at, 1, at, 1, 0) for at in range(len(mine.codes))]
        else:
            matches = found_matches(self._family.candidates(mine, theirs), len(mine.codes))
        return Pair(mine, theirs, matches, statistics_of(matches, mine.is_function, theirs.is_function))


def _prepared(texts: Iterable[str], sources: Sources) -> _Prepared:
    tokens = {text: meteor_tokens(text, sources.lists.prefixes) for text in dict.fromkeys(texts)}
    return _Prepared(tokens, TextFamily(sources.lists, sources.table, tokens.values()))


def _scores(pairs: Iterable[Pair]) -> Floats:
    statistics = np.array([pair.statistics for pair in pairs], dtype=np.float64)
    return scores_of(statistics.reshape(-1, len(COLUMNS)))
