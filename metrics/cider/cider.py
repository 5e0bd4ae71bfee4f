"""CIDEr-D: does a caption share with its references the n-grams that few other captions have?"""

import hashlib
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge import base  # From: "vlgauge[cider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.base.parts import Counts  # From: "vlgauge[cider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.distances import cider  # From: "vlgauge[cider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.settings import warn  # From: "vlgauge[cider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
CIDEr-D compares the n-grams of a caption with those of its references, each weighted by how few images of the corpus
have it in their references, with a penalty for other lengths. Higher is better; it needs references, a corpus of images
(those of the call, or a saved table) and no model.
"""

_INPUTS = """
Args:
    predictions: list of captions, one string per row.
    references: list of references, a string or a list of strings per row.
    return_details: whether to add the score against each reference.

Returns:
    cider: mean of the scores, in [0, 10], higher is better.
    cider_scores: one score per row, the mean over its references; NaN for an empty list of references.
    cider_undefined: number of those, which are no documents either.
    cider_signature: how the numbers were made.

Examples:
    >>> import evaluate
    >>> from vlgauge.distances.cider import DocumentFrequency
    >>> cider = evaluate.load("vlgauge/cider", df=DocumentFrequency({("a",): 90, ("dog",): 9}, 100))
    >>> result = cider.compute(predictions=["a dog runs"], references=[["a dog is running", "a dog runs fast"]])
    >>> print(round(result["cider"], 3))
    3.503
"""


_DIGESTS = 2**256
_WARNED = -1  # no sum of digests


def sum_of_digests(references: Sequence[Sequence[str]]) -> int:
    """Sum of the SHA-256 of the references of each row, which has no order, modulo 2^256."""
    # UTF-8 has no byte 255: it parts the references, whatever they hold.
    digests = (hashlib.sha256(b"\xff".join(map(str.encode, own))).digest() for own in references if own)
    return sum(map(int.from_bytes, digests)) % _DIGESTS


def named_by(total: int) -> str:
    """The name in the signature of document frequencies that were counted in references of these digests."""
    return f"references@{total % _DIGESTS:064x}"[: len("references@") + 8]


class Cider(base.TokenMetric):
    """CIDEr-D of the COCO caption evaluation; needs no model."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://arxiv.org/abs/1411.5726",)

    def __init__(self, *args: Any, df: Any = "references", **host: Any) -> None:
        self.df = cider.checked_df(df, ("references",))
        self._counted: tuple[str, cider.DocumentFrequency] | None = None
        self._first: int | None = None  # sum of the digests of the references of the first call
        super().__init__(*args, **host)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was scored: a copy begins anew, and the digest that `Dataset.map` takes of a metric stays."""
        return {**self.__dict__, "_first": None}

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count in the references of how many rows each n-gram occurs, if ``df`` asks for it."""
        if self.df != "references":
            return None
        counts = cider.document_counts(columns["references"], tokenizer=self.tokenizer or self.split_caption)
        return counts | {"digests": {"sum": sum_of_digests(columns["references"])}}

    def use_counts(self, counts: Counts) -> None:
        """Use the document frequencies of the corpus."""
        self._counted = (named_by(counts["digests"]["sum"]), cider.counted_documents(counts))

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        texts, example, rows = self.numbered(predictions, references)
        name, table = self.df, None
        if self._counted is not None:
            name, table = self._counted
        elif self.df == "references":
            cider.warn_of_few_documents(len(rows))
            total = sum_of_digests(references)
            self._warn_of_other_references(total)
            name = named_by(total)
        else:
            name, table = cider.given_df(self.df, ptb=self.tokenizer is None)
        cider.warn_of_long_captions(texts, example)
        parts, of = cider.cider_d_scores(texts, example, table, self.progress)
        scores = np.bincount(of, parts, len(rows)) / np.bincount(of, minlength=len(rows))
        bounds = np.searchsorted(of, np.arange(len(rows) + 1))
        # Made only if they are asked for.
        details = (
            {"tokens": own, "references": theirs, "per_reference": parts[bounds[i] : bounds[i + 1]].tolist()}
            for i, (own, *theirs) in enumerate(texts.grouped(example))
        )
        told = details if return_details else None
        return self.scored(len(predictions), rows, scores, told, made_with={"df": name})

    def _warn_of_other_references(self, total: int) -> None:
        """Warn once where two calls counted words in different references, such as batches of one data set."""
        if self._first is None:
            self._first = total
        elif self._first not in (total, _WARNED):
            self._first = _WARNED
            warn(
                "CIDEr-D counts n-grams in the references of a call, and this call has other references than one "
                "before: do not compare or average their scores; load cider with "
                "`df=DocumentFrequency.from_references(...)` of all references"
            )
