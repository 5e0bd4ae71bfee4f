"""Base classes of metrics that compare a caption with references, most of them token by token."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.catalog import ANY_LANGUAGE
from vlgauge.core.progress import report_progress
from vlgauge.families.base.columns import Captions, Column, References, Text
from vlgauge.families.base.metric import Metric
from vlgauge.inputs.text.ngrams import Ints, TokenIds, number_distinct, number_shared, token_ids
from vlgauge.inputs.text.ptb.tokens import coco_tokens, ptb_tokens
from vlgauge.inputs.text.tokenizers import (
    DEFAULT,
    NAMES,
    WORD_TOKENIZERS,
    check_tokenizer,
    look_for_tokenizer,
    open_tokenizer,
    tokenizer_setting,
    tokens_name,
    warn_of_unparted,
)

SAMPLED_COLUMNS: tuple[Column, ...] = (Captions("predictions"),)
"""Columns of metrics of sampled captions without references."""


def fill_rows(
    n_rows: int,
    rows: Sequence[int],
    scores: Iterable[float],
    details: Iterable[Mapping[str, Any]] | None,
    *,
    counts: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """Return the arguments of `Metric.result`, with undefined scores for the rows without references.

    Args:
        n_rows: Number of rows.
        rows: Indices of the rows that have references.
        scores: One score per row in `rows`.
        details: Details that explain each of these scores. None if they were not requested.
        counts: By key, one number per row in `rows` for the corpus-level value. Other rows get NaN.

    Returns:
        ``scores`` and the keys of `counts` as lists of `n_rows` values, and ``details``, a list with {} for the other
        rows or None.
    """

    def fill(values: Iterable[Any], default: Any) -> list[Any]:
        if len(rows) == n_rows:
            return list(values)
        by_row = dict(zip(rows, values, strict=True))
        return [by_row.get(row, default) for row in range(n_rows)]

    found: dict[str, Any] = {"scores": fill(map(float, scores), math.nan)}
    found |= {name: fill(own, math.nan) for name, own in (counts or {}).items()}
    return found | {"details": None if details is None else fill(details, {})}


class CaptionMetric(Metric):
    """Base class of metrics that compare a caption with its references."""

    columns = (Text("predictions"), References("references"))


class TokenMetric(Metric):
    """Base class of metrics that compare the tokens of a caption and its references.

    Attributes:
        splits_again: Whether tokens that contain whitespace are split at it, as in `coco_tokens`.
    """

    columns: tuple[Column, ...] = CaptionMetric.columns
    splits_again: ClassVar[bool] = True

    def __init__(
        self, *args: Any, tokenizer: Callable[[str], Sequence[str]] | str | None = DEFAULT, **host: Any
    ) -> None:
        self.tokenizer = tokenizer_setting(tokenizer)
        super().__init__(*args, **host)

    @property
    def tokenizers(self) -> Sequence[str]:
        """Names of the tokenizers that the settings support."""
        return NAMES

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings for the signature by name, with name and version of the tokenizer."""
        return super().signature_fields() | {"tokenizer": tokens_name(self.tokenizer)}

    def check_sources(self) -> Preflight:
        """Check that the packages of the tokenizer are installed.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = Preflight(self.name)
        look_for_tokenizer(found, self.tokenizer)
        return found

    def tokenize_rows(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[list[list[str]], list[list[list[str]]], list[int]]:
        """Tokenize the rows that have references. See `numbered` for a compact form.

        Returns:
            Tokens of the candidates, tokens of their references, and the indices of these rows. Other rows have no
            score.
        """
        texts, row_of_text, rows = self.tokenize_to_ids(predictions, references)
        of_rows = list(texts.iter_groups(row_of_text))
        return [own for own, *_ in of_rows], [theirs for _, *theirs in of_rows], rows

    def tokenize_to_ids(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[TokenIds, Ints, list[int]]:
        """Tokenize the rows that have references into integers, splitting each distinct caption once.

        Returns:
            Tokens of the texts (the candidate of a row, its references, the candidate of the next row and so on), the
            position in `rows` of each text, ascending, shape ``(n_texts,)``, and the indices `rows` of the rows that
            have references.
        """
        rows = [row for row, captions in enumerate(references) if captions]
        captions, which = number_distinct(caption for row in rows for caption in (predictions[row], *references[row]))
        sizes = np.fromiter((1 + len(references[row]) for row in rows), np.int64, len(rows))
        row_of_text = np.repeat(np.arange(len(rows)), sizes)
        return self._tokenize_captions(captions).select(which), row_of_text, rows

    def _tokenize_captions(self, captions: Sequence[str]) -> TokenIds:
        # Metrics of English warn about all captions in other scripts.
        if self.tokenizer in WORD_TOKENIZERS and (self.checks_words or ANY_LANGUAGE in self.languages_of_call()):
            warn_of_unparted(captions, self.tokenizers)
        if self.tokenizer == DEFAULT:
            found = number_shared(captions, map(ptb_tokens, self._report_captions(captions)), DEFAULT)
            if self.splits_again and not all(map(str.isprintable, found.tokens)):  # unusual whitespace is not printable
                found = token_ids(map(coco_tokens, captions))
            return found
        if isinstance(self.tokenizer, str):
            return number_shared(
                captions, map(open_tokenizer(self.tokenizer), self._report_captions(captions)), self.tokenizer
            )
        return token_ids(map(check_tokenizer(self.tokenizer), self._report_captions(captions)))

    def _report_captions(self, captions: Collection[str]) -> Iterator[str]:
        return report_progress(captions, len(captions), "Splitting captions", self.progress)
