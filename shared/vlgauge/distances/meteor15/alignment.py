"""The search for the matches of two texts: a beam of paths over the tokens of the reference.

Two rules look like slips of the program and decide many scores: half of a match counts as whole words, so that one word
matched by stem, synonym or paraphrase gains nothing, and the distance of a match is added to the paths without it.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from vlgauge.distances.meteor15.formula import Match

BEAM = 40

# A path is compared by its gain, then fewer chunks, then less distance: one number, the least first.
_DISTANCE_BITS = 64
_CHUNK = 1 << _DISTANCE_BITS
_GAIN_SHIFT = _DISTANCE_BITS + 32

_Chosen: TypeAlias = tuple[Match, Any] | None  # the last match and those before it
# The number, used tokens of the reference and of the hypothesis as bits, the next token, the end of the last match in
# the hypothesis or -1, and the matches.
_Path: TypeAlias = tuple[int, int, int, int, int, _Chosen]

_number = itemgetter(0)


def found_matches(candidates: Sequence[Sequence[Match]], n_own: int) -> list[Match]:
    """Choose the matches of two texts among the candidates.

    Args:
        candidates: Of each token of the reference those that start there, in their order, repeated ones too.
        n_own: Number of tokens of the hypothesis.

    Returns:
        In the order of the reference.
    """
    definite = _definite(candidates, n_own)
    chosen = list(definite.values())
    if len(definite) < sum(map(bool, candidates)):
        last = _searched(candidates, definite)
        while last is not None:
            match, last = last
            chosen.append(match)
    return sorted(chosen)


def _definite(candidates: Sequence[Sequence[Match]], n_own: int) -> dict[int, Match]:
    """Matches by their start, with which no other candidate shares a token: they are taken in any case."""
    theirs, own = [0] * len(candidates), [0] * n_own
    for starting in candidates:
        for j, n, i, m, _ in starting:
            for place in range(j, j + n):
                theirs[place] += 1
            for place in range(i, i + m):
                own[place] += 1
    found = {}
    for starting in candidates:
        if len(starting) == 1:
            j, n, i, m, _ = starting[0]
            if max(theirs[j : j + n]) == max(own[i : i + m]) == 1:
                found[j] = starting[0]
    return found


def _gain(match: Match) -> int:
    _, n, _, m, stage = match
    return n + m if stage == 0 else n // 2 + m // 2


def _bits(start: int, length: int) -> int:
    return ((1 << length) - 1) << start


def _searched(candidates: Sequence[Sequence[Match]], definite: dict[int, Match]) -> _Chosen:
    """The matches of the best path, but for the definite ones."""
    used, own_used = 0, 0
    for j, n, i, m, _ in definite.values():
        used |= _bits(j, n)
        own_used |= _bits(i, m)
    paths: list[_Path] = [(0, used, own_used, 0, -1, None)]
    for start, starting in enumerate(candidates):
        paths = _kept(paths)
        if start in definite:
            paths = [_with_definite(path, definite[start]) if path[3] == start else path for path in paths]
        else:
            steps = [_step(start, match) for match in starting]
            paths = _extended(paths, start, steps)
    # The end of the text ends a chunk. Of equal paths the first wins.
    return min(_kept(paths), key=lambda path: path[0] + (_CHUNK if path[4] != -1 else 0))[5]


def _step(start: int, match: Match) -> tuple[Match, int, int, int, int, int, int, int]:
    """What a match adds to a path."""
    _, n, i, m, _ = match
    gain = _gain(match) << _GAIN_SHIFT
    return match, _bits(start, n), _bits(i, m), i, i + m, start + n, gain, abs(start - i)


def _kept(paths: list[_Path]) -> list[_Path]:
    if len(paths) > 1:
        paths.sort(key=_number)
        del paths[BEAM:]
    return paths


def _with_definite(path: _Path, match: Match) -> _Path:
    number, used, own_used, _, end, chosen = path
    j, n, i, m, _ = match
    number += abs(j - i) - (_gain(match) << _GAIN_SHIFT) + (_CHUNK if end not in (-1, i) else 0)
    return number, used, own_used, j + n, i + m, chosen


def _extended(paths: Sequence[_Path], start: int, steps: Sequence[tuple[Any, ...]]) -> list[_Path]:
    """The paths with each match that fits and without any, in the order that decides between equal ones."""
    found: list[_Path] = []
    for path in paths:
        number, used, own_used, following, end, chosen = path
        if used >> start & 1:
            found.append(path)
            continue
        for match, bits, own_bits, i, own_end, behind, gain, distance in steps:
            if used & bits or own_used & own_bits:
                continue
            cost = _CHUNK if end not in (-1, i) else 0
            found.append((number - gain + cost, used | bits, own_used | own_bits, behind, own_end, (match, chosen)))
            number += distance
        found.append((number + (_CHUNK if end != -1 else 0), used, own_used, following + 1, -1, chosen))
    return found
