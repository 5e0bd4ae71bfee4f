"""The style table: how many captions of each style contain each n-gram."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from vlgauge.progress import Progress
from vlgauge.style.counting import Ints, vocabulary_and_ngrams
from vlgauge.style.known_captions import KnownCaptions
from vlgauge.style.tokenizers import Tokens, tokenized
from vlgauge.style.weights import Bools, Floats, OrderCounts, places_among

if TYPE_CHECKING:
    from vlgauge.style.explaining import NgramWeight


@dataclass(frozen=True, eq=False)
class CaptionNgrams:
    """The distinct n-grams of one order in some captions, as a table knows them.

    Attributes:
        captions: shape ``(m,)``, ascending, one entry per caption and n-gram.
        ngrams: shape ``(m,)``, id in the table, -1 for an n-gram that no style has.
        sizes: shape ``(n_captions,)``, number of distinct n-grams.
    """

    captions: Ints
    ngrams: Ints
    sizes: Ints


@dataclass(frozen=True, eq=False)
class StyleTable:
    """Document frequencies of all 1- to 4-grams in captions with style labels; made by `fit` or `load`.

    It holds integers only; every weight is derived from them in float64.

    Attributes:
        tokenizer: Name of the tokenizer, a key of `TOKENIZERS`.
        styles: Names of the styles, sorted.
        captions: Number of captions of each style, in the same order.
        tokens: Distinct tokens in code-point order.
        orders: Counts of the orders 1 to 4.
        known: Digests of the captions.
        name: What the table is called.
        source: Where its captions are from.
        licence: Licence of its captions.
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

    # -- From captions, files and the Hub -----------------------------------------------------------------------------
    @classmethod
    def fit(
        cls,
        captions: Iterable[str] | Iterable[Sequence[str]],
        styles: Iterable[str],
        *,
        tokenizer: str | None = None,
        held_out: Iterable[bool] | None = None,
        name: str | None = None,
        source: str | None = None,
        licence: str | None = None,
        progress: Progress = False,
    ) -> StyleTable:
        """Count the n-grams of captions whose style is known.

        Args:
            captions: Strings, or lists of tokens.
            styles: Style of each caption.
            tokenizer: "words-1" (default for strings) or "whitespace" (the only one for lists of tokens).
            held_out: Captions to leave out of every count.
            name: What to call the table.
            source: Where the captions are from.
            licence: Licence of the captions.
            progress: As in `progress_bar`.

        Raises:
            ValueError: If lengths differ, no caption is left, a caption or style is not a string, a style is empty,
                there are fewer than 2 styles, or an entry of `held_out` is neither true nor false.
        """
        from vlgauge.style.fitting import fitted

        about = {"name": name, "source": source, "licence": licence}
        return fitted(captions, styles, tokenizer=tokenizer, held_out=held_out, progress=progress, **about)

    @classmethod
    def load(cls, source: StyleTable | str | PathLike[str], revision: str | None = None) -> StyleTable:
        """A table from a file, or from a data set on the Hub.

        Args:
            source: Path, or ``"owner/name"`` or ``"owner/name:config"`` of a data set.
            revision: Commit, tag or branch of the data set.

        Raises:
            ValueError: If it is no style table, of another version, altered, or unpacks to far more than its size.
            OSError: If it cannot be read or fetched.
        """
        from vlgauge.style.table_sources import resolved

        return resolved(source, revision)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table to one Parquet file, which any program can read; it discloses every n-gram of the captions.

        Args:
            path: File, replaced only once the new one is complete.
        """
        from vlgauge.style.table_file import save

        save(self, path)

    def push(self, dataset: str, *, private: bool = False, message: str | None = None) -> str:
        """Upload the table as a file of a Hub data set, which is made if it is not there.

        Args:
            dataset: ``"owner/name"`` or ``"owner/name:config"``.
            private: Whether a data set made for it is private.
            message: Of the commit.

        Returns:
            The commit, a `revision` for `load`.
        """
        from vlgauge.style.table_sources import push

        return push(self, dataset, private=private, message=message)

    # -- Facts --------------------------------------------------------------------------------------------------------
    @property
    def captions_per_style(self) -> dict[str, int]:
        """Number of captions by style."""
        return dict(zip(self.styles, self.captions, strict=True))

    @cached_property
    def fingerprint(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 over everything that is counted."""
        from vlgauge.style.table_rows import digest

        return digest(self)[:12]

    @cached_property
    def _token_ids(self) -> Mapping[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    @cached_property
    def _style_ids(self) -> Mapping[str, int]:
        return {style: i for i, style in enumerate(self.styles)}

    def __repr__(self) -> str:
        called = f"{self.name}: " if self.name else ""
        n_ngrams = sum(len(counts.keys) for counts in self.orders)
        return f"<StyleTable {called}{len(self.styles)} styles, {sum(self.captions)} captions, {n_ngrams} n-grams>"

    # -- Looking up ---------------------------------------------------------------------------------------------------
    def tokenize(self, texts: Sequence[str], name: str = "captions") -> list[Tokens]:
        """Tokens of each text, by the tokenizer of the table; ``name`` is what an error calls the texts."""
        return tokenized(texts, self.tokenizer, name)

    def style_ids(self, styles: Sequence[str], name: str = "styles") -> Ints:
        """Place of each style.

        Raises:
            ValueError: If styles are not in the table; the message names them all, or five, and what is near.
        """
        unknown: dict[str, int] = {}
        for i, style in enumerate(styles):
            if style not in self._style_ids:
                unknown.setdefault(style, i)
        if unknown:
            clauses = [self._unknown_style(f"{name}[{row}]", style) for style, row in list(unknown.items())[:5]]
            raise ValueError(". ".join(clauses) + (f". And {len(unknown) - 5} more" if len(unknown) > 5 else ""))
        return np.fromiter((self._style_ids[style] for style in styles), np.int64, len(styles))

    def style_id(self, style: str) -> int:
        """Place of a style; ValueError as in `style_ids`."""
        if style not in self._style_ids:
            raise ValueError(self._unknown_style("style", style))
        return self._style_ids[style]

    def _unknown_style(self, place: str, style: str) -> str:
        folded = {name.casefold(): name for name in self.styles}
        near = [folded[match] for match in difflib.get_close_matches(str(style).casefold(), folded, n=3, cutoff=0.6)]
        kind = "near matches" if near else "they are" if len(self.styles) <= 10 else "the first are"
        names = ", ".join(map(repr, near or self.styles[:10]))
        return f"`{place}` is {style!r}, not one of the table's {len(self.styles)} styles; {kind}: {names}"

    def ngrams(self, captions: Sequence[Sequence[str]]) -> list[CaptionNgrams]:
        """The distinct n-grams of the orders 1 to 4 in captions given by their tokens."""
        tokens, ngrams = vocabulary_and_ngrams(captions)
        last = np.fromiter((self._token_ids.get(token, -1) for token in tokens), np.int64, len(tokens))
        places, found = last, []
        for n, (sets, counts) in enumerate(zip(ngrams, self.orders, strict=True), 1):
            if n > 1:
                prefix, token = places[sets.keys // len(tokens)], last[sets.keys % len(tokens)]
                wanted = np.where((prefix >= 0) & (token >= 0), prefix * len(self.tokens) + token, -1)
                places = places_among(counts.keys, wanted)
            sizes = np.bincount(sets.captions, minlength=len(captions))
            found.append(CaptionNgrams(sets.captions, places[sets.ngrams], sizes))
        return found

    def copies(self, captions: Sequence[Sequence[str]], styles: Ints) -> Ints:
        """Number of copies of each caption, given by its tokens, among the captions of its style."""
        return self.known.copies.evidence(self.known.find(captions), styles).df

    def has_captions(self, captions: Sequence[Sequence[str]]) -> Bools:
        """Which captions, given by their tokens, the table was fitted on, in any style; none without tokens."""
        return self.known.find(captions) >= 0

    # -- Weights ------------------------------------------------------------------------------------------------------
    def cng(self, ngram: str, style: str | None = None, variant: str = "paper") -> float | dict[str, float]:
        """The contrastive n-gram score of an n-gram in a style, or in all styles by name.

        Args:
            ngram: One to four tokens, such as ``"i love"``.
            style: Name of a style.
            variant: "paper" or "authors"; see `contrastive_weights`.

        Raises:
            ValueError: If it is not one to four tokens, or the style or variant is unknown.
        """
        from vlgauge.style.scoring import ngram_weights

        if style is not None:
            return ngram_weights(self, ngram, np.array([self.style_id(style)]), variant)[0]
        weights = ngram_weights(self, ngram, np.arange(len(self.styles)), variant)
        return dict(zip(self.styles, weights, strict=True))

    def top_ngrams(
        self, style: str, order: int = 1, k: int = 20, variant: str = "paper", min_df: int = 1
    ) -> list[NgramWeight]:
        """The n-grams of a style that weigh most; equal ones in code-point order.

        Args:
            style: Name of a style.
            order: 1 to 4.
            k: How many.
            variant: "paper" or "authors".
            min_df: Smallest number of captions of the style that an n-gram is in.

        Raises:
            ValueError: If the style, order or variant is unknown, or `k` below 1.
        """
        from vlgauge.style.explaining import top_ngrams

        return top_ngrams(self, style, order, k, variant, min_df)

    def explain(self, caption: str, style: str, variant: str = "paper") -> list[NgramWeight]:
        """The distinct n-grams of a caption with what each weighs in a style, by order, then by place in the caption.

        Args:
            caption: A string.
            style: Name of a style.
            variant: "paper" or "authors".

        Raises:
            ValueError: If the style or variant is unknown.
        """
        from vlgauge.style.explaining import explain

        return explain(self, caption, style, variant)

    def score_matrix(self, captions: Sequence[str], variant: str = "paper") -> Floats:
        """OnlyStyle of each caption in every style, shape ``(n_captions, |S|)``, columns in the order of `styles`.

        Args:
            captions: Strings.
            variant: "paper" or "authors".
        """
        from vlgauge.style.scoring import checked_variant, score_blocks

        blocks = list(score_blocks(self, self.tokenize(captions), checked_variant(variant)))
        return np.concatenate(blocks) if blocks else np.zeros((0, len(self.styles)))
