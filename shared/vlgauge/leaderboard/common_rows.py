"""Rows that every system scored, on which systems are compared, and the effect of the other rows."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.catalog import score_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined

Scores: TypeAlias = Mapping[str, Sequence[float]]
"""Scores by name of the system, in the order of the rows."""

# Share of rows without a score above which means are also shown with the worst score for these rows.
_FEW = 0.05


def common_rows(metric: str, scores: Scores, keys: Sequence[str]) -> list[int]:
    """Return the indices of the rows that every system defines, sorted by key and not by their order in files.

    Raises:
        ValueError: If there is no such row.
    """
    rows = np.flatnonzero(_find_defined(scores).all(axis=0)).tolist()
    if not rows:
        own = ", ".join(f"{name} {count}" for name, count in _counts(scores).items())
        problem = f"must have a row of which every system has a score by {metric}, got none of {len(keys)} rows ({own})"
        raise UsageError.about("runs", problem, f"leave out {costliest(scores)[0]}")
    return sorted(rows, key=keys.__getitem__)


def costliest(scores: Scores) -> tuple[str, int]:
    """Return the system whose removal adds the most common rows, and the number of added rows.

    Ties are resolved by the number of rows without a score.
    """
    defined = _find_defined(scores)
    lacking = (~defined).sum(axis=0)
    alone = [
        (name, int((~own & (lacking == 1)).sum()), int((~own).sum())) for name, own in zip(scores, defined, strict=True)
    ]
    name, gained, _ = max(alone, key=lambda one: one[1:])
    return name, gained


def worst_values(metric: str, kind: str, scores: Scores) -> dict[str, float | None]:
    """Compute the mean of each system over all rows, with the worst score of the range for rows without a score.

    Args:
        metric: Name of the metric.
        kind: Kind of the compared value, "score" or "corpus".
        scores: Scores by name of the system.

    Returns:
        Mean by name of the system. None for all systems if none of them lacks more than 5% of the rows, if `kind` is
        "corpus", if the range has no worst score, or if a score is outside of the range, which depends on the settings.
    """
    nothing = dict.fromkeys(scores)
    defined = _find_defined(scores)
    if kind != "score" or (~defined).mean(axis=1).max() <= _FEW:
        return nothing
    facts = score_facts(metric)
    side = 0 if facts.higher_is_better else 1
    worst = facts.ends_of()[side] if facts.bounds[side] is None else facts.bounds[side]
    values = np.array(list(scores.values()))[defined]
    if worst is None or (values.min() < worst if side == 0 else values.max() > worst):
        return nothing  # the range depends on a setting
    return {name: mean_of_defined([worst if math.isnan(one) else one for one in own]) for name, own in scores.items()}


def describe_undefined(
    metric: str, scores: Scores, values: Mapping[str, float], worst: Mapping[str, float | None]
) -> tuple[str, ...]:
    """Return sentences about rows without a score.

    Args:
        metric: Name of the metric.
        scores: Scores by name of the system.
        values: Mean by name of the system, over the rows that every system defines.
        worst: Result of `worst_values`.

    Returns:
        Sentences without a final period. Empty if no system lacks a score, or if all systems lack the same minority of
        rows.
    """
    defined = _find_defined(scores)
    n_rows, n_common = defined.shape[1], int(defined.all(axis=0).sum())
    lacking = {name: n_rows - count for name, count in _counts(scores).items() if count < n_rows}
    is_half = 2 * n_common < n_rows
    if not lacking or (
        not is_half and all(n_rows - count == n_common for count in lacking.values()) and len(lacking) == len(scores)
    ):
        return ()
    of = ", ".join(f"{name} of {count}" for name, count in lacking.items())
    sentences = [
        f"{metric}: means, order, groups and tests are of the {n_common} of {n_rows} rows of which every system has a "
        f"score; without one: {of}"
    ]
    name, gained = costliest(scores)
    if is_half:
        sentences.append(
            f"fewer than half of the rows have scores of every system by {metric}"
            + (f"; {name} alone costs {gained} of them, leave it out" if gained else "")
        )
    higher = score_facts(metric).higher_is_better
    if None not in worst.values():
        counted = {name: value for name, value in worst.items() if value is not None}
        if rank_names(values, higher) != (turned := rank_names(counted, higher)):
            sentences.append(f"with the worst {metric} for missing scores, the order changes: {', '.join(turned)}")
    return tuple(sentences)


def rank_names(values: Mapping[str, float], higher_is_better: bool) -> list[str]:
    """Return names from the best value to the worst."""
    return sorted(values, key=lambda name: -values[name] if higher_is_better else values[name])


def _find_defined(scores: Scores) -> npt.NDArray[np.bool_]:
    """Return whether each system has a score of each row, shape ``(n_systems, n_rows)``."""
    return ~np.isnan(np.array(list(scores.values()), dtype=np.float64))


def _counts(scores: Scores) -> dict[str, int]:
    return dict(zip(scores, _find_defined(scores).sum(axis=1).tolist(), strict=True))
