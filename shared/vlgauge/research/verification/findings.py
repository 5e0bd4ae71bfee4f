"""Results of checks, and their inputs: the user's data, the metrics, and the requested published rows."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from vlgauge.core.errors import MissingFileError, UsageError
from vlgauge.core.files import FilePath
from vlgauge.research.protocols.evaluation import Draws
from vlgauge.research.protocols.scoring import TEXT_FAMILIES
from vlgauge.research.studies.published import PublishedRow, rows, spread_of_draws, verdict

# Exceptions for missing weights, packages or data, and for invalid files.
UNABLE = (ImportError, OSError, ValueError, LookupError)
BACKBONE = "ViT-B/32"


NO_DRAWS = Draws(1, math.nan)


@dataclass(frozen=True)
class Finding:
    """Published value and our value.

    Attributes:
        row: Published row.
        column: Column of the value.
        ours: Our value. NaN if undefined.
        drawn: Variation of our value between draws of references, if they are drawn.
    """

    row: PublishedRow
    column: str
    ours: float
    drawn: Draws = NO_DRAWS

    @property
    def spread(self) -> tuple[float, float]:
        """Range returned by `vlgauge.research.studies.published.spread_of_draws`."""
        return spread_of_draws(self.row, self.ours, self.drawn.n, self.drawn.deviation)

    @property
    def verdict(self) -> str:
        """Text returned by `vlgauge.research.studies.published.verdict`."""
        return verdict(self.row, self.column, self.ours, self.drawn.n, self.drawn.deviation)

    @property
    def difference(self) -> float:
        """Our value minus the published value."""
        return self.ours - self.row.values[self.column]

    @property
    def is_met(self) -> bool:
        """Whether our value neither differs nor is undefined."""
        return not self.verdict.startswith(("differs", "undefined"))


@dataclass(frozen=True)
class Unchecked:
    """Published rows that could not be checked, with the reason and the remedy."""

    rows: Sequence[PublishedRow]
    why: str
    how: str

    @property
    def n_values(self) -> int:
        """Number of values in the rows."""
        return sum(len(row.values) for row in self.rows)


@dataclass(frozen=True)
class Data:
    """Files of a user, found by their published names at any depth of the folders.

    Images and videos are looked up next to the files unless their folders are passed.
    """

    folders: Sequence[FilePath] = ()
    images: FilePath | None = None
    videos: FilePath | None = None

    def __post_init__(self) -> None:
        for folder in (*self.folders, self.images, self.videos):
            if folder is not None and not Path(folder).is_dir():
                raise UsageError(f"the folder of the data must exist, got {str(folder)!r}")

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """Paths by file name, in the order of the folders."""
        found: dict[str, list[Path]] = {}
        for folder in self.folders:
            for path, names, files in os.walk(folder):
                names.sort()
                for name in sorted(files):
                    found.setdefault(name, []).append(Path(path) / name)
        return found

    def find(self, ending: str) -> Path | None:
        """Find the file whose path ends with `ending`, such as ``example/refs.json``. None if there is none.

        The shallowest match wins.
        """
        parts = PurePosixPath(ending).parts
        found = [path for path in self._files.get(parts[-1], []) if path.parts[-len(parts) :] == parts]
        return min(found, key=lambda path: len(path.parts), default=None)

    def all_of(self, endings: Sequence[str]) -> list[Path]:
        """Find the file for each ending.

        Raises:
            FileNotFoundError: If files are missing. The message names all of them.
        """
        found = {ending: self.find(ending) for ending in endings}
        if missing := [ending for ending, path in found.items() if path is None]:
            raise MissingFileError(f"{', '.join(missing)} not found")
        return [path for path in found.values() if path is not None]


@dataclass(frozen=True)
class Tools:
    """Settings of checks: the loader with the settings of the user, names of metrics, and the backbone.

    An empty list of names selects all metrics.
    """

    load: Callable[..., Any]
    metrics: Sequence[str] = ()
    backbone: str = BACKBONE

    def select_rows(self, protocol: str) -> list[PublishedRow]:
        """Return the published rows of a check for the selected metrics and backbone."""
        return [
            row
            for row in rows()
            if row.protocol == protocol
            and row.metric is not None
            and row.backbone in (None, self.backbone)
            and (not self.metrics or metric_of(row.metric) in self.metrics)
        ]


def metric_of(family: str) -> str:
    """Return the name of the metric that computes a family of scores."""
    for metric in ("bleu", "dsg"):
        if family.startswith(f"{metric}_"):
            return metric
    return family.removeprefix("ref_")


TEXT_METRICS = {metric_of(family) for family in TEXT_FAMILIES}
"""Metrics that require no model."""


def compare_values(
    found: Sequence[PublishedRow],
    values: Mapping[str, Mapping[str, float]],
    drawn: Mapping[str, Mapping[str, Draws]] | None = None,
) -> Iterator[Finding]:
    """Yield each published value together with ours. Rows of families without values are skipped.

    Args:
        found: Published rows.
        values: Our values by family of scores and column.
        drawn: Variation between draws of references by family of scores and column, if they are drawn.
    """
    for row in found:
        own = values.get(row.metric or "", {})
        for column in row.values:
            if column in own:
                yield Finding(row, column, own[column], (drawn or {}).get(row.metric or "", {}).get(column, NO_DRAWS))


def attempt_check(
    found: Sequence[PublishedRow], how: str, work: Callable[[], Iterable[Finding]]
) -> Iterator[Finding | Unchecked]:
    """Yield the findings of a check, or the reason why it could not be done."""
    try:
        results = list(work())
    except UNABLE as error:
        yield Unchecked(found, str(error), how)
    else:
        yield from results
