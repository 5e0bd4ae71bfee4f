"""chrF: the character sequences that a caption shares with its best reference."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from vlgauge.explain.marks import AGAINST, FOR, Mark, pieces_of_runs
from vlgauge.explain.referenced import ReferencedCaption

from .formula import CHARACTER_ORDERS

_SHORT = 3  # Shorter sequences are shared by unrelated texts.


class ChrfExplanation(ReferencedCaption):
    """Captions with the character sequences marked that occur in their best reference."""

    name = "chrf"

    def reason(self, row: int) -> str:
        """Return the number of characters in long and short shared sequences, as text."""
        detail = self.details[row]
        if not detail["tokens"]:
            return "has no character"
        reach = _reach("".join(detail["tokens"]), "".join(detail["references"][detail["best"]]))
        whole = sum(length == CHARACTER_ORDERS for length in reach)
        return (
            f"{whole} of {len(reach)} characters are in n-grams of length {CHARACTER_ORDERS} shared with the best "
            "reference, "
            f"{sum(length < _SHORT for length in reach)} in no shared n-gram of length {_SHORT}"
        )

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row, with its characters marked by their matches in the best reference.

        Returns:
            The variables of `ReferencedCaption.values`.
        """
        detail = self.details[row]
        own, captions = "".join(detail["tokens"]), ["".join(tokens) for tokens in detail["references"]]
        marks = [_mark(length) for length in _reach(own, captions[detail["best"]])]
        values = super().values(row)
        return values | {"pieces": pieces_of_runs(self.predictions[row], own, marks)}


@lru_cache(maxsize=64)
def _reach(text: str, other: str) -> Sequence[int]:
    """Return, for each character, the length of the longest sequence around it that also occurs in another text.

    The length is at most six, and 0 if the other text does not contain the character.
    """
    reach = [0] * len(text)
    for n in range(1, CHARACTER_ORDERS + 1):
        known = {other[start : start + n] for start in range(len(other) - n + 1)}
        for start in range(len(text) - n + 1):
            if text[start : start + n] in known:
                reach[start : start + n] = [n] * n
    return reach


def _mark(length: int) -> Mark:
    return Mark(FOR, length == CHARACTER_ORDERS) if length >= _SHORT else Mark(AGAINST)
