"""One or more metrics over the columns of one file: names, settings of each, columns read once, results together."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import vlgauge
from vlgauge.catalog import metric_folder
from vlgauge.cli.inputs import add_limits
from vlgauge.media.tables import (
    READERS,
    CsvRow,
    MissingColumn,
    Rows,
    refuse_absent_texts,
    take_columns,
    warn_of_empty_cells,
)
from vlgauge.settings import PROFILES, nearest, setting_names
from vlgauge.weights.preflight import look_for_all

if TYPE_CHECKING:
    from vlgauge.base import Metric

COLUMNS = ("predictions", "references", "images", "videos", "styles")

# Keywords of `load` that the commands pass themselves, or that only make sense in Python.
NOT_SETTINGS = (
    *("name", "path", "config_name", "module_type", "process_id", "num_process", "cache_dir", "experiment_id", "hash"),
    *("keep_in_memory", "download_config", "download_mode", "revision", "progress", "reading", "timeout"),
    "max_concurrent_cache_files",
)

# Values of settings that go with a keyword of `compute`.
_OF_PYTHON = {("distance", "precomputed"): "distances"}

Settings = dict[str, Any]

_PLACE = re.compile(rf"`(?:{'|'.join(COLUMNS)})\[(\d{{1,12}})\]")

TEXT_WIDTH = 60


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """The options that say where the columns of a file are, and how it is scored."""
    parser.add_argument("--input-format", choices=list(READERS), help="where the ending of FILE does not tell it")
    add_limits(parser)
    for column in COLUMNS:
        several = ", or several with commas" if column == "references" else ""
        parser.add_argument(f"--{column}", metavar="COLUMN", help=f"column of FILE that holds the {column}{several}")
    parser.add_argument("--id", metavar="COLUMN", help="column of FILE that names the rows (default: id, if there)")
    words = "a setting, of every metric that has it; METRIC.NAME=VALUE for one of several"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=words)
    parser.add_argument("--config", metavar="NAME", help="configuration, for metrics that have several")
    parser.add_argument("--profile", choices=PROFILES, help="published weights, or what is shipped")
    parser.add_argument("--no-progress", action="store_true", help="never show a bar")


def load_metric(name: str, config_name: str | None = None, **settings: Any) -> Any:
    """The metric of that name, with its rows in memory.

    Raises:
        ValueError: If there is no such metric.
    """
    return vlgauge.load(name, config_name, keep_in_memory=True, **settings)


def metric_list(text: str) -> list[str]:
    """Names of metrics from a list with commas.

    Raises:
        ValueError: If one is unknown or comes twice, or there is none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ValueError(f"METRIC must be the name of a metric, or several with commas between them, got {text!r}")
    for name in names:
        metric_folder(name)
        if names.count(name) > 1:
            raise ValueError(f"METRIC must name each metric once, got {name!r} more than once")
    return names


def setting(text: str) -> tuple[str, Any]:
    """Name and value of ``NAME=VALUE``; numbers, true, false and none are taken as such.

    Raises:
        ValueError: If there is no equals sign.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--set must be NAME=VALUE, got {text!r}")
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    try:
        number = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value
    return name, number if isinstance(number, (int, float)) else value


def settings_by_metric(texts: Sequence[str], names: Sequence[str]) -> dict[str, Settings]:
    """Settings of each metric from the values of ``--set``.

    ``METRIC.NAME=VALUE`` is for one metric, ``NAME=VALUE`` for all that have a setting of this name. Further dots lead
    into a setting that is a dictionary: ``c.context=prefix`` of rovist is ``c={"context": "prefix"}``.

    Raises:
        ValueError: If one is given twice, belongs to the command or the host library, is of no metric, or has a value
            that only Python can use.
    """
    settings: dict[str, Settings] = {name: {} for name in names}
    seen = set()
    for word, value in map(setting, texts):
        if word in seen:
            raise ValueError(f"--set must name each setting once, got {word!r} more than once")
        seen.add(word)
        first, dot, rest = word.partition(".")
        owners = [first] if dot and first in names else _owners(first, names)
        path = (rest if dot and first in names else word).split(".")
        if path[0] in NOT_SETTINGS or not all(path):
            raise ValueError(f"--set must name a setting of the metric, got {word!r}")
        for owner in owners:
            _put(settings[owner], path, value, word)
    for own in settings.values():
        refuse_settings_of_python(own)
    return settings


def refuse_settings_of_python(settings: Settings) -> None:
    """Refuse values for which every call brings data of its own.

    Raises:
        ValueError: At the first one.
    """
    for (name, value), keyword in _OF_PYTHON.items():
        if settings.get(name) == value:
            raise ValueError(
                f"--set must name a {name} that a command can compute, got {value!r}, which is for Python, where "
                f"`compute` takes `{keyword}`"
            )


def _owners(name: str, names: Sequence[str]) -> list[str]:
    """The metrics that have a setting; a single metric is taken at its word, as its own message is better."""
    if len(names) == 1 or name in NOT_SETTINGS:
        return list(names)
    known = {metric: setting_names(type(load_metric(metric))) for metric in names}
    owners = [metric for metric, its in known.items() if name in its]
    if not owners:
        there = {one for its in known.values() for one in its} - set(NOT_SETTINGS)
        raise ValueError(f"--set must name a setting of {' or '.join(names)}, got {name!r}; {nearest(name, there)}")
    return owners


def _put(settings: Settings, path: Sequence[str], value: Any, word: str) -> None:
    for name in path[:-1]:
        settings = settings.setdefault(name, {})
        if not isinstance(settings, dict):
            raise ValueError(f"--set must give a setting or parts of it, got both for {word!r}")
    if path[-1] in settings:
        raise ValueError(f"--set must name each setting once, got {word!r} more than once")
    settings[path[-1]] = value


def load_metrics(
    settings: Mapping[str, Settings], *, config: str | None = None, profile: str | None = None, quiet: bool = False
) -> list[Metric]:
    """The metrics with their settings.

    Args:
        settings: By name of the metric.
        config: Configuration, for those that have several.
        profile: Profile of all of them.
        quiet: Whether no bar is ever shown.

    Raises:
        ValueError: If none of several metrics has configurations, or a setting has a wrong value.
        TypeError: If a setting is unknown.
    """
    metrics = []
    for name, own in settings.items():
        common = {"profile": profile} if profile else {}
        # A single metric refuses a configuration with a message of its own.
        wanted = config if len(settings) == 1 or (config and load_metric(name).configs) else None
        metrics.append(load_metric(name, wanted, progress=False if quiet else None, **common, **own))
    if config and len(settings) > 1 and not any(metric.configs for metric in metrics):
        raise ValueError(f"--config must be of a metric with configurations, got {config!r} for {', '.join(settings)}")
    return metrics


def read_columns(
    rows: Rows, metrics: Sequence[Metric], titles: Mapping[str, str | None]
) -> dict[str, list[Any] | None]:
    """The cells of every column that a metric has, each read once; None for optional ones that are not there.

    Args:
        rows: Rows of the file.
        metrics: Loaded metrics.
        titles: Title in the file by name of the column, None where the command names none.

    Raises:
        ValueError: If a needed column is missing, or one is named that no metric has.
    """
    every = [column for metric in metrics for column in metric.columns]
    for name, title in titles.items():
        if title is not None and name not in {column.name for column in every}:
            has = ", ".join(dict.fromkeys(column.name for column in every))
            names = " and ".join(metric.name for metric in metrics)
            raise ValueError(f"--{name} must be left out, as {names} reads no such column but {has}")
    cells: dict[str, list[Any] | None] = {}
    for column in sorted(every, key=lambda column: column.optional):
        if column.name in cells:
            continue
        title = titles.get(column.name)
        if title is None and column.optional and column.name not in rows[0]:
            cells[column.name] = None
            continue
        try:
            cells[column.name] = take_columns(rows, title or column.name)
        except MissingColumn as error:
            raise ValueError(f"{error}; choose with --{column.name} COLUMN") from None
        if column.name == "predictions":
            refuse_absent_texts(rows, title or column.name)
        if column.name in ("predictions", "references"):
            warn_of_empty_cells(rows, title or column.name)
    return cells


def compute_all(
    metrics: Sequence[Metric],
    columns: Mapping[str, list[Any] | None],
    *,
    details: bool = False,
    rows: Sequence[Mapping[str, Any]] = (),
) -> dict[str, dict[str, Any]]:
    """Result of each metric by its name.

    Args:
        metrics: Loaded metrics.
        columns: Cells by name of the column.
        details: Whether to say how each score came about.
        rows: Rows of the file that the cells are from; those of CSV know their lines, which messages then name.

    Raises:
        ImportError: If packages of a metric that can be asked beforehand are missing; names those of all.
        SourcesMissing: If its weights are.
        ValueError: If a metric refuses a row or has no details; with several, the message names it.
    """
    if len(metrics) > 1:  # a single one looks itself before it scores
        look_for_all(metrics)
    results = {}
    for metric in metrics:
        own = {column.name: columns[column.name] for column in metric.columns}
        try:
            results[metric.name] = metric.compute(**own, **_details(metric, details)) or {}
        except (ValueError, TypeError) as error:
            line = _line_of(str(error), rows)
            if len(metrics) == 1 and not line:
                raise
            of = "" if len(metrics) == 1 else f"{metric.name}: "
            raise ValueError(f"{of}{error}{line}") from error
    return results


def _line_of(message: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Clause with the line of the first row of CSV that a message names as its place, such as `predictions[3]`."""
    found = _PLACE.search(message)
    row = rows[int(found[1])] if found and int(found[1]) < len(rows) else None
    return f" (line {row.line} of FILE)" if isinstance(row, CsvRow) else ""


def _details(metric: Metric, wanted: bool) -> dict[str, bool]:
    if not wanted:
        return {}
    if "return_details" not in inspect.signature(metric._compute).parameters:
        raise ValueError(f"--details is nothing that {metric.name} can give")
    return {"return_details": True}


def shortened(text: Any) -> str:
    """The start of a prediction, in one line."""
    if isinstance(text, Mapping):
        joined = ", ".join(f"{name} {value}" for name, value in text.items())
    else:
        joined = text if isinstance(text, str) else " | ".join(map(str, text))
    joined = " ".join(joined.split())
    return joined if len(joined) <= TEXT_WIDTH else joined[: TEXT_WIDTH - 3] + "..."
