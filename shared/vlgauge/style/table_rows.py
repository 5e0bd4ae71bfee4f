"""A style table as columns of n-gram texts, styles and counts, and back; and the digest over them.

The rows are sorted by order, then by token sequence. Order 0 holds the digests of whole captions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from vlgauge.style.counting import MAX_ORDER, Ints
from vlgauge.style.counts import StyleTable
from vlgauge.style.known_captions import KnownCaptions
from vlgauge.style.weights import OrderCounts, places_among_sorted

FORMAT = 1
_KEY_DIGITS = 16
_SPACE = 32


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one order.

    Attributes:
        texts: The n-grams, tokens joined by one space; for order 0 hexadecimal digits.
        lengths: shape ``(n_rows,)``, number of styles of each row.
        styles: shape ``(sum of lengths,)``, ascending in each row.
        df: shape ``(sum of lengths,)``, captions of the style with the n-gram; for order 0 copies of the caption.
    """

    texts: pa.StringArray
    lengths: npt.NDArray[np.int32]
    styles: npt.NDArray[np.uint16]
    df: npt.NDArray[np.uint32]


# -- From a table -----------------------------------------------------------------------------------------------------
def rows_of(table: StyleTable) -> list[Rows]:
    """The rows of the orders 0 to 4."""
    keys = table.known.keys.astype(">u8").tobytes().hex()
    digits = [keys[i : i + _KEY_DIGITS] for i in range(0, len(keys), _KEY_DIGITS)]
    tokens = pa.array(table.tokens, pa.string())
    texts = [pa.array(digits, pa.string()), tokens]
    for counts in table.orders[1:]:
        prefixes, last = np.divmod(counts.keys, max(1, len(table.tokens)))
        texts.append(pc.binary_join_element_wise(texts[-1].take(pa.array(prefixes)), tokens.take(pa.array(last)), " "))
    return [_rows(text, counts) for text, counts in zip(texts, (table.known.copies, *table.orders), strict=True)]


def _rows(texts: pa.StringArray, counts: OrderCounts) -> Rows:
    return Rows(texts, counts.occurrences.astype(np.int32), counts.styles, counts.df)


def digest(table: StyleTable) -> str:
    """SHA-256 over everything that is counted, in hexadecimal digits."""
    return digest_of(table.tokenizer, table.styles, table.captions, rows_of(table))


def digest_of(tokenizer: str, styles: Sequence[str], captions: Sequence[int], rows: Sequence[Rows]) -> str:
    """SHA-256 over the header and, column by column, little-endian bytes of the rows."""
    header = [FORMAT, tokenizer, MAX_ORDER, list(styles), list(captions)]
    sha = hashlib.sha256(json.dumps(header, separators=(",", ":")).encode())
    texts = [_utf8(part.texts) for part in rows]
    for order, part in enumerate(rows):
        sha.update(bytes([order]) * len(part.texts))
    for offsets, _ in texts:
        sha.update(np.diff(offsets).astype("<i4").data)
    for _, utf8 in texts:
        sha.update(np.ascontiguousarray(utf8).data)
    for part in rows:
        sha.update(part.lengths.astype("<i4", copy=False).data)
    for part in rows:
        sha.update(part.styles.astype("<u2", copy=False).data)
    for part in rows:
        sha.update(part.df.astype("<u4", copy=False).data)
    return sha.hexdigest()


def _utf8(texts: pa.StringArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Offsets, from 0, and the bytes of all texts in a row."""
    if not len(texts):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    utf8 = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return bounds - bounds[0], utf8[bounds[0] : bounds[-1]]


# -- To a table -------------------------------------------------------------------------------------------------------
def table_of(
    tokenizer: str, styles: Sequence[str], captions: Sequence[int], rows: Sequence[Rows], about: Mapping[str, Any]
) -> StyleTable:
    """The table of the rows.

    Args:
        tokenizer: Its name.
        styles: Names of the styles.
        captions: Number of captions of each style.
        rows: Of the orders 0 to 4.
        about: Name, source and licence.

    Raises:
        ValueError: If the rows contradict each other.
    """
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
        raise ValueError("its rows are not sorted")
    counts = [_counts(part, places, len(styles)) for part, places in zip(rows[1:], keys, strict=True)]
    copies = _counts(rows[0], np.arange(len(known)), len(styles))
    return StyleTable(
        tokenizer=tokenizer,
        styles=tuple(styles),
        captions=tuple(captions),
        tokens=tokens.to_pylist(),
        orders=tuple(counts),
        known=KnownCaptions(known, copies),
        **about,
    )


def _counts(rows: Rows, keys: Ints, n_styles: int) -> OrderCounts:
    bounds = np.concatenate([[0], np.cumsum(rows.lengths, dtype=np.int64)])
    return OrderCounts(keys, bounds, rows.styles, rows.df, n_styles)


def _ngram_keys(texts: pa.StringArray, order: int, tokens: pa.StringArray, keys: Sequence[Ints]) -> Ints:
    """Keys of the n-grams, from their texts and the keys of the lower orders; shape ``(n_rows,)``."""
    ids = _token_ids(texts, order, tokens)
    prefix = ids[:, 0]
    for n in range(1, order - 1):
        prefix = places_among_sorted(keys[n], prefix * len(tokens) + ids[:, n])
        if (prefix < 0).any():
            raise ValueError("one of its n-grams begins with one that no row has")
    return prefix * len(tokens) + ids[:, order - 1]


def _token_ids(texts: pa.StringArray, order: int, tokens: pa.StringArray) -> Ints:
    """Places of the tokens of each n-gram, shape ``(n_rows, order)``.

    Cutting the bytes at the spaces is several times faster than splitting the strings.
    """
    offsets, utf8 = _utf8(texts)
    separators = np.flatnonzero(utf8 == _SPACE)
    if len(separators) != len(texts) * (order - 1):
        raise ValueError(f"one of its n-grams of order {order} has another number of tokens")
    inner = separators.reshape(len(texts), order - 1)
    starts = np.column_stack([offsets[:-1], inner + 1])
    lengths = np.column_stack([inner, offsets[1:]]) - starts
    if (lengths <= 0).any():
        raise ValueError("one of its n-grams has an empty token")
    bounds = np.concatenate([[0], np.cumsum(lengths.ravel())]).astype(np.int32)
    words = pa.StringArray.from_buffers(lengths.size, pa.py_buffer(bounds), pa.py_buffer(utf8[utf8 != _SPACE]))
    places = pc.index_in(words, tokens)
    if places.null_count:
        raise ValueError("one of its n-grams has a token that no row of order 1 has")
    return places.to_numpy().astype(np.int64).reshape(lengths.shape)


def _caption_keys(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    offsets, utf8 = _utf8(texts)
    if (np.diff(offsets) != _KEY_DIGITS).any():
        raise ValueError(f"one of its caption keys has not {_KEY_DIGITS} digits")
    keys = bytes.fromhex(utf8.tobytes().decode())
    if 2 * len(keys) != len(utf8):  # fromhex skips white space
        raise ValueError("one of its caption keys has white space")
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
        raise ValueError("one of its rows has no count, or not one per style")
    if (rows.df > captions[rows.styles]).any():
        raise ValueError("one of its counts is larger than its style")


def _is_ascending(values: npt.NDArray) -> bool:
    return bool((values[1:] > values[:-1]).all())
