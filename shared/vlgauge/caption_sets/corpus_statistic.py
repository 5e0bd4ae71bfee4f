"""What a metric of two caption sets computes: one or more statistics, each with its own permutation test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import statistics
from vlgauge.base.parts import PartialResult
from vlgauge.results import mean_of_defined

Floats = npt.NDArray[np.float64]
Details: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Statistic:
    """One statistic of S rows of equal sizes.

    Attributes:
        scores: shape ``(S,)``.
        null: shape ``(S, P)``, null distributions with the observed value first; None without a test.
        pvalues: shape ``(S,)``, where they were compared more exactly than `vlgauge.statistics` would; else None.
        tolerance: Values this close tie, one number or shape ``(S,)``.
    """

    scores: Floats
    null: Floats | None = None
    pvalues: Floats | None = None
    tolerance: float | Floats = statistics.TOLERANCE


GroupScores: TypeAlias = tuple[Statistic, Details]
"""The statistic of some rows of equal sizes, and the details of each, for a metric of one statistic."""
GroupStatistics: TypeAlias = tuple[Mapping[str, Statistic], Details]
"""Several statistics by name, and the details."""


class CorpusStatistic:
    """Scores of one statistic over the corpus, and its permutation test.

    Attributes:
        scores: shape ``(n_rows,)``, NaN where undefined.
        test: The test of the scores.
    """

    def __init__(self, n_rows: int, extreme: str, *, draws: int, seed: int, keys: Sequence[int] | None = None) -> None:
        self.scores = np.full(n_rows, np.nan)
        self.test = statistics.SetTest(n_rows, extreme=extreme, draws=draws, seed=seed, keys=keys)

    def add(self, rows: list[int], found: Statistic) -> None:
        """Take in some rows of equal sizes."""
        self.scores[rows] = found.scores
        if found.null is not None:
            self.test.add(rows, found.null, pvalues=found.pvalues, tolerance=found.tolerance)

    def partial(self, name: str, pvalue: str | None) -> PartialResult:
        """Return what these rows add to a larger corpus."""
        columns = {joined(name, "scores"): self.scores.tolist()}
        if pvalue is None:
            return PartialResult(len(self.scores), columns)
        columns |= {_column(name, key): getattr(self.test, key).tolist() for key in self.test.ROWS}
        return PartialResult(len(self.scores), columns, draws={name: self.test.sums})

    def restore(self, name: str, partial: PartialResult, pvalue: str | None) -> None:
        """Take in a whole corpus from the partial result of all its rows."""
        self.scores = np.array(partial.columns[joined(name, "scores")], dtype=np.float64)
        if pvalue is not None:
            rows = {key: partial.columns[_column(name, key)] for key in self.test.ROWS}
            # Each addition of a row rounds by half a unit in the last place, here in another order than in one process.
            draws = partial.draws[name]
            rounding = partial.n_rows * np.finfo(np.float64).eps * np.abs(draws).max(initial=0.0)
            self.test.restore(rows, draws, float(rounding))

    def keys(self, name: str, pvalue: str | None) -> dict[str, Any]:
        """Values by the names of the result keys; for the main statistic those of the test only."""
        found: dict[str, Any] = {}
        if name:
            found = {name: mean_of_defined(self.scores.tolist()), joined(name, "scores"): self.scores}
        if pvalue is None:
            return found
        return found | {joined(name, key): value for key, value in self.test.summary().items()}


def _column(name: str, key: str) -> str:
    """Key of a number of each row that is no part of the result as such."""
    return f"{name}:{key}"


def joined(name: str, key: str) -> str:
    """Key of a value of a statistic; that of the score itself, whose name is "", has no prefix."""
    return f"{name}_{key}" if name else key
