"""ROUGE-L: the longest common subsequence of words of a caption and its references."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from vlgauge.explain.referenced import ReferencedCaption


class RougeL(ReferencedCaption):
    """Captions with the words marked that occur in a reference."""

    name = "rouge_l"
    reading = (
        "The score is how much of caption and reference is one sequence of words that both have, with gaps allowed.",
        "Precision and recall are each the best over the references, and recall counts for more.",
        "It knows words only: a synonym counts as nothing, and “a” as much as any other word.",
    )

    def nearness(self, detail: Mapping[str, Any]) -> Sequence[float]:
        """Return the length of the longest common subsequence with each reference."""
        return detail["common"]
