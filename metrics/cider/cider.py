"""CIDEr-D: does a caption share with its references the n-grams that few other captions have?"""

import hashlib
import json
from typing import Any

import evaluate
import numpy as np

from vlgauge import base  # From: "vlgauge[cider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.distances import cider  # From: "vlgauge[cider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_PAPERS = ("https://arxiv.org/abs/1411.5726",)

_CITATION = """\
@inproceedings{vedantam-etal-2015-cider,
  title = {{CIDEr}: Consensus-based Image Description Evaluation},
  author = {Vedantam, Ramakrishna and Zitnick, C. Lawrence and Parikh, Devi},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition},
  year = {2015}
}
"""

_DESCRIPTION = """\
CIDEr-D compares the n-grams of a caption with those of its references, each weighted by how few images of the corpus
have it in their references, with a penalty for other lengths. Higher is better; it needs references, a corpus of images
(those of the call, or a saved table) and no model.
"""

_INPUTS = """
Args:
    predictions: list of captions, one string per example.
    references: list of references, a string or a list of strings per example.
    return_details: whether to add the score against each reference.

Returns:
    cider: mean of the scores, in [0, 10], higher is better.
    cider_scores: one score per example, the mean over its references; NaN for an empty list of references.
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


def digest_of(references: list[list[list[str]]]) -> str:
    """First digits of the SHA-256 of the tokens of all references: two calls that count in others are told apart."""
    return hashlib.sha256(json.dumps(references).encode()).hexdigest()[:8]


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Cider(base.CaptionMetric):
    """CIDEr-D of the COCO caption evaluation; needs no model."""

    measures = "Does the caption share with its references the n-grams that few others have?"
    score_range = "[0, 10]"
    higher_is_better = True

    def __init__(self, *args: Any, df: Any = "references", **host: Any) -> None:
        self.df = cider.checked_df(df, ("references",))
        super().__init__(*args, **host)

    def _info(self) -> evaluate.MetricInfo:
        return self.describe(_DESCRIPTION, _CITATION, _INPUTS, _PAPERS)

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        """Score the captions; the card describes the keys."""
        candidates, theirs, rows = self.tokenized(predictions, references)
        name, table = self.df, None
        if self.df == "references":
            cider.warn_of_few_documents(len(rows))
            name = f"references@{digest_of(theirs)}"
        else:
            name, table = cider.given_df(self.df)
        parts, of = cider.cider_d_scores(candidates, theirs, table)
        scores = np.bincount(of, parts, len(rows)) / np.bincount(of, minlength=len(rows))
        bounds = np.searchsorted(of, np.arange(len(rows) + 1))
        # Made only if they are asked for.
        details = (
            {
                "tokens": candidates[i],
                "references": theirs[i],
                "per_reference": parts[bounds[i] : bounds[i + 1]].tolist(),
            }
            for i in range(len(rows))
        )
        explained = details if return_details else None
        return self.scored(len(predictions), rows, scores, explained, made_with={"df": name})
