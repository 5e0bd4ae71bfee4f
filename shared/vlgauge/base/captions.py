"""The bases of the metrics that compare a caption with references, most of them by their tokens."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vlgauge.base.columns import References, Text
from vlgauge.base.metric import Metric
from vlgauge.progress import reported
from vlgauge.text.coco_tokens import PTB, checked_tokenizer, coco_tokens, tokenizer_setting, warn_of_unparted
from vlgauge.text.ngrams import Ints, TokenIds, numbered, shared_ids, token_ids
from vlgauge.text.ptb.tokens import ptb_tokens

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
            extra[name] = list(own)
            if len(rows) < n_rows:
                numbers = dict(zip(rows, own, strict=True))
                extra[name] = [numbers.get(row, math.nan) for row in range(n_rows)]
        explained: list[Mapping[str, Any]] | None = None
        if details is not None:
            by_row = dict(zip(rows, details, strict=True))
            explained = [by_row.get(row, {}) for row in range(n_rows)]
        return self.result(every.tolist(), made_with=made_with, details=explained, **extra)


class TokenMetric(CaptionMetric):
    """Base of the metrics that compare the tokens of a caption with those of its references.

    Attributes:
        splits_again: Whether tokens that hold white space are split there, as `coco_tokens` does.
    """

    splits_again: ClassVar[bool] = True

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
    ) -> tuple[list[list[str]], list[list[list[str]]], list[int]]:
        """Tokens of the rows that have references, see `numbered`.

        Returns:
            Tokens of the candidates, tokens of their references, and the numbers of these rows. The others have no
            score.
        """
        texts, row_of_text, rows = self.numbered(predictions, references)
        of_rows = list(texts.grouped(row_of_text))
        return [own for own, *_ in of_rows], [theirs for _, *theirs in of_rows], rows

    def numbered(
        self, predictions: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[TokenIds, Ints, list[int]]:
        """Tokens of the rows that have references, as integers; each distinct caption is split once.

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
            found = shared_ids(captions, map(ptb_tokens, self._reported(captions)))
            if self.splits_again and not all(map(str.isprintable, found.tokens)):  # as odd white space is not
                found = token_ids(map(self.split_caption, captions))
            return found
        try:
            found = token_ids(map(_listing(self.tokenizer), self._reported(captions)))
            if all(isinstance(token, str) for token in found.tokens):
                return found
        except TypeError:
            pass
        # To look at every token of every caption takes longer, and tells which caption it is.
        return token_ids(map(checked_tokenizer(self.tokenizer), self._reported(captions)))

    def _reported(self, captions: Collection[str]) -> Iterator[str]:
        return reported(captions, len(captions), "Splitting captions", self.progress)

    @staticmethod
    def split_caption(caption: str) -> list[str]:
        """Split a caption as the COCO caption evaluation does for the metric."""
        return coco_tokens(caption)
