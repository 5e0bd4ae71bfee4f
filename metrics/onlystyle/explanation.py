"""OnlyStyle: the words of a caption that are typical of its style or of another style."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from vlgauge.explain.marks import pieces_of_runs
from vlgauge.explain.pages import format_signed
from vlgauge.explain.styled import StyledCaption, share_mark, weights, weights_note

STEPS = (0.0005, 0.008)  # minimum contributions of words with a mark and with a strong mark
N_LISTED = 4  # n-grams below a caption
_NEXT_TO_NOTHING = 0.00005


class OnlyStyle(StyledCaption):
    """Captions with their words marked by their contributions to the style."""

    name = "onlystyle"
    on_axis = (0.0,)

    def reason(self, row: int) -> str:
        """Return the n-grams with the largest contributions as text."""
        return self.sum_up(self.details[row]["raised"], self.details[row]["lowered"])

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``pieces``, the marked caption, ``raised`` and ``lowered``, n-grams with the largest contributions, and the
            number of ``unseen`` n-grams.
        """
        detail = self.details[row]
        tokens = detail["tokens"]
        known = weights(sorted(detail["raised"] + detail["lowered"], key=lambda gram: -abs(gram["share"])))
        marks = [
            share_mark(
                share,
                STEPS,
                f"adds {format_signed(share, 4)}; weights: {weights_note(tokens, index, known) or 'small'}",
            )
            for index, share in enumerate(detail["words"])
        ]
        caption = self.predictions[row]
        return {
            "pieces": pieces_of_runs(caption, tokens, marks),
            "raised": _select_ngrams(detail["raised"]),
            "lowered": _select_ngrams(detail["lowered"]),
            "unseen": detail["unseen"],
        }


def _select_ngrams(grams: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the n-grams with the largest contributions, without contributions that round to 0."""
    return [gram for gram in grams[:N_LISTED] if abs(gram["share"]) >= _NEXT_TO_NOTHING]
