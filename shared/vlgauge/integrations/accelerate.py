"""Collection of rows from all processes on the first process, with or without accelerate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.results import plain
from vlgauge.core.validation import plain_number, rows_of, short_repr
from vlgauge.integrations.processes import several_processes


def gather_rows(rows: Sequence[Any], accelerator: Any = None) -> list[Any] | None:
    """Gather the rows of all processes without duplicates, sorted by id.

    A padded sampler passes some rows to several processes, so rows need ids. This also works in a single process and
    without a process group.

    Args:
        rows: Rows of this process: tuples or lists that begin with an id, or mappings with an ``"id"``. An id is an
            integer or a string.
        accelerator: An `accelerate.Accelerator`, if there is one. Within a loop over its data loader, it drops padded
            rows.

    Returns:
        All rows on the first process. None on the others.

    Raises:
        ValueError: If a row has no id, or two different rows share one.
    """
    own = rows_of("rows", rows)
    for number, row in enumerate(own):
        _id_of(row, f"rows[{number}]")
    if accelerator is not None:
        gathered = accelerator.gather_for_metrics(own, use_gather_object=True)
        return rows_once(gathered) if accelerator.is_main_process else None
    if not several_processes():
        return rows_once(own)
    import torch.distributed as dist

    parts: list[Any] | None = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(own, parts, dst=0)
    return None if parts is None else rows_once([row for part in parts for row in part])


def rows_once(rows: Sequence[Any]) -> list[Any]:
    """Deduplicate rows and sort them by id.

    Returns:
        The rows, unchanged, in the order of their ids.

    Raises:
        ValueError: If ids have different types, or two different rows share an id.
    """
    known: dict[int | str, Any] = {}
    for row in rows:
        first = known.setdefault(_id_of(row, "rows"), row)
        if first is not row and plain(first) != plain(row):
            raise UsageError.about(
                "rows",
                f"must have one id per row, got two different rows of the id {_id_of(row, 'rows')!r}",
                "use the index in the whole dataset, and generate no second caption for a row that a sampler repeats",
            )
    kinds = {type(name).__name__ for name in known}
    if len(kinds) > 1:
        raise UsageError.about("rows", f"must have ids of one type, got {' and '.join(sorted(kinds))}")
    return [known[name] for name in sorted(known)]


def _id_of(row: Any, place: str) -> int | str:
    name: Any = None
    if isinstance(row, Mapping):
        name = row.get("id")
    elif isinstance(row, (tuple, list)) and row:
        name = row[0]
    name = plain_number(name)
    if not isinstance(name, (int, str)) or isinstance(name, bool):
        raise UsageError.about(
            place,
            "must be a tuple or list that begins with an id, or a mapping with an `id`, an integer or a string, got "
            f"{short_repr(row)}",
        )
    return name
