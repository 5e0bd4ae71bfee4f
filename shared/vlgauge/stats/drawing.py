"""Samples and assignments of signs: what intervals and tests of means and of added counts draw alike.

Before anything is drawn, units are put into an order that follows from their values alone, so that an interval or a
p-value of a seed is the same in whatever order the rows of a file stand.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError

Floats = npt.NDArray[np.float64]

# Cells of an index or sign matrix that are in memory at once: as many as the caches hold.
_CHUNK_CELLS = 2**20
# Cells that are counted at once; counts beyond the second level of the caches take twice as long.
_COUNTED_CELLS = 2**15
MOST_RESAMPLES = 10**9

# The signs of eight units, for each value of a byte.
_SIGNS_OF_BYTE = np.where(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1), -1.0, 1.0)


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


def resampled_sums(units: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """Sums over bootstrap samples of units, each of as many as there are.

    Args:
        units: Values of each unit, shape ``(n_units, n_columns)``.
        resamples: Number of samples.
        seed: Their seed.

    Yields:
        Those of some of the samples, shape ``(some, n_columns)``.
    """
    rng = np.random.default_rng(seed)
    n = len(units)
    step, few = max(1, _CHUNK_CELLS // n), max(1, _COUNTED_CELLS // n)
    for start in range(0, resamples, step):
        drawn = rng.integers(0, n, size=(min(step, resamples - start), n))
        times = np.empty(drawn.shape)  # how often each sample has each unit
        for first in range(0, len(drawn), few):
            cells = drawn[first : first + few] + n * np.arange(min(few, len(drawn) - first))[:, None]
            times[first : first + few] = np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape)
        yield times @ units


def all_signs_fit(n_units: int, resamples: int) -> bool:
    """Whether `every_sign` has no more assignments than there are samples, so that all of them are taken."""
    return n_units < 63 and 2 ** max(n_units - 1, 0) <= resamples


def every_sign(n_units: int) -> Iterator[Floats]:
    """All assignments of signs to units but for the mirrored ones: the first unit keeps its sign.

    Yields:
        Some of the 2^(n_units - 1), shape ``(some, n_units)``.
    """
    total, step = 2 ** (n_units - 1), max(1, _CHUNK_CELLS // n_units)
    for start in range(0, total, step):
        numbers = np.arange(start, min(start + step, total))
        yield np.where((numbers[:, None] >> np.arange(n_units - 1, -1, -1)) & 1, -1.0, 1.0)


def random_signs(n_units: int, total: int, seed: int) -> Iterator[Floats]:
    """Random assignments of signs to units; the first ones are the same whatever their number.

    Args:
        n_units: Number of the units.
        total: Number of the assignments.
        seed: Of their signs.

    Yields:
        Some of them, shape ``(some, n_units)``.
    """
    rng = np.random.default_rng(seed)
    words, n_bytes = -(-n_units // 64), -(-n_units // 8)
    step = max(1, _CHUNK_CELLS // n_units)
    for start in range(0, total, step):
        drawn = rng.integers(0, 2**64, size=(min(step, total - start), words), dtype=np.uint64)
        octets = drawn.astype("<u8").view(np.uint8)[:, :n_bytes]
        # `take` needs less than half of the time of an index here.
        yield _SIGNS_OF_BYTE.take(octets, axis=0).reshape(len(drawn), -1)[:, :n_units]


def check_labels(n_items: int, groups: Sequence[object] | None) -> None:
    """Refuse groups of which there is not one label per item."""
    if groups is None:
        return
    if len(groups) != n_items:
        raise UsageError(f"`groups` must have one label per score, got {len(groups)} and {n_items}")
    if (lacking := next((item for item, label in enumerate(groups) if is_unlabeled(label)), None)) is not None:
        raise UsageError(f"`groups` must have a label for every score, got {groups[lacking]!r} for score {lacking}")


def is_unlabeled(label: object) -> bool:
    """Whether a label is none: None, NaN or a blank text. Items without a label have nothing in common."""
    return label is None or (isinstance(label, float) and math.isnan(label)) or not str(label).strip()


def check_level(level: float) -> None:
    """Refuse a level that does not lie between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise UsageError(f"`level` must lie between 0 and 1, got {level}")


def check_resamples(resamples: int) -> None:
    """Refuse a number of samples below 1, or of which no list can be made."""
    if resamples < 1:
        raise UsageError(f"`resamples` must be at least 1, got {resamples}")
    check_not_too_many(resamples)


def check_not_too_many(resamples: int) -> None:
    """Refuse a number of samples of which no array can be made."""
    if resamples > MOST_RESAMPLES:
        raise UsageError(f"`resamples` must be at most {MOST_RESAMPLES:,}, got {resamples}")


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise UsageError(f"`seed` must be at least 0, got {seed}")
