"""ROUGE-L: the longest common subsequence of words of a caption and its references."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from vlgauge.explain.referenced import ReferencedCaption


class RougeLExplanation(ReferencedCaption):
    """Captions with the words marked that occur in a reference."""

    name = "rouge_l"
    reading = (
        "The score measures how much of caption and reference is a common sequence of words, which may have gaps.",
        "Precision and recall are each the maximum over the references, and recall has a higher weight.",
        "It compares only words: a synonym does not count, and “a” counts as much as any other word.",
    )

    def nearness(self, detail: Mapping[str, Any]) -> Sequence[float]:
        """Return the length of the longest common subsequence with each reference."""
        return detail["common"]
