"""The rows that every system has a score of, by which systems are compared, and what the others change."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.catalog import score_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined

Scores: TypeAlias = Mapping[str, Sequence[float]]
"""By name of the system, in the order of the rows."""

# Above this share of rows without a score the means are also shown with the worst score in their place.
_FEW = 0.05


def common_rows(metric: str, scores: Scores, keys: Sequence[str]) -> list[int]:
    """Indices of the rows that every system defines, in the order of their keys: it is that of no file.

    Raises:
        ValueError: If there is no such row.
    """
    rows = np.flatnonzero(_defined(scores).all(axis=0)).tolist()
    if not rows:
        own = ", ".join(f"{name} {count}" for name, count in _counts(scores).items())
        raise UsageError(
            f"`runs` must have a row of which every system has a score by {metric}, got none of {len(keys)} rows "
            f"({own}); leave out {costliest(scores)[0]}"
        )
    return sorted(rows, key=keys.__getitem__)


def costliest(scores: Scores) -> tuple[str, int]:
    """The system without which most rows would be common to the others, and how many these are more."""
    defined = _defined(scores)
    lacking = (~defined).sum(axis=0)
    alone = [
        (name, int((~own & (lacking == 1)).sum()), int((~own).sum())) for name, own in zip(scores, defined, strict=True)
    ]
    name, gained, _ = max(alone, key=lambda one: one[1:])
    return name, gained


def worst_values(metric: str, kind: str, scores: Scores) -> dict[str, float | None]:
    """Mean of each system over all rows with the worst score of the range where it has none.

    Returns:
        None where every system lacks few rows, or where there is no worst score: of the added counts of
        a corpus, and of a range without an end.
    """
    nothing = dict.fromkeys(scores)
    defined = _defined(scores)
    if kind != "score" or (~defined).mean(axis=1).max() <= _FEW:
        return nothing
    facts = score_facts(metric)
    side = 0 if facts.higher_is_better else 1
    worst = facts.ends_of()[side] if facts.bounds[side] is None else facts.bounds[side]
    values = np.array(list(scores.values()))[defined]
    if worst is None or (values.min() < worst if side == 0 else values.max() > worst):
        return nothing  # a setting has another range
    return {name: mean_of_defined([worst if math.isnan(one) else one for one in own]) for name, own in scores.items()}


def told_of_undefined(
    metric: str, scores: Scores, values: Mapping[str, float], worst: Mapping[str, float | None]
) -> tuple[str, ...]:
    """Sentences about rows without a score; none where every system lacks the same few."""
    defined = _defined(scores)
    n_rows, n_common = defined.shape[1], int(defined.all(axis=0).sum())
    lacking = {name: n_rows - count for name, count in _counts(scores).items() if count < n_rows}
    is_half = 2 * n_common < n_rows
    if not lacking or (
        not is_half and all(n_rows - count == n_common for count in lacking.values()) and len(lacking) == len(scores)
    ):
        return ()
    of = ", ".join(f"{name} of {count}" for name, count in lacking.items())
    told = [
        f"{metric}: means, order, groups and tests are of the {n_common} of {n_rows} rows of which every system has a "
        f"score; without one: {of}"
    ]
    name, gained = costliest(scores)
    if is_half:
        told.append(
            f"fewer than half of the rows are left by {metric}"
            + (f"; {name} alone costs {gained} of them, leave it out" if gained else "")
        )
    higher = score_facts(metric).higher_is_better
    if None not in worst.values():
        counted = {name: value for name, value in worst.items() if value is not None}
        if ranked(values, higher) != (turned := ranked(counted, higher)):
            told.append(f"with the worst {metric} in place of no score the order turns: {', '.join(turned)}")
    return tuple(told)


def ranked(values: Mapping[str, float], higher_is_better: bool) -> list[str]:
    """Names from the best value to the worst."""
    return sorted(values, key=lambda name: -values[name] if higher_is_better else values[name])


def _defined(scores: Scores) -> npt.NDArray[np.bool_]:
    """Whether a system has a score of a row, shape ``(n_systems, n_rows)``."""
    return ~np.isnan(np.array(list(scores.values()), dtype=np.float64))


def _counts(scores: Scores) -> dict[str, int]:
    return dict(zip(scores, _defined(scores).sum(axis=1).tolist(), strict=True))
