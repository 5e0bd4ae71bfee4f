"""Integer counts of the captions of each style that contain each n-gram, and lookups of n-grams and captions."""

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr
from vlgauge.families.style.tokenizers import Tokens, tokenize_texts
from vlgauge.families.style.weights import Bools, OrderCounts, rows_among, rows_among_sorted
from vlgauge.inputs.text.ngrams import Ints, ngram_sets, sort_with_places, token_ids

_KEY_BYTES = 8


def caption_keys(captions: Sequence[Sequence[str]]) -> npt.NDArray[np.uint64]:
    """Compute the 64-bit BLAKE2b hash of the space-joined tokens of each caption, shape ``(n_captions,)``, uint64."""
    digests = (hashlib.blake2b(" ".join(tokens).encode(), digest_size=_KEY_BYTES).digest() for tokens in captions)
    # Big-endian, so that the integers have the same order as the hexadecimal digits in the file.
    return np.frombuffer(b"".join(digests), dtype=f">u{_KEY_BYTES}").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class KnownCaptions:
    """Number of copies of each caption in every style. Captions without tokens are left out.

    Attributes:
        keys: Shape ``(n,)``, ascending, hash of each caption.
        copies: Pairs (caption, style) and the number of copies, stored like n-grams.
    """

    keys: npt.NDArray[np.uint64]
    copies: OrderCounts

    @classmethod
    def count(cls, captions: Sequence[Sequence[str]], styles: Ints, n_styles: int) -> "KnownCaptions":
        """Count the copies of captions.

        Args:
            captions: Tokens of each caption.
            styles: Shape ``(n_captions,)``, style of each caption.
            n_styles: |S|.
        """
        filled = [i for i, tokens in enumerate(captions) if tokens]
        keys, rows = np.unique(caption_keys([captions[i] for i in filled]), return_inverse=True)
        return cls(keys, OrderCounts.count(np.arange(len(keys)), rows, styles[filled], n_styles))

    def find(self, captions: Sequence[Sequence[str]]) -> Ints:
        """Return the row of each caption among the known ones, shape ``(n_captions,)``.

        -1 for unknown captions, and for captions without tokens, because `keys` does not contain their hash.
        """
        return rows_among_sorted(self.keys, caption_keys(captions))


@dataclass(frozen=True, eq=False)
class CaptionNgrams:
    """Distinct n-grams of one order in some captions, with their ids in a table.

    Attributes:
        captions: Shape ``(m,)``, ascending, index of the caption, one entry per caption and n-gram.
        ngrams: Shape ``(m,)``, id in the table. -1 for an n-gram that is in no style.
        sizes: Shape ``(n_captions,)``, number of distinct n-grams.
    """

    captions: Ints
    ngrams: Ints
    sizes: Ints


@dataclass(frozen=True, eq=False)
class StyleCounts:
    """Document frequencies of all 1- to 4-grams in captions with style labels, as integers.

    Attributes:
        tokenizer: Name of the tokenizer, a key of `TOKENIZERS`.
        styles: Names of the styles, sorted.
        captions: Number of captions of each style, in the same order.
        tokens: Distinct tokens in code-point order.
        orders: Counts of orders 1 to 4.
        known: Hashes of the captions.
        name: Name of the table.
        source: Source of its captions.
        licence: License of its captions.
    """

    tokenizer: str
    styles: tuple[str, ...]
    captions: tuple[int, ...]
    tokens: Sequence[str]
    orders: tuple[OrderCounts, ...]
    known: KnownCaptions
    name: str | None = None
    source: str | None = None
    licence: str | None = None

    @cached_property
    def _token_ids(self) -> Mapping[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    @cached_property
    def _style_ids(self) -> Mapping[str, int]:
        return {style: i for i, style in enumerate(self.styles)}

    def tokenize(self, texts: Sequence[str], name: str = "captions") -> list[Tokens]:
        """Tokenize texts with the tokenizer of the table.

        Args:
            texts: The texts.
            name: Name of the texts in error messages.

        Raises:
            ValueError: If the texts are a single string, or one of them is not a valid string.
        """
        return tokenize_texts(texts, self.tokenizer, name)

    def style_ids(self, styles: Sequence[str], name: str = "styles") -> Ints:
        """Return the row of each style in `styles`, shape ``(n,)``, int64.

        Raises:
            ValueError: If styles are not in the table. The message contains up to five of them, with near matches.
        """
        unknown: dict[str, int] = {}
        for i, style in enumerate(styles):
            if style not in self._style_ids:
                unknown.setdefault(style, i)
        if unknown:
            clauses = [str(self._unknown_style(f"{name}[{row}]", style)) for style, row in list(unknown.items())[:5]]
            raise UsageError(". ".join(clauses) + (f". And {len(unknown) - 5} more" if len(unknown) > 5 else ""))
        return np.fromiter((self._style_ids[style] for style in styles), np.int64, len(styles))

    def style_id(self, style: str) -> int:
        """Return the row of a style.

        Raises:
            ValueError: If the style is not in the table.
        """
        if style not in self._style_ids:
            raise self._unknown_style("style", style)
        return self._style_ids[style]

    def _unknown_style(self, name: str, style: str) -> UsageError:
        folded = {known.casefold(): known for known in self.styles}
        near = [folded[match] for match in difflib.get_close_matches(str(style).casefold(), folded, n=3, cutoff=0.6)]
        kind = "near matches" if near else "they are" if len(self.styles) <= 10 else "the first ones"
        names = ", ".join(map(repr, near or self.styles[:10]))
        problem = f"must be one of the table's {len(self.styles)} styles, got {short_repr(style)}"
        return UsageError.about(name, problem, f"{kind}: {names}")

    def ngrams(self, captions: Sequence[Sequence[str]]) -> list[CaptionNgrams]:
        """Return the distinct n-grams of orders 1 to 4 in captions.

        Args:
            captions: Tokens of each caption.

        Returns:
            One object per order.
        """
        texts = token_ids(captions)
        tokens = texts.tokens
        last = np.fromiter((self._token_ids.get(token, -1) for token in tokens), np.int64, len(tokens))
        ids, found = last, []
        for n, (sets, counts) in enumerate(zip(ngram_sets(texts), self.orders, strict=True), 1):
            if n > 1:
                prefix, token = ids[sets.keys // len(tokens)], last[sets.keys % len(tokens)]
                wanted = np.where((prefix >= 0) & (token >= 0), prefix * len(self.tokens) + token, -1)
                ids = rows_among(counts.keys, wanted)
            sizes = np.bincount(sets.captions, minlength=len(captions))
            owners, places = sort_with_places(sets.captions, len(captions))
            found.append(CaptionNgrams(owners, ids[sets.ngrams[places]], sizes))
        return found

    def copies(self, captions: Sequence[Sequence[str]], styles: Ints) -> Ints:
        """Return the number of copies of each caption among the captions of its style, shape ``(n_captions,)``.

        Args:
            captions: Tokens of each caption.
            styles: Shape ``(n_captions,)``, style of each caption.
        """
        return self.known.copies.evidence(self.known.find(captions), styles).df

    def has_captions(self, captions: Sequence[Sequence[str]]) -> Bools:
        """Return whether the table was fitted on each caption, in any style, shape ``(n_captions,)``.

        Args:
            captions: Tokens of each caption. False for captions without tokens.
        """
        return self.known.find(captions) >= 0


Table = TypeVar("Table", bound=StyleCounts)
