"""The scores of each example beside records: where they lie in a data set of results, and what they must hold."""

from __future__ import annotations

import io
import math
import re
from typing import Any

from vlgauge.corpus_values import COUNTED
from vlgauge.files import limits
from vlgauge.leaderboard.joined_runs import is_same_mean
from vlgauge.leaderboard.record import Record
from vlgauge.leaderboard.runs import Run, numbers, row_keys
from vlgauge.parquet import parquet_rows
from vlgauge.results import mean_of_defined
from vlgauge.settings import shown

MOST_ROWS = 100_000
_COLUMNS = ("id", "score")


def file_name(text: str) -> str:
    """A name as a file may have it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "unnamed"


def score_path(record: Record) -> str:
    """Path of the scores of a record in a data set of results."""
    on = record.dataset
    folder = file_name(f"{on.id}--{on.config}--{on.split}".replace("/", "--"))
    return f"data/{record.metric}/{folder}/{file_name(record.model.id.replace('/', '--'))}.parquet"


def score_file(run: Run, metric: str) -> bytes:
    """The scores of a run as a file of Parquet with the columns ``id`` and ``score``, null where undefined."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = row_keys(run["ids"])
    scores = numbers(f"{metric}_scores", run[f"{metric}_scores"], keys)
    table = pa.table({"id": pa.array(keys, pa.string()), "score": pa.array(scores, pa.float64(), from_pandas=True)})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def run_of_file(content: bytes, record: Record) -> dict[str, Any]:
    """The scores in such a file as a run that can be compared.

    Args:
        content: Of the file; it may be anybody's.
        record: Whose scores they should be.

    Raises:
        ValueError: If they are not those that the record is of.
    """
    path, metric = score_path(record), record.metric
    if metric in COUNTED:
        raise ValueError(f"{path} must have the counts of {metric}, of which its value is made, and has scores only")
    with limits(max_rows=MOST_ROWS):
        rows = parquet_rows(content, "the file", path)
    if not rows or tuple(sorted(rows[0])) != _COLUMNS:
        raise ValueError(
            f"{path} must have rows with the columns id and score, got {shown(sorted(rows[0]) if rows else 0)}"
        )
    ids = [row["id"] for row in rows]
    if not all(isinstance(one, str) for one in ids):
        raise ValueError(f"{path} must have texts as ids, got others")
    scores = numbers(path, [row["score"] for row in rows], row_keys(ids))
    undefined = sum(map(math.isnan, scores))
    told = (len(scores) - undefined, undefined)
    if told != (record.n, record.undefined):
        raise ValueError(
            f"{path} must have {record.n} scores and {record.undefined} undefined ones, got {told[0]} and {told[1]}"
        )
    mean = mean_of_defined(scores)
    if not is_same_mean(mean, record.value):
        raise ValueError(f"{path} must have scores with the mean of the record, {record.value:.6g}, got {mean:.6g}")
    return {"ids": ids, f"{metric}_scores": scores, f"{metric}_signature": record.signature}
