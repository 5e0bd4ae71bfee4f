"""Scores of several systems on the same rows: rows that every system scored, differences, and undefined rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.core.catalog import score_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined
from vlgauge.families.aggregation import CountBasedMetric

Floats = npt.NDArray[np.float64]

Scores: TypeAlias = Mapping[str, Sequence[float]]
"""Scores by name of the system, in the order of the rows."""

Noise: TypeAlias = Mapping[str, Sequence[bool]]
"""Whether the score of each row is noise, by name of the system. Empty without noise."""

# Share of rows without a score above which means are also shown with the worst score for these rows.
_FEW = 0.05


class RowDifferences:
    """Differences of single rows between systems, over the rows that all of them define. Two noise scores tie."""

    def __init__(self, scores: Scores, noise: Noise) -> None:
        every = {name: np.asarray(own, dtype=np.float64) for name, own in scores.items()}
        self._lacking = np.isnan(list(every.values())).any(axis=0)
        self._scores = {name: np.where(self._lacking, np.nan, own) for name, own in every.items()}
        self._noise = {name: np.asarray(own, dtype=np.bool_) for name, own in noise.items()}

    def between(self, first: str, second: str) -> Floats:
        """Return the difference first - second of each row.

        Returns:
            Shape ``(n_rows,)``. 0 if the scores tie, NaN if any system lacks the score.
        """
        apart = stats.differences(self._scores[first], self._scores[second])
        if self._noise:
            apart[self._noise[first] & self._noise[second] & ~self._lacking] = 0.0
        return apart


@dataclass(frozen=True)
class JoinedScores:
    """Scores of all systems by one metric, in the same order of the rows.

    Attributes:
        metric: Name of the metric.
        signature: Signature that the systems have in common.
        keys: Keys of the rows.
        scores: Scores by name of the system.
        counted: Metric that computes the value from the summed counts. None for means of scores.
        values: Scores by name of the system, shape ``(n_rows,)``, or counts, shape ``(n_rows, n_counts)``.
    """

    metric: str
    signature: str
    keys: Sequence[str]
    scores: Scores
    counted: CountBasedMetric | None
    values: Mapping[str, Floats]

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better."""
        return score_facts(self.metric).higher_is_better

    @cached_property
    def defined(self) -> npt.NDArray[np.bool_]:
        """Whether each system defines each row, shape ``(n_systems, n_rows)``.

        A caption without an object has no CHAIR_i, but its counts of 0 are included in CHAIR_i of the corpus.
        """
        values = np.stack(list(self.values.values()))
        return np.asarray(~np.isnan(values.reshape(*values.shape[:2], -1)).any(axis=2))

    @cached_property
    def undefined(self) -> dict[str, int]:
        """Number of undefined rows by name of the system."""
        return dict(zip(self.values, (~self.defined).sum(axis=1).tolist(), strict=True))

    @cached_property
    def rows(self) -> list[int]:
        """Indices of the rows that every system defines, sorted by key and not by their order in files.

        Raises:
            ValueError: If there is no such row.
        """
        rows = np.flatnonzero(self.defined.all(axis=0)).tolist()
        if not rows:
            n_rows = len(self.keys)
            own = ", ".join(f"{name} {n_rows - count}" for name, count in self.undefined.items())
            problem = f"must have a row of which every system has a score by {self.metric}, got none of {n_rows} rows"
            raise UsageError.about("runs", f"{problem} ({own})", f"leave out {self.costliest[0]}")
        return sorted(rows, key=self.keys.__getitem__)

    @property
    def costliest(self) -> tuple[str, int]:
        """System whose removal adds the most common rows, and the number of added rows.

        Ties are resolved by the number of rows without a score.
        """
        lacking = ~self.defined
        alone = (lacking & (lacking.sum(axis=0) == 1)).sum(axis=1).tolist()
        gained = dict(zip(self.values, alone, strict=True))
        name = max(gained, key=lambda one: (gained[one], self.undefined[one]))
        return name, gained[name]

    @cached_property
    def noise(self) -> Noise:
        """Whether the score of each row results only from constants of the metric, by name of the system."""
        is_noise = self.counted and self.counted.is_noise
        return {name: is_noise(own).tolist() for name, own in self.values.items()} if is_noise else {}

    @cached_property
    def row_differences(self) -> RowDifferences:
        """Differences of single rows."""
        return RowDifferences(self.scores, self.noise)


def worst_values(joined: JoinedScores) -> dict[str, float | None]:
    """Compute the mean of each system over all rows, with the worst score of the range for rows without a score.

    Returns:
        Mean by name of the system. None for all systems if none of them lacks more than 5% of the rows, if counts are
        summed, if the range has no worst score, or if a score is outside of the range, which depends on the settings.
    """
    nothing: dict[str, float | None] = dict.fromkeys(joined.scores)
    if joined.counted is not None or max(joined.undefined.values()) <= _FEW * len(joined.keys):
        return nothing
    facts = score_facts(joined.metric)
    side = 0 if facts.higher_is_better else 1
    worst = facts.ends_of()[side] if facts.bounds[side] is None else facts.bounds[side]
    values = np.stack(list(joined.values.values()))[joined.defined]
    if worst is None or (values.min() < worst if side == 0 else values.max() > worst):
        return nothing  # the range depends on a setting
    return {
        name: mean_of_defined([worst if math.isnan(one) else one for one in own]) for name, own in joined.scores.items()
    }


def describe_undefined(
    joined: JoinedScores, values: Mapping[str, float], worst: Mapping[str, float | None]
) -> tuple[str, ...]:
    """Return sentences about rows without a score.

    Args:
        joined: Scores of all systems.
        values: Mean by name of the system, over the rows that every system defines.
        worst: Result of `worst_values`.

    Returns:
        Sentences without a final period. Empty if no system lacks a score, or if all systems lack the same minority of
        rows.
    """
    metric, n_rows, n_common = joined.metric, len(joined.keys), len(joined.rows)
    is_half = 2 * n_common < n_rows
    lacking = {name: count for name, count in joined.undefined.items() if count}
    if not is_half and all(count == n_rows - n_common for count in joined.undefined.values()):
        return ()
    of = ", ".join(f"{name} of {count}" for name, count in lacking.items())
    sentences = [
        f"{metric}: means, order, groups and tests are of the {n_common} of {n_rows} rows of which every system has a "
        f"score; without one: {of}"
    ]
    if is_half:
        name, gained = joined.costliest
        sentences.append(
            f"fewer than half of the rows have scores of every system by {metric}"
            + (f"; {name} alone costs {gained} of them, leave it out" if gained else "")
        )
    counted = {name: value for name, value in worst.items() if value is not None}
    higher = joined.higher_is_better
    if counted and rank_names(values, higher) != (turned := rank_names(counted, higher)):
        sentences.append(f"with the worst {metric} for missing scores, the order changes: {', '.join(turned)}")
    return tuple(sentences)


def rank_names(values: Mapping[str, float], higher_is_better: bool) -> list[str]:
    """Return names from the best value to the worst."""
    return sorted(values, key=lambda name: -values[name] if higher_is_better else values[name])
