"""N-grams of captions as integers, exact and without hashing."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from vlgauge.core.context_values import context_value
from vlgauge.core.errors import UsageError

Ints = npt.NDArray[np.int64]
Tokens: TypeAlias = Sequence[str]
Value = TypeVar("Value", bound=Hashable)
Item = TypeVar("Item")

MAX_ORDER = 4


@dataclass(frozen=True, eq=False)
class NgramSets:
    """Distinct n-grams of one order in each caption.

    The id of an n-gram is its index among all n-grams of its order, sorted by token sequence in code-point order.
    Therefore ids depend only on the set of captions, and the ids of two vocabularies are in the same order.

    Attributes:
        keys: Shape ``(V_n,)``, ascending: (id of the first n-1 tokens) * V + (id of the last token).
        ngrams: Shape ``(m,)``, ascending, the id of the n-gram, one entry per n-gram and caption that contains it.
        captions: Shape ``(m,)``, ascending within an n-gram, the index of the caption.
        counts: Shape ``(m,)``, number of occurrences of the n-gram in the caption.
    """

    keys: Ints
    ngrams: Ints
    captions: Ints
    counts: Ints


@dataclass(frozen=True, eq=False)
class TokenIds:
    """Tokens of some texts as integers.

    Attributes:
        tokens: The V distinct tokens, in code-point order.
        ids: Shape ``(n_tokens,)``, index in `tokens` of each token, text by text.
        lengths: Shape ``(n_texts,)``, number of tokens of each text.
    """

    tokens: list[str]
    ids: Ints
    lengths: Ints

    def select(self, texts: Ints) -> "TokenIds":
        """Select texts, with repetitions if an index is repeated.

        Args:
            texts: Shape ``(n_chosen,)``, indices of texts.
        """
        lengths = self.lengths[texts]
        _, places = ranges((np.cumsum(self.lengths) - self.lengths)[texts], lengths)
        return TokenIds(self.tokens, self.ids[places], lengths)

    def append_token(self, token: str) -> "TokenIds":
        """Return the texts with one more token at the end of each."""
        tokens = sorted({*self.tokens, token})
        number = {token: i for i, token in enumerate(tokens)}
        ids = np.array([number[token] for token in self.tokens], np.int64)[self.ids]
        return TokenIds(tokens, np.insert(ids, np.cumsum(self.lengths), number[token]), self.lengths + 1)

    def pad(self, texts: Ints, filling: int) -> Ints:
        """Return the token ids of some texts, one text per column, padded to the longest text.

        Args:
            texts: Shape ``(n_chosen,)``, indices of texts.
            filling: Value after the last token of shorter texts.

        Returns:
            Shape ``(longest, n_chosen)``, int64.
        """
        lengths = self.lengths[texts]
        table = np.full((int(lengths.max(initial=0)), len(texts)), filling)
        column, place = ranges((np.cumsum(self.lengths) - self.lengths)[texts], lengths)
        table[ranges(np.zeros_like(lengths), lengths)[1], column] = self.ids[place]
        return table

    def iter_groups(self, example: Ints) -> Iterator[list[list[str]]]:
        """Iterate over the examples and return the tokens of the texts of each.

        Args:
            example: Shape ``(n_texts,)``, ascending, the index of the example of each text.
        """
        tokens = map(self.tokens.__getitem__, self.ids.tolist())
        texts = (list(islice(tokens, length)) for length in self.lengths.tolist())
        return (list(islice(texts, size)) for size in run_lengths(example)[1])


def token_ids(texts: Iterable[Tokens]) -> TokenIds:
    """Convert the tokens of texts to integers. The texts are consumed one by one and not kept."""
    lengths: list[int] = []

    def measured() -> Iterator[Tokens]:
        for tokens in texts:
            lengths.append(len(tokens))
            yield tokens

    tokens, numbers = number_distinct(chain.from_iterable(measured()))
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    ids = np.empty(len(tokens), np.int64)  # indexed by number
    ids[order] = np.arange(len(tokens))
    return TokenIds([tokens[i] for i in order], ids[numbers], np.array(lengths, np.int64))


_SHARED: ContextVar[list[tuple[str, Sequence[str], TokenIds]] | None] = ContextVar("shared tokens", default=None)


def tokens_shared() -> AbstractContextManager[None]:
    """Share the token ids of captions between several metrics of the same captions, see `number_shared`."""
    return context_value(_SHARED, [])


def number_shared(captions: Sequence[str], texts: Iterable[Tokens], tokenizer: str) -> TokenIds:
    """Return the tokens of captions as integers, reusing previous results inside `tokens_shared`.

    Args:
        captions: The captions.
        texts: Tokens of each caption. Only consumed if the captions are new to the tokenizer.
        tokenizer: Name of the tokenizer.
    """
    shared = _SHARED.get()
    for name, known, found in shared or ():
        if name == tokenizer and known == captions:
            return found
    found = token_ids(texts)
    if shared is not None:
        shared.append((tokenizer, captions, found))
    return found


def number_distinct(values: Iterable[Value]) -> tuple[list[Value], Ints]:
    """Assign numbers to the distinct values in order of first occurrence.

    Returns:
        The distinct values, and the index of each value among them, shape ``(n_values,)``, int64.
    """
    number: defaultdict[Value, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(number.__getitem__, values), np.int64)
    return list(number), numbers


def group_by_size(items: Iterable[Item], size_of: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Group consecutive items for a joint computation. Items are consumed lazily.

    Args:
        items: The items.
        size_of: Returns the size of an item.
        most: Total size at which a group is complete.
    """
    group: list[Item] = []
    total = 0
    for item in items:
        group.append(item)
        total += size_of(item)
        if total >= most:
            yield group
            group, total = [], 0
    if group:
        yield group


def lengths_of(rows: Sequence[Sized]) -> Ints:
    """Return the length of each row, such as the number of tokens of each caption, shape ``(n_rows,)``, int64."""
    return np.fromiter(map(len, rows), np.int64, len(rows))


def ranges(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Join ranges of integers.

    Args:
        starts: Shape ``(n,)``, first integer of each range.
        sizes: Shape ``(n,)``, size of each range.

    Returns:
        The index of the range of each integer, and the integers, shape ``(sum(sizes),)`` each.
    """
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return owners, np.arange(len(owners)) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)


def ngram_sets(texts: TokenIds, *, max_order: int = MAX_ORDER, repeated_only: bool = False) -> Iterator[NgramSets]:
    """Yield the n-gram sets of the orders from 1 to `max_order`.

    Args:
        texts: The captions.
        max_order: Largest order.
        repeated_only: Whether to leave out n-grams that occur only once in all captions, which are most of the long
            ones. Longer n-grams that contain them also occur once and are not counted at all.

    Raises:
        UsageError: If the product of the numbers of distinct n-grams and tokens does not fit into 64 bits.
    """
    # Entry i is a token, or the end mark after a caption, at which no n-gram begins.
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
        ascending, places = sort_with_places(keys, n_keys * len(texts.tokens), places)
        is_first = first_of_run(ascending)
        if repeated_only:
            is_repeated = ~(is_first & np.append(is_first[1:], True))
            ascending, places, is_first = ascending[is_repeated], places[is_repeated], is_first[is_repeated]
        ngrams, captions = np.cumsum(is_first) - 1, owners[places]
        # Keep one entry per n-gram and caption.
        bounds = np.flatnonzero(is_first | first_of_run(captions))
        keys = ascending[is_first]
        yield NgramSets(keys, ngrams[bounds], captions[bounds], np.diff(bounds, append=len(places)))
        # An n-gram begins where an n-gram of n-1 tokens begins, if another one begins at the next token.
        prefixes[places], n_keys = ngrams, len(keys)
        begins = np.zeros(len(owners) + 1, np.bool_)
        begins[places] = True
        places = np.flatnonzero(begins[:-1] & begins[1:])


def ngram_counts(texts: Sequence[Tokens]) -> Iterator[Ints]:
    """Yield the number of occurrences of each n-gram in each text, shape ``(n_texts, V_n)``, for orders 1 to 4."""
    for grams in ngram_sets(token_ids(texts)):
        counts = np.zeros((len(texts), len(grams.keys)), np.int64)
        counts[grams.captions, grams.ngrams] = grams.counts
        yield counts


def sort_with_places(values: Ints, largest: int, places: Ints | None = None) -> tuple[Ints, Ints]:
    """Sort values stably and return them with their positions.

    Args:
        values: Nonnegative integers, shape ``(n,)``.
        largest: Upper bound of the values.
        places: Position of each value, ascending. Default: 0, 1, 2, ...

    Returns:
        The values in ascending order, and the position of each, ascending among equal values.
    """
    if places is None:
        places = np.arange(len(values))
    bits = int(places[-1]).bit_length() if len(places) else 0
    if largest.bit_length() + bits > 63:
        order = np.argsort(values, kind="stable")
        return values[order], places[order]
    # Sorting integers that contain the position in their low bits is several times as fast as sorting positions by
    # value.
    packed = values << bits
    packed |= places
    packed.sort()
    ascending = packed >> bits
    packed &= (1 << bits) - 1
    return ascending, packed


def first_of_run(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return whether each value differs from the previous one, shape ``(n,)``. True for the first value."""
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def run_lengths(ascending: Ints) -> tuple[Ints, Ints]:
    """Count the occurrences of each value of an ascending array.

    Args:
        ascending: Values, shape ``(n,)``.

    Returns:
        The distinct values and the number of occurrences of each, shape ``(n_distinct,)`` each.
    """
    first = first_of_run(ascending)
    bounds = np.append(np.flatnonzero(first), len(ascending))
    return ascending[first], np.diff(bounds)


def _check_room(n_keys: int, n_tokens: int) -> None:
    """Check that a product of ids fits into 64 bits."""
    if n_keys * n_tokens >= 2**63:
        raise UsageError.about("captions", f"must have fewer distinct n-grams, got {n_keys} x {n_tokens} >= 2^63")
