"""What each part of an example did to its score, as bars on both sides of nought."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .pages import fragment

_NARROWEST = 0.8  # percent of the width


@dataclass(frozen=True)
class Share:
    """What a part did.

    Attributes:
        text: The part.
        amount: What it added; below 0 what it took.
        number: Links it to the part of the text or picture; 0 for nothing.
        digits: Of the amount.
        least: Amounts below it are next to nothing.
    """

    text: str
    amount: float
    number: int = 0
    digits: int = 2
    least: float = 0.0

    @property
    def tone(self) -> str:
        """What it did: "for", "against", or "nil" for next to nothing."""
        return "nil" if abs(self.amount) < self.least else "for" if self.amount > 0 else "against"


def share_bars(title: str, shares: Sequence[Share]) -> Markup:
    """Bars of shares, in their order."""
    low = max(0.0, *(-one.amount for one in shares))
    high = max(0.0, *(one.amount for one in shares))
    unit = 100 / ((low + high) or 1.0)
    nought = low * unit
    rows = []
    for one in shares:
        width = max(_NARROWEST, abs(one.amount) * unit)
        left = nought if one.amount > 0 else nought - width
        rows.append({"share": one, "left": f"{min(max(left, 0.0), 100 - width):.1f}", "width": f"{width:.1f}"})
    return fragment("shares", title=title, rows=rows, nought=f"{nought:.1f}")
