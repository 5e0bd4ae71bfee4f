"""The result of a metric: its dictionary, and its exporters to JSON and to a table."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from statistics import median
from typing import Any

# Key of the two ends of the interval of a number: its own key and this.
INTERVAL = "_interval"

DIGITS = 4  # after the point, of a number in a table
# Ending of the file beside a table of scores, which has what is no column.
SIDECAR = ".json"

# What a terminal obeys or what changes the order of what it shows: control characters and escape codes, ends of lines
# and paragraphs, marks of direction, and halves of characters.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with what a terminal or a page would obey shown as its code, such as ``\x1b``."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable(text: str) -> str:
    """The text in one line, with all that it holds to be seen; see `visible`."""
    return visible(" ".join(text.split()))


def plain(value: Any) -> Any:
    """The value with every array, numpy scalar, tuple and dataclass in it turned into plain Python."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def mean_of_defined(scores: Sequence[float]) -> float:
    """Mean of the scores that are not NaN; NaN if there is none."""
    defined = [score for score in scores if not math.isnan(score)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def median_of_defined(scores: Sequence[float]) -> float:
    """Median of the scores that are not NaN; NaN if there is none."""
    defined = [score for score in scores if not math.isnan(score)]
    return float(median(defined)) if defined else math.nan


def result_record(name: str, scores: Sequence[float], signature: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The dictionary that every metric returns.

    Args:
        name: Name of the metric, prefix of every key.
        scores: One score per example, NaN where it is undefined.
        signature: How the numbers were made.
        extra: Further values; their keys get the prefix.

    Returns:
        ``{name: mean, name_scores: [...], name_undefined: k, name_signature: ..., name_<extra>: ...}`` in plain
        Python types.
    """
    values = [float(score) for score in scores]
    record = {
        name: mean_of_defined(values),
        f"{name}_scores": values,
        f"{name}_undefined": sum(math.isnan(value) for value in values),
        f"{name}_signature": signature,
    }
    return record | {f"{name}_{key}": plain(value) for key, value in extra.items()}


def without_nan(value: Any) -> Any:
    """The value with each NaN and infinity replaced by None, for which JSON has a word."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return value


def to_json(record: Mapping[str, Any]) -> str:
    """Strict JSON text of a result; NaN becomes null."""
    return json.dumps(without_nan(plain(record)), indent=2, allow_nan=False)


def to_table(header: Sequence[str], rows: Sequence[Sequence[Any]], digits: int = DIGITS) -> str:
    """Plain text table with aligned columns; numbers stand on the right.

    Args:
        header: Titles of the columns.
        rows: One sequence of cells per row.
        digits: Of the numbers that are not whole, after the point.
    """
    cells = [[to_cell(value, digits) for value in row] for row in rows]
    titles = [printable(title) for title in header]
    widths = [max(len(line[i]) for line in [titles, *cells]) for i in range(len(header))]
    numeric = [
        any(isinstance(row[i], (int, float)) for row in rows)
        and all(row[i] is None or isinstance(row[i], (int, float)) for row in rows)
        for i in range(len(header))
    ]

    def line(values: Sequence[str]) -> str:
        pairs = zip(values, widths, numeric, strict=True)
        return "  ".join(v.rjust(w) if right else v.ljust(w) for v, w, right in pairs).rstrip()

    return "\n".join([line(titles), line(["-" * width for width in widths]), *map(line, cells)])


def to_cell(value: Any, digits: int = DIGITS) -> str:
    """A value as the cell of a table."""
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:z.{digits}f}"
    return "" if value is None else printable(str(value))
