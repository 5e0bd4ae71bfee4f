"""Style tables in Parquet files."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vlgauge.style.counting import MAX_ORDER
from vlgauge.style.counts import StyleTable
from vlgauge.style.table_rows import FORMAT, Rows, digest_of, rows_of, table_of
from vlgauge.style.tokenizers import TOKENIZERS
from vlgauge.version import __version__
from vlgauge.writing import replacing

_METADATA = b"vlgauge.style_table"

# What a file may fill in memory: a table of 187,000 captions has 7 bytes per byte of its file. A few kilobytes can be
# made to unpack to more than any machine holds, and a count of captions costs memory by its size.
_FREE_BYTES, _BYTES_PER_BYTE = 2**28, 128
_FREE_CAPTIONS, _CAPTIONS_PER_BYTE = 2**24, 64
_ROWS_AT_A_TIME = 2**16
_SCHEMA = pa.schema(
    [
        pa.field("order", pa.uint8()),
        pa.field("ngram", pa.string()),
        pa.field("styles", pa.list_(pa.uint16())),
        pa.field("df", pa.list_(pa.uint32())),
    ]
)


def save(table: StyleTable, path: str | PathLike[str]) -> None:
    """Write a table; the file appears, or is replaced, when it is complete."""
    rows = rows_of(table)
    sha256 = digest_of(table.tokenizer, table.styles, table.captions, rows)
    header = {
        "format": FORMAT,
        "tokenizer": table.tokenizer,
        "max_order": MAX_ORDER,
        "styles": table.styles,
        "captions": table.captions,
        "name": table.name,
        "source": table.source,
        "licence": table.licence,
        "written_by": f"vlgauge {__version__}",
        "sha256": sha256,
    }
    parts = [_arrow(order, part) for order, part in enumerate(rows)]
    content = pa.concat_tables(parts).replace_schema_metadata({_METADATA: json.dumps(header)})
    with replacing(path) as part:
        pq.write_table(
            content,
            part,
            compression="zstd",
            compression_level=9,
            use_dictionary=["order", "styles.list.element", "df.list.element"],
            column_encoding={"ngram": "DELTA_BYTE_ARRAY"},
            write_page_checksum=True,
        )


def _arrow(order: int, rows: Rows) -> pa.Table:
    bounds = pa.array(np.concatenate([[0], np.cumsum(rows.lengths)]).astype(np.int32))
    columns = [
        pa.array(np.full(len(rows.texts), order, np.uint8)),
        rows.texts,
        pa.ListArray.from_arrays(bounds, pa.array(rows.styles)),
        pa.ListArray.from_arrays(bounds, pa.array(rows.df)),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def load(path: str | PathLike[str]) -> StyleTable:
    """Read a table and verify it.

    Raises:
        ValueError: If the file is no style table, of another version, cut short or altered.
        OSError: If it cannot be read.
    """
    shown = repr(os.fspath(path))
    header, content = _read(path, shown)
    about = {key: header[key] for key in ("name", "source", "licence")}
    tokenizer, styles, captions = header["tokenizer"], header["styles"], header["captions"]
    try:
        rows = _rows_by_order(content)
        if digest_of(tokenizer, styles, captions, rows) != header["sha256"]:
            raise ValueError("its checksum is wrong")
        table = table_of(tokenizer, styles, captions, rows, about)
    except (ValueError, pa.ArrowException) as error:
        raise ValueError(f"`table` must be as it was written, but {shown} was altered: {error}") from error
    # Verified just now, and dear to compute.
    table.__dict__["fingerprint"] = header["sha256"][:12]
    return table


def _read(path: str | PathLike[str], shown: str) -> tuple[dict[str, Any], pa.Table]:
    """Header and content of the file."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"`table` must be a file, and none is at {shown}")
    try:
        with pq.ParquetFile(os.fspath(path), page_checksum_verification=True) as file:
            header = _header(file.schema_arrow, shown)
            return header, _unpacked(file, sum(header["captions"]), os.path.getsize(path), shown)
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        if isinstance(error, PermissionError):
            raise
        raise ValueError(f"`table` must be a whole Parquet file, got {shown}: {error}") from error


def _unpacked(file: pq.ParquetFile, n_captions: int, size: int, shown: str) -> pa.Table:
    """The rows of a file of this size; one that would fill the memory is refused before it does."""
    batches, left = [], _FREE_BYTES + _BYTES_PER_BYTE * size
    if n_captions <= _FREE_CAPTIONS + _CAPTIONS_PER_BYTE * size:
        for batch in file.iter_batches(batch_size=_ROWS_AT_A_TIME):
            left -= batch.nbytes
            if left < 0:
                break
            batches.append(batch)
        else:
            return pa.Table.from_batches(batches, file.schema_arrow)
    raise ValueError(f"`table` must be a style table, and {shown} unpacks to far more than one of its {size} bytes can")


def _header(schema: pa.Schema, shown: str) -> dict[str, Any]:
    """The description in the file, checked."""
    found = (schema.metadata or {}).get(_METADATA)
    if found is None:
        raise ValueError(f"`table` must be a style table, and {shown} is not one; `StyleTable.save` writes them")
    try:
        header = json.loads(found)
        if header["format"] != FORMAT:
            raise ValueError(f"it has format {header['format']!r}, not {FORMAT}; another vlgauge wrote it")
        _check_header(**header)
        if not schema.equals(_SCHEMA):
            raise ValueError("it has other columns")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(
            f"`table` must be a style table that this vlgauge can read, and {shown} is not: {error}"
        ) from error
    return dict(header)


def _check_header(tokenizer: str, styles: Sequence[str], captions: Sequence[int], sha256: str, **about: Any) -> None:
    """Refuse a description that is unknown here or contradicts itself."""
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"its tokenizer is {tokenizer!r}; known are {', '.join(map(repr, TOKENIZERS))}")
    counts = [count for count in captions if isinstance(count, int) and 0 < count < 2**32]
    if not isinstance(styles, list) or not all(isinstance(style, str) and style.strip() for style in styles):
        raise ValueError("its styles are no names")
    if list(styles) != sorted(set(styles)) or not 2 <= len(styles) == len(captions) == len(counts):
        raise ValueError("its styles are not sorted, or not counted")
    for key in ("name", "source", "licence"):
        if not isinstance(about[key], str | None):
            raise TypeError(f"its {key} is no text")
    if about["max_order"] != MAX_ORDER or not isinstance(sha256, str):
        raise ValueError(f"its order is not {MAX_ORDER}, or its checksum is no text")


def _rows_by_order(content: pa.Table) -> list[Rows]:
    """The rows of the orders 0 to 4."""
    if content.column("order").null_count:
        raise ValueError("a row has no order")
    orders = content.column("order").to_numpy()
    bounds = np.searchsorted(orders, np.arange(MAX_ORDER + 2))
    if (np.diff(orders.astype(np.int16)) < 0).any() or bounds[-1] != len(orders):
        raise ValueError("its rows are not sorted by order")
    return [_rows(content.slice(first, last - first)) for first, last in itertools.pairwise(bounds.tolist())]


def _rows(part: pa.Table) -> Rows:
    texts, styles, df = (part.column(name).combine_chunks() for name in ("ngram", "styles", "df"))
    lengths, other = (pc.list_value_length(lists).to_numpy(zero_copy_only=False) for lists in (styles, df))
    if texts.null_count or styles.null_count or df.null_count or not np.array_equal(lengths, other):
        raise ValueError("a row has not as many counts as styles")
    return Rows(texts, lengths, styles.flatten().to_numpy(), df.flatten().to_numpy())
