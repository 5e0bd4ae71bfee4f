"""Samples and assignments of signs: what intervals and tests of means and of added counts draw alike.

Before anything is drawn, units are put into an order that follows from their values alone, so that an interval or a
p-value of a seed is the same in whatever order the rows of a file stand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Cells of an index or sign matrix that are in memory at once: as many as the caches hold.
_CHUNK_CELLS = 2**20


def unit_sums(values: Floats, groups: Sequence[object] | None) -> tuple[Floats, Floats]:
    """Sum and number of the defined values of each group; every item is a group of its own without labels.

    Args:
        values: Shape ``(n_items, n_columns)``.
        groups: Label per item.

    Returns:
        Both of shape ``(n_units, n_columns)``.
    """
    check_labels(len(values), groups)
    counts = (~np.isnan(values)).astype(np.float64)
    sums = np.where(np.isnan(values), 0.0, values)
    if groups is None or not len(values):
        return sums, counts
    number: dict[object, int] = {}
    of_item = np.array([number.setdefault(label, len(number)) for label in groups], dtype=np.intp)
    members = np.split(np.argsort(of_item, kind="stable"), np.cumsum(np.bincount(of_item))[:-1])
    # Sums without rounding on the way: the same in any order of the items, and with the other sign mirrored.
    exact = [[math.fsum(column[rows].tolist()) for rows in members] for column in sums.T]
    return np.array(exact).T, np.stack([counts[rows].sum(axis=0) for rows in members])


def resampled_sums(tables: Sequence[Floats], resamples: int, seed: int) -> Floats:
    """Sums over bootstrap samples of units, each of as many as there are.

    Args:
        tables: Values of each unit, shape ``(n_units, n_columns)``. The columns of one table are drawn together, and
            do not depend on what else is drawn.
        resamples: Number of samples.
        seed: Their seed.

    Returns:
        Of the columns of one table after the other, shape ``(resamples, n_columns of all)``.
    """
    rng = np.random.default_rng(seed)
    units = np.hstack([table[_order(table)] for table in tables])
    n = len(units)
    sums = np.empty((resamples, units.shape[1]))
    step = max(1, _CHUNK_CELLS // n)
    for start in range(0, resamples, step):
        drawn = rng.integers(0, n, size=(min(step, resamples - start), n))
        cells = drawn + n * np.arange(len(drawn))[:, None]
        # How often each sample has each unit, samples x units.
        times = np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape).astype(np.float64)
        sums[start : start + len(drawn)] = times @ units
    return sums


def all_signs_fit(n_units: int, resamples: int) -> bool:
    """Whether there are no more assignments of signs than samples, so that all of them are taken."""
    return n_units < 63 and 2**n_units <= resamples


def signed_sums(tables: Sequence[Floats], total: int, rng: np.random.Generator | None) -> Iterator[Floats]:
    """Sums of units with random signs, or with all assignments of signs without a generator.

    Args:
        tables: Values of each unit, shape ``(n_units, n_columns)``. The columns of one table have one sign, and do not
            depend on what else is drawn. Every unit is as likely to have the other sign, and is taken with that which
            makes its first value positive.
        total: Number of assignments.
        rng: Draws them.

    Yields:
        Some of them, of the columns of one table after the other, shape ``(some, n_columns of all)``.
    """
    turned = [table * _first_signs(table)[:, None] for table in tables]
    units = np.hstack([table[_order(table)] for table in turned])
    n = len(units)
    step = max(1, _CHUNK_CELLS // n)
    for start in range(0, total, step):
        count = min(step, total - start)
        if rng is None:
            signs = 1 - 2 * ((np.arange(start, start + count)[:, None] >> np.arange(n)) & 1)
        else:
            signs = 1 - 2 * rng.integers(0, 2, size=(count, n), dtype=np.int8)
        yield signs.astype(np.float64) @ units


def _order(table: Floats) -> npt.NDArray[np.intp]:
    """Indices of the rows of a table by their first value, then by their second, and so on."""
    return np.lexsort(table.T[::-1])


def _first_signs(table: Floats) -> Floats:
    """Sign of the first value of each row that is not 0, else 1; shape ``(n_rows,)``."""
    first = np.take_along_axis(table, (table != 0.0).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(first < 0.0, -1.0, 1.0)


def check_labels(n_items: int, groups: Sequence[object] | None) -> None:
    """Refuse groups that are not those of the items.

    Raises:
        ValueError: If there is not one label per item.
    """
    if groups is not None and len(groups) != n_items:
        raise ValueError(f"`groups` must have one label per score, got {len(groups)} and {n_items}")


def check_level(level: float) -> None:
    """Refuse a level that no interval has.

    Raises:
        ValueError: If it does not lie between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}")


def check_resamples(resamples: int) -> None:
    """Refuse a number of samples of which nothing can be said.

    Raises:
        ValueError: If it is below 1.
    """
    if resamples < 1:
        raise ValueError(f"`resamples` must be at least 1, got {resamples}")
