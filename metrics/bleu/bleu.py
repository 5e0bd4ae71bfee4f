"""BLEU: How many n-grams does a caption share with its references?"""

from typing import Any

import numpy as np

from vlgauge.families import base  # From: "vlgauge[bleu]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.base import parts  # From: "vlgauge[bleu]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import bleu  # From: "vlgauge[bleu]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
BLEU is the precision of the n-grams of 1 to 4 tokens of the captions with respect to their references, with a penalty
for captions that are shorter than the closest reference. As in the COCO caption evaluation, the counts of all captions
are summed before the division. Higher is better. BLEU requires references and no model.
"""

_INPUTS = """
Args:
    predictions: Captions, one string per row.
    references: References, a string or a list of strings per row.
    return_details: Whether to add the counts of each row.

Returns:
    bleu: BLEU-4 of the corpus, in [0, 1], higher is better. It is not the mean of the scores.
    bleu_1, bleu_2, bleu_3, bleu_4: BLEU of the corpus with n-grams of up to this number of tokens.
    bleu_scores: BLEU-4 of each single caption, without smoothing. NaN for an empty list of references.
    bleu_matches_1, ..., bleu_matches_4, bleu_length, bleu_closest: Counts of each caption, from which BLEU is computed:
        n-grams that a reference contains, tokens, and tokens of the closest reference. NaN if the score is NaN.
    bleu_undefined: Number of undefined scores. The corpus scores ignore these rows.
    bleu_signature: Settings and versions that the scores depend on.

Examples:
    >>> import evaluate
    >>> bleu = evaluate.load("vlgauge/bleu")
    >>> result = bleu.compute(
    ...     predictions=["a dog runs on the green grass"],
    ...     references=[["a brown dog runs on the grass", "a dog is running on the green grass"]],
    ... )
    >>> print(round(result["bleu"], 3))
    0.795
"""


class Bleu(base.TokenMetric):
    """Corpus BLEU of the COCO caption evaluation, with the BLEU score of each caption. It requires no model."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://aclanthology.org/P02-1040",)

    def combine(self, partial: parts.PartialResult) -> dict[str, Any]:
        """Combine the partial results of all rows, with corpus BLEU computed from the summed counts.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            UsageError: If rows were scored with different settings.
        """
        columns = np.array([partial.columns[f"bleu_{name}"] for name in bleu.COUNT_COLUMNS], dtype=np.float64).T
        counted = columns[~np.isnan(columns).any(axis=1)]
        # Axes of the sums: matches and guesses of the four orders, length, closest.
        sums = bleu.counts_of_columns(counted).sum(axis=0)
        counts = bleu.BleuCounts(sums[:4], sums[4:8], sums[8], sums[9])
        return super().combine(partial) | self._corpus(counts, len(counted))

    def _corpus(self, counts: bleu.BleuCounts, n_captions: int) -> dict[str, float]:
        """Return BLEU of a corpus by key, from the sums of its counts. NaN if there are no captions."""
        orders = (bleu.coco_bleu(counts) if n_captions else np.full(4, np.nan)).tolist()
        return {f"bleu_{order}": value for order, value in enumerate(orders, 1)} | {"bleu": orders[-1]}

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        texts, example, rows = self.tokenize_to_ids(predictions, references)
        counts = bleu.bleu_counts(texts, example, self.progress)
        scores = bleu.coco_bleu(counts)[:, -1]
        # Computed only if they are requested.
        details = (
            {
                "tokens": own,
                "references": theirs,
                "matches": counts.matches[i].astype(int).tolist(),
                "guesses": counts.guesses[i].astype(int).tolist(),
                "length": int(counts.length[i]),
                "closest": int(counts.closest[i]),
            }
            for i, (own, *theirs) in enumerate(texts.iter_groups(example))
        )
        columns = [column.astype(int).tolist() for column in counts.columns()]
        named = dict(zip(bleu.COUNT_COLUMNS, columns, strict=True))
        found = base.fill_rows(len(predictions), rows, scores, details if return_details else None, counts=named)
        return self.result(**found) | self._corpus(counts.total(), len(rows))
