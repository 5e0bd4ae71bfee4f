"""Beam search for the matches of pairs of texts, which processes many pairs at a time.

Two rules appear to be mistakes of the program and affect many scores: Half of a match is rounded down to whole words,
so that a single word matched by stem, synonym or paraphrase gains nothing. The distance of a match is added to the
paths without that match.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.inputs.text.ngrams import Ints, first_of_run, ranges, sort_with_places

Flags = npt.NDArray[np.bool_]

BEAM = 40

_ROWS_AT_ONCE = 2**18  # number of paths and their copies
_WORD = 64  # bits
_LOW_BITS = np.array([(1 << n) - 1 for n in range(_WORD + 1)], np.uint64)


class AlignmentMatches(NamedTuple):
    """Matches of P pairs, or candidate matches, shape ``(n,)`` each.

    Attributes:
        pair: Index of the pair, ascending.
        start: First token in the reference, ascending within a pair.
        length: Number of tokens of the reference.
        own_start: First token in the hypothesis.
        own_length: Number of tokens of the hypothesis.
        stage: Index in `vlgauge.families.ngram.meteor15.formula.STAGES`.
    """

    pair: Ints
    start: Ints
    length: Ints
    own_start: Ints
    own_length: Ints
    stage: Ints

    def select(self, which: Ints | Flags) -> "AlignmentMatches":
        """Select matches by index or by a mask.

        Args:
            which: Indices, shape ``(n_chosen,)``, or a mask, shape ``(n_matches,)``.
        """
        return AlignmentMatches(*(column[which] for column in self))


def concatenate_matches(parts: Iterable[AlignmentMatches]) -> AlignmentMatches:
    """Concatenate the matches of all parts."""
    return AlignmentMatches(*map(np.concatenate, zip(*parts, strict=True)))


def find_matches(candidates: AlignmentMatches, n_theirs: Ints, n_own: Ints) -> AlignmentMatches:
    """Choose the matches of pairs of texts among the candidates.

    Args:
        candidates: Candidates. If several start at the same token, their order decides between equal paths. Repetitions
            are allowed.
        n_theirs: Shape ``(P,)``, number of tokens of the references.
        n_own: Shape ``(P,)``, number of tokens of the hypotheses.

    Raises:
        UsageError: If texts repeat words so often that the score of a path does not fit into 63 bits.
    """
    is_definite = _definite(candidates, n_theirs, n_own)
    n_open = np.bincount(candidates.pair[~is_definite], minlength=len(n_own))
    chosen = [np.flatnonzero(is_definite & (n_open == 0)[candidates.pair])]
    pairs = np.flatnonzero(n_open)
    if len(pairs):
        most = _most_per_token(candidates, n_theirs)
        parts = np.flatnonzero(first_of_run(np.cumsum(BEAM * (1 + most[pairs])) // _ROWS_AT_ONCE))
        for begin, end in pairwise([*parts.tolist(), len(pairs)]):
            own = pairs[begin:end]
            places = np.flatnonzero(np.isin(candidates.pair, own))
            part = candidates.select(places)
            part.pair[:] = np.searchsorted(own, part.pair)
            search = _Search(part, is_definite[places], n_theirs[own], int(n_own[own].max()))
            chosen.append(places[search.best()])
    return candidates.select(np.sort(np.concatenate(chosen)))


def _most_per_token(candidates: AlignmentMatches, n_theirs: Ints) -> Ints:
    """Return the maximum number of candidates that start at the same token, shape ``(P,)``."""
    tokens = (np.cumsum(n_theirs) - n_theirs)[candidates.pair] + candidates.start
    most = np.zeros(len(n_theirs), np.int64)
    first = np.flatnonzero(first_of_run(tokens))
    np.maximum.at(most, candidates.pair[first], np.diff(first, append=len(tokens)))
    return most


def _definite(candidates: AlignmentMatches, n_theirs: Ints, n_own: Ints) -> Flags:
    """Return which candidates share no token with another candidate and are therefore always chosen."""
    is_definite = np.ones(len(candidates.pair), np.bool_)
    for sizes, start, length in (
        (n_theirs, candidates.start, candidates.length),
        (n_own, candidates.own_start, candidates.own_length),
    ):
        begin = (np.cumsum(sizes) - sizes)[candidates.pair] + start
        n_tokens = int(sizes.sum()) + 1
        covers = np.bincount(begin, minlength=n_tokens) - np.bincount(begin + length, minlength=n_tokens)
        covered = np.concatenate([[0], np.cumsum(np.cumsum(covers))])
        # Each token of a candidate is covered at least once, so the sum shows whether any is covered twice.
        is_definite &= covered[begin + length] - covered[begin] == length
    return is_definite


class _Paths(NamedTuple):
    """Paths of several pairs, shape ``(n,)`` each except for `used`.

    Attributes:
        pair: Index of the pair, ascending.
        number: Gain, chunks and distance packed into one integer, of which the smallest is best.
        following: Next token of the reference.
        end: End of the last match in the hypothesis. -1 after a token without a match.
        used: Shape ``(words, n)``, bit set of the matched tokens of the hypothesis.
    """

    pair: Ints
    number: Ints
    following: Ints
    end: Ints
    used: npt.NDArray[np.uint64]


class _Search:
    """Beam search over the references of S pairs, each of which has a candidate.

    Args:
        candidates: Candidates of these pairs.
        is_definite: Which of them are always chosen.
        n_theirs: Shape ``(S,)``, number of tokens of the references.
        most_own: Number of tokens of the longest hypothesis.
    """

    def __init__(self, candidates: AlignmentMatches, is_definite: Flags, n_theirs: Ints, most_own: int) -> None:
        # After the columns of the candidates there is an entry that represents no candidate.
        self._nothing = len(candidates.pair)
        _, start, self._length, self._own_start, own_length, stage = (np.append(one, 0) for one in candidates)
        gain = np.where(stage == 0, self._length + own_length, self._length // 2 + own_length // 2)
        self._distance = np.abs(start - self._own_start)
        self._own_end = self._own_start + own_length
        # Stored once per run of tokens, because a text that repeats a word has far more candidates than runs.
        runs, self._run = np.unique(self._own_start * (most_own + 1) + own_length, return_inverse=True)
        starts, lengths = np.divmod(runs, most_own + 1)
        first_bits = _WORD * np.arange(-(-most_own // _WORD))[:, None]
        begin, end = (_LOW_BITS[(at - first_bits).clip(0, _WORD)] for at in (starts, starts + lengths))
        self._bits = begin ^ end

        # Indexed by token of the references, with one more entry for positions after a text.
        self._n_theirs, self._offsets = n_theirs, np.cumsum(n_theirs) - n_theirs
        self._behind = int(n_theirs.sum())
        tokens = self._offsets[candidates.pair] + candidates.start
        self._count = np.bincount(tokens, minlength=self._behind + 1)
        self._first = np.cumsum(self._count) - self._count
        self._definite = np.full(self._behind + 1, self._nothing)
        self._definite[tokens[is_definite]] = np.flatnonzero(is_definite)
        self._count[tokens[is_definite]] = 0

        # Bits of the number of a path, from the lowest: distance, chunks, missing gain.
        distance_bits = int(np.bincount(candidates.pair, self._distance[:-1]).max()).bit_length()
        chunk_bits = int(n_theirs.max() + 1).bit_length()
        self._chunk, self._unit = 1 << distance_bits, 1 << (distance_bits + chunk_bits)
        self._gain = gain * self._unit
        self._n_bits = distance_bits + chunk_bits + int(n_theirs.max() + most_own).bit_length()
        if self._n_bits + len(n_theirs).bit_length() > 63:
            raise UsageError("`predictions` and `references` must not repeat a word thousands of times")

    def best(self) -> Ints:
        """Return the indices of the candidates on the best path of each pair."""
        pair = np.arange(len(self._n_theirs))
        worst = np.full_like(pair, (1 << self._n_bits) - self._unit)
        used = np.zeros((len(self._bits), len(pair)), np.uint64)
        paths = _Paths(pair, worst, np.zeros_like(pair), np.full_like(pair, -1), used)
        steps = []
        for token in range(int(self._n_theirs.max())):
            paths, of, chosen = self._step(paths, token)
            steps.append((of, chosen))
        # The end of the text ends a chunk.
        order = _best(paths.pair, paths.number + self._chunk * (paths.end != -1), self._n_bits)
        at = order[first_of_run(paths.pair[order])]
        found = []
        for of, chosen in reversed(steps):
            found.append(chosen[at])
            at = of[at]
        taken = np.concatenate(found)
        return taken[taken != self._nothing]

    def _step(self, paths: _Paths, token: int) -> tuple[_Paths, Ints, Ints]:
        """Extend the paths by a token of the references, and keep the best.

        Returns:
            The paths, the index of the path that each extends, and the candidate that was added.
        """
        at = np.where(token < self._n_theirs[paths.pair], self._offsets[paths.pair] + token, self._behind)
        is_free = (paths.following == token) & (at < self._behind)
        definite = np.where(is_free, self._definite[at], self._nothing)
        skips = is_free & (definite == self._nothing)
        n_copies = np.where(skips, self._count[at], 0)
        # Copies with one candidate each, in the order that decides between ties, followed by the path itself.
        of, chosen = ranges(self._first[at], n_copies + 1)
        itself = np.cumsum(n_copies + 1) - 1
        chosen[itself] = definite
        fits = ~(paths.used[:, of] & self._bits[:, self._run[chosen]]).any(axis=0)
        distance = self._distance[chosen] * fits
        before = np.cumsum(distance) - distance
        before -= before[itself - n_copies][of]
        before[itself] += distance[itself]

        kept = np.flatnonzero(fits)
        of, chosen = of[kept], chosen[kept]
        is_match, is_skip, end = chosen != self._nothing, skips[of], paths.end[of]
        breaks = (end != -1) & np.where(is_match, end != self._own_start[chosen], is_skip)
        number = paths.number[of] + before[kept] - self._gain[chosen] + breaks * self._chunk
        best = _best(paths.pair[of], number, self._n_bits)

        of, chosen, is_match, is_skip = of[best], chosen[best], is_match[best], is_skip[best]
        following = np.where(is_match, token + self._length[chosen], paths.following[of] + is_skip)
        end = np.where(is_match, self._own_end[chosen], np.where(is_skip, -1, paths.end[of]))
        used = paths.used[:, of] | self._bits[:, self._run[chosen]]
        return _Paths(paths.pair[of], number[best], following, end, used), of, chosen


def _best(pair: Ints, number: Ints, n_bits: int) -> Ints:
    """Return the indices of the best paths of each pair, the best first. Ties keep their order."""
    _, order = sort_with_places((pair << n_bits) | number, int(pair[-1] + 1) << n_bits)
    starts = np.flatnonzero(first_of_run(pair))
    rank = np.arange(len(pair)) - np.repeat(starts, np.diff(starts, append=len(pair)))
    return order[rank < BEAM]
