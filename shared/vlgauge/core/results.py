"""Result dictionaries of metrics, with export to JSON and text tables."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from itertools import zip_longest
from statistics import median
from textwrap import wrap
from typing import Any

from vlgauge.core.context_values import context_value
from vlgauge.core.errors import UsageError

# Suffix of the key of a confidence interval, appended to the key of its value.
INTERVAL = "_interval"

DIGITS = 4  # decimal places of numbers in tables
# Suffix of the file next to a table of scores that contains all values other than columns.
SIDECAR = ".json"

# Prefix of a p-value that is an upper bound.
AT_MOST = "\N{LESS-THAN OR EQUAL TO}"
# Smallest p-value that is shown as a number, because floats underflow to 0 below it.
_LEAST_PVALUE = 1e-300

# Characters that control a terminal or the order of text: control characters, escape codes, line and paragraph
# separators, direction marks and surrogates.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Escape control characters of terminals and pages in a text, for example as ``\x1b``."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable(text: str) -> str:
    """Convert a text to a single line without control characters. See `visible`."""
    return visible(" ".join(text.split()))


_ATOMS = frozenset((int, float, bool, str, type(None)))  # types of list items that need no conversion


def plain(value: Any) -> Any:
    """Convert all arrays, NumPy scalars, tuples and dataclasses in a value to plain Python types.

    Returns:
        Dictionaries with string keys, lists and plain scalars, nested as the value. Other objects are unchanged.
    """
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(value) if _ATOMS.issuperset(map(type, value)) else [plain(item) for item in value]
    return value


def row_keys(ids: Iterable[Any]) -> list[str]:
    """Return ids as strings, so that rows can be joined across file formats that store ids as numbers or strings.

    Raises:
        UsageError: If an id is not a JSON value, such as a date in a table.
    """
    return [_row_key(one) for one in ids]


def _row_key(one: Any) -> str:
    if isinstance(one, str):
        return one
    try:
        return str(one) if type(one) is int else json.dumps(one, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"ids must be strings or numbers, got {type(one).__name__}; convert them to strings"
        ) from error


def mean_of_defined(scores: Sequence[float]) -> float:
    """Compute the mean of the scores that are not NaN. NaN if there are none."""
    defined = [score for score in scores if not math.isnan(score)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def median_of_defined(scores: Sequence[float]) -> float:
    """Compute the median of the scores that are not NaN. NaN if there are none."""
    defined = [score for score in scores if not math.isnan(score)]
    return float(median(defined)) if defined else math.nan


def result_record(name: str, scores: Sequence[float], signature: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Build the result dictionary of a metric.

    Args:
        name: Name of the metric, used as the prefix of every key.
        scores: One score per row, NaN if undefined.
        signature: Signature of the scores.
        extra: Additional values. Their keys get the prefix.

    Returns:
        ``{name: mean, name_scores: [...], name_undefined: k, name_signature: ..., name_<extra>: ...}`` in plain Python
        types.
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
    """Replace each NaN and infinity in a value with None, because JSON cannot represent them.

    Returns:
        A value of the same type and nesting.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        kinds = set(map(type, value))
        is_fine = all(map(math.isfinite, value)) if kinds == {float} else kinds <= _ATOMS - {float}
        return value if is_fine else [without_nan(item) for item in value]
    return value


def to_json(record: Mapping[str, Any]) -> str:
    """Format a result as strict JSON, with null for NaN and infinity."""
    lines = [f"{json.dumps(key)}: {_indent(value)}" for key, value in without_nan(plain(record)).items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}" if lines else "{}"


def _indent(value: Any) -> str:
    """Format an entry of a result as indented JSON, faster than the encoder of the standard library for long lists."""
    if isinstance(value, list) and value and _ATOMS.issuperset(map(type, value)):
        lines = json.dumps(value, separators=(",\n    ", ""), allow_nan=False)
        return f"[\n    {lines[1:-1]}\n  ]"
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")


def to_table(header: Sequence[str], rows: Sequence[Sequence[Any]], digits: int = DIGITS, *, most_lines: int = 8) -> str:
    """Format rows as a plain text table with aligned columns and right-aligned numbers.

    Args:
        header: Column names.
        rows: One sequence of cells per row.
        digits: Number of decimal places of floats.
        most_lines: Maximum number of lines per row if the width is limited. See `tables_within`.
    """
    cells = [[to_cell(value, digits) for value in row] for row in rows]
    numeric = [
        any(isinstance(row[i], (int, float)) for row in rows)
        and all(row[i] is None or isinstance(row[i], (int, float)) for row in rows)
        for i in range(len(header))
    ]
    return align_columns([printable(title) for title in header], cells, numeric, most_lines)


# -- Tables of text ---------------------------------------------------------------------------------------------------
_WIDTH: ContextVar[int | None] = ContextVar("_WIDTH", default=None)
_GAP = "  "
_LEAST = 12  # minimum width of a text column that is narrowed
CUT = "\N{HORIZONTAL ELLIPSIS}"


def tables_within(width: int) -> AbstractContextManager[None]:
    """Limit the width of text tables inside the context.

    Long texts are wrapped and finally truncated with an ellipsis. Columns that do not fit are moved to further tables
    below, each of which begins with the first column.

    Args:
        width: Maximum number of characters per line.
    """
    return context_value(_WIDTH, width)


def align_columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], most_lines: int = 8
) -> str:
    """Format a text table with aligned columns. See `tables_within`.

    Args:
        titles: Column names.
        rows: Cells of each row.
        right: Whether each column is right-aligned, as for numbers. Cells of such columns are never truncated.
        most_lines: Maximum number of lines per row.
    """
    widths = [max(len(line[i]) for line in [titles, *rows]) for i in range(len(titles))]
    limit = _WIDTH.get()
    if limit is None or _line_width(widths) <= limit:
        return _block(titles, rows, right, widths)
    least = [width if on_right else min(width, _LEAST) for width, on_right in zip(widths, right, strict=True)]
    parts = _parts(least, limit)
    blocks = []
    for part in parts:
        own = _shrunk([widths[i] for i in part], [least[i] for i in part], limit)
        head = [_wrap_text(titles[i], width, 1)[0] for i, width in zip(part, own, strict=True)]
        cells = [line for row in rows for line in _row_lines([row[i] for i in part], own, most_lines)]
        blocks.append(_block(head, cells, [right[i] for i in part], own))
    return "\n\n".join(blocks)


def _parts(widths: Sequence[int], limit: int) -> list[list[int]]:
    """Group the columns into tables that fit the limit, each beginning with the first column."""
    parts = [[0]]
    for i in range(1, len(widths)):
        if len(parts[-1]) > 1 and _line_width([widths[place] for place in (*parts[-1], i)]) > limit:
            parts.append([0])
        parts[-1].append(i)
    return parts


def _shrunk(widths: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    """Reduce column widths to fit a line, starting with the widest columns."""
    found = list(widths)
    while _line_width(found) > limit and (wide := [i for i, width in enumerate(found) if width > least[i]]):
        found[max(wide, key=found.__getitem__)] -= 1
    return found


def _line_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _row_lines(row: Sequence[str], widths: Sequence[int], most_lines: int) -> list[list[str]]:
    cells = [_wrap_text(text, width, most_lines) for text, width in zip(row, widths, strict=True)]
    return [list(line) for line in zip_longest(*cells, fillvalue="")]


def _wrap_text(text: str, width: int, most_lines: int) -> list[str]:
    """Wrap a text into at most `most_lines` lines. The last line ends with an ellipsis if text was cut."""
    lines = wrap(text, width, break_on_hyphens=False) if len(text) > width else [text]
    if len(lines) <= most_lines:
        return lines
    last = lines[most_lines - 1]
    return [*lines[: most_lines - 1], (last if len(last) < width else last[: width - 1]) + CUT]


def _block(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], widths: Sequence[int]) -> str:
    def line(values: Sequence[str]) -> str:
        sided = zip(values, widths, right, strict=True)
        return _GAP.join(
            text.rjust(width) if on_right else text.ljust(width) for text, width, on_right in sided
        ).rstrip()

    return "\n".join([line(titles), line(["-" * width for width in widths]), *map(line, rows)])


# -- P-values ---------------------------------------------------------------------------------------------------------
class PValue(float):
    """P-value, which tables format with `pvalue_text`."""


def format_value(key: str, value: Any) -> Any:
    """Return a value in the form that tables show: a `PValue` if its key identifies a p-value.

    Args:
        key: Key of the value, such as "trm_pvalue". The logarithm "trm_mean_log_pvalue" is not a p-value.
        value: A number or any other value.

    Returns:
        The `PValue`, or the unchanged value.
    """
    is_pvalue = f"_{key}".endswith("_pvalue") and not key.endswith("log_pvalue")
    return PValue(value) if is_pvalue and isinstance(value, float) else value


def pvalue_text(pvalue: float, *, least: float = 0.0, raw: float | None = None) -> str:
    """Format a p-value in the same way for every table and page, and never as 0.

    Args:
        pvalue: P-value in [0, 1]. NaN, shown as a dash, if there was no test.
        least: Smallest p-value that the random samples of the test can show. 0 for a test without samples. At or below
            this value, the text has the prefix `AT_MOST`.
        raw: P-value before the correction for multiple tests, if there was one.

    Returns:
        The value with four decimal places, or with two digits and an exponent if it is below 0.001.
    """
    if math.isnan(pvalue):
        return "-"
    if pvalue < _LEAST_PVALUE:  # floats underflow
        return f"< {_LEAST_PVALUE:.1e}"
    mark = f"{AT_MOST} " if 0.0 < (pvalue if raw is None else raw) <= least else ""
    return mark + (f"{pvalue:.4f}" if pvalue >= 0.001 else f"{pvalue:.1e}")


def to_cell(value: Any, digits: int = DIGITS) -> str:
    """Format a value as a table cell."""
    if isinstance(value, PValue):
        return pvalue_text(value)
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:z.{digits}f}"
    return "" if value is None else printable(str(value))
