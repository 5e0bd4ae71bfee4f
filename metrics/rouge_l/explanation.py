"""ROUGE-L: the longest common subsequence of words of a caption and its references."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from vlgauge.explain.referenced import ReferencedCaption


class RougeLExplanation(ReferencedCaption):
    """Captions with the words marked that occur in a reference."""

    name = "rouge_l"

    def nearness(self, detail: Mapping[str, Any]) -> Sequence[float]:
        """Return the length of the longest common subsequence with each reference."""
        return detail["common"]
