"""BLEU: How many n-grams does a caption share with its references?"""

from typing import Any

from vlgauge.families import base  # From: "vlgauge[bleu]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import bleu  # From: "vlgauge[bleu]@git+https://github.com/vlgauge/vlgauge@v0.1.0"


class Bleu(base.TokenMetric):
    """Corpus BLEU of the COCO caption evaluation, with the BLEU score of each caption.

    BLEU is the precision of the n-grams of 1 to 4 tokens of the captions with respect to their references, with a
    penalty for captions that are shorter than the closest reference. As in the COCO caption evaluation, the counts of
    all captions are summed before the division. Higher is better. BLEU requires references and no model.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add the counts of each row.

    Returns:
        bleu: BLEU-4 of the corpus, in [0, 1], higher is better. It is not the mean of the scores.
        bleu_1, bleu_2, bleu_3, bleu_4: BLEU of the corpus with n-grams of up to this number of tokens.
        bleu_scores: BLEU-4 of each single caption, without smoothing. NaN for an empty list of references.
        bleu_matches_1, ..., bleu_matches_4, bleu_length, bleu_closest: Counts of each caption, from which BLEU is
            computed: n-grams that a reference contains, tokens, and tokens of the closest reference. NaN if the score
            is NaN.
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

    papers = ("https://aclanthology.org/P02-1040",)

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        texts, example, rows = self.tokenize_to_ids(predictions, references)
        counts = bleu.bleu_counts(texts, example, self.progress)
        columns = bleu.columns_of_counts(counts).T.astype(int).tolist()
        named = dict(zip(bleu.COUNT_COLUMNS, columns, strict=True))
        # Computed only if they are requested.
        details = (
            {
                "tokens": own,
                "references": theirs,
                "matches": numbers[:4],
                "guesses": numbers[4:8],
                "length": numbers[8],
                "closest": numbers[9],
            }
            for (own, *theirs), numbers in zip(texts.iter_groups(example), counts.astype(int).tolist(), strict=True)
        )
        scores = bleu.coco_bleu(counts)[:, -1]
        found = base.fill_rows(len(predictions), rows, scores, details if return_details else None, counts=named)
        return self.result(**found)
