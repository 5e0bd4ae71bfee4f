"""OnlyStyle: How strongly does a caption express a style?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError  # From: "vlgauge[onlystyle]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[onlystyle]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import style  # From: "vlgauge[onlystyle]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_CELLS = 20_000_000
_TIE = 1e-12


def style_ranks(matrix: Floats, targets: Ints) -> Ints:
    """Return 1 + the number of styles that score higher than the target style.

    Args:
        matrix: Scores, shape ``(n_captions, |S|)``.
        targets: Column of the target style of each caption, shape ``(n_captions,)``.

    Returns:
        Ranks, shape ``(n_captions,)``.
    """
    own = np.take_along_axis(matrix, targets[:, None], axis=1)
    return 1 + np.count_nonzero(matrix > own + _TIE, axis=1)


def best_styles(matrix: Floats, names: Sequence[str], k: int) -> list[list[list[Any]]]:
    """Return the k highest-scoring [style, score] pairs of each caption. Ties are sorted by name.

    Args:
        matrix: Scores, shape ``(n_captions, |S|)``.
        names: Sorted names of the columns.
        k: Number of styles.
    """
    order = np.argsort(-np.round(matrix, 12), axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(matrix, order, axis=1)
    return [
        [[names[column], score] for column, score in zip(columns, scores, strict=True)]
        for columns, scores in zip(order.tolist(), best.tolist(), strict=True)
    ]


class Onlystyle(style.StyleMetric):
    """Mean contrastive weight of the n-grams of a caption. It requires no model.

    OnlyStyle measures how strongly a caption expresses a style: the mean of a contrastive weight over its 1- to
    4-grams, which is high for n-grams that are typical of captions in this style but not of other styles. Higher is
    better. OnlyStyle requires no references, but a style table fitted once to captions with style labels.

    Args:
        predictions: Captions, one string per row.
        styles: Target styles, one name per row.
        references: Ignored. They are an input of stylecider.
        table: Optional style table of this call: a StyleTable, a Parquet file, or a dataset on the Hub.
        return_details: Whether to add, for each row, the n-grams and words that raised and lowered its score.

    Returns:
        onlystyle: Mean of the scores, higher is better. From -1/S to (S-1)/S with S styles, with variant "released"
            from -1/(S-1) to 1.
        onlystyle_scores: One score per row. 0 for a caption without words.
        onlystyle_undefined: Always 0.
        onlystyle_signature: Settings and versions that the scores depend on.
        onlystyle_in_sample: Number of predictions that the table was fitted to.
        onlystyle_no_evidence: Number of predictions without an n-gram of the table.
        onlystyle_top_styles, onlystyle_rank: With the setting top_k. See the card.
        onlystyle_matrix, onlystyle_styles: With the setting return_style_matrix. See the card.

    Examples:
        >>> import evaluate
        >>> onlystyle = evaluate.load("vlgauge/onlystyle", "demo")
        >>> captions = [
        ...     "Two lovers hold hands under the evening sky.",
        ...     "The stupid bus is late again and nobody cares.",
        ... ]
        >>> result = onlystyle.compute(predictions=captions, styles=["romantic", "romantic"])
        >>> print([round(score, 3) for score in result["onlystyle_scores"]])
        [0.178, -0.064]
    """

    papers = ("https://arxiv.org/abs/2201.00975",)
    unsigned = ("top_k", "return_style_matrix")

    def __init__(
        self,
        *args: Any,
        orders: str = "available",
        top_k: int = 0,
        return_style_matrix: bool = False,
        **host: Any,
    ) -> None:
        self.orders = base.check_choice("orders", orders, style.formula.ORDER_RULES)
        self.top_k = base.check_int("top_k", top_k, 0)
        self.return_style_matrix = base.check_bool("return_style_matrix", return_style_matrix)
        super().__init__(*args, **host)

    def _compute(
        self,
        predictions: list[str],
        styles: list[str],
        references: list[list[str]] | None = None,
        table: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        table = self.style_table(table)
        targets = table.style_ids(styles)
        captions = table.tokenize(predictions, "predictions")
        scores: list[float] = []
        details: list[dict[str, Any]] = []
        known = 0
        with base.progress_bar(len(captions), "Scoring captions", self.progress) as advance:
            for part in style.scoring.blocks(len(captions)):
                texts, own = captions[part], targets[part]
                orders = style.scoring.weigh_ngrams(table, texts, own, self.variant, exclude_self=self.exclude_self)
                scores += style.formula.own_scores(orders, self.orders).tolist()
                known += len(set(orders[0].find_known_captions().tolist()))
                if return_details:
                    details += style.explaining.caption_explanations(texts, orders, self.orders)
                advance(len(texts))
        extra: dict[str, Any] = {
            "in_sample": self.count_in_sample(table, captions),
            "no_evidence": len(captions) - known,
            **self._all_styles(table, captions, targets),
        }
        row_details = details if return_details else None
        return self.result(scores, signature_extra=self.sign_table(table), details=row_details, **extra)

    def _all_styles(self, table: style.StyleTable, captions: list[list[str]], targets: Ints) -> dict[str, Any]:
        """Return the values that require the scores in all styles, by key."""
        if not (self.top_k or self.return_style_matrix):
            return {}
        cells = len(captions) * len(table.styles)
        if self.return_style_matrix and cells > MAX_CELLS:
            raise UsageError.about(
                "return_style_matrix",
                f"is only supported for at most {MAX_CELLS} cells, got {len(captions)} captions x "
                f"{len(table.styles)} styles",
                "use `score_matrix` of the table, which returns an array",
            )
        own = targets if self.exclude_self else None
        top: list[Any] = []
        ranks: list[int] = []
        rows: list[list[float]] = []
        for block in style.formula.score_blocks(table, captions, self.variant, orders=self.orders, left_out_of=own):
            if self.top_k:
                ranks += style_ranks(block, targets[len(ranks) : len(ranks) + len(block)]).tolist()
                top += best_styles(block, table.styles, self.top_k)
            if self.return_style_matrix:
                rows += block.tolist()
        ranking = {"top_styles": top, "rank": ranks} if self.top_k else {}
        return ranking | ({"matrix": rows, "styles": list(table.styles)} if self.return_style_matrix else {})
