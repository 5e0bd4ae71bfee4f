"""Set demo: how many captions do two sets have in common?"""

from collections.abc import Sequence
from typing import Any

from vlgauge.families import caption_sets


class SetDemo(caption_sets.CaptionSetMetric):
    """Compares sets.

    Jaccard similarity (or overlap) of two caption sets; two empty sets are undefined.

    Args:
        predictions: candidates of each row.
        references: references of each row.
        return_details: adds the captions in common.
    """

    papers = ("https://example.org/demo",)
    measures = "How many captions do two sets have in common?"
    score_range = "[0, 1]"
    bounds = (0.0, 1.0)
    higher_is_better = True
    configs = ("jaccard", "overlap")

    def cite(self) -> str:
        return "@misc{demo}"

    def _compute(
        self,
        predictions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        return_details: bool = False,
    ) -> dict[str, Any]:
        pairs = [(set(ours), set(theirs)) for ours, theirs in zip(predictions, references, strict=True)]
        common = [sorted(ours & theirs) for ours, theirs in pairs]
        whole = [min(map(len, pair)) if self.config_name == "overlap" else len(pair[0] | pair[1]) for pair in pairs]
        scores = [len(part) / size if size else float("nan") for part, size in zip(common, whole, strict=True)]
        return self.result(scores, **({"common": common} if return_details else {}))
