"""METEOR 1.5 of many pairs of texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr
from vlgauge.families.ngram.meteor15.alignment import AlignmentMatches, concatenate_matches, find_matches
from vlgauge.families.ngram.meteor15.formula import Floats, scores_of, statistics_of
from vlgauge.families.ngram.meteor15.sources import Sources
from vlgauge.families.ngram.meteor15.texts import TextFamily
from vlgauge.inputs.text.meteor_tokens import meteor_tokens
from vlgauge.inputs.text.ngrams import Ints, first_of_run, group_by_size, lengths_of, number_distinct

SEPARATOR = "|||"  # separates texts in the protocol of the program, so no text can contain it
# Maximum number of words of a text, except if all its references are equal to it. The memory and the time of a pair
# grow with the product of both numbers, and faster if a text repeats its words.
MAX_WORDS = 2**11
_CELLS_AT_ONCE = 2**18  # pairs of tokens
_PAIRS_AT_ONCE = 2**12


class TextPair(NamedTuple):
    """Hypothesis and a reference, or a part of a reference, with their matches.

    Attributes:
        own: Tokens of the hypothesis.
        reference: Tokens of the reference.
        reference_index: Index of the reference among those of the hypothesis.
        score: Score of the pair.
        matches: Start and length in the reference, start and length in the hypothesis, and index of the stage, in the
            order of the reference.
        statistics: Statistics in the order of `vlgauge.families.ngram.meteor15.formula.COLUMNS`.
    """

    own: Sequence[str]
    reference: Sequence[str]
    reference_index: int
    score: float
    matches: list[tuple[int, ...]]
    statistics: list[int]


@dataclass(frozen=True, eq=False)
class _Aligned:
    """Scores of P pairs of texts.

    Attributes:
        own: Shape ``(P,)``, indices of the hypotheses.
        references: Shape ``(P,)``, indices of the references.
        matches: Matches of all pairs.
        statistics: Shape ``(P, 21)``.
        scores: Shape ``(P,)``.
    """

    own: Ints
    references: Ints
    matches: AlignmentMatches
    statistics: Ints
    scores: Floats


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of R rows.

    Attributes:
        scores: Shape ``(R,)``, maximum score of each row.
        statistics: Shape ``(R, 21)``, statistics of the pairs with these scores.
    """

    scores: Floats
    statistics: Ints
    _texts: Sequence[Sequence[str]]
    _pairs: _Aligned
    _of: Sequence[Sequence[int]]  # index of the reference of each pair, by row

    def __iter__(self) -> Iterator[list[TextPair]]:
        """Yield the pairs of each row, at least one, which is slower than reading the arrays."""
        matches = self._pairs.matches
        ends = np.searchsorted(matches.pair, np.arange(1, len(self._pairs.own) + 1))
        columns = np.stack([matches.start, matches.length, matches.own_start, matches.own_length, matches.stage], 1)
        every = map(
            TextPair,
            (self._texts[i] for i in self._pairs.own),
            (self._texts[i] for i in self._pairs.references),
            chain.from_iterable(self._of),
            self._pairs.scores.tolist(),
            (list(map(tuple, own.tolist())) for own in np.split(columns, ends)),
            self._pairs.statistics.tolist(),
        )
        return (list(islice(every, len(of))) for of in self._of)


def _in_one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def format_hypothesis(text: str) -> str:
    """Return the text that the COCO caption evaluation sends to the program for a hypothesis."""
    return _in_one_line(text).replace(SEPARATOR, "").replace("  ", " ")


def format_references(text: str) -> list[str]:
    """Return the references that the program parses from a reference of the COCO caption evaluation, at least one."""
    return _in_one_line(text).split(SEPARATOR)


def coco_rows(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sources,
    advance: Callable[[int], object] = lambda n: None,
    rows: Sequence[int] | None = None,
) -> RowScores:
    """Score rows as the COCO caption evaluation does.

    Args:
        hypotheses: Tokenized texts.
        references: References of each hypothesis, at least one.
        sources: Opened word lists and paraphrase table.
        advance: Called with the number of rows that were completed.
        rows: Number of each row in error messages. None to count them from 0.

    Raises:
        UsageError: If a hypothesis or a reference has more than `MAX_WORDS` words, and they are not equal.
    """
    own = [format_hypothesis(text) for text in hypotheses]
    parts = [[(k, part) for k, text in enumerate(texts) for part in format_references(text)] for texts in references]
    theirs = [part for row in parts for _, part in row]
    n_pairs = lengths_of(parts)
    tokens, number = _tokens([*own, *theirs], sources)
    family = TextFamily(sources.lists, sources.table, tokens)
    row = np.repeat(np.arange(len(own)), n_pairs)
    _check_not_long(family, number[row], number[len(own) :], tokens, row if rows is None else np.array(rows)[row])
    n_done = 0

    def pairs_done(n: int) -> None:
        nonlocal n_done
        n_rows = (n_done + n) * len(own) // max(1, len(row)) - n_done * len(own) // max(1, len(row))
        n_done += n
        advance(n_rows)

    pairs = _align_pairs(family, number[row], number[len(own) :], pairs_done)
    first = np.cumsum(n_pairs) - n_pairs
    highest = np.maximum.reduceat(pairs.scores, first) if len(own) else pairs.scores
    best = np.flatnonzero(pairs.scores == highest[row])
    best = best[first_of_run(row[best])]
    return RowScores(highest, pairs.statistics[best], tokens, pairs, [[k for k, _ in one] for one in parts])


def distance_matrices(texts: Iterable[str], sources: Sources) -> Callable[[Iterable[Sequence[str]]], Iterator[Floats]]:
    """Prepare the distances 1 - METEOR 1.5 within each of many examples.

    Args:
        texts: Every tokenized text of the examples.
        sources: Opened word lists and paraphrase table.

    Returns:
        Function from the texts of examples to an iterator over one matrix per example, shape ``(N, N)``, float64, in
        [0, 1]. Entry [a, b] has text a as reference and text b as hypothesis. It raises UsageError for two different
        texts in one example of which one has more than `MAX_WORDS` words.
    """
    every = list(dict.fromkeys(map(_sendable, texts)))
    tokens, numbers = _tokens(every, sources)
    number = dict(zip(every, numbers.tolist(), strict=True))
    family = TextFamily(sources.lists, sources.table, tokens)

    def matrices(examples: Iterable[Sequence[str]]) -> Iterator[Floats]:
        numbered = (np.array([number[_sendable(text)] for text in example], np.int64) for example in examples)
        for block in group_by_size(numbered, lambda example: len(example) ** 2, _PAIRS_AT_ONCE):
            own, references = (
                np.concatenate([make(example, len(example)) for example in block]) for make in (np.tile, np.repeat)
            )
            _check_not_long(family, own, references, tokens)
            sizes = lengths_of(block)
            parts = np.split(_align_pairs(family, own, references).scores, np.cumsum(sizes**2)[:-1])
            yield from (1.0 - part.reshape(n, n) for part, n in zip(parts, sizes, strict=True))

    return matrices


def _sendable(text: str) -> str:
    """Remove separators and line ends, which the protocol of the program cannot send."""
    return _in_one_line(text).replace(SEPARATOR, " ")


def _tokens(texts: Iterable[str], sources: Sources) -> tuple[list[list[str]], Ints]:
    """Return the tokens of the distinct texts, and the index of each text among them."""
    distinct, number = number_distinct(texts)
    return [meteor_tokens(text, sources.lists.prefixes) for text in distinct], number


def _check_not_long(
    family: TextFamily, own: Ints, references: Ints, tokens: Sequence[Sequence[str]], rows: Ints | None = None
) -> None:
    """Check the number of words of pairs of texts. Equal texts need no search, so they can have any length.

    Raises:
        UsageError: If a text has too many words. The message names the row, if there are `rows`.
    """
    longest = np.maximum(family.lengths[own], family.lengths[references])
    long = np.flatnonzero((longest > MAX_WORDS) & (family.contents[own] != family.contents[references]))
    if len(long):
        at = long[0]
        text = max(own[at], references[at], key=family.lengths.__getitem__)
        start = short_repr(" ".join(tokens[text][:8]))
        raise UsageError(
            f"`predictions` and `references` must have at most {MAX_WORDS:,} words per text for METEOR 1.5, got "
            f"{longest[at]:,} words{'' if rows is None else f' in row {rows[at]}'} in the text that starts with {start}"
        )


def _align_pairs(
    family: TextFamily, own: Ints, references: Ints, advance: Callable[[int], object] = lambda n: None
) -> _Aligned:
    """Match and score pairs of texts."""
    # Process texts of similar length together, so that few pairs wait for longer ones.
    order = np.argsort(family.lengths[references], kind="stable")
    cells = np.cumsum((family.lengths[own] * family.lengths[references])[order])
    found = []
    for part in np.split(order, np.flatnonzero(first_of_run(cells // _CELLS_AT_ONCE))[1:]):
        is_same = family.contents[own[part]] == family.contents[references[part]]
        # Equal texts are matched by the exact stage alone, whose best path is the diagonal.
        same, others = part[is_same], part[~is_same]
        candidates = family.candidates(own[others], references[others])
        lengths = family.lengths[references[others]], family.lengths[own[others]]
        parts = ((same, family.diagonals(own[same])), (others, find_matches(candidates, *lengths)))
        found += [matches._replace(pair=pairs[matches.pair]) for pairs, matches in parts]
        advance(len(part))
    matches = concatenate_matches(found)
    matches = matches.select(np.argsort(matches.pair, kind="stable"))
    statistics = statistics_of(
        matches,
        lengths=[family.lengths[own], family.lengths[references]],
        n_function=[family.n_function[own], family.n_function[references]],
        matched=[
            family.functions_within(own[matches.pair], matches.own_start, matches.own_length),
            family.functions_within(references[matches.pair], matches.start, matches.length),
        ],
    )
    return _Aligned(own, references, matches, statistics, scores_of(statistics.astype(np.float64)))
