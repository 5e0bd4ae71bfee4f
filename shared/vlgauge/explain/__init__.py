"""Explanations of scores: which parts of each row raise or lower its score, as self-contained HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

from .differing import DifferingRow, SystemDifferences, differences
from .explanation import Columns, Explanation, report
from .folders import explanation_of


def explain(
    name: str, columns: Columns, result: Mapping[str, Any], *, groups: Sequence[object] | None = None
) -> Explanation:
    """Explain the scores of a metric.

    Args:
        name: Name of the metric.
        columns: The scored columns by name, and ``"id"`` if the rows have names.
        result: Result of `compute(..., return_details=True)` for these columns.
        groups: Label per row. The confidence interval resamples rows of the same label together, such as the captions
            of one image.

    Raises:
        ValueError: If no metric has this name, or if columns or details are missing. The message names all missing
            ones.
    """
    found = explanation_of(name)(columns, result)
    found.groups = groups
    return found


__all__ = ["DifferingRow", "Explanation", "SystemDifferences", "differences", "explain", "explanation_of", "report"]
