"""BLEU: the n-grams that a caption shares with its references."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from vlgauge.explain.pages import number
from vlgauge.explain.referenced import ReferencedCaption


class Bleu(ReferencedCaption):
    """Captions with the words marked that occur in a reference."""

    name = "bleu"
    reading = (
        "The number of the corpus adds the n-grams of all captions before it divides, so it is no mean of the scores.",
        "Where no four words in a row match, as is common, constants that keep the formula from 0 leave one caption "
        "next to nothing, at most .032 (a perfect caption of three words): no measure of it alone.",
        "A word counts as often as in one reference at most, and captions shorter than the nearest reference lose.",
    )

    def nearness(self, detail: Mapping[str, Any]) -> Sequence[float]:
        """Return the number of distinct words that each reference shares with the caption."""
        return [float(len({*detail["tokens"]} & {*tokens})) for tokens in detail["references"]]

    def corpus_numbers(self) -> list[tuple[str, str]]:
        """Return corpus BLEU, which is not the mean of the scores."""
        return [(f"BLEU-{n} of the corpus:", number(self.result[f"bleu_{n}"], 4)) for n in range(1, 5)]
