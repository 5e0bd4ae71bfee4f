"""StyleCIDEr: does a caption share the style-bearing n-grams of its references?"""

from typing import Any

import numpy as np

from vlgauge import base  # From: "vlgauge[stylecider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import style  # From: "vlgauge[stylecider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
StyleCIDEr says how well a caption agrees with references in the n-grams that carry a style: CIDEr's cosine of n-gram
vectors, with a contrastive weight for the target style in the place of TF-IDF. Higher is better; it needs references
and a style table fitted once on captions with style labels.
"""

_INPUTS = """
Args:
    predictions: list of captions, one string per row.
    references: list of references, a string or a list of strings per row.
    styles: list of target styles, one name per row; it also weighs references of another style.
    table: optional style table of this call: a StyleTable, a Parquet file, or a data set on the Hub.
    return_details: whether to add, for each row and reference, the cosines and the n-grams that raised and lowered
        the score.

Returns:
    stylecider: mean of the scores, in [0, 1], variant "released" in [0, 10]; higher is better.
    stylecider_scores: one score per row, NaN for an empty list of references.
    stylecider_undefined: number of those.
    stylecider_signature: how the numbers were made.
    stylecider_in_sample: number of predictions that the table was fitted on.
    stylecider_references_in_sample: number of references that the table was fitted on.
    stylecider_no_evidence: number of predictions without a single weight other than 0.

Examples:
    >>> import evaluate
    >>> stylecider = evaluate.load("vlgauge/stylecider", "demo")
    >>> result = stylecider.compute(
    ...     predictions=["Two lovers hold hands at sunset."],
    ...     references=[["Two lovers at sunset, heart to heart.", "A couple stands on the beach."]],
    ...     styles=["romantic"],
    ... )
    >>> print(round(result["stylecider"], 3))
    0.218
"""


class Stylecider(style.StyleMetric):
    """Cosine of contrastive n-gram vectors, averaged over orders and references; needs no model."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://arxiv.org/abs/2201.00975",)

    columns = (*style.StyleMetric.columns[:2], base.References("references"))

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str]],
        styles: list[str],
        table: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        table = self.style_table(table)
        targets = table.style_ids(styles)
        captions = table.tokenize(predictions, "predictions")
        scores: list[float] = []
        details: list[dict[str, Any]] = []
        weighty = known = 0
        with base.progress_bar(len(captions), "Scoring captions", self.progress) as advance:
            for part in style.blocks(len(captions)):
                texts, rows, own_styles = captions[part], references[part], targets[part]
                flat = table.tokenize([text for row in rows for text in row], "references")
                of = np.repeat(np.arange(len(rows)), style.lengths_of(rows))
                own = style.weighted_ngrams(table, texts, own_styles, self.variant, exclude_self=self.exclude_self)
                theirs = style.weighted_references(table, flat, of, own, own_styles, self.variant)
                cosines = style.reference_cosines(own, theirs, of)
                lengths = style.lengths_of(texts)[of]
                parts = style.reference_scores(cosines, self.variant, lengths, style.lengths_of(flat))
                scores += style.mean_over_references(parts, of, len(texts)).tolist()
                known += int(table.has_captions(flat).sum())
                weighty += len({i for a in own for i in a.grams.captions[a.weights != 0.0].tolist()})
                if return_details:
                    details += style.reference_explanations(texts, flat, of, own, theirs, parts, cosines)
                advance(len(texts))
        extra = {
            "in_sample": self.count_in_sample(table, captions),
            "references_in_sample": known,
            "no_evidence": len(captions) - weighty,
        }
        told = details if return_details else None
        return self.result(scores, made_with=self.signed_table(table), details=told, **extra)
