"""What every protocol gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from vlgauge.progress import Progress
from vlgauge.signatures import format_signature
from vlgauge.statistics import RESAMPLES
from vlgauge.version import __version__

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Figure:
    """One number of a table, times 100, with its percentile interval.

    Attributes:
        value: The number; NaN if it is undefined.
        low: Lower end of the interval; NaN without one.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """How a metric does on a data set.

    Attributes:
        figures: By name, in the order of the papers' tables.
        n: Number of rows, or of pairs, that counted.
        n_groups: Number of images or videos they belong to, which the intervals resample.
        undefined: Number of rows, or of pairs, that were left out because a score is NaN.
        signature: The rules, as `task_signature` writes them.
    """

    figures: Mapping[str, Figure]
    n: int
    n_groups: int
    undefined: int
    signature: str


class Task(Protocol):
    """A data set under the rules of its protocol.

    Attributes:
        unit: What is counted: "rows" or "pairs".
    """

    unit: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the protocol."""
        ...

    @property
    def columns(self) -> Mapping[str, list[Any]]:
        """Rows to be scored, as ``metric.compute(**columns)`` takes them."""
        ...

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many rows of the files the rules leave out, by reason."""
        ...

    def evaluate(
        self,
        scores: Sequence[float],
        *,
        level: float = 0.95,
        resamples: int = RESAMPLES,
        seed: int = 0,
        progress: Progress = False,
    ) -> Evaluation:
        """The figures of one score per row, in the order of ``columns``."""
        ...


def task_signature(name: str, rules: Mapping[str, Any]) -> str:
    """What the figures depend on besides the scores, such as ``foil|v:0.1.0|references:4|...``."""
    return format_signature(name, {"v": __version__, **rules})


def checked_scores(scores: Sequence[float], n_rows: int) -> Floats:
    """Scores as an array, shape ``(n_rows,)``; None becomes NaN.

    Raises:
        ValueError: If there is not one per row.
        TypeError: If one is no number.
    """
    if len(scores) != n_rows:
        raise ValueError(f"`scores` must have one score per row of the protocol, {n_rows}, got {len(scores)}")
    try:
        return np.asarray(scores, dtype=np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        raise TypeError("`scores` must be numbers, NaN or None where one is undefined, got something else") from None
