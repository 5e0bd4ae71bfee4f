"""Style table: fitting, loading, saving, weights of n-grams, and scores of captions."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike

import numpy as np

from vlgauge.core.progress import Progress
from vlgauge.core.validation import check_choice
from vlgauge.families.style import explaining, table_file, table_sources
from vlgauge.families.style.counts import StyleCounts
from vlgauge.families.style.explaining import NgramWeight
from vlgauge.families.style.fitting import fit_table
from vlgauge.families.style.formula import score_blocks
from vlgauge.families.style.scoring import ngram_weights
from vlgauge.families.style.weights import VARIANTS, Floats


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
        if style is not None:
            return ngram_weights(self, ngram, np.array([self.style_id(style)]), variant)[0]
        weights = ngram_weights(self, ngram, np.arange(len(self.styles)), variant)
        return dict(zip(self.styles, weights, strict=True))

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
        return explaining.top_ngrams(self, style, order, k, variant, min_df)

    def explain(self, caption: str, style: str, variant: str = "paper") -> list[NgramWeight]:
        """Return the distinct n-grams of a caption with their weights in a style, by order, then by first position.

        Args:
            caption: A string.
            style: Name of a style.
            variant: "paper" or "released".

        Raises:
            ValueError: If the style or variant is unknown.
        """
        return explaining.explain(self, caption, style, variant)

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
