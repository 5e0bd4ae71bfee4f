"""The page of `--report`: why the scores of a file are what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vlgauge.cli.outputs import write_output
from vlgauge.explain import explain, report


def write_report(
    target: str,
    results: Mapping[str, Mapping[str, Any]],
    columns: Mapping[str, Sequence[Any] | None],
    ids: Sequence[Any],
) -> None:
    """Explain the scores of one metric or several on a page.

    Args:
        target: File to write.
        results: By name of the metric, with details.
        columns: The columns that were scored.
        ids: Names of the rows.
    """
    explained = [explain(name, {**columns, "id": ids}, result) for name, result in results.items()]
    write_output(target, report(explained), "--report")
