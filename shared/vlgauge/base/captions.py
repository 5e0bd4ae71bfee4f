"""The bases of the metrics that compare a caption with references, most of them by their tokens."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from vlgauge.base.columns import References, Text
from vlgauge.base.metric import Metric
from vlgauge.progress import reported
from vlgauge.text.coco_tokens import PTB, checked_tokenizer, coco_tokens, tokenizer_setting, warn_of_unparted
from vlgauge.text.ngrams import Ints, TokenIds, numbered, token_ids

Tokens = Sequence[str]


def _listing(tokenizer: Callable[[str], Sequence[str]]) -> Callable[[str], Tokens]:
    """The tokenizer, which must return a list: the characters of a string would be taken for tokens."""

    def tokens(caption: str) -> Tokens:
        found = tokenizer(caption)
        if not isinstance(found, (list, tuple)):
            raise TypeError
        return found

    return tokens


class CaptionMetric(Metric):
    """Base of the metrics that compare a caption with its references."""

    columns = (Text("predictions"), References("references"))

    def scored(
        self,
        n_rows: int,
        rows: Sequence[int],
        scores: Iterable[float],
        details: Iterable[Mapping[str, Any]] | None,
        *,
        counts: Mapping[str, Sequence[float]] | None = None,
        made_with: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """The result, in which the rows without references are undefined.

        Args:
            n_rows: Number of rows.
            rows: The rows that have references.
            scores: One per such row.
            details: What explains each of these scores; None if nobody asked.
            counts: By name a number per such row, of which the number of the corpus is made; NaN for the others.
            made_with: As for `result`.
            **extra: As for `result`.
        """
        every = np.full(n_rows, np.nan)
        every[list(rows)] = list(scores)
        for name, own in (counts or {}).items():
            numbers = dict(zip(rows, own, strict=True))
            extra[name] = [numbers.get(row, math.nan) for row in range(n_rows)]
        explained: list[Mapping[str, Any]] | None = None
        if details is not None:
            by_row = dict(zip(rows, details, strict=True))
            explained = [by_row.get(row, {}) for row in range(n_rows)]
        return self.result(every.tolist(), made_with=made_with, details=explained, **extra)


class TokenMetric(CaptionMetric):
    """Base of the metrics that compare the tokens of a caption with those of its references."""

    def __init__(self, *args: Any, tokenizer: Callable[[str], Sequence[str]] | str | None = None, **host: Any) -> None:
        found = tokenizer_setting(tokenizer)
        self.tokenizer = None if isinstance(found, str) else found
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """The settings, with the name of the tokens of the COCO caption evaluation."""
        fields = super().signature_fields()
        return fields | {"tokenizer": PTB if self.tokenizer is None else self.tokenizer}

    def tokenized(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[list[Tokens], list[list[Tokens]], list[int]]:
        """Tokens of the rows that have references; each distinct caption is split once.

        Returns:
            Tokens of the candidates, tokens of their references, and the numbers of these rows. The others have no
            score.
        """
        rows = [row for row, captions in enumerate(references) if captions]
        candidates = [predictions[row] for row in rows]
        theirs = [references[row] for row in rows]
        captions = dict.fromkeys(chain(candidates, chain.from_iterable(theirs)))
        if self.tokenizer is None:
            warn_of_unparted(captions)
        split = self._split()
        tokens = {caption: split(caption) for caption in self._reported(captions)}
        return (
            [tokens[caption] for caption in candidates],
            [[tokens[caption] for caption in captions] for captions in theirs],
            rows,
        )

    def numbered(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[TokenIds, Ints, list[int]]:
        """Tokens as `tokenized` finds them, as integers.

        Returns:
            Tokens of the candidate of a row, of its references, of the next candidate; the row of each of
            these texts, ascending; and the numbers of these rows.
        """
        rows = [row for row, captions in enumerate(references) if captions]
        captions, which = numbered(caption for row in rows for caption in (predictions[row], *references[row]))
        sizes = np.fromiter((1 + len(references[row]) for row in rows), np.int64, len(rows))
        row_of_text = np.repeat(np.arange(len(rows)), sizes)
        return self._numbered(captions).chosen(which), row_of_text, rows

    def _numbered(self, captions: Sequence[str]) -> TokenIds:
        if self.tokenizer is None:
            warn_of_unparted(captions)
            return token_ids(map(self.split_caption, self._reported(captions)))
        try:
            found = token_ids(map(_listing(self.tokenizer), self._reported(captions)))
        except TypeError:
            found = None
        if found is not None and all(isinstance(token, str) for token in found.tokens):
            return found
        # To look at every token of every caption takes longer, and tells which caption it is.
        return token_ids(map(self._split(), self._reported(captions)))

    def _reported(self, captions: Collection[str]) -> Iterator[str]:
        return reported(captions, len(captions), "Splitting captions", self.progress)

    @staticmethod
    def split_caption(caption: str) -> list[str]:
        """Split a caption as the COCO caption evaluation does for the metric."""
        return coco_tokens(caption)

    def _split(self) -> Callable[[str], Tokens]:
        return self.split_caption if self.tokenizer is None else checked_tokenizer(self.tokenizer)
