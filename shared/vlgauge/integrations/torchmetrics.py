"""A metric of this package as a `torchmetrics.Metric`, which Lightning logs."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
import torchmetrics

import vlgauge
from vlgauge.base import Images, Metric
from vlgauge.errors import UsageError
from vlgauge.integrations.accelerate import rows_once
from vlgauge.integrations.processes import on_first_process
from vlgauge.integrations.scalars import greater_is_better, scalars
from vlgauge.settings import rows_of


class VlgaugeMetric(torchmetrics.Metric):
    """Keeps rows on the CPU until `compute`, which scores those of all processes at once and returns scalars.

    Log it with ``self.log_dict(metric.compute())`` at the end of an epoch, and `reset` it. Not for single batches:
    the mean of a corpus metric over batches is another number.

    Args:
        metric: Name of a metric, or a metric from `vlgauge.load`.
        prefix: What the keys of `compute` get in front.
        **settings: Of a metric given by name.
    """

    full_state_update = False
    rows: list[Any]

    def __init__(self, metric: str | Metric, *, prefix: str = "", **settings: Any) -> None:
        super().__init__()
        self.metric: Any = (
            vlgauge.load(metric, **{"keep_in_memory": True, **settings}) if isinstance(metric, str) else metric
        )
        # The library lets classes say this only, and here one class has all metrics.
        self.__dict__["higher_is_better"] = greater_is_better(self.metric.name)
        self.prefix = prefix
        self.add_state("rows", default=[], dist_reduce_fx=None)

    def update(self, *, ids: Any = None, **columns: Any) -> None:
        """Add rows.

        Args:
            ids: One id per row, by which rows that a padded sampler repeats are scored once.
            **columns: Columns of the metric, ``predictions`` among them.

        Raises:
            ValueError: If the columns are not of one length.
        """
        given = {name: rows_of(name, rows) for name, rows in columns.items() if rows is not None}
        if ids is not None:
            given["id"] = [number.item() if hasattr(number, "item") else number for number in rows_of("ids", ids)]
        lengths = {name: len(rows) for name, rows in given.items()}
        if len(set(lengths.values())) != 1:
            raise UsageError(f"`update` must get columns of one length, got {lengths or 'none'}")
        for column in self.metric.columns:
            if isinstance(column, Images) and column.name in given:
                # Undecoded cells travel between processes, and hold no memory of a GPU.
                cells = given[column.name]
                given[column.name] = column.store_all(cells)
        self.rows += [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]

    def compute(self) -> dict[str, float]:
        """Finite numbers of all rows, the same on every process.

        Raises:
            ValueError: If there are no rows, or not all of them have an id where one has.
        """
        return on_first_process(self._score) if self._is_synced else self._score()

    def _score(self) -> dict[str, float]:
        rows = rows_once(self.rows) if any("id" in row for row in self.rows) else self.rows
        names = dict.fromkeys(name for row in rows for name in row if name != "id")
        result = self.metric.compute(**{name: [row.get(name) for row in rows] for name in names})
        return scalars(result, self.prefix)

    def _sync_dist(self, dist_sync_fn: Any = None, process_group: Any = None) -> None:
        """Rows of all processes; what the library gathers are tensors, and these are not."""
        parts: list[Any] = [None] * dist.get_world_size(process_group)
        dist.all_gather_object(parts, self.rows, group=process_group)
        self.rows = [row for part in parts for row in part]
