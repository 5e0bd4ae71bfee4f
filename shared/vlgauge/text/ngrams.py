"""The n-grams of captions as integers: exact, without hashing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError

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


@dataclass(frozen=True, eq=False)
class TokenIds:
    """The tokens of some texts as integers.

    Attributes:
        tokens: the V distinct tokens, in code-point order.
        ids: shape ``(n_tokens,)``, position in `tokens` of each token, one text after the other.
        lengths: shape ``(n_texts,)``, how many tokens each text has.
    """

    tokens: list[str]
    ids: Ints
    lengths: Ints

    def chosen(self, texts: Ints) -> "TokenIds":
        """Some of the texts, any of them several times.

        Args:
            texts: shape ``(n_chosen,)``, positions of texts.
        """
        lengths = self.lengths[texts]
        _, places = ranges((np.cumsum(self.lengths) - self.lengths)[texts], lengths)
        return TokenIds(self.tokens, self.ids[places], lengths)

    def padded(self, texts: Ints, filling: int) -> Ints:
        """Return the tokens of some texts, a column each, with a number behind those of shorter ones."""
        lengths = self.lengths[texts]
        table = np.full((int(lengths.max(initial=0)), len(texts)), filling)
        column, place = ranges((np.cumsum(self.lengths) - self.lengths)[texts], lengths)
        table[ranges(np.zeros_like(lengths), lengths)[1], column] = self.ids[place]
        return table

    def grouped(self, example: Ints) -> Iterator[list[list[str]]]:
        """The tokens of the texts of each example.

        Args:
            example: shape ``(n_texts,)``, ascending, the example of each text.
        """
        tokens = map(self.tokens.__getitem__, self.ids.tolist())
        texts = (list(islice(tokens, length)) for length in self.lengths.tolist())
        return (list(islice(texts, size)) for size in run_lengths(example)[1])


def token_ids(texts: Iterable[Tokens]) -> TokenIds:
    """The tokens of some texts as integers; the texts are asked for one by one and not kept."""
    lengths: list[int] = []

    def measured() -> Iterator[Tokens]:
        for tokens in texts:
            lengths.append(len(tokens))
            yield tokens

    tokens, numbers = numbered(chain.from_iterable(measured()))
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    ids = np.empty(len(tokens), np.int64)  # by number
    ids[order] = np.arange(len(tokens))
    return TokenIds([tokens[i] for i in order], ids[numbers], np.array(lengths, np.int64))


_SHARED: ContextVar[list[tuple[Sequence[str], TokenIds]] | None] = ContextVar("shared tokens", default=None)


@contextmanager
def tokens_shared() -> Iterator[None]:
    """Context in which `shared_ids` keeps the tokens of captions, for several metrics of the same captions."""
    token = _SHARED.set([])
    try:
        yield
    finally:
        _SHARED.reset(token)


def shared_ids(captions: Sequence[str], texts: Iterable[Tokens]) -> TokenIds:
    """Return the tokens of captions as integers, within `tokens_shared` those that were found before.

    Args:
        captions: The captions.
        texts: Tokens of each caption, always made in the same way; asked for only if they are new.
    """
    shared = _SHARED.get()
    for known, found in shared or ():
        if known == captions:
            return found
    found = token_ids(texts)
    if shared is not None:
        shared.append((captions, found))
    return found


def numbered(values: Iterable[str]) -> tuple[list[str], Ints]:
    """The distinct values as they first come, and the position of each value among them."""
    number: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(number.__getitem__, values), np.int64)
    return list(number), numbers


def lengths_of(rows: Sequence[Sized]) -> Ints:
    """How many entries each row has, such as the tokens of each caption, shape ``(n_rows,)``."""
    return np.fromiter(map(len, rows), np.int64, len(rows))


def ranges(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Join ranges of integers; return the index of the range of each integer, and the integers."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return owners, np.arange(len(owners)) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)


def ngram_sets(texts: TokenIds, *, max_order: int = MAX_ORDER, repeated_only: bool = False) -> Iterator[NgramSets]:
    """The n-gram sets of the orders from 1 on, one after the other.

    Args:
        texts: The captions.
        max_order: The last order.
        repeated_only: Whether to leave out the n-grams that occur once in all captions, most of the long ones. Those
            that they are part of occur once as well, so that nobody has to look for them.
    """
    # Entry i: a token, or the end mark behind a caption, at which no n-gram begins.
    owners = np.repeat(np.arange(len(texts.lengths)), texts.lengths + 1)
    places = np.arange(len(texts.ids)) + np.repeat(np.arange(len(texts.lengths)), texts.lengths)
    tokens, prefixes = np.zeros(len(owners), np.int64), np.zeros(len(owners), np.int64)
    tokens[places] = texts.ids
    n_keys = 1
    for n in range(1, max_order + 1):
        _check_room(n_keys, len(texts.tokens))
        keys = prefixes[places]
        keys *= len(texts.tokens)
        keys += tokens[n - 1 :][places]
        ascending, places = sorted_with_places(keys, n_keys * len(texts.tokens), places)
        is_first = first_of_run(ascending)
        if repeated_only:
            is_repeated = ~(is_first & np.append(is_first[1:], True))
            ascending, places, is_first = ascending[is_repeated], places[is_repeated], is_first[is_repeated]
        ngrams, captions = np.cumsum(is_first) - 1, owners[places]
        # One entry per n-gram and caption.
        bounds = np.flatnonzero(is_first | first_of_run(captions))
        keys = ascending[is_first]
        yield NgramSets(keys, ngrams[bounds], captions[bounds], np.diff(bounds, append=len(places)))
        # An n-gram begins where one of n-1 tokens does, and another at the next token.
        prefixes[places], n_keys = ngrams, len(keys)
        begins = np.zeros(len(owners) + 1, np.bool_)
        begins[places] = True
        places = np.flatnonzero(begins[:-1] & begins[1:])


def ngram_counts(texts: Sequence[Tokens]) -> Iterator[Ints]:
    """How often each text has each n-gram of one order, shape ``(n_texts, V_n)``; the orders one after the other."""
    for grams in ngram_sets(token_ids(texts)):
        counts = np.zeros((len(texts), len(grams.keys)), np.int64)
        counts[grams.captions, grams.ngrams] = grams.counts
        yield counts


def sorted_with_places(values: Ints, largest: int, places: Ints | None = None) -> tuple[Ints, Ints]:
    """The values, ascending, and the place of each, ascending among equal values.

    Args:
        values: Not negative.
        largest: No value is larger.
        places: Where each value stands, ascending; by default 0, 1, 2 and so on.
    """
    if places is None:
        places = np.arange(len(values))
    bits = int(places[-1]).bit_length() if len(places) else 0
    if largest.bit_length() + bits > 63:
        order = np.argsort(values, kind="stable")
        return values[order], places[order]
    # Numbers with the place in their last bits are sorted several times as fast as places by their values.
    packed = values << bits
    packed |= places
    packed.sort()
    ascending = packed >> bits
    packed &= (1 << bits) - 1
    return ascending, packed


def first_of_run(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
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
        raise UsageError(f"`captions` must have fewer distinct n-grams, got {' x '.join(map(str, factors))} >= 2^63")
