"""Partial results of some rows of a corpus, which can be merged into the result of all rows in any order."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError

SIZES = ("n_predictions", "n_references")
"""Columns of partial results of caption sets: numbers of candidates and of references per row."""

Counts: TypeAlias = dict[str, dict[str, int]]
"""Integers that are added over all rows of a corpus, by table and key."""


@dataclass(frozen=True)
class PartialResult:
    """Result of some rows of a corpus.

    Attributes:
        n_rows: Number of rows.
        columns: One value per row, by key. NaN for rows without a value.
        sums: Integers of the result that are summed over the rows.
        totals: Sums over the rows that have a score, by key of the result, which contains their mean.
        draws: Sums over the rows per random draw, by statistic. Shape ``(n_draws,)``.
        texts: Values that all rows share, such as the signature, by key. Several values only if rows differ.
    """

    n_rows: int
    columns: dict[str, list[Any]]
    sums: dict[str, int] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    draws: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    texts: dict[str, frozenset[str]] = field(default_factory=dict)


def partial_result(result: Mapping[str, Any], n_rows: int, n_defined: int) -> PartialResult:
    """Build a partial result from the result of a call, based on the type of each value.

    Args:
        result: Result of a call on these rows.
        n_rows: Number of rows.
        n_defined: Number of rows that have a score.
    """
    found = PartialResult(n_rows, {})
    for key, value in result.items():
        if f"{key}_scores" in result or key.endswith(("_undefined", "_details")):
            continue  # recomputed from the scores
        if isinstance(value, list) and len(value) == n_rows and not (value and isinstance(value[0], str)):
            found.columns[key] = value
        elif isinstance(value, int):
            found.sums[key] = value
        elif isinstance(value, float):
            found.totals[key] = value * n_defined if n_defined else 0.0
        else:  # a list of names shared by all rows
            found.texts[key] = frozenset([value if key.endswith("_signature") else json.dumps(value)])
    return found


def merge_partial_results(results: Iterable[PartialResult]) -> PartialResult:
    """Merge partial results, with the columns concatenated in input order."""
    every = list(results)
    keys = dict.fromkeys(key for one in every for key in one.columns)
    columns = {key: [cell for one in every for cell in one.columns.get(key, [np.nan] * one.n_rows)] for key in keys}
    found = PartialResult(sum(one.n_rows for one in every), columns)
    for one in every:
        for name in ("sums", "totals", "draws"):
            _add(getattr(found, name), getattr(one, name))
        for key, texts in one.texts.items():
            found.texts[key] = found.texts.get(key, frozenset()) | texts
    return found


def find_shared_text(key: str, texts: Iterable[str]) -> str:
    """Return the text that all rows share.

    Args:
        key: Key of the result, for error messages.
        texts: Distinct texts of the rows.

    Raises:
        UsageError: If there is more than one text.
    """
    some = sorted(texts)
    if len(some) > 1:
        raise UsageError(
            f"all rows must be scored with the same settings, got for `{key}`: {' and '.join(some[:2])}; score "
            "all of them in one run"
        )
    return some[0]


def add_counts(tables: Iterable[Counts]) -> Counts:
    """Sum the counts of several groups of rows."""
    total: Counts = {}
    for table in tables:
        for name, counts in table.items():
            _add(total.setdefault(name, {}), counts)
    return total


def _add(total: dict[str, Any], numbers: Mapping[str, Any]) -> None:
    for key, number in numbers.items():
        total[key] = total[key] + number if key in total else number
