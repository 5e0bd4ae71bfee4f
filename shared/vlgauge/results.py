"""The result of a metric: its dictionary, and its exporters to JSON and to a table."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from itertools import zip_longest
from statistics import median
from textwrap import wrap
from typing import Any

from vlgauge.errors import UsageError

# Key of the two ends of the interval of a number: its own key and this.
INTERVAL = "_interval"

DIGITS = 4  # after the point, of a number in a table
# Ending of the file beside a table of scores, which has what is no column.
SIDECAR = ".json"

# Before a p-value that may be smaller.
AT_MOST = "\N{LESS-THAN OR EQUAL TO}"
# Below this a float cannot tell a p-value from 0.
_LEAST_PVALUE = 1e-300

# What a terminal obeys or what changes the order of what it shows: control characters and escape codes, ends of lines
# and paragraphs, marks of direction, and halves of characters.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with what a terminal or a page would obey shown as its code, such as ``\x1b``."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable(text: str) -> str:
    """The text in one line, with all that it holds to be seen; see `visible`."""
    return visible(" ".join(text.split()))


_ATOMS = frozenset((int, float, bool, str, type(None)))  # found in long lists, which are not gone through for them


def plain(value: Any) -> Any:
    """The value with every array, numpy scalar, tuple and dataclass in it turned into plain Python."""
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
    """Return ids as texts, by which rows of files of different forms are joined: a number in one is a text in another.

    Raises:
        UsageError: If an id is no value of JSON, such as the date of a table.
    """
    return [_row_key(one) for one in ids]


def _row_key(one: Any) -> str:
    if isinstance(one, str):
        return one
    try:
        return str(one) if type(one) is int else json.dumps(one, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"ids must be texts or numbers, got {type(one).__name__}; write them as texts") from error


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
        scores: One score per row, NaN where it is undefined.
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
        kinds = set(map(type, value))
        is_fine = all(map(math.isfinite, value)) if kinds == {float} else kinds <= _ATOMS - {float}
        return value if is_fine else [without_nan(item) for item in value]
    return value


def to_json(record: Mapping[str, Any]) -> str:
    """Strict JSON text of a result; NaN becomes null."""
    lines = [f"{json.dumps(key)}: {_indented(value)}" for key, value in without_nan(plain(record)).items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}" if lines else "{}"


def _indented(value: Any) -> str:
    """JSON of an entry of a result; the encoder of the library that indents is slow for long lists."""
    if isinstance(value, list) and value and _ATOMS.issuperset(map(type, value)):
        lines = json.dumps(value, separators=(",\n    ", ""), allow_nan=False)
        return f"[\n    {lines[1:-1]}\n  ]"
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")


def to_table(header: Sequence[str], rows: Sequence[Sequence[Any]], digits: int = DIGITS, *, most_lines: int = 8) -> str:
    """Plain text table with aligned columns; numbers stand on the right.

    Args:
        header: Titles of the columns.
        rows: One sequence of cells per row.
        digits: Of the numbers that are not whole, after the point.
        most_lines: Of a row where the table has to be narrow, see `tables_within`.
    """
    cells = [[to_cell(value, digits) for value in row] for row in rows]
    numeric = [
        any(isinstance(row[i], (int, float)) for row in rows)
        and all(row[i] is None or isinstance(row[i], (int, float)) for row in rows)
        for i in range(len(header))
    ]
    return aligned([printable(title) for title in header], cells, numeric, most_lines)


# -- Tables of text ---------------------------------------------------------------------------------------------------
_WIDTH: ContextVar[int | None] = ContextVar("_WIDTH", default=None)
_GAP = "  "
_LEAST = 12  # characters of a text that was cut
CUT = "\N{HORIZONTAL ELLIPSIS}"


@contextmanager
def tables_within(width: int) -> Iterator[None]:
    """Let no table of text be wider: texts go on in the lines below, in the end cut with a mark, and so do columns.

    Args:
        width: Characters of a line.
    """
    token = _WIDTH.set(width)
    try:
        yield
    finally:
        _WIDTH.reset(token)


def aligned(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], most_lines: int = 8) -> str:
    """A table of text with aligned columns; see `tables_within`.

    Args:
        titles: Of the columns.
        rows: Cells of each row.
        right: Whether a column stands on the right, as numbers do; no cell of it is cut.
        most_lines: Of a row.
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
        head = [_folded(titles[i], width, 1)[0] for i, width in zip(part, own, strict=True)]
        cells = [line for row in rows for line in _row_lines([row[i] for i in part], own, most_lines)]
        blocks.append(_block(head, cells, [right[i] for i in part], own))
    return "\n\n".join(blocks)


def _parts(widths: Sequence[int], limit: int) -> list[list[int]]:
    """Columns that stand side by side: as many as there is room for, each time behind the first column."""
    parts = [[0]]
    for i in range(1, len(widths)):
        if len(parts[-1]) > 1 and _line_width([widths[place] for place in (*parts[-1], i)]) > limit:
            parts.append([0])
        parts[-1].append(i)
    return parts


def _shrunk(widths: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    """Widths of columns in a line, of which the widest give way."""
    found = list(widths)
    while _line_width(found) > limit and (wide := [i for i, width in enumerate(found) if width > least[i]]):
        found[max(wide, key=found.__getitem__)] -= 1
    return found


def _line_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _row_lines(row: Sequence[str], widths: Sequence[int], most_lines: int) -> list[list[str]]:
    cells = [_folded(text, width, most_lines) for text, width in zip(row, widths, strict=True)]
    return [list(line) for line in zip_longest(*cells, fillvalue="")]


def _folded(text: str, width: int, most_lines: int) -> list[str]:
    """A text in lines, the last of which has a mark if there would be more."""
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
    """A p-value, which tables show by `pvalue_text`."""


def shown_number(key: str, value: Any) -> Any:
    """Return a number as tables show it: a `PValue` if its key in a result says so.

    Args:
        key: Key of the number, such as "trm_pvalue"; the logarithm "trm_mean_log_pvalue" is no p-value.
        value: The number, or anything else.
    """
    is_pvalue = f"_{key}".endswith("_pvalue") and not key.endswith("log_pvalue")
    return PValue(value) if is_pvalue and isinstance(value, float) else value


def pvalue_text(pvalue: float, *, least: float = 0.0, raw: float | None = None) -> str:
    """Return the text of a p-value, the same in every table and page, and never that of 0.

    Args:
        pvalue: In [0, 1], or NaN if there was no test, which becomes a dash.
        least: Smallest p-value that the random samples of the test can show; 0 for a test without samples. At this
            value the text has the mark `AT_MOST`.
        raw: P-value before the correction for several tests, if there was one.

    Returns:
        Four digits after the point, or two digits and an exponent below 0.001.
    """
    if math.isnan(pvalue):
        return "-"
    if pvalue < _LEAST_PVALUE:  # a float has underflowed
        return f"< {_LEAST_PVALUE:.1e}"
    mark = f"{AT_MOST} " if 0.0 < (pvalue if raw is None else raw) <= least else ""
    return mark + (f"{pvalue:.4f}" if pvalue >= 0.001 else f"{pvalue:.1e}")


def to_cell(value: Any, digits: int = DIGITS) -> str:
    """A value as the cell of a table."""
    if isinstance(value, PValue):
        return pvalue_text(value)
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:z.{digits}f}"
    return "" if value is None else printable(str(value))
