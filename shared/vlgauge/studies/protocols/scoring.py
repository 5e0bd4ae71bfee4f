"""Scores for the rows of a protocol: from a metric, or from a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.files import parse_json, read_text
from vlgauge.settings import one_of

if TYPE_CHECKING:
    from vlgauge.base import Metric

MISSING = ("error", "nan")
SEEN = ("images", "videos")


@dataclass(frozen=True)
class Scores:
    """One family of scores, such as pac_s or ref_pac_s.

    Attributes:
        name: Its name.
        values: One per row, NaN where it is undefined.
        signature: How they were made; "" if that is not known.
    """

    name: str
    values: list[float]
    signature: str = ""


def metric_scores(metric: Metric, columns: Mapping[str, list[Any]], *, missing: str = "error") -> list[Scores]:
    """The families of scores that a metric gives the rows.

    Args:
        metric: A loaded metric of this package.
        columns: Rows of a protocol.
        missing: What to do about images or videos that are not there: "error", or "nan" for undefined scores.

    Raises:
        ValueError: If the metric needs a column that the protocol does not have, lower scores of it are better, files
            are missing, or it refuses a row.
    """
    one_of("missing", missing, MISSING)
    if not metric.higher_is_better:
        raise ValueError(f"METRIC must be one of which higher scores are better, got {metric.name}")
    own = {}
    for column in metric.columns:
        if column.name in columns:
            own[column.name] = columns[column.name]
        elif not column.optional:
            has = ", ".join(columns)
            raise ValueError(f"METRIC must be able to score {has}, got {metric.name}, which needs {column.name}")
    rows = _present(own, missing)
    result = metric.compute(**{name: [cells[i] for i in rows] for name, cells in own.items()}) or {}
    n = len(columns["predictions"])
    families = [key.removesuffix("_scores") for key in result if key.endswith("_scores")]
    return [
        Scores(name, _spread(result[f"{name}_scores"], rows, n), result.get(f"{name}_signature", ""))
        for name in families
    ]


def read_scores(path: Path) -> list[Scores]:
    """Families of scores from a file, in the order of the rows of a protocol.

    Args:
        path: A result of ``vlgauge score ... --output``; a JSON list of numbers; or lines of numbers, or of JSON
            objects with ``score``. null and NaN stand for undefined.

    Raises:
        ValueError: If it has none of these forms.
        OSError: If it cannot be read.
    """
    text = read_text(path, f"`{path}`")
    try:
        content = parse_json(text, f"`{path}`", path)
    except ValueError:
        content = [_line(line, number, path) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if isinstance(content, dict):
        names = [key.removesuffix("_scores") for key in content if key.endswith("_scores")]
        if not names:
            raise ValueError(f"`{path}` must have scores under a name that ends in _scores, got {', '.join(content)}")
        return [
            Scores(name, _numbers(content[f"{name}_scores"], path), str(content.get(f"{name}_signature", "")))
            for name in names
        ]
    return [Scores(path.stem, _numbers(content, path))]


def _line(line: str, number: int, path: Path) -> Any:
    try:
        record = parse_json(line, f"`{path}`", path, number)
        return record["score"] if isinstance(record, dict) else record
    except (ValueError, KeyError):
        raise ValueError(
            f"`{path}` must have a number or an object with 'score' in line {number}, got {line!r:.60}"
        ) from None


def _numbers(values: Any, path: Path) -> list[float]:
    if not isinstance(values, list):
        values = [values]
    for position, value in enumerate(values):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ValueError(f"`{path}` must have numbers or null as scores, got {value!r} at position {position}")
    return [math.nan if value is None else float(value) for value in values]


def _present(columns: Mapping[str, list[Any]], missing: str) -> list[int]:
    """Rows whose image or video is there."""
    n = len(columns["predictions"])
    there: dict[str, bool] = {}
    rows, absent = [], []
    for i in range(n):
        paths = [path for name in SEEN if name in columns and (path := _path(columns[name][i]))]
        for path in paths:
            there.setdefault(path, Path(path).is_file())
        lacking = [path for path in paths if not there[path]]
        absent += lacking[:1]
        if not lacking:
            rows.append(i)
    if absent and (missing == "error" or not rows):
        raise ValueError(
            f"the image or video of each row must be there, {len(absent)} of {n} are not, such as {absent[0]!r}; name "
            "the folder with --images or --videos" + (", or leave them undefined with --missing nan" if rows else "")
        )
    return rows


def _path(cell: Any) -> str | None:
    return cell.get("path") if isinstance(cell, Mapping) else cell if isinstance(cell, str) else None


def _spread(values: Sequence[float], rows: Sequence[int], n: int) -> list[float]:
    spread = [math.nan] * n
    for row, value in zip(rows, values, strict=True):
        spread[row] = value
    return spread
