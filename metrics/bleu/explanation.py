"""BLEU: the n-grams that a caption shares with its references."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from vlgauge.explain.pages import number
from vlgauge.explain.referenced import ReferencedCaption


class BleuExplanation(ReferencedCaption):
    """Captions with the words marked that occur in a reference."""

    name = "bleu"

    def nearness(self, detail: Mapping[str, Any]) -> Sequence[float]:
        """Return the number of distinct words that each reference shares with the caption."""
        return [float(len({*detail["tokens"]} & {*tokens})) for tokens in detail["references"]]

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Return names and values, as text, of corpus BLEU-1 to BLEU-4, which are not means of the scores."""
        return [(f"BLEU-{n} of the corpus:", number(self.result[f"bleu_{n}"], 4)) for n in range(1, 5)]
