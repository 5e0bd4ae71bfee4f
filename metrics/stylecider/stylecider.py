"""StyleCIDEr: does a caption share the style-bearing n-grams of its references?"""

from typing import Any

import evaluate
import numpy as np
import numpy.typing as npt

from vlgauge import base  # From: "vlgauge[stylecider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import style as ngrams  # From: "vlgauge[stylecider] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_PAPERS = ("https://arxiv.org/abs/2201.00975",)

_CITATION = """\
@article{li-harrison-2022-stylem,
  title = {{StyleM}: Stylized Metrics for Image Captioning Built with Contrastive N-grams},
  author = {Li, Chengxi and Harrison, Brent},
  journal = {arXiv preprint arXiv:2201.00975},
  year = {2022}
}
"""

_DESCRIPTION = """\
StyleCIDEr says how well a caption agrees with references in the n-grams that carry a style: CIDEr's cosine of n-gram
vectors, with a contrastive weight for the target style in the place of TF-IDF. Higher is better; it needs references
and a style table fitted once on captions with style labels.
"""

_INPUTS = """
Args:
    predictions: list of captions, one string per example.
    references: list of references, a string or a list of strings per example.
    styles: list of target styles, one name per example; it also weighs references of another style.
    table: optional style table of this call: a StyleTable, a Parquet file, or a data set on the Hub.
    return_details: whether to add, for each example and reference, the cosines and the n-grams that raised and lowered
        the score.

Returns:
    stylecider: mean of the scores, in [0, 1], variant "authors" in [0, 10]; higher is better.
    stylecider_scores: one score per example, NaN for an empty list of references.
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

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def ngram_cosines(candidates: tuple[Floats, Ints], references: tuple[Floats, Ints], shared: Bools, of: Ints) -> Floats:
    """cos_n = g_n(c).g_n(r) / (|g_n(c)| |g_n(r)|) of n-gram vectors (Li and Harrison, 2022, Eq. 8).

    g_n has CNG_p(t) for each distinct n-gram t, p being the target style of the candidate on both sides.

    Args:
        candidates: weights of the n-grams of all candidates, shape ``(m_c,)``, and the example of each.
        references: weights of the n-grams of all references, shape ``(m_r,)``, and the reference of each.
        shared: shape ``(m_r,)``, whether the candidate has the n-gram too.
        of: shape ``(n_references,)``, example of each reference.

    Returns:
        shape ``(n_references,)``, in [0, 1], 0 if a norm is 0.
    """
    weights, owners = references
    squares = weights**2
    # Both sides carry the weights of one style, so every product is a square.
    products = np.bincount(owners[shared], squares[shared], len(of))
    norms = np.bincount(candidates[1], candidates[0] ** 2, int(of.max(initial=-1)) + 1)[of]
    norms = np.sqrt(norms * np.bincount(owners, squares, len(of)))
    return np.minimum(np.divide(products, norms, out=np.zeros(len(of)), where=norms > 0.0), 1.0)


def reference_scores(cosines: Floats, penalties: Floats | None = None) -> Floats:
    """StyleCIDEr(c, r, p) = (cos_1 + cos_2 + cos_3 + cos_4) / 4 (Li and Harrison, 2022, Eq. 7).

    Always a quarter of the sum, as in CIDEr: a caption of three words has no 4-gram and scores at most 0.75.

    Args:
        cosines: shape ``(4, n_references)``.
        penalties: shape ``(n_references,)``, for the variant of the authors' code, which also multiplies by 10.
    """
    scores = cosines.sum(axis=0) / len(cosines)
    return scores if penalties is None else ngrams.AUTHORS_SCALE * penalties * scores


def mean_over_references(scores: Floats, of: Ints, n_examples: int) -> Floats:
    """Mean over the references of each example, shape ``(n_examples,)``; NaN without references.

    Args:
        scores: shape ``(n_references,)``.
        of: shape ``(n_references,)``, example of each reference.
        n_examples: number of examples.
    """
    counts = np.bincount(of, minlength=n_examples)
    sums = np.bincount(of, scores, n_examples)
    return np.divide(sums, counts, out=np.full(n_examples, np.nan), where=counts > 0)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Stylecider(ngrams.StyleMetric):
    """Cosine of contrastive n-gram vectors, averaged over orders and references; needs no model."""

    measures = "Does the caption share the style-bearing n-grams of its references?"
    score_range = "[0, 1]; authors [0, 10]"
    higher_is_better = True

    columns = (*ngrams.StyleMetric.columns[:2], base.References("references"))

    def _info(self) -> evaluate.MetricInfo:
        return self.describe(_DESCRIPTION, _CITATION, _INPUTS, _PAPERS)

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str]],
        styles: list[str],
        table: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        """Score the captions; the card describes the keys."""
        table = self.style_table(table)
        targets = table.style_ids(styles)
        captions = table.tokenize(predictions, "predictions")
        scores: list[float] = []
        details: list[dict[str, Any]] = []
        weighty = known = 0
        with base.progress_bar(len(captions), "Scoring captions", self.progress) as advance:
            for part in ngrams.blocks(len(captions)):
                texts, rows, style = captions[part], references[part], targets[part]
                flat = table.tokenize([text for row in rows for text in row], "references")
                of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
                own = ngrams.weighted_ngrams(table, texts, style, self.variant, exclude_self=self.exclude_self)
                theirs = ngrams.weighted_references(table, flat, of, own, style, self.variant)
                cosines = np.stack(
                    [
                        ngram_cosines((a.weights, a.grams.captions), (b.weights, b.grams.captions), shared, of)
                        for a, (b, shared) in zip(own, theirs, strict=True)
                    ]
                )
                parts = reference_scores(cosines, self._penalties(texts, flat, of))
                scores += mean_over_references(parts, of, len(texts)).tolist()
                known += int(table.has_captions(flat).sum())
                weighty += len({i for a in own for i in a.grams.captions[a.weights != 0.0].tolist()})
                if return_details:
                    details += ngrams.reference_explanations(texts, flat, of, own, theirs, parts, cosines)
                advance(len(texts))
        extra = {
            "in_sample": self.count_in_sample(table, captions),
            "references_in_sample": known,
            "no_evidence": len(captions) - weighty,
            **({"details": details} if return_details else {}),
        }
        return self.result(scores, made_with=self.signed_table(table), **extra)

    def _penalties(self, captions: list[list[str]], references: list[list[str]], of: Ints) -> Floats | None:
        """Of each reference; None in the variant that has none."""
        if self.variant != "authors":
            return None
        lengths, others = (np.array([len(row) for row in rows], np.int64) for rows in (captions, references))
        return ngrams.length_penalties(lengths[of], others)
