"""METEOR: do a caption and its references share words, stems or synonyms, and in the same order?"""

from typing import Any

from vlgauge import base  # From: "vlgauge[meteor] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.distances import meteor  # From: "vlgauge[meteor] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
METEOR matches the words of a caption with those of a reference, by form, stem or synonym, and takes off for matches
that do not stand side by side; of several references the best counts. This is METEOR of 2007 as NLTK computes it, not
the METEOR 1.5 of the COCO caption evaluation. Higher is better; it needs references, no model and no Java.
"""

_INPUTS = """
Args:
    predictions: list of captions, one string per row.
    references: list of references, a string or a list of strings per row.
    return_details: whether to add the score against each reference.

Returns:
    meteor: mean of the scores, in [0, 1], higher is better.
    meteor_scores: one score per row, the largest over its references; NaN for an empty list of references.
    meteor_undefined: number of those.
    meteor_signature: how the numbers were made.

Examples:
    >>> import evaluate
    >>> meteor = evaluate.load("vlgauge/meteor")
    >>> result = meteor.compute(
    ...     predictions=["a dog runs on the grass"],
    ...     references=[["the dog is running on grass", "two dogs run"]],
    ... )
    >>> print(round(result["meteor"], 3))
    0.62
"""


class Meteor(base.TokenMetric):
    """The best METEOR over the references of each caption; needs no model."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://aclanthology.org/W07-0734",)
    measures = "Do caption and references share words, stems or synonyms, in the same order?"
    score_range = "[0, 1]"
    bounds = (0.0, 1.0)
    signed = "profile:paper tokenizer variant"
    higher_is_better = True

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        candidates, theirs, rows = self.tokenized(predictions, references)
        scores: list[float] = []
        details: list[dict[str, Any]] = []
        with base.progress_bar(len(rows), "Scoring captions", self.progress) as advance:
            found = meteor.meteor_scores(candidates, theirs)
            for candidate, captions, parts in zip(candidates, theirs, found, strict=True):
                scores.append(max(parts))
                details.append({"tokens": candidate, "references": captions, "per_reference": parts})
                advance(1)
        explained = details if return_details else None
        return self.scored(len(predictions), rows, scores, explained, made_with={"variant": meteor.VARIANT})
