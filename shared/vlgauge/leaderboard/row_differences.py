"""In which rows two systems differ, and by how much."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.leaderboard.common_rows import Scores
from vlgauge.statistics import differences

Noise: TypeAlias = Mapping[str, Sequence[bool]]
"""By name of the system, whether the score of each row is noise; empty where none is."""


class RowDifferences:
    """Differences of single rows between systems, over the rows that all of them define; noise ties."""

    def __init__(self, scores: Scores, noise: Noise) -> None:
        every = {name: np.asarray(own, dtype=np.float64) for name, own in scores.items()}
        self._lacking = np.isnan(list(every.values())).any(axis=0)
        self._scores = {name: np.where(self._lacking, np.nan, own) for name, own in every.items()}
        self._noise = {name: np.asarray(own, dtype=np.bool_) for name, own in noise.items()}

    def between(self, first: str, second: str) -> npt.NDArray[np.float64]:
        """First - second of each row, shape ``(n_rows,)``: 0 where scores tie, NaN where any system has none."""
        apart = differences(self._scores[first], self._scores[second])
        if self._noise:
            apart[self._noise[first] & self._noise[second] & ~self._lacking] = 0.0
        return apart
