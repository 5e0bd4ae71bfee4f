"""Explanations: what a score is made of, for the rows that a user scored, as HTML that needs nothing from elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any

from .differing import Differing, Row, differences
from .explanation import Columns, Explanation, report
from .folders import explanation_of


def explain(
    name: str, columns: Columns, result: Mapping[str, Any], *, groups: Sequence[object] | None = None
) -> Explanation:
    """Explain the scores of a metric.

    Args:
        name: Name of the metric.
        columns: The columns that were scored, by name, and ``"id"`` if the rows have names.
        result: What `compute(..., return_details=True)` returned for them.
        groups: Label per row; rows of one label, such as the captions of one image, are drawn together by the interval.

    Raises:
        ValueError: If no metric has this name, or columns or details are missing; all of them are named.
    """
    found = explanation_of(name)(columns, result)
    found.groups = groups
    return found


__all__ = ["Differing", "Explanation", "Row", "differences", "explain", "explanation_of", "report"]
