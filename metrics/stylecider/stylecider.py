"""StyleCIDEr: How well does a caption match the style of its references?"""

from typing import Any

import numpy as np

from vlgauge.families import base  # From: "vlgauge[stylecider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import style  # From: "vlgauge[stylecider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import ngrams  # From: "vlgauge[stylecider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"


class Stylecider(style.StyleMetric):
    """Cosine similarity of contrastive n-gram vectors, averaged over orders and references. It requires no model.

    StyleCIDEr compares a caption with references by the n-grams that express a style: the cosine similarity of n-gram
    vectors as in CIDEr, with a contrastive weight for the target style instead of TF-IDF. Higher is better. StyleCIDEr
    requires references and a style table fitted once to captions with style labels.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        styles: Target styles, one name per row. The target style also determines the weights of references in another
            style.
        table: Optional style table of this call: a StyleTable, a Parquet file, or a dataset on the Hub.
        return_details: Whether to add, for each row and reference, the cosine similarities and the n-grams that raised
            and lowered the score.

    Returns:
        stylecider: Mean of the scores, in [0, 1], or in [0, 10] with variant "released". Higher is better.
        stylecider_scores: One score per row. NaN for an empty list of references.
        stylecider_undefined: Number of undefined scores.
        stylecider_signature: Settings and versions that the scores depend on.
        stylecider_in_sample: Number of predictions that the table was fitted to.
        stylecider_references_in_sample: Number of references that the table was fitted to.
        stylecider_no_evidence: Number of predictions whose weights are all 0.

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
            for part in style.scoring.blocks(len(captions)):
                texts, rows, own_styles = captions[part], references[part], targets[part]
                flat = table.tokenize([text for row in rows for text in row], "references")
                of = np.repeat(np.arange(len(rows)), ngrams.lengths_of(rows))
                own = style.scoring.weigh_ngrams(table, texts, own_styles, self.variant, exclude_self=self.exclude_self)
                theirs = style.scoring.weigh_references(table, flat, of, own, own_styles, self.variant)
                cosines = style.formula.reference_cosines(own, theirs, of)
                lengths = ngrams.lengths_of(texts)[of]
                parts = style.formula.reference_scores(cosines, self.variant, lengths, ngrams.lengths_of(flat))
                scores += style.formula.mean_over_references(parts, of, len(texts)).tolist()
                known += int(table.has_captions(flat).sum())
                weighty += len({i for a in own for i in a.grams.captions[a.weights != 0.0].tolist()})
                if return_details:
                    details += style.explaining.reference_explanations(texts, flat, of, own, theirs, parts, cosines)
                advance(len(texts))
        extra = {
            "in_sample": self.count_in_sample(table, captions),
            "references_in_sample": known,
            "no_evidence": len(captions) - weighty,
        }
        row_details = details if return_details else None
        return self.result(scores, signature_extra=self.sign_table(table), details=row_details, **extra)
