"""Style table: fitting, loading, saving, weights of n-grams, and scores of captions."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress
from vlgauge.core.validation import check_choice, check_int
from vlgauge.families.style import table_file, table_sources
from vlgauge.families.style.counts import StyleCounts
from vlgauge.families.style.explaining import NgramWeight, place_ngrams
from vlgauge.families.style.fitting import fit_table
from vlgauge.families.style.formula import score_blocks
from vlgauge.families.style.scoring import weigh_ngrams
from vlgauge.families.style.tokenizers import check_text
from vlgauge.families.style.weights import VARIANTS, Floats
from vlgauge.inputs.text.ngrams import MAX_ORDER


class StyleTable(StyleCounts):
    """Document frequencies of all 1- to 4-grams in captions with style labels, created by `fit` or `load`.

    The table contains integers only. All weights are derived from them in float64.
    """

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
    ) -> "StyleTable":
        """Count the n-grams of captions whose style is known.

        Args:
            captions: Strings, or lists of tokens.
            styles: Style of each caption.
            tokenizer: "words-1" (default for strings) or "whitespace" (the only one for lists of tokens).
            held_out: Whether each caption is left out of every count. None to count all captions.
            name: Name of the table.
            source: Source of the captions.
            licence: License of the captions.
            progress: Progress reporting, see `progress_bar`.

        Raises:
            ValueError: If lengths differ, no caption is left, a caption or style is not a string, a style is empty,
                there are fewer than 2 styles, or an entry of `held_out` is neither true nor false.
        """
        about = {"name": name, "source": source, "licence": licence}
        return fit_table(cls, captions, styles, tokenizer=tokenizer, held_out=held_out, progress=progress, **about)

    @classmethod
    def load(cls, source: "StyleTable | str | PathLike[str]", revision: str | None = None) -> "StyleTable":
        """Load a table from a file or from a dataset on the Hub.

        Args:
            source: Path, or ``"owner/name"`` or ``"owner/name:config"`` of a dataset. A table is returned unchanged.
            revision: Commit, tag or branch of the dataset.

        Raises:
            ValueError: If the file is not a style table, has another version, is altered, or unpacks to far more than
                its size.
            OSError: If the file cannot be read or downloaded.
        """
        return table_sources.resolve_table(cls, source, revision)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table to one Parquet file, which any program can read.

        The file discloses every n-gram of the captions.

        Args:
            path: File, which is replaced only once the new one is complete.
        """
        table_file.save(self, path)

    def push(self, dataset: str, *, private: bool = False, message: str | None = None) -> str:
        """Upload the table as a file of a dataset on the Hub, which is created if it does not exist.

        Args:
            dataset: ``"owner/name"`` or ``"owner/name:config"``.
            private: Whether a newly created dataset is private.
            message: Commit message. None for a default message with the fingerprint.

        Returns:
            The commit, a `revision` for `load`.

        Raises:
            ValueError: If `dataset` has another form.
            NetworkError: If the Hub cannot be reached or rejects the upload.
        """
        message = message or f"Add style table {self.fingerprint}"
        return table_sources.push(self, dataset, private=private, message=message)

    # -- Facts --------------------------------------------------------------------------------------------------------
    @property
    def captions_per_style(self) -> dict[str, int]:
        """Number of captions by style."""
        return dict(zip(self.styles, self.captions, strict=True))

    @cached_property
    def fingerprint(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 over all counts."""
        return table_file.digest(self)[:12]

    def __repr__(self) -> str:
        called = f"{self.name}: " if self.name else ""
        n_ngrams = sum(len(counts.keys) for counts in self.orders)
        return f"<StyleTable {called}{len(self.styles)} styles, {sum(self.captions)} captions, {n_ngrams} n-grams>"

    # -- Weights ------------------------------------------------------------------------------------------------------
    def cng(self, ngram: str, style: str | None = None, variant: str = "paper") -> float | dict[str, float]:
        """Return the contrastive score of an n-gram in a style, or in all styles by name.

        Args:
            ngram: One to four tokens, such as ``"i love"``.
            style: Name of a style. None for all styles.
            variant: "paper" or "released", see `contrastive_weights`.

        Raises:
            ValueError: If `ngram` does not have one to four tokens, or the style or variant is unknown.
        """
        styles = np.arange(len(self.styles)) if style is None else np.array([self.style_id(style)])
        tokens = self.tokenize([check_text(ngram, "ngram")])[0]
        if not 1 <= len(tokens) <= MAX_ORDER:
            raise UsageError.about("ngram", f"must have 1 to {MAX_ORDER} tokens, got {len(tokens)} in {ngram!r}")
        row = self.ngrams([tokens])[len(tokens) - 1].ngrams
        evidence = self.orders[len(tokens) - 1].evidence(np.repeat(row, len(styles)), styles)
        weights = evidence.weights(len(self.styles), check_choice("variant", variant, VARIANTS)).tolist()
        return dict(zip(self.styles, weights, strict=True)) if style is None else weights[0]

    def top_ngrams(
        self, style: str, order: int = 1, k: int = 20, variant: str = "paper", min_df: int = 1
    ) -> list[NgramWeight]:
        """Return the n-grams of a style with the largest weights. Ties are in code-point order.

        Args:
            style: Name of a style.
            order: 1 to 4.
            k: Maximum number of n-grams.
            variant: "paper" or "released".
            min_df: Minimum number of captions of the style that contain an n-gram.

        Raises:
            ValueError: If the style, order or variant is unknown, or `k` is below 1.
        """
        check_choice("variant", variant, VARIANTS)
        order, k = check_int("order", order, 1, MAX_ORDER), check_int("k", k, 1)
        counts, column = self.orders[order - 1], self.style_id(style)
        pairs = np.flatnonzero((counts.styles == column) & (counts.df >= min_df))
        ngrams = np.searchsorted(counts.bounds, pairs, "right") - 1
        known = counts.evidence(ngrams, np.full(len(ngrams), column))
        weights = known.weights(len(self.styles), variant)
        # Weights are rounded, because equal weights may differ in their last digits. N-grams are in code-point order.
        best = np.argsort(-np.round(weights, 12), kind="stable")[:k]
        columns = (known.df[best].tolist(), known.occurrences[best].tolist(), weights[best].tolist())
        return [
            NgramWeight(self._ngram_text(order, ngram), order, df, occurrences, weight)
            for ngram, df, occurrences, weight in zip(ngrams[best].tolist(), *columns, strict=True)
        ]

    def _ngram_text(self, order: int, ngram: int) -> str:
        """Return the tokens of an n-gram, joined by spaces."""
        words: list[str] = []
        for n in range(order, 0, -1):
            ngram, last = divmod(int(self.orders[n - 1].keys[ngram]), len(self.tokens))
            words.append(self.tokens[last])
        return " ".join(reversed(words))

    def explain(self, caption: str, style: str, variant: str = "paper") -> list[NgramWeight]:
        """Return the distinct n-grams of a caption with their weights in a style, by order, then by first position.

        Args:
            caption: A string.
            style: Name of a style.
            variant: "paper" or "released".

        Raises:
            ValueError: If the style or variant is unknown.
        """
        tokens = self.tokenize([check_text(caption, "caption")])
        weighted = weigh_ngrams(self, tokens, np.array([self.style_id(style)]), variant)
        return [placed.weight for placed in place_ngrams(tokens[0], 0, weighted)]

    def score_matrix(self, captions: Sequence[str], variant: str = "paper") -> Floats:
        """Compute OnlyStyle of each caption in every style.

        Args:
            captions: Strings.
            variant: "paper" or "released".

        Returns:
            Shape ``(n_captions, |S|)``, float64, with columns in the order of `styles`.

        Raises:
            ValueError: If the variant is unknown, or a caption is not a valid string.
        """
        blocks = list(score_blocks(self, self.tokenize(captions), check_choice("variant", variant, VARIANTS)))
        return np.concatenate(blocks) if blocks else np.zeros((0, len(self.styles)))
