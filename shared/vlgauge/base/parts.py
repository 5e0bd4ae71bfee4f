"""What single rows add to the result of a corpus, so that they can be scored apart: anywhere, in any order."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

# Steps of the grid on which floats are added as whole numbers: in any order the sum is the same.
GRID_BITS = 40

Counts: TypeAlias = dict[str, dict[str, int]]
"""Whole numbers that a pass over all rows adds up, by table and key."""


@dataclass(frozen=True)
class Parts:
    """What some rows add to the result of a corpus.

    Attributes:
        n_rows: Number of the rows.
        columns: One value per row by key; NaN for a row that has none.
        means: Keys of the columns of which a result has the mean alone.
        sums: Numbers of the result that are added up.
        draws: Sums per random draw, in steps of the grid, by statistic; whole numbers of Python.
        texts: What is the same for all rows, such as the signature, by key; several only where rows differ in it.
    """

    n_rows: int
    columns: dict[str, list[Any]]
    means: frozenset[str] = frozenset()
    sums: dict[str, int] = field(default_factory=dict)
    draws: dict[str, list[int]] = field(default_factory=dict)
    texts: dict[str, frozenset[str]] = field(default_factory=dict)


def parts_of_row(result: Mapping[str, Any]) -> Parts:
    """Parts of a row from its result as the only row of a call: by the form of each value."""
    columns: dict[str, list[Any]] = {}
    sums: dict[str, int] = {}
    texts: dict[str, frozenset[str]] = {}
    means = set()
    for key, value in result.items():
        if f"{key}_scores" in result or key.endswith(("_undefined", "_details")):
            continue  # made of the scores again
        if isinstance(value, list) and len(value) == 1:
            columns[key] = value
        elif isinstance(value, int):
            sums[key] = value
        elif isinstance(value, float):
            columns[key] = [value]
            means.add(key)
        else:  # the same list for all rows, such as the names of styles
            texts[key] = frozenset([value if key.endswith("_signature") else json.dumps(value)])
    return Parts(1, columns, frozenset(means), sums, {}, texts)


def joined(parts: Iterable[Parts]) -> Parts:
    """The parts of all rows, in their order; of none, no rows."""
    every = list(parts)
    keys = dict.fromkeys(key for one in every for key in one.columns)
    columns = {key: [cell for one in every for cell in one.columns.get(key, [np.nan] * one.n_rows)] for key in keys}
    sums: dict[str, int] = {}
    draws: dict[str, Any] = {}
    texts: dict[str, frozenset[str]] = {}
    for one in every:
        for key, number in one.sums.items():
            sums[key] = sums.get(key, 0) + number
        for key, steps in one.draws.items():
            added = np.array(steps, dtype=object)  # of Python's numbers, which do not overflow
            draws[key] = draws[key] + added if key in draws else added
        for key, values in one.texts.items():
            texts[key] = texts.get(key, frozenset()) | values
    means = frozenset().union(*(one.means for one in every))
    n_rows = sum(one.n_rows for one in every)
    return Parts(n_rows, columns, means, sums, {key: steps.tolist() for key, steps in draws.items()}, texts)


def on_grid(values: Any) -> list[int]:
    """Finite floats as whole numbers of steps of the grid, each rounded; shape ``(n,)``."""
    numbers = np.asarray(values, dtype=np.float64)
    if np.abs(numbers).max(initial=0.0) < 2.0**53:
        return [int(step) for step in np.rint(np.ldexp(numbers, GRID_BITS)).tolist()]
    # Larger ones are whole already, and their steps may be more than a float holds.
    return [round(number * 2**GRID_BITS) if abs(number) < 2.0**53 else int(number) << GRID_BITS for number in numbers]


def from_grid(steps: Iterable[int]) -> Any:
    """The floats nearest to numbers of steps, shape ``(n,)``."""
    return np.array([step / 2**GRID_BITS for step in steps], dtype=np.float64)


def added_counts(tables: Iterable[Counts]) -> Counts:
    """The counts of all rows from those of some."""
    total: Counts = {}
    for table in tables:
        for name, counts in table.items():
            own = total.setdefault(name, {})
            for key, number in counts.items():
                own[key] = own.get(key, 0) + number
    return total
