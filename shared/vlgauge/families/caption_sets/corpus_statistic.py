"""Statistics computed by metrics of two caption sets, each with a separate permutation test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.core.results import mean_of_defined
from vlgauge.families.base.parts import PartialResult

Floats = npt.NDArray[np.float64]
Details: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Statistic:
    """Statistic of S rows of equal sizes.

    Attributes:
        scores: Shape ``(S,)``.
        null: Shape ``(S, P)``, null distributions with the observed value first. None without a test.
        pvalues: Shape ``(S,)``, if the metric compared values more exactly than `vlgauge.stats` does. Otherwise
            None.
        tolerance: Maximum difference of tied values, one number or shape ``(S,)``.
    """

    scores: Floats
    null: Floats | None = None
    pvalues: Floats | None = None
    tolerance: float | Floats = stats.TOLERANCE


GroupScores: TypeAlias = tuple[Statistic, Details]
"""Statistic of some rows of equal sizes, and the details of each, for a metric with one statistic."""
GroupStatistics: TypeAlias = tuple[Mapping[str, Statistic], Details]
"""Several statistics by name, and the details."""


class CorpusStatistic:
    """Scores of one statistic over the corpus, and its permutation test.

    Attributes:
        scores: Shape ``(n_rows,)``, NaN if undefined.
        test: Permutation test of the scores.
    """

    def __init__(self, n_rows: int, extreme: str, *, draws: int, seed: int, keys: Sequence[int] | None = None) -> None:
        self.scores = np.full(n_rows, np.nan)
        self.test = stats.SetTest(n_rows, extreme=extreme, draws=draws, seed=seed, keys=keys)

    def add(self, rows: list[int], found: Statistic) -> None:
        """Add some rows of equal sizes."""
        self.scores[rows] = found.scores
        if found.null is not None:
            self.test.add(rows, found.null, pvalues=found.pvalues, tolerance=found.tolerance)

    def partial(self, name: str, pvalue: str | None) -> PartialResult:
        """Return the contribution of these rows to a larger corpus."""
        columns = {join_key(name, "scores"): self.scores.tolist()}
        if pvalue is None:
            return PartialResult(len(self.scores), columns)
        columns |= {_column(name, key): getattr(self.test, key).tolist() for key in self.test.ROWS}
        return PartialResult(len(self.scores), columns, draws={name: self.test.sums})

    def restore(self, name: str, partial: PartialResult, pvalue: str | None) -> None:
        """Restore the statistic of a whole corpus from the partial result of all its rows."""
        self.scores = np.array(partial.columns[join_key(name, "scores")], dtype=np.float64)
        if pvalue is not None:
            rows = {key: partial.columns[_column(name, key)] for key in self.test.ROWS}
            # Each addition of a row rounds by half a unit in the last place. The order differs from a
            # single process.
            draws = partial.draws[name]
            rounding = partial.n_rows * np.finfo(np.float64).eps * np.abs(draws).max(initial=0.0)
            self.test.restore(rows, draws, float(rounding))

    def keys(self, name: str, pvalue: str | None) -> dict[str, Any]:
        """Return the values of the statistic by result key.

        Args:
            name: Name of the statistic, used as prefix. Empty for the main statistic, of which only values of the test
                are included.
            pvalue: Setting `pvalue`. None without a test.

        Returns:
            Values of the result by key: mean and ``scores`` of another statistic, and the values of `SetTest.summary`.
        """
        found: dict[str, Any] = {}
        if name:
            found = {name: mean_of_defined(self.scores.tolist()), join_key(name, "scores"): self.scores}
        if pvalue is None:
            return found
        return found | {join_key(name, key): value for key, value in self.test.summary().items()}


def _column(name: str, key: str) -> str:
    """Return the key of a value per row that is not included in the result."""
    return f"{name}:{key}"


def join_key(name: str, key: str) -> str:
    """Return the key of a value of a statistic. Keys of the score, whose name is "", have no prefix."""
    return f"{name}_{key}" if name else key
