"""Examples in the folder of each metric, which show the reaction of its score to right and wrong captions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.core.catalog import metric_folder
from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.core.validation import setting_names
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS

from .explanation import Explanation
from .folders import explanation_of

IMAGES = DATA / "examples"
"""Folder of the images and videos of examples."""

ROLES = ("right", "subtle", "wrong", "missed")
_TEXTS = ("shows", "id", "title", "why")


@dataclass(frozen=True)
class Example:
    """Row that illustrates a metric.

    Attributes:
        shows: "right", "subtle" (a small fault), "wrong", or "missed" (a fault that does not affect the score).
        id: Id of the row.
        title: Short description.
        why: Description in one or two sentences.
        cells: Values by column. Images and videos are paths.
        config: Configuration of the metric. Empty for the default configuration of a form.
        is_demo: Whether a demo model produced the numbers in the example.
    """

    shows: str
    id: str
    title: str
    why: str
    cells: Mapping[str, Any]
    config: str = ""
    is_demo: bool = False


def examples_of(name: str) -> tuple[Example, ...]:
    """Return the examples of a metric, from the `examples.jsonl` in its folder.

    Raises:
        ValueError: If the metric does not exist, or its file contains an invalid example.
        FileNotFoundError: If the metric has no examples.
    """
    return _read(metric_folder(name) / "examples.jsonl")


@cache
def _read(path: Path) -> tuple[Example, ...]:
    lines = path.read_text("utf-8").splitlines()
    return tuple(_example(json.loads(line), f"line {number} of {path}") for number, line in enumerate(lines, 1))


def _example(row: Mapping[str, Any], place: str) -> Example:
    lacking = [name for name in _TEXTS if not isinstance(row.get(name), str) or not row[name]]
    if lacking:
        raise UsageError(f"{place} must have {', '.join(lacking)}, each a string")
    if row["shows"] not in ROLES:
        raise UsageError.about("shows", f"must be one of {', '.join(ROLES)}, got {row['shows']!r} in {place}")
    known = {*_TEXTS, "config", "demo"}
    cells = {name: _locate(cell) if name in MEDIA_COLUMNS else cell for name, cell in row.items() if name not in known}
    texts = {name: row[name] for name in _TEXTS}
    return Example(cells=cells, config=row.get("config", ""), is_demo=bool(row.get("demo", False)), **texts)


def _locate(cell: str | list[str]) -> str | list[str]:
    return str(IMAGES / cell) if isinstance(cell, str) else [str(IMAGES / one) for one in cell]


def explain_examples(name: str, config: str = "") -> Explanation:
    """Score the examples of a metric on the CPU under the embedded profile, and explain the scores.

    Args:
        name: Name of the metric.
        config: Configuration of the examples.

    Raises:
        ValueError: If there is no such metric or no such example.
    """
    chosen = [one for one in examples_of(name) if one.config == config]
    if not chosen:
        raise UsageError.about("config", f"must be the configuration of an example of {name}, got {config!r}")
    explanation = explanation_of(name)
    metric: Any = vlgauge.load(name, keep_in_memory=True)
    wanted = {"profile": "embedded", "device": "cpu", "pvalue": "exact"}
    settings = {key: value for key, value in wanted.items() if key in setting_names(type(metric))}
    settings |= explanation.settings_alone()
    metric = vlgauge.load(name, config or explanation.first_config or None, keep_in_memory=True, **settings)
    columns: dict[str, Any] = {column.name: [one.cells.get(column.name) for one in chosen] for column in metric.columns}
    columns = {key: cells for key, cells in columns.items() if any(cell is not None for cell in cells)}
    result = metric.compute(**columns, return_details=True)
    return explanation(columns | {"id": [one.id for one in chosen]}, result)
