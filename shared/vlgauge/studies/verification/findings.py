"""What a check finds, and what it works with: the user's data, the metrics, which of them are wanted."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from vlgauge.errors import MissingFileError, UsageError
from vlgauge.files import FilePath
from vlgauge.studies.protocols import TEXT_FAMILIES
from vlgauge.studies.protocols.evaluation import Draws
from vlgauge.studies.published import Row, rows, spread_of_draws, verdict

# What is raised where weights, packages or data are missing, or files are not what they should be.
UNABLE = (ImportError, OSError, ValueError, LookupError)
BACKBONE = "ViT-B/32"


NO_DRAWS = Draws(1, math.nan)


@dataclass(frozen=True)
class Finding:
    """A published number next to ours.

    Attributes:
        row: The published row.
        column: Name of the number in it.
        ours: Our number; NaN if it is undefined.
        drawn: Where references are drawn, how far our number varies with them.
    """

    row: Row
    column: str
    ours: float
    drawn: Draws = NO_DRAWS

    @property
    def spread(self) -> tuple[float, float]:
        """Return the ends of `vlgauge.studies.published.spread_of_draws`."""
        return spread_of_draws(self.row, self.ours, self.drawn.n, self.drawn.deviation)

    @property
    def verdict(self) -> str:
        """See `vlgauge.studies.published.verdict`."""
        return verdict(self.row, self.column, self.ours, self.drawn.n, self.drawn.deviation)

    @property
    def difference(self) -> float:
        """Ours less the published number."""
        return self.ours - self.row.values[self.column]

    @property
    def is_met(self) -> bool:
        """Whether nothing speaks against our number."""
        return not self.verdict.startswith(("differs", "undefined"))


@dataclass(frozen=True)
class Unchecked:
    """Published rows that could not be checked: what is missing, and how to get it."""

    rows: Sequence[Row]
    why: str
    how: str

    @property
    def n_values(self) -> int:
        """How many numbers that are."""
        return sum(len(row.values) for row in self.rows)


@dataclass(frozen=True)
class Data:
    """The files of a user at any depth of folders, by their published names.

    Images and videos lie beside them if not elsewhere.
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
        """Every file by its name, those of the first folder first."""
        found: dict[str, list[Path]] = {}
        for folder in self.folders:
            for path, names, files in os.walk(folder):
                names.sort()
                for name in sorted(files):
                    found.setdefault(name, []).append(Path(path) / name)
        return found

    def find(self, ending: str) -> Path | None:
        """The file whose path ends so, such as ``example/refs.json``; of several the one that lies least deep."""
        parts = PurePosixPath(ending).parts
        found = [path for path in self._files.get(parts[-1], []) if path.parts[-len(parts) :] == parts]
        return min(found, key=lambda path: len(path.parts), default=None)

    def all_of(self, endings: Sequence[str]) -> list[Path]:
        """The files that end so.

        Raises:
            FileNotFoundError: If one is not there; says so of all.
        """
        found = {ending: self.find(ending) for ending in endings}
        if missing := [ending for ending, path in found.items() if path is None]:
            raise MissingFileError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there")
        return [path for path in found.values() if path is not None]


@dataclass(frozen=True)
class Tools:
    """What checks compute with.

    The loader has the settings of the user; no names of metrics stand for all of them.
    """

    load: Callable[..., Any]
    metrics: Sequence[str] = ()
    backbone: str = BACKBONE

    def wanted(self, protocol: str) -> list[Row]:
        """Published rows of a check that are of these metrics and of this backbone."""
        return [
            row
            for row in rows()
            if row.protocol == protocol
            and row.metric is not None
            and row.backbone in (None, self.backbone)
            and (not self.metrics or metric_of(row.metric) in self.metrics)
        ]


def metric_of(family: str) -> str:
    """Name of the metric that gives a family of scores."""
    return "bleu" if family.startswith("bleu_") else family.removeprefix("ref_")


TEXT_METRICS = {metric_of(family) for family in TEXT_FAMILIES}
"""Metrics that need no model."""


def compared(
    found: Sequence[Row],
    values: Mapping[str, Mapping[str, float]],
    drawn: Mapping[str, Mapping[str, Draws]] | None = None,
) -> Iterator[Finding]:
    """Yield published rows next to our numbers by family of scores and column; rows of other families are left alone.

    Args:
        found: The published rows.
        values: Our numbers by family of scores and column.
        drawn: Where references are drawn, how far they vary with the draws, likewise.
    """
    for row in found:
        own = values.get(row.metric or "", {})
        for column in row.values:
            if column in own:
                yield Finding(row, column, own[column], (drawn or {}).get(row.metric or "", {}).get(column, NO_DRAWS))


def attempted(found: Sequence[Row], how: str, work: Callable[[], Iterable[Finding]]) -> Iterator[Finding | Unchecked]:
    """What the work finds of some rows, or why it could not be done."""
    try:
        results = list(work())
    except UNABLE as error:
        yield Unchecked(found, str(error), how)
    else:
        yield from results
