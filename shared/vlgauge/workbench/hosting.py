"""How much a workbench takes on, where it is served: on one's own machine, or for anybody on a Space."""

import os
from dataclasses import dataclass, field

from vlgauge.row_sources import RowLimits
from vlgauge.row_sources.hub import Token


@dataclass(frozen=True)
class Hosting:
    """What visitors may ask for.

    Attributes:
        most_rows: Rows of a data set in one run; None for no limit.
        limits: What a row may hold.
        token: Which token opens data sets where a visitor gives none: None for that of this machine, False for none.
    """

    most_rows: int | None = None
    limits: RowLimits = field(default_factory=RowLimits)
    token: Token = None


OWN_MACHINE = Hosting()
SPACE = Hosting(
    most_rows=200,
    limits=RowLimits(clip_bytes=20_000_000, run_bytes=2**28),
    token=False,
)


def hosting_of(is_space: bool | None = None) -> Hosting:
    """The limits of a Space, or of one's own machine; by the variable that every Space has, unless told."""
    return SPACE if (is_space if is_space is not None else bool(os.environ.get("SPACE_ID"))) else OWN_MACHINE
