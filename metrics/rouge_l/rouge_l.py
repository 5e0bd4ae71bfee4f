"""ROUGE-L: How long is the longest subsequence shared with references?"""

from typing import Any

import numpy as np

from vlgauge.families import base  # From: "vlgauge[rouge-l]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import rouge_l  # From: "vlgauge[rouge-l]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import ngrams  # From: "vlgauge[rouge-l]@git+https://github.com/vlgauge/vlgauge@v0.1.0"


class RougeL(base.TokenMetric):
    """F-score of the longest common subsequence, as in the COCO caption evaluation.

    ROUGE-L is the F-score of the longest common subsequence of tokens of a caption and its references. Precision and
    recall are each the maximum over the references, and recall is weighted higher. Higher is better. ROUGE-L requires
    references and no model.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add precision, recall and the lengths of the common subsequences of each row.

    Returns:
        rouge_l: Mean of the scores, in [0, 1], higher is better.
        rouge_l_scores: One score per row. NaN for an empty list of references.
        rouge_l_undefined: Number of undefined scores.
        rouge_l_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> rouge_l = evaluate.load("vlgauge/rouge_l")
        >>> result = rouge_l.compute(
        ...     predictions=["a dog runs on the grass"],
        ...     references=[["the dog runs over the grass", "a dog is running"]],
        ... )
        >>> print(round(result["rouge_l"], 3))
        0.667
    """

    papers = ("https://aclanthology.org/W04-1013",)

    # A token may contain whitespace, at which ROUGE-L of the COCO caption evaluation does not split again.
    splits_again = False

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        texts, example, rows = self.tokenize_to_ids(predictions, references)
        is_candidate = ngrams.first_of_run(example)
        candidates, theirs = np.flatnonzero(is_candidate), np.flatnonzero(~is_candidate)
        of = example[theirs]
        with base.progress_bar(len(theirs), "Scoring captions", self.progress) as advance:
            common = rouge_l.common_lengths(texts, candidates[of], theirs, advance)
        bounds = np.flatnonzero(ngrams.first_of_run(of))
        lengths = np.maximum(texts.lengths, 1)
        precisions, recalls = np.zeros(len(rows)), np.zeros(len(rows))
        if rows:
            precisions = np.maximum.reduceat(common, bounds) / lengths[candidates]
            recalls = np.maximum.reduceat(common / lengths[theirs], bounds)
        # Computed only if they are requested.
        parts = zip(np.split(common, bounds[1:]), precisions.tolist(), recalls.tolist(), strict=True)
        details = (
            {
                "tokens": own,
                "references": captions,
                "common": lengths.tolist(),
                "precision": precision,
                "recall": recall,
            }
            for (own, *captions), (lengths, precision, recall) in zip(texts.iter_groups(example), parts, strict=True)
        )
        scores = rouge_l.coco_rouge_l(precisions, recalls)
        return self.result(**base.fill_rows(len(predictions), rows, scores, details if return_details else None))
