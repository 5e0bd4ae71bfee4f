"""Limits of a workbench, depending on whether it is served locally or as a public Space."""

import os
from dataclasses import dataclass, field

from vlgauge.api.row_sources import RowLimits
from vlgauge.api.row_sources.hub import Token


@dataclass(frozen=True)
class Hosting:
    """Limits for users.

    Attributes:
        most_rows: Maximum number of dataset rows in one run. None for no limit.
        limits: Limits of the content of a row.
        token: Token for datasets if the user passes none. None for the token of this machine, False for no token.
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
    """Return the limits of a Space or of a local workbench.

    Args:
        is_space: Whether the workbench is a Space. If None, the environment variable `SPACE_ID` decides.
    """
    return SPACE if (is_space if is_space is not None else bool(os.environ.get("SPACE_ID"))) else OWN_MACHINE
