"""Parquet files of style tables: columns of n-gram texts, styles and counts, and a digest of their content.

The rows are sorted by order, then by token sequence. Order 0 contains the digests of whole captions.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.files import FileLimitError, existing_file, read_bytes
from vlgauge.core.writing import atomic_write
from vlgauge.families.style.counts import KnownCaptions, StyleCounts, Table
from vlgauge.families.style.tokenizers import TOKENIZERS
from vlgauge.families.style.weights import OrderCounts, rows_among_sorted
from vlgauge.inputs.sandbox import SandboxError
from vlgauge.inputs.tables.parquet import parquet_table
from vlgauge.inputs.text.ngrams import MAX_ORDER, Ints
from vlgauge.version import __version__

FORMAT = 1
_METADATA = b"vlgauge.style_table"

# Limits on the memory that a file may occupy. A table of 187,000 captions has 7 bytes per byte of its file. A caption
# count requires memory in proportion to its value.
_FREE_BYTES, _BYTES_PER_BYTE = 2**26, 128
_FREE_CAPTIONS, _CAPTIONS_PER_BYTE = 2**24, 64
# Small groups, so that no group fills the memory.
_ROWS_PER_GROUP = 2**14
_KEY_DIGITS = 16
_SPACE = 32
_SCHEMA = pa.schema(
    [
        pa.field("order", pa.uint8()),
        pa.field("ngram", pa.string()),
        pa.field("styles", pa.list_(pa.uint16())),
        pa.field("df", pa.list_(pa.uint32())),
    ]
)


def save(table: StyleCounts, path: str | PathLike[str]) -> None:
    """Write a table to a file, which is created or replaced only once it is complete.

    Raises:
        NotWritableError: If the file cannot be written.
    """
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
    with atomic_write(path) as part:
        pq.write_table(
            content,
            part,
            row_group_size=_ROWS_PER_GROUP,
            compression="zstd",
            compression_level=9,
            use_dictionary=["order", "styles.list.element", "df.list.element"],
            column_encoding={"ngram": "DELTA_BYTE_ARRAY"},
            write_page_checksum=True,
        )


def _arrow(order: int, rows: "Rows") -> pa.Table:
    bounds = pa.array(np.concatenate([[0], np.cumsum(rows.lengths)]).astype(np.int32))
    columns = [
        pa.array(np.full(len(rows.texts), order, np.uint8)),
        rows.texts,
        pa.ListArray.from_arrays(bounds, pa.array(rows.styles)),
        pa.ListArray.from_arrays(bounds, pa.array(rows.df)),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def load(cls: type[Table], path: str | PathLike[str]) -> Table:
    """Load a table and verify it.

    Args:
        cls: Class of the table, which has the property `fingerprint`.
        path: The file.

    Returns:
        The table, an instance of `cls`.

    Raises:
        ValueError: If the file is not a style table, or has another version, or is truncated or altered.
        OSError: If the file cannot be read.
    """
    name = repr(os.fspath(path))
    header, content = _read(path, name)
    try:
        rows = _rows_by_order(content)
        if digest_of(header["tokenizer"], header["styles"], header["captions"], rows) != header["sha256"]:
            raise UsageError("its checksum is wrong")
        table = _table_of(cls, header, rows)
    except (ValueError, pa.ArrowException) as error:
        raise UsageError.about(
            "table", f"must be an unmodified file, got {name}, which was altered: {error}"
        ) from error
    # The digest has just been verified and is expensive to compute.
    table.__dict__["fingerprint"] = header["sha256"][:12]
    return table


def _read(path: str | PathLike[str], name: str) -> tuple[dict[str, Any], pa.Table]:
    data = read_bytes(existing_file("table", path), "`table`")
    try:
        content = parquet_table(data, "`table`", os.fspath(path), _FREE_BYTES + _BYTES_PER_BYTE * len(data))
    except (FileLimitError, SandboxError) as error:
        raise _too_large(name, len(data)) from error
    except ValueError as error:
        why = str(error).partition("which fails with: ")[2]
        raise UsageError.about("table", f"must be a valid Parquet file, got {name}: {why}") from error
    header = _header(content.schema, name)
    if sum(header["captions"]) > _FREE_CAPTIONS + _CAPTIONS_PER_BYTE * len(data):
        raise _too_large(name, len(data))
    return header, content


def _too_large(name: str, n_bytes: int) -> ValueError:
    return UsageError.about(
        "table", f"must be a style table, got {name}, which decompresses to far more than {n_bytes} bytes can contain"
    )


def _header(schema: pa.Schema, name: str) -> dict[str, Any]:
    """Return the validated description in the file."""
    found = (schema.metadata or {}).get(_METADATA)
    if found is None:
        raise UsageError.about("table", f"must be a style table, got {name}; `StyleTable.save` writes one")
    try:
        header = json.loads(found)
        if header["format"] != FORMAT:
            raise UsageError(
                f"it has format {header['format']!r}, not {FORMAT}; it was written by another version of vlgauge"
            )
        _check_header(**header)
        if not schema.equals(_SCHEMA):
            raise UsageError("it has unexpected columns")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UsageError.about(
            "table", f"must be a style table that this version of vlgauge supports, got {name}: {error}"
        ) from error
    return dict(header)


def _check_header(tokenizer: str, styles: Sequence[str], captions: Sequence[int], sha256: str, **about: Any) -> None:
    """Check that a description is supported and consistent."""
    if tokenizer not in TOKENIZERS:
        raise UsageError(f"its tokenizer is {tokenizer!r}, not one of {', '.join(map(repr, TOKENIZERS))}")
    counts = [count for count in captions if isinstance(count, int) and 0 < count < 2**32]
    if not isinstance(styles, list) or not all(isinstance(style, str) and style.strip() for style in styles):
        raise UsageError("its styles are not valid names")
    if list(styles) != sorted(set(styles)) or not 2 <= len(styles) == len(captions) == len(counts):
        raise UsageError("its styles are not sorted, or have no counts")
    for key in ("name", "source", "licence"):
        if not isinstance(about[key], str | None):
            raise UsageTypeError(f"its {key} is not a string")
    if about["max_order"] != MAX_ORDER or not isinstance(sha256, str):
        raise UsageError(f"its order is not {MAX_ORDER}, or its checksum is not a string")


def _rows_by_order(content: pa.Table) -> "list[Rows]":
    """Return the rows of orders 0 to 4."""
    if content.column("order").null_count:
        raise UsageError("a row has no order")
    orders = content.column("order").to_numpy()
    bounds = np.searchsorted(orders, np.arange(MAX_ORDER + 2))
    if (np.diff(orders.astype(np.int16)) < 0).any() or bounds[-1] != len(orders):
        raise UsageError("its rows are not sorted by order")
    return [_rows(content.slice(first, last - first)) for first, last in itertools.pairwise(bounds.tolist())]


def _rows(part: pa.Table) -> "Rows":
    texts, styles, df = (part.column(name).combine_chunks() for name in ("ngram", "styles", "df"))
    lengths, other = (pc.list_value_length(lists).to_numpy(zero_copy_only=False) for lists in (styles, df))
    if texts.null_count or styles.null_count or df.null_count or not np.array_equal(lengths, other):
        raise UsageError("a row has different numbers of counts and styles")
    return Rows(texts, lengths, styles.flatten().to_numpy(), df.flatten().to_numpy())


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one order.

    Attributes:
        texts: N-grams, tokens joined by one space. For order 0 hexadecimal digits.
        lengths: Shape ``(n_rows,)``, number of styles of each row.
        styles: Shape ``(sum of lengths,)``, ascending in each row.
        df: Shape ``(sum of lengths,)``, number of captions of the style that contain the n-gram. For order 0 copies of
            the caption.
    """

    texts: pa.StringArray
    lengths: npt.NDArray[np.int32]
    styles: npt.NDArray[np.uint16]
    df: npt.NDArray[np.uint32]


# -- From a table -----------------------------------------------------------------------------------------------------
def rows_of(table: StyleCounts) -> list[Rows]:
    """Return the rows of orders 0 to 4."""
    keys = table.known.keys.astype(">u8").tobytes().hex()
    digits = [keys[i : i + _KEY_DIGITS] for i in range(0, len(keys), _KEY_DIGITS)]
    tokens = pa.array(table.tokens, pa.string())
    texts = [pa.array(digits, pa.string()), tokens]
    for counts in table.orders[1:]:
        prefixes, last = np.divmod(counts.keys, max(1, len(table.tokens)))
        texts.append(pc.binary_join_element_wise(texts[-1].take(pa.array(prefixes)), tokens.take(pa.array(last)), " "))
    return [
        Rows(text, counts.occurrences.astype(np.int32), counts.styles, counts.df)
        for text, counts in zip(texts, (table.known.copies, *table.orders), strict=True)
    ]


def digest(table: StyleCounts) -> str:
    """Return the hexadecimal SHA-256 of all counts."""
    return digest_of(table.tokenizer, table.styles, table.captions, rows_of(table))


def digest_of(tokenizer: str, styles: Sequence[str], captions: Sequence[int], rows: Sequence[Rows]) -> str:
    """Return the hexadecimal SHA-256 of the header and of the little-endian bytes of the rows, column by column."""
    header = [FORMAT, tokenizer, MAX_ORDER, list(styles), list(captions)]
    sha = hashlib.sha256(json.dumps(header, separators=(",", ":")).encode())
    parts = []
    for order, part in enumerate(rows):
        offsets, utf8 = _utf8(part.texts)
        orders = np.full(len(part.texts), order, np.uint8)
        typed = ((np.diff(offsets), "<i4"), (utf8, "u1"), (part.lengths, "<i4"), (part.styles, "<u2"), (part.df, "<u4"))
        parts.append([orders, *(np.asarray(values, dtype) for values, dtype in typed)])
    for column in zip(*parts, strict=True):
        for values in column:
            sha.update(np.ascontiguousarray(values).data)
    return sha.hexdigest()


def _utf8(texts: pa.StringArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the offsets, starting at 0, and the concatenated bytes of all texts."""
    if not len(texts):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    utf8 = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return bounds - bounds[0], utf8[bounds[0] : bounds[-1]]


# -- To a table -------------------------------------------------------------------------------------------------------
def _table_of(cls: type[Table], header: Mapping[str, Any], rows: Sequence[Rows]) -> Table:
    """Build a table, an instance of `cls`, from its header and the rows of orders 0 to 4.

    Raises:
        ValueError: If the rows are inconsistent.
    """
    styles, captions = header["styles"], header["captions"]
    for part in rows:
        _check_counts(part, np.array(captions, np.int64))
    tokens = rows[1].texts
    keys = [np.arange(len(tokens))]
    for n in range(2, MAX_ORDER + 1):
        keys.append(_ngram_keys(rows[n].texts, n, tokens, keys))
    known = _caption_keys(rows[0].texts)
    if not (
        _is_ascending(known) and all(map(_is_ascending, keys)) and _is_ascending(tokens.to_numpy(zero_copy_only=False))
    ):
        raise UsageError("its rows are not sorted")
    counts = [_counts(part, ngrams, len(styles)) for part, ngrams in zip(rows[1:], keys, strict=True)]
    copies = _counts(rows[0], np.arange(len(known)), len(styles))
    return cls(
        tokenizer=header["tokenizer"],
        styles=tuple(styles),
        captions=tuple(captions),
        tokens=tokens.to_pylist(),
        orders=tuple(counts),
        known=KnownCaptions(known, copies),
        **{key: header[key] for key in ("name", "source", "licence")},
    )


def _counts(rows: Rows, keys: Ints, n_styles: int) -> OrderCounts:
    bounds = np.concatenate([[0], np.cumsum(rows.lengths, dtype=np.int64)])
    return OrderCounts(keys, bounds, rows.styles, rows.df, n_styles)


def _ngram_keys(texts: pa.StringArray, order: int, tokens: pa.StringArray, keys: Sequence[Ints]) -> Ints:
    """Return the keys of n-grams from their texts and the keys of the lower orders, shape ``(n_rows,)``."""
    ids = _token_ids(texts, order, tokens)
    prefix = ids[:, 0]
    for n in range(1, order - 1):
        prefix = rows_among_sorted(keys[n], prefix * len(tokens) + ids[:, n])
        if (prefix < 0).any():
            raise UsageError("one of its n-grams begins with an n-gram that is in no row")
    return prefix * len(tokens) + ids[:, order - 1]


def _token_ids(texts: pa.StringArray, order: int, tokens: pa.StringArray) -> Ints:
    """Return the ids of the tokens of each n-gram, shape ``(n_rows, order)``.

    Splitting the bytes at the spaces is several times faster than splitting the strings.
    """
    offsets, utf8 = _utf8(texts)
    separators = np.flatnonzero(utf8 == _SPACE)
    if len(separators) != len(texts) * (order - 1):
        raise UsageError(f"one of its n-grams of order {order} does not have {order} tokens")
    inner = separators.reshape(len(texts), order - 1)
    starts = np.column_stack([offsets[:-1], inner + 1])
    lengths = np.column_stack([inner, offsets[1:]]) - starts
    if (lengths <= 0).any():
        raise UsageError("one of its n-grams has an empty token")
    bounds = np.concatenate([[0], np.cumsum(lengths.ravel())]).astype(np.int32)
    words = pa.StringArray.from_buffers(lengths.size, pa.py_buffer(bounds), pa.py_buffer(utf8[utf8 != _SPACE]))
    ids = pc.index_in(words, tokens)
    if ids.null_count:
        raise UsageError("one of its n-grams has a token that no row of order 1 has")
    return ids.to_numpy().astype(np.int64).reshape(lengths.shape)


def _caption_keys(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    offsets, utf8 = _utf8(texts)
    if (np.diff(offsets) != _KEY_DIGITS).any():
        raise UsageError(f"one of its caption keys does not have {_KEY_DIGITS} digits")
    keys = bytes.fromhex(utf8.tobytes().decode())
    if 2 * len(keys) != len(utf8):  # fromhex skips whitespace
        raise UsageError("one of its caption keys contains whitespace")
    return np.frombuffer(keys, ">u8").astype(np.uint64)


def _check_counts(rows: Rows, captions: Ints) -> None:
    ends = np.cumsum(rows.lengths, dtype=np.int64)
    inside = np.ones(max(0, len(rows.styles) - 1), np.bool_)
    inside[ends[:-1] - 1] = False
    ascending = rows.styles[1:] > rows.styles[:-1]
    if (
        (rows.lengths < 1).any()
        or (rows.df < 1).any()
        or (rows.styles >= len(captions)).any()
        or not ascending[inside].all()
    ):
        raise UsageError("one of its rows has no count, or not one per style")
    if (rows.df > captions[rows.styles]).any():
        raise UsageError("one of its counts is larger than the count of its style")


def _is_ascending(values: npt.NDArray) -> bool:
    return bool((values[1:] > values[:-1]).all())
