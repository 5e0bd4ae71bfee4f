"""What a metric of two caption sets computes: one or more statistics, each with its own permutation test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import statistics
from vlgauge.results import mean_of_defined

Floats = npt.NDArray[np.float64]
Details: TypeAlias = list[dict[str, Any]]
Statistic: TypeAlias = tuple[Floats, Floats | None] | tuple[Floats, Floats | None, Floats | None]
"""Of S examples of equal sizes: scores ``(S,)``, null distributions ``(S, P)`` if tested, and p-values ``(S,)`` where
they were compared more exactly than `vlgauge.statistics` would."""
GroupScores: TypeAlias = tuple[Floats, Floats | None, Details] | tuple[Floats, Floats | None, Floats | None, Details]
"""The same with the details of each example, for a metric of one statistic."""
GroupStatistics: TypeAlias = tuple[Mapping[str, Statistic], Details]
"""Several statistics by name, and the details."""

# Which values of a statistic speak against the null hypothesis, and the sign that makes them large.
SIGNS = {"large": 1.0, "small": -1.0}


class CorpusStatistic:
    """Scores of one statistic over the corpus, and its permutation test.

    Attributes:
        scores: shape ``(n_examples,)``, NaN where undefined.
        test: The test of the scores times `sign`.
        sign: 1 if large values speak against the null hypothesis, -1 if small ones do.
    """

    def __init__(self, n_examples: int, extreme: str, *, draws: int, seed: int) -> None:
        self.scores = np.full(n_examples, np.nan)
        self.test = statistics.SetTest(n_examples, draws=draws, seed=seed)
        self.sign = SIGNS[extreme]

    def add(self, rows: list[int], scores: Floats, null: Floats | None, pvalues: Floats | None = None) -> None:
        """Take in some examples of equal sizes."""
        self.scores[rows] = scores
        if null is not None:
            self.test.add(rows, null if self.sign > 0 else -null, pvalues=pvalues)

    def keys(self, name: str, pvalue: str | None) -> dict[str, Any]:
        """Values by the names of the result keys; for the main statistic those of the test only."""
        found: dict[str, Any] = {}
        if name:
            found = {name: mean_of_defined(self.scores.tolist()), joined(name, "scores"): self.scores}
        if pvalue is None:
            return found
        summary = self.test.summary()
        for key in ("null_means", "zscores", "null_mean", "stratified_z"):
            # Adding 0 turns the -0.0 of a negated 0 into 0.
            summary[key] = (self.sign * np.asarray(summary[key]) + 0.0).tolist()
        return found | {joined(name, key): value for key, value in summary.items()}


def joined(name: str, key: str) -> str:
    """Key of a value of a statistic; that of the score itself, whose name is "", has no prefix."""
    return f"{name}_{key}" if name else key
