"""chrF: How many character n-grams match the references?"""

from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError  # From: "vlgauge[chrf]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[chrf]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import COUNT_COLUMNS
from .formula import best_references
from .formula import f_score
from .formula import summands
from .formula import words


class Chrf(base.CaptionMetric):
    """chrF or chrF++ of a corpus, with the score of each caption.

    chrF compares the character n-grams of length 1 to 6 in captions and references by an F-score that weights recall
    higher than precision. chrF++ also counts words and word bigrams. The counts of all captions are summed before the
    division. Higher is better. chrF requires references and no model.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add the words, the score with each reference, and the n-gram counts of each row.

    Returns:
        chrf: chrF of the corpus, in [0, 1], higher is better. It is not the mean of the scores.
        chrf_scores: chrF of each single caption with its best reference. NaN for an empty list of references.
        chrf_characters_shared_1, ..., chrf_characters_shared_6, chrf_words_shared_1, chrf_words_shared_2,
            chrf_characters, chrf_words, chrf_reference_characters, chrf_reference_words: Counts of each caption and its
            best reference, from which chrF is computed: shared n-grams, characters, and words. NaN if the score is NaN.
        chrf_undefined: Number of undefined scores. The corpus score ignores these rows.
        chrf_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> chrf = evaluate.load("vlgauge/chrf")
        >>> result = chrf.compute(
        ...     predictions=["two dogs running on grass"],
        ...     references=[["two dogs run on the grass", "dogs are playing"]],
        ... )
        >>> print(round(result["chrf"], 3))
        0.577
    """

    papers = ("https://aclanthology.org/W15-3049", "https://aclanthology.org/W17-4770")

    def __init__(self, *args: Any, word_order: int = 0, lowercase: bool = False, **host: Any) -> None:
        self.word_order = base.check_int("word_order", word_order, 0)
        if self.word_order not in (0, 2):
            raise UsageError.about("word_order", f"must be 0 for chrF or 2 for chrF++, got {self.word_order}")
        self.lowercase = base.check_bool("lowercase", lowercase)
        super().__init__(*args, **host)

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        rows = [row for row, captions in enumerate(references) if captions]
        own = [self._apply_case(predictions[row]) for row in rows]
        theirs = [[self._apply_case(caption) for caption in references[row]] for row in rows]
        found = best_references(own, theirs, self.word_order, self.progress)
        summed = summands(found.columns.astype(np.float64))
        # Computed only if they are requested.
        details = (
            {
                "tokens": words(caption),
                "references": [words(reference) for reference in captions],
                "per_reference": scores,
                "best": best,
                **dict(zip(("shared", "own", "theirs"), sums.astype(int).reshape(3, -1).tolist(), strict=True)),
            }
            for caption, captions, scores, best, sums in zip(
                *(own, theirs, found.per_reference, found.best, summed), strict=True
            )
        )
        of_rows = base.fill_rows(
            *(len(predictions), rows, f_score(summed), details if return_details else None),
            counts=dict(zip(COUNT_COLUMNS, found.columns.T.tolist(), strict=True)),
        )
        return self.result(**of_rows)

    def _apply_case(self, caption: str) -> str:
        return caption.lower() if self.lowercase else caption
