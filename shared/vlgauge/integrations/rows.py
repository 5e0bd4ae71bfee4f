"""Scoring of captions that are joined with the rows of a dataset by position, with several metrics."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets

import vlgauge
from vlgauge.core.catalog import metric_of_score
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.validation import nearest, rows_of, short_repr, warn
from vlgauge.families.base import Captions, Metric, Story, Text
from vlgauge.integrations.scalars import scalars


class RowMetrics:
    """Metrics for captions of one dataset.

    Args:
        metrics: Names of metrics, or metrics from `vlgauge.load`, whose settings may differ.
        rows: Dataset with a length, and a mapping per position. Images of a `datasets.Dataset` are not decoded.
        columns: Column of the dataset by column of the metrics, such as ``{"images": "image"}``.
        groups: Column of the dataset whose equal values define a caption set, for metrics of caption sets.
        **settings: Settings of the metrics specified by name.

    Raises:
        TypeError: If the dataset has no length.
        ValueError: If a metric or a column cannot be used.
    """

    def __init__(
        self,
        metrics: Sequence[str | Metric],
        *,
        rows: Any,
        columns: Mapping[str, str] | None = None,
        groups: str | None = None,
        **settings: Any,
    ) -> None:
        if not (hasattr(rows, "__len__") and hasattr(rows, "__getitem__")):
            raise UsageTypeError.about(
                "rows",
                "must have a length and positions, because captions are joined to rows by position, got "
                f"{type(rows).__name__}",
                "pass a map-style dataset, or a list of rows",
            )
        if not len(rows):
            raise UsageError.about("rows", "must have at least one row, got none")
        settings = {"keep_in_memory": True, **settings}
        self.metrics: list[Any] = [
            vlgauge.load(metric, **settings) if isinstance(metric, str) else metric
            for metric in rows_of("metrics", metrics)
        ]
        self.names = [_check_metric(metric).name for metric in self.metrics]
        self.columns = dict(columns or {})
        self.groups = groups
        self._rows = rows
        self._told: set[str] = set()
        self._check_columns()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def keys(self) -> list[str]:
        """Names of the scores, including second scores such as ``ref_clip_s`` if there are references."""
        both = [one.name for one in self.metrics if one.has_reference_scores and "references" in self.columns]
        return [*self.names, *(f"ref_{name}" for name in both)]

    def rewards_silence(self, key: str) -> bool:
        """Return whether removing content from a caption never lowers a score. See `Metric.rewards_silence`."""
        owner = metric_of_score(key)
        return any(one.rewards_silence for one in self.metrics if one.name == owner)

    def score(self, texts: Sequence[str]) -> dict[str, float]:
        """Compute the scalars of all metrics. An undefined metric has no value, and causes a warning the first time.

        Args:
            texts: One caption per row.

        Raises:
            ValueError: If the number of captions differs from the number of rows.
        """
        if len(texts) != len(self):
            raise UsageError(
                f"the number of captions must be {len(self)}, one per row of `rows`, got {len(texts)}; evaluate on "
                "the dataset passed as `rows`, and generate one caption per row"
            )
        found: dict[str, float] = {}
        for metric in self.metrics:
            result = metric.compute(**self._examples(metric, texts))
            found |= scalars(result)
            if metric.name not in found and metric.name not in self._told:
                self._told.add(metric.name)
                warn(f"`{metric.name}` is undefined for all captions of this evaluation and is not logged")
        return found

    def _examples(self, metric: Any, texts: Sequence[str]) -> dict[str, list[Any]]:
        """Return the columns of one call, read again for each call because images may not fit into memory."""
        used = [column.name for column in metric.columns if column.name in self.columns]
        rows = {name: self._column(self.columns[name]) for name in used}
        if not _takes_sets(metric):
            return {"predictions": list(texts), **rows}
        members: dict[Any, list[int]] = {}
        for row, group in enumerate(self._column(str(self.groups))):
            members.setdefault(group, []).append(row)
        sets = [[texts[row] for row in group] for group in members.values()]
        firsts = [group[0] for group in members.values()]
        return {"predictions": sets, **{name: [values[row] for row in firsts] for name, values in rows.items()}}

    def _column(self, name: str) -> list[Any]:
        if not isinstance(self._rows, datasets.Dataset):
            return [self._rows[row][name] for row in range(len(self))]
        rows = self._rows.with_format(None)
        if isinstance(rows.features[name], datasets.Image):
            rows = rows.cast_column(name, datasets.Image(decode=False))
        return list(rows[name])

    def _check_columns(self) -> None:
        for name in self.columns:
            if name == "predictions" or name not in COLUMNS:
                known = [column for column in COLUMNS if column != "predictions"]
                raise UsageError.about("columns", f"must name columns of metrics, got {name!r}", nearest(name, known))
        missing = [
            f"{column.name} ({metric.name})"
            for metric in self.metrics
            for column in metric.columns
            if not column.optional and column.name not in {"predictions", *self.columns}
        ]
        if missing:
            raise UsageError.about(
                "columns", f"must contain the column names of {', '.join(missing)}, got {self.columns}"
            )
        sets = [metric.name for metric in self.metrics if _takes_sets(metric)]
        if sets and self.groups is None:
            raise UsageError.about(
                "groups",
                f"is required by {', '.join(sets)}: the column that identifies the caption set of a row",
                "repeat each row of the dataset once per caption",
            )
        known = self._rows.column_names if isinstance(self._rows, datasets.Dataset) else list(self._rows[0])
        wanted = [*self.columns.values(), *([] if self.groups is None else [self.groups])]
        if absent := [name for name in dict.fromkeys(wanted) if name not in known]:
            raise UsageError.about(
                "rows", f"must have the columns {', '.join(absent)}, got {', '.join(map(str, known))}"
            )


def _check_metric(metric: Any) -> Metric:
    if not isinstance(metric, Metric):
        raise UsageTypeError.about(
            "metrics", f"must be names of metrics, or metrics from vlgauge.load, got {short_repr(metric)}"
        )
    if metric.num_process != 1:
        raise UsageError.about("num_process", f"of {metric.name} must be 1, because the first process scores all rows")
    if not isinstance(metric.columns[0], (Text, Story, Captions)):
        raise UsageError.about(
            "metrics", f"must be a metric of captions, got {metric.name}, which compares scores of other metrics"
        )
    return metric


def _takes_sets(metric: Metric) -> bool:
    return isinstance(metric.columns[0], Captions)
