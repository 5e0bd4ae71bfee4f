"""Suites of metrics that papers report together in one table, under one name.

Names of suites are reserved and cannot be names of metrics. `vlgauge.score` and `vlgauge.compare` accept them in place
of metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlgauge.core.files import DATA, read_json


@dataclass(frozen=True)
class TableColumn:
    """Column of the table of a suite.

    Attributes:
        title: Title used in papers.
        metric: Name of the metric.
        key: Key of the value in its result.
    """

    title: str
    metric: str
    key: str


@dataclass(frozen=True)
class Suite:
    """Group of metrics that are reported together.

    Attributes:
        name: Reserved name.
        purpose: Short description of the table.
        columns: Columns of the table, in the order used in papers.
        settings: Settings that differ from the defaults, by metric.
        needs: Required column of the rows, by metric. The metric is omitted if the column is missing.
    """

    name: str
    purpose: str
    columns: tuple[TableColumn, ...]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics without duplicates, in the order of the columns."""
        return list(dict.fromkeys(column.metric for column in self.columns))


def _read_suite(name: str, purpose: str, columns: Sequence[Mapping[str, str]], **more: Any) -> Suite:
    return Suite(name, purpose, tuple(TableColumn(**column) for column in columns), **more)


# The distances of stories use the coherence of a sentence with all sentences before it, as all published ones do.
SUITES: Mapping[str, Suite] = {one["name"]: _read_suite(**one) for one in read_json(DATA / "suites.json")}
"""Suites by name."""
