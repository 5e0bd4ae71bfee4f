"""ROUGE-L: how long a sequence of tokens do a caption and its references share, in order?"""

from typing import Any

import numpy as np

from vlgauge import base  # From: "vlgauge[rouge-l] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.distances import rouge_and_bleu  # From: "vlgauge[rouge-l] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.text.ptb import tokens  # From: "vlgauge[rouge-l] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
ROUGE-L says how long a subsequence of tokens a caption has in common with its references: precision and recall of the
longest common subsequence, each the best over the references, in one F-measure that leans to recall. Higher is better;
it needs references and no model.
"""

_INPUTS = """
Args:
    predictions: list of captions, one string per row.
    references: list of references, a string or a list of strings per row.
    return_details: whether to add precision, recall and the lengths of the common subsequences of each row.

Returns:
    rouge_l: mean of the scores, in [0, 1], higher is better.
    rouge_l_scores: one score per row, NaN for an empty list of references.
    rouge_l_undefined: number of those.
    rouge_l_signature: how the numbers were made.

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


class RougeL(base.TokenMetric):
    """F-measure of the longest common subsequence, as the COCO caption evaluation computes it; needs no model."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://aclanthology.org/W04-1013",)
    measures = "How long a sequence of tokens do caption and references share, in order?"
    score_range = "[0, 1]"
    bounds = (0.0, 1.0)
    higher_is_better = True

    @staticmethod
    def split_caption(caption: str) -> list[str]:
        """As the base has it; a token may hold white space, at which ROUGE-L does not split again."""
        return tokens.ptb_tokens(caption)

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        candidates, theirs, rows = self.tokenized(predictions, references)
        precisions, recalls = np.zeros(len(rows)), np.zeros(len(rows))
        details: list[dict[str, Any]] = []
        pairs = zip(candidates, theirs, strict=True)
        told = base.reported(pairs, len(rows), "Scoring captions", self.progress)
        for i, (candidate, captions) in enumerate(told):
            common = rouge_and_bleu.common_with(candidate, captions)
            precisions[i] = max(common) / max(1, len(candidate))
            recalls[i] = max(length / max(1, len(tokens)) for length, tokens in zip(common, captions, strict=True))
            parts = {"common": common, "precision": precisions[i], "recall": recalls[i]}
            details.append({"tokens": candidate, "references": captions, **parts})
        scores = rouge_and_bleu.coco_rouge_l(precisions, recalls)
        return self.scored(len(predictions), rows, scores, details if return_details else None)
