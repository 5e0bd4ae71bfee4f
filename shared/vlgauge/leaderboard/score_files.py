"""Scores of each row in a dataset of results: their paths, and reading and writing of their files."""

import io
import re
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import limits
from vlgauge.core.results import row_keys
from vlgauge.core.validation import short_repr
from vlgauge.inputs.tables.parquet import parquet_rows
from vlgauge.leaderboard.record import Record
from vlgauge.leaderboard.recorded_scores import check_scores, score_columns, score_keys
from vlgauge.leaderboard.runs import Run, numbers

MOST_ROWS = 100_000
SCORE_FILES = "data/*/*/*.parquet"


def file_name(text: str) -> str:
    """Return a name with only the characters that are allowed in a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "unnamed"


def score_path(record: Record) -> str:
    """Return the path of the scores of a record in a dataset of results."""
    on = record.dataset
    folder = file_name(f"{on.id}--{on.config}--{on.split}".replace("/", "--"))
    return f"data/{record.metric}/{folder}/{file_name(record.model.id.replace('/', '--'))}.parquet"


def score_file(run: Run, metric: str) -> bytes:
    """Return the scores of a run as the content of a Parquet file.

    Its columns are ``id``, ``score`` and the counts that are summed. Undefined values are null.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = score_columns(run, metric)
    arrays = {
        name: pa.array(cells, pa.string() if name == "id" else pa.float64(), from_pandas=True)
        for name, cells in columns.items()
    }
    table = pa.table(arrays)
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def run_of_file(content: bytes, record: Record) -> dict[str, Any]:
    """Return the scores in such a Parquet file as a run for comparisons.

    Args:
        content: Content of the file.
        record: Record of the scores.

    Returns:
        ``ids``, and scores, signature and counts of the metric by key.

    Raises:
        ValueError: If the scores do not match the record.
    """
    path, keys = score_path(record), score_keys(record.metric, record.signature)
    with limits(max_rows=MOST_ROWS):
        rows = parquet_rows(content, "the file", path)
    if not rows or set(rows[0]) != {"id", *keys}:
        expected = " and ".join(["id", *keys])
        raise UsageError(
            f"{path} must have rows with the columns {expected}, got {short_repr(sorted(rows[0]) if rows else 0)}"
        )
    ids = [row["id"] for row in rows]
    if not all(isinstance(one, str) for one in ids):
        raise UsageError(f"{path} must have strings as ids, got ids of other types")
    run: dict[str, Any] = {"ids": ids, f"{record.metric}_signature": record.signature}
    for name, key in keys.items():
        run[key] = numbers(path, [row[name] for row in rows], row_keys(ids))
    check_scores(record, run, what=path, interval=False)
    return run
