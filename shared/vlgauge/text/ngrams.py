"""The n-grams of captions as integers: exact, without hashing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Tokens: TypeAlias = Sequence[str]

MAX_ORDER = 4


@dataclass(frozen=True, eq=False)
class NgramSets:
    """The distinct n-grams of one order, in each caption.

    The id of an n-gram is its position among all of its order, sorted by token sequence in code-point order. So ids
    depend on the captions as a set only, and ids of two vocabularies are in the same order.

    Attributes:
        keys: shape ``(V_n,)``, ascending: (id of the first n-1 tokens) * V + (id of the last token).
        ngrams: shape ``(m,)``, ascending, the id, one entry per n-gram and caption that has it.
        captions: shape ``(m,)``, ascending within an n-gram.
        counts: shape ``(m,)``, how often the caption has the n-gram.
    """

    keys: Ints
    ngrams: Ints
    captions: Ints
    counts: Ints


def vocabulary_and_ngrams(captions: Sequence[Tokens]) -> tuple[list[str], Iterator[NgramSets]]:
    """The distinct tokens in code-point order, and the n-gram sets of the orders 1 to 4, one after the other.

    Args:
        captions: Tokens of each caption.
    """
    lengths = lengths_of(captions)
    number: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(number.__getitem__, chain.from_iterable(captions)), np.int64, int(lengths.sum()))
    tokens = sorted(number)
    ids = np.empty(len(tokens), np.int64)  # by number
    ids[[number[token] for token in tokens]] = np.arange(len(tokens))
    return tokens, _ngram_sets(ids[numbers], lengths, len(tokens))


def lengths_of(rows: Sequence[Sized]) -> Ints:
    """How many entries each row has, such as the tokens of each caption, shape ``(n_rows,)``."""
    return np.fromiter(map(len, rows), np.int64, len(rows))


def _ngram_sets(ids: Ints, lengths: Ints, vocabulary: int) -> Iterator[NgramSets]:
    """N-gram sets by order, from the token ids of all captions in a row."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    # How many tokens its caption has from each token on.
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(ids))
    found, n_keys, n_found = ids, vocabulary, len(ids)  # entry i: the id of the n-gram that begins with token i
    for n in range(1, MAX_ORDER + 1):
        if n > 1:
            _check_room(n_keys, vocabulary)
            found = found * vocabulary
            found[: 1 - n] += ids[n - 1 :]
            # What would leave its caption comes last, and is cut off.
            found[left < n] = n_keys * vocabulary
            n_found = int(np.maximum(lengths - (n - 1), 0).sum())
        ascending, places = (values[:n_found] for values in sorted_with_places(found, n_keys * vocabulary))
        is_first = first_of_run(ascending)
        keys = ascending[np.flatnonzero(is_first)]
        ngrams, captions = np.cumsum(is_first) - 1, owners[places]
        found, n_keys = np.zeros(len(ids), np.int64), len(keys)
        found[places] = ngrams
        # One entry per n-gram and caption.
        bounds = np.append(np.flatnonzero(is_first | first_of_run(captions)), n_found)
        yield NgramSets(keys, ngrams[bounds[:-1]], captions[bounds[:-1]], np.diff(bounds))


def by_example(
    candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]]
) -> tuple[list[Tokens], Ints, npt.NDArray[np.bool_]]:
    """The candidate of an example, then its references, then the next example.

    Args:
        candidates: Tokens of the candidate of each example.
        references: Tokens of the references of each example.

    Returns:
        The texts; of each its example, ascending; and whether it is the candidate.
    """
    texts = [tokens for own, theirs in zip(candidates, references, strict=True) for tokens in (own, *theirs)]
    example = np.repeat(np.arange(len(candidates)), lengths_of(references) + 1)
    return texts, example, first_of_run(example)


def sorted_with_places(values: Ints, largest: int) -> tuple[Ints, Ints]:
    """The values, ascending, and the place where each stood, ascending among equal values.

    Args:
        values: Not negative.
        largest: No value is larger.
    """
    bits = len(values).bit_length()
    if largest.bit_length() + bits > 63:
        places = np.argsort(values, kind="stable")
        return values[places], places
    # Numbers with the place in their last bits are sorted several times as fast as places by their values.
    packed = values << bits
    packed |= np.arange(len(values))
    packed.sort()
    ascending = packed >> bits
    packed &= (1 << bits) - 1
    return ascending, packed


def first_of_run(values: Ints) -> npt.NDArray[np.bool_]:
    """Which values differ from the one before."""
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def run_lengths(ascending: Ints) -> tuple[Ints, Ints]:
    """The distinct values, and how often each occurs."""
    first = first_of_run(ascending)
    bounds = np.append(np.flatnonzero(first), len(ascending))
    return ascending[first], np.diff(bounds)


def _check_room(*factors: int) -> None:
    """Refuse a product of ids that 64 bits cannot hold."""
    product = 1
    for factor in factors:
        product *= factor
    if product >= 2**63:
        raise ValueError(f"`captions` must have fewer distinct n-grams, got {' x '.join(map(str, factors))} >= 2^63")
