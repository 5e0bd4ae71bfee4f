"""The n-grams of captions as integers: exact, without hashing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

MAX_ORDER = 4


@dataclass(frozen=True, eq=False)
class NgramSets:
    """The distinct n-grams of one order, in each caption.

    The id of an n-gram is its position among all of its order, sorted by token sequence in code-point order. So ids
    depend on the captions as a set only, and ids of two vocabularies are in the same order.

    Attributes:
        keys: shape ``(V_n,)``, ascending: (id of the first n-1 tokens) * V + (id of the last token).
        captions: shape ``(m,)``, ascending, one entry per caption and n-gram.
        ngrams: shape ``(m,)``, ascending within a caption, the id.
        counts: shape ``(m,)``, how often the caption has the n-gram.
    """

    keys: Ints
    captions: Ints
    ngrams: Ints
    counts: Ints


def vocabulary_and_ngrams(captions: Sequence[Sequence[str]]) -> tuple[list[str], Iterator[NgramSets]]:
    """The distinct tokens in code-point order, and the n-gram sets of the orders 1 to 4, one after the other.

    Args:
        captions: Tokens of each caption.
    """
    lengths = lengths_of(captions)
    id_of: dict[str, int] = dict.fromkeys(chain.from_iterable(captions), 0)
    tokens = sorted(id_of)
    id_of.update(zip(tokens, range(len(tokens)), strict=True))
    ids = np.fromiter(map(id_of.__getitem__, chain.from_iterable(captions)), np.int64, int(lengths.sum()))
    return tokens, _ngram_sets(ids, lengths, len(tokens))


def lengths_of(rows: Sequence[Sized]) -> Ints:
    """How many entries each row has, such as the tokens of each caption, shape ``(n_rows,)``."""
    return np.fromiter(map(len, rows), np.int64, len(rows))


def _ngram_sets(ids: Ints, lengths: Ints, vocabulary: int) -> Iterator[NgramSets]:
    """N-gram sets by order, from the token ids of all captions in a row."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    keys, ngrams, starts = np.arange(vocabulary), ids, np.arange(len(ids))
    for n in range(1, MAX_ORDER + 1):
        if n > 1:
            ends = starts + (n - 1)
            inside = ends < len(ids)
            inside[inside] = owners[ends[inside]] == owners[starts[inside]]
            starts = starts[inside]
            _check_room(vocabulary, len(keys))
            keys, ngrams = _factorized(ngrams[inside] * vocabulary + ids[starts + (n - 1)])
        _check_room(len(lengths), len(keys))
        pairs, counts = run_lengths(np.sort(owners[starts] * len(keys) + ngrams))
        found_in = pairs // max(1, len(keys))
        yield NgramSets(keys, found_in, pairs - found_in * len(keys), counts)


def _factorized(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct values, ascending, and the position of each value among them."""
    # np.unique takes a hundred times longer on millions of distinct values.
    order = np.argsort(keys)
    ascending = keys[order]
    first = _first_of_run(ascending)
    positions = np.empty(len(keys), np.int64)
    positions[order] = np.cumsum(first) - 1
    return ascending[first], positions


def sorted_distinct(values: Ints) -> Ints:
    """The distinct values, ascending; sorts its argument."""
    values.sort()
    return values[_first_of_run(values)]


def _first_of_run(ascending: Ints) -> npt.NDArray[np.bool_]:
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def run_lengths(ascending: Ints) -> tuple[Ints, Ints]:
    """The distinct values, and how often each occurs."""
    first = _first_of_run(ascending)
    bounds = np.append(np.flatnonzero(first), len(ascending))
    return ascending[first], np.diff(bounds)


def _check_room(*factors: int) -> None:
    """Refuse a product of ids that 64 bits cannot hold."""
    product = 1
    for factor in factors:
        product *= factor
    if product >= 2**63:
        raise ValueError(f"`captions` must have fewer distinct n-grams, got {' x '.join(map(str, factors))} >= 2^63")
