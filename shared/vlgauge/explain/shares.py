"""Bar charts of the contribution of each part of an example to its score."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .pages import fragment

_NARROWEST = 0.8  # minimum width of a bar, in percent


@dataclass(frozen=True)
class Share:
    """Contribution of a part.

    Attributes:
        text: The part.
        amount: Amount added to the score. Negative if the part lowers it.
        number: Number that links it to the part of the text or image. 0 for no link.
        digits: Number of digits of the amount.
        least: Amounts below this one are shown as neutral.
    """

    text: str
    amount: float
    number: int = 0
    digits: int = 2
    least: float = 0.0

    @property
    def tone(self) -> str:
        """Direction of the contribution: "for", "against", or "nil" if it is negligible."""
        return "nil" if abs(self.amount) < self.least else "for" if self.amount > 0 else "against"


def share_bars(title: str, shares: Sequence[Share]) -> Markup:
    """Draw contributions as bars, in input order."""
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
