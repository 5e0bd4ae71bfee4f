"""Scores for the rows of a protocol, from metrics and baselines or from a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints.preflight import look_for_all
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.files import parse_json, read_text
from vlgauge.core.signatures import format_signature
from vlgauge.core.validation import check_choice
from vlgauge.families.aggregation import corpus_counts
from vlgauge.families.ngram.bleu import compute_bleu
from vlgauge.leaderboard.runs import numbers
from vlgauge.version import __version__

if TYPE_CHECKING:
    from vlgauge.families.base import Metric
    from vlgauge.research.protocols.evaluation import Task

MISSING = ("error", "nan")
SEEN = ("images", "videos")
LENGTH = "length"
BASELINES = (LENGTH, "bleu", "rouge_l", "meteor", "cider")
"""Baselines in the papers' tables next to image metrics. bleu yields the rows BLEU-1 and BLEU-4."""
TEXT_FAMILIES = (LENGTH, "bleu_1", "bleu_4", "rouge_l", "meteor", "cider")
"""Families of scores that require no model."""


@dataclass(frozen=True)
class TaskScores:
    """Family of scores, such as pac_s or ref_pac_s.

    Attributes:
        name: Name of the family.
        values: One score per row, NaN if undefined.
        signature: Signature of the scores. "" if unknown.
    """

    name: str
    values: list[float]
    signature: str = ""


def length_scores(columns: Mapping[str, list[Any]]) -> TaskScores:
    """Score each caption with its number of words, so that longer captions are better."""
    lengths = [float(len(caption.split())) for caption in columns["predictions"]]
    return TaskScores(LENGTH, lengths, format_signature(LENGTH, {"v": __version__, "unit": "words"}))


def read_released_scores(task: Task) -> list[TaskScores]:
    """Return the scores that are published with a dataset. Empty if there are none."""
    return [
        TaskScores(name, list(values), format_signature(name, {"v": __version__, "answers": "released"}))
        for name, values in task.released.items()
    ]


def metric_scores(
    metrics: Sequence[Metric], columns: Mapping[str, list[Any]], *, missing: str = "error"
) -> list[TaskScores]:
    """Compute the families of scores of several metrics. bleu yields BLEU-1 and BLEU-4 of each caption.

    All missing inputs are reported before anything is scored.

    Args:
        metrics: Loaded metrics of this package.
        columns: Rows of a protocol. Story metrics use the single image of a row.
        missing: Treatment of missing images or videos: "error", or "nan" for undefined scores.

    Raises:
        ValueError: If a metric requires a column that the protocol does not have, lower scores of a metric are better,
            files are missing, or a metric rejects a row.
        SourcesMissingError: If weights are missing.
    """
    check_choice("missing", missing, MISSING)
    checked = [check_columns(metric, columns, missing) for metric in metrics]
    look_for_all(metrics)
    n = len(columns["predictions"])
    found: list[TaskScores] = []
    for metric, (own, rows) in zip(metrics, checked, strict=True):
        result = metric.compute(**own) or {}
        scores = {name: result[f"{name}_scores"] for name in families_in(result)}
        for name, values in (_bleu_scores(result) if metric.name == "bleu" else scores).items():
            signature = result.get(f"{name}_signature", result.get("bleu_signature", ""))
            found.append(TaskScores(name, spread(values, rows, n), signature))
    return found


def check_columns(
    metric: Metric, columns: Mapping[str, list[Any]], missing: str
) -> tuple[dict[str, list[Any]], list[int]]:
    """Return the columns of a metric without rows whose image or video is missing, and the indices of the kept rows.

    Returns:
        Cells by column name, and the indices of the kept rows.

    Raises:
        UsageError: If a required column is missing, or no row has an image or video.
    """
    own = _own_columns(metric, columns)
    rows = _present(own, missing)
    return {name: [cells[i] for i in rows] for name, cells in own.items()}, rows


def _own_columns(metric: Metric, columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    if not metric.higher_is_better:
        raise UsageError(f"METRIC must be a metric for which higher is better, got {metric.name}")
    own = {}
    for column in metric.columns:
        if column.name in columns:
            own[column.name] = columns[column.name]
        elif not column.optional:
            has = ", ".join(columns)
            raise UsageError(f"METRIC must score {has}, got {metric.name}, which requires {column.name}")
    return own


def families_in(result: Mapping[str, Any]) -> list[str]:
    """Return the names of the scores in a result that are evaluated as metrics.

    Parts of another score, such as the objects of SPICE, are left out, because they would add pairs to the family of
    tests in Holm's correction.

    Args:
        result: Result dictionary of a metric, or content of a file of scores.
    """
    names = [key.removesuffix("_scores") for key in result if key.endswith("_scores")]
    wholes = [name for name in names if name in metric_names()]
    return [name for name in names if not any(name.startswith(f"{whole}_") for whole in wholes)]


def _bleu_scores(result: Mapping[str, Any]) -> dict[str, list[float]]:
    counts = corpus_counts("bleu", result)
    return {f"bleu_{order}": compute_bleu(counts, order).tolist() for order in (1, 4)}


def read_scores(path: Path) -> list[TaskScores]:
    """Read families of scores from a file, in the order of the rows of a protocol.

    Args:
        path: Result of ``vlgauge score ... --output``, a JSON list of numbers, or lines of numbers or of JSON objects
            with ``score``. null and NaN denote undefined scores.

    Raises:
        ValueError: If the file has none of these formats.
        OSError: If the file cannot be read.
    """
    text = read_text(path, f"`{path}`")
    try:
        content = parse_json(text, f"`{path}`", path)
    except UsageError:
        content = [_line(line, number, path) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if isinstance(content, dict):
        names = families_in(content)
        if not names:
            raise UsageError.about(
                str(path), f"must have a key of scores that ends in _scores, got {', '.join(content)}"
            )
        return [
            TaskScores(name, _numbers(content[f"{name}_scores"], path), str(content.get(f"{name}_signature", "")))
            for name in names
        ]
    return [TaskScores(path.stem, _numbers(content, path))]


def _line(line: str, number: int, path: Path) -> Any:
    try:
        record = parse_json(line, f"`{path}`", path, number)
        return record["score"] if isinstance(record, dict) else record
    except (UsageError, KeyError):
        raise UsageError.about(
            str(path), f"must have a number or an object with 'score' in line {number}, got {line!r:.60}"
        ) from None


def _numbers(values: Any, path: Path) -> list[float]:
    cells = values if isinstance(values, list) else [values]
    return numbers(str(path), cells, list(map(str, range(len(cells)))))


def _present(columns: Mapping[str, list[Any]], missing: str) -> list[int]:
    """Return the indices of the rows whose image or video exists."""
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
        raise UsageError(
            f"the image or video of each row must exist, {len(absent)} of {n} are missing, such as {absent[0]!r}; "
            "pass the folder with --images or --videos"
            + (", or leave them undefined with --missing nan" if rows else "")
        )
    return rows


def _path(cell: Any) -> str | None:
    return cell.get("path") if isinstance(cell, Mapping) else cell if isinstance(cell, str) else None


def spread(values: Sequence[float], rows: Sequence[int], n: int) -> list[float]:
    """Return the values of some of n rows as a list of all rows, NaN for the others."""
    spread = [math.nan] * n
    for row, value in zip(rows, values, strict=True):
        spread[row] = value
    return spread
