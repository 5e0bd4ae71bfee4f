"""Metrics of this package as a `torchmetrics.Metric`, for training loops and Lightning."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import torch.distributed as dist
import torchmetrics
from torchmetrics.utilities.distributed import gather_all_tensors
from torchmetrics.utilities.plot import plot_single_or_multi_val

import vlgauge
from vlgauge.core.catalog import WITH_REFERENCES, metric_facts, metric_folder, score_facts
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.validation import nearest, rows_of, short_repr
from vlgauge.families.base import Metric
from vlgauge.integrations.accelerate import rows_once
from vlgauge.integrations.batches import check_id
from vlgauge.integrations.processes import on_first_process
from vlgauge.integrations.scalars import scalars

# Keyword arguments of `torchmetrics.Metric`.
_LIBRARY = (
    *("compute_on_cpu", "dist_sync_on_step", "process_group", "dist_sync_fn", "distributed_available_fn"),
    *("sync_on_compute", "compute_with_cache"),
)
# Names of the columns in text metrics of torchmetrics.
_THEIR_NAMES = {"preds": "predictions", "target": "references"}
_ID = "id"


class VlgaugeMetric(torchmetrics.Metric):
    """Metric that collects the rows of all batches and processes, and scores them together in `compute`.

    The value is a tensor with one number, so that ``self.log("val_rouge_l", metric)``, `torchmetrics.MetricCollection`,
    `torchmetrics.MetricTracker` and arithmetic work. `scalars` returns all numbers. Rows stay on the CPU. Each score
    has a separate class, such as ``RougeL``, which determines its name in a `MetricCollection`. Copies share the metric
    and its models.

    Args:
        metric: Name of a metric, or a metric from `vlgauge.load`.
        score: Score to use as the value, such as ``"ref_clip_s"`` or ``"chair_recall"``. None for the main score of the
            metric.
        **settings: Keyword arguments of `torchmetrics.Metric`, such as ``sync_on_compute``, and settings of a metric
            specified by name.

    Attributes:
        result: Result dictionary of the last `compute`, with row scores and signature. None before the first call.

    Raises:
        TypeError: If the metric is invalid, or settings are passed with a metric from `vlgauge.load`.
        ValueError: If there is no such metric, score or setting.
    """

    is_differentiable = False
    full_state_update = False
    rows: list[torch.Tensor]

    def __new__(cls, metric: str | Metric, *, score: str | None = None, **settings: Any) -> VlgaugeMetric:
        """Create an instance of the class of the score."""
        return _empty(cls, _check_score(metric, score))

    def __init__(self, metric: str | Metric, *, score: str | None = None, **settings: Any) -> None:
        super().__init__(**{name: settings.pop(name) for name in _LIBRARY if name in settings})
        if not isinstance(metric, str) and settings:
            raise UsageTypeError.about(
                next(iter(settings)), "cannot be combined with a metric from vlgauge.load, which has its own settings"
            )
        loaded: Any = (
            vlgauge.load(metric, **{"keep_in_memory": True, **settings}) if isinstance(metric, str) else metric
        )
        if loaded.num_process != 1:
            raise UsageError.about(
                "num_process",
                f"of {loaded.name} must be 1, got {loaded.num_process}",
                "rows are gathered by torchmetrics",
            )
        self.score = score or loaded.name
        self._reads_references = self.score == f"{WITH_REFERENCES}{loaded.name}"
        if self._reads_references and not loaded.has_reference_scores:
            raise UsageError.about(
                "score", f"must be a score of {loaded.name}, got {self.score!r}, which needs references"
            )
        self.metric = loaded
        self.result: dict[str, Any] | None = None
        self.add_state("rows", default=[], dist_reduce_fx=None)

    def update(self, *rows: Any, ids: Any = None, **columns: Any) -> None:
        """Add rows. If one of them is invalid, none is added.

        Args:
            *rows: Columns in the order of the metric: predictions, then references or images.
            ids: One id per row, so that rows repeated by a padded sampler are scored once.
            **columns: Columns by name, including the aliases ``preds`` and ``target``. Columns of other metrics are
                ignored.

        Raises:
            TypeError: If a column is unknown or passed twice.
            ValueError: If a column is missing, a row is invalid, or only some rows have ids.
        """
        table = self.metric.to_table(self._name_columns(rows, columns))
        if self._reads_references and table.num_rows == table["references"].null_count > 0:
            raise UsageError.about("references", f"is required for {self.score}, got None in every row")
        if ids is not None:
            table = table.append_column(_ID, pa.array(_dump_ids(ids, table.num_rows), pa.string()))
        self._check_compatible(table)
        # Compute groups share rows of metrics whose states are equal, so the columns are part of the state.
        self.rows.append(_pack(table, {"columns": repr(self.metric.columns)}))

    def compute(self) -> torch.Tensor:
        """Score all rows, and return the same tensor on every process.

        Returns:
            The value, float64 (float32 on MPS devices), shape ``()``. NaN if undefined.

        Raises:
            ValueError: If there are no rows, or two different rows share an id.
        """
        together = self._is_synced and self.process_group is None
        self.result = on_first_process(self._score) if together else self._score()
        # If no row has references, the result has no score with references.
        number = self.result.get(self.score, math.nan if self._reads_references else None)
        if number is None:
            raise UsageError.about(
                "score", f"must be in the result of {self.metric.name} with its settings, got {self.score!r}"
            )
        return torch.tensor(number, dtype=self._value_dtype, device=self.device)

    def scalars(self, prefix: str = "") -> dict[str, float]:
        """Return all finite numbers of the result, such as ``{"rouge_l": 0.8, "rouge_l_undefined": 0}``.

        Args:
            prefix: Prefix of the keys, such as ``"val_"``.

        Raises:
            ValueError: If there are no rows, or two different rows share an id.
        """
        self.compute()
        return scalars(self.result or {}, prefix)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one value, or several values over the steps (extra ``plots``).

        Args:
            val: Value or list of values from `compute` or `forward`. None for `compute`.
            ax: Matplotlib axes. None for a new figure.

        Returns:
            Figure and axes.
        """
        return plot_single_or_multi_val(
            self.compute() if val is None else val,
            ax=ax,
            higher_is_better=self.higher_is_better,
            name=type(self).__name__,
            lower_bound=self.plot_lower_bound,
            upper_bound=self.plot_upper_bound,
            legend_name=self.plot_legend_name,
        )

    def reset(self) -> None:
        """Remove all rows."""
        self.rows = []  # torchmetrics would clear the list, which `torchmetrics.wrappers.Running` keeps
        super().reset()
        self.result = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add rows like `update`, and return the value of these rows only.

        Returns:
            The value in the form of `compute`.

        Raises:
            ValueError: If a row is invalid. The state is then unchanged.
        """
        before = {**self.__dict__, **self._copy_state_dict()}
        try:
            return super().forward(*args, **kwargs)
        except BaseException:
            # Restore the rows of earlier batches, which torchmetrics set aside and does not restore on errors.
            self.__dict__.update(before)
            raise

    def __deepcopy__(self, memo: dict[int, Any]) -> VlgaugeMetric:
        memo[id(self.metric)] = self.metric
        copied = memo[id(self)] = _empty(_base_of(self), self.score)
        copied.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty, (_base_of(self), self.score), self.__getstate__()

    def _name_columns(self, rows: Sequence[Any], columns: Mapping[str, Any]) -> dict[str, Any]:
        """Map columns to their names in this package."""
        own = [column.name for column in self.metric.columns]
        if len(rows) > len(own):
            raise UsageTypeError.about(
                "update", f"accepts at most the columns {', '.join(own)}, got {len(rows)} arguments"
            )
        given = [
            *zip(own, rows, strict=False),
            *((_THEIR_NAMES.get(name, name), cells) for name, cells in columns.items()),
        ]
        named: dict[str, Any] = {}
        for name, cells in given:
            if cells is not None and named.get(name) is not None:
                raise UsageTypeError.about(name, "must be passed only once")
            named[name] = named.get(name) if cells is None else cells
        return named

    def _check_compatible(self, table: pa.Table) -> None:
        """Check that rows can be scored together with earlier rows."""
        first = next((known for part in self.rows for known in _unpack(part) if known.num_rows), None)
        if first is None or not table.num_rows:
            return
        if (_ID in first.column_names) != (_ID in table.column_names):
            raise UsageError.about("ids", "must be passed in every call of `update`, or in none")
        for column in self.metric.columns:
            column.check_together([one[column.name][0].as_py() for one in (first, table)])
        if _ID in table.column_names:
            _kind_of_ids([*first[_ID].slice(0, 1).to_pylist(), *table[_ID].to_pylist()])

    def _score(self) -> dict[str, Any]:
        tables = [table for part in self.rows for table in _unpack(part) if table.num_rows]
        if not tables:
            return dict(self.metric.compute(**{column.name: [] for column in self.metric.columns}))
        table = pa.concat_tables(tables)
        if _ID in table.column_names:
            rows = [row | {_ID: json.loads(row[_ID])} for row in table.to_pylist()]
            table = table.drop([_ID])
            table = pa.Table.from_pylist(rows_once(rows), table.schema)
        return dict(self.metric.compute(**self.metric.from_table(table)))

    def _apply(self, fn: Callable[..., Any], exclude_state: Sequence[str] = ()) -> torch.nn.Module:
        """Move the value with full precision, and leave the rows on the CPU, because models read them there."""
        values = {name: self.__dict__[name] for name in ("_computed", "_forward_cache")}
        self.__dict__.update(dict.fromkeys(values))
        moved = super()._apply(fn, exclude_state=("rows", *exclude_state))
        for name, value in values.items():
            self.__dict__[name] = None if value is None else value.to(self.device, self._value_dtype)
        return moved

    @property
    def _value_dtype(self) -> torch.dtype:
        """Dtype of the value: float64, or float32 on MPS devices, which do not support float64."""
        return torch.float32 if self.device.type == "mps" else torch.float64

    def _copy_state_dict(self) -> dict[str, Any]:
        """Copy only the list, because its tensors are never modified."""
        return {"rows": list(self.rows)}

    def _sync_dist(self, dist_sync_fn: Callable[..., Any] = gather_all_tensors, process_group: Any = None) -> None:
        """Gather the rows of all processes. The base implementation fails if a process has no rows."""
        group = process_group or self.process_group
        if dist_sync_fn is gather_all_tensors:
            parts: list[Any] = [None] * dist.get_world_size(group)
            dist.all_gather_object(parts, self.rows, group=group)
            self.rows = [rows for part in parts for rows in part]
        else:
            own = torch.cat([torch.empty(0, dtype=torch.uint8), *self.rows])
            self.rows = [part.cpu() for part in dist_sync_fn(own.to(self.device), group=group)]


def _check_score(metric: Any, score: str | None) -> str:
    if not isinstance(metric, (str, Metric)):
        raise UsageTypeError.about(
            "metric", f"must be the name of a metric, or a metric from vlgauge.load, got {short_repr(metric)}"
        )
    name = metric_folder(metric if isinstance(metric, str) else metric.name, "metric").name
    known = [name, f"{WITH_REFERENCES}{name}", *(one for one, _ in metric_facts(name).directions)]
    if score is not None and score not in known:
        raise UsageError.about(
            "score", f"must be a score of {name}, got {short_repr(score)}", nearest(str(score), known)
        )
    return score or name


def _empty(base: type[VlgaugeMetric], score: str) -> VlgaugeMetric:
    """Create an instance of the class of a score without attributes."""
    return object.__new__(_class_of(base, score))


@cache
def _class_of(base: type[VlgaugeMetric], score: str) -> type[VlgaugeMetric]:
    """Return the class of a score, because torchmetrics reads names, directions and bounds from classes."""
    facts = score_facts(score)
    low, high = facts.bounds
    title = "".join(part.capitalize() for part in score.split("_"))
    own = {"plot_lower_bound": low, "plot_upper_bound": high, "__module__": base.__module__, "__doc__": base.__doc__}
    return type(title, (base,), own | {"higher_is_better": facts.higher_is_better})


def _base_of(metric: VlgaugeMetric) -> type[VlgaugeMetric]:
    """Return the class that the user instantiated, which pickle can find by name."""
    return type(metric).__mro__[1]


def _pack(table: pa.Table, marks: Mapping[str, str]) -> torch.Tensor:
    """Serialize a table as a byte tensor, because torchmetrics only moves, compares, hashes and stores tensors."""
    sink = pa.BufferOutputStream()
    marked = table.replace_schema_metadata(marks)
    with pa.ipc.new_stream(sink, marked.schema) as stream:
        stream.write_table(marked)
    return torch.from_numpy(np.frombuffer(sink.getvalue(), np.uint8).copy())


def _unpack(rows: torch.Tensor) -> list[pa.Table]:
    """Return the consecutive tables in a byte tensor."""
    source = pa.BufferReader(pa.py_buffer(rows.cpu().numpy()))
    tables = []
    while source.tell() < rows.numel():
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables


def _dump_ids(ids: Any, n_rows: int) -> list[str]:
    """Return ids as JSON, which represents integers of any size."""
    given = [check_id(one.item() if hasattr(one, "item") else one) for one in rows_of("ids", ids)]
    if len(given) != n_rows:
        raise UsageError.about("ids", f"must contain one id per row, got {len(given)} for {n_rows} rows")
    stored = [json.dumps(one) for one in given]
    _kind_of_ids(stored)
    return stored


def _kind_of_ids(stored: Sequence[str]) -> None:
    """Check that strings and integers are not mixed."""
    kinds = {one.startswith('"') for one in stored}
    if len(kinds) > 1:
        raise UsageError.about("ids", "must have one type, got integers and strings")
