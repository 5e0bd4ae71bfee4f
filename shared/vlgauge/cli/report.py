"""The pages of `--report`: why the scores of a file are what they are, and where systems differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vlgauge.cli.outputs import write_output
from vlgauge.leaderboard import Comparison
from vlgauge.scoring.pages import differences_page, explanations, report
from vlgauge.scoring.scored import Scored


def write_report(target: str, scored: Scored, told: Sequence[str] = ()) -> None:
    """Explain the scores of one metric or several on a page."""
    write_output(target, report(explanations(scored), told=told), "--report")


def write_differences(
    target: str, comparison: Comparison, scored: Mapping[str, Scored], limit: int, told: Sequence[str] = ()
) -> None:
    """Explain the rows in which systems differ most, side by side."""
    write_output(target, differences_page(comparison, scored, limit, told), "--report")
