"""`vlgauge score METRIC FILE`: score a file of examples."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.catalog import metric_folder
from vlgauge.cli.tables import READERS
from vlgauge.cli.tables import Rows
from vlgauge.cli.tables import read_rows
from vlgauge.cli.tables import take_column
from vlgauge.results import to_json
from vlgauge.results import to_table

COLUMNS = ("predictions", "references", "images", "styles")
TEXT_WIDTH = 60
# Keywords of `load` that this command passes itself, or that only make sense in Python.
NOT_SETTINGS = (
    *("name", "path", "config_name", "module_type", "process_id", "num_process", "cache_dir", "experiment_id", "hash"),
    *("keep_in_memory", "download_config", "download_mode", "revision", "progress", "timeout"),
    "max_concurrent_cache_files",
)


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("score", help="score a file of examples", description=__doc__)
    parser.add_argument("metric", metavar="METRIC", help="name of a metric; `vlgauge list` prints them")
    parser.add_argument("file", metavar="FILE", help="JSONL, JSON, CSV, TSV or Parquet file; - for standard input")
    parser.add_argument("--input-format", choices=list(READERS), help="where the ending of FILE does not tell it")
    for column in COLUMNS:
        parser.add_argument(f"--{column}", metavar="COLUMN", help=f"column of FILE that holds the {column}")
    parser.add_argument("--id", metavar="COLUMN", help="column of FILE that names the rows (default: id, if there)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the metric")
    parser.add_argument("--config", metavar="NAME", help="configuration, for metrics that have several")
    parser.add_argument("--profile", choices=("paper", "embedded"), help="published weights, or what is shipped")
    parser.add_argument("--details", action="store_true", help="also say how each score came about (JSON)")
    parser.add_argument("--format", choices=("table", "json"), help="of what is printed (default: table)")
    parser.add_argument("--output", metavar="FILE", help="write the whole result as JSON to this file")
    parser.add_argument("--rows", type=int, default=20, metavar="N", help="rows in the table; 0 for all (default: 20)")
    parser.add_argument("--no-progress", action="store_true", help="never show a bar")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, score, print."""
    metric_folder(options.metric)  # a wrong name is told before the file is read
    settings = chosen_settings(options.set)
    if options.profile:
        settings["profile"] = options.profile
    rows = read_rows(options.file, options.input_format)
    ids = _ids(rows, options.id)
    check_target(options.output, options.file)
    metric = vlgauge.load(
        options.metric,
        options.config,
        keep_in_memory=True,
        progress=False if options.no_progress else None,
        **settings,
    )
    columns = {column.name: _cells(rows, column, options) for column in metric.columns}
    result = metric.compute(**columns, **_details(metric, options))
    assert result is not None  # one process only
    if options.output:
        Path(options.output).write_text(to_json({"ids": ids, **result}) + "\n", encoding="utf-8")
        sys.stderr.write(f"wrote {options.output}\n")
    if options.format == "json" or (options.details and options.format is None and not options.output):
        print(to_json({"ids": ids, **result}))
    else:
        print(summary(metric.name, result, ids, columns["predictions"] or [], options.rows))
    return 0


def chosen_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Settings of the metric from the values of ``--set``.

    Raises:
        ValueError: If one is given twice, or belongs to this command or to the host library.
    """
    settings: dict[str, Any] = {}
    for name, value in map(setting, texts):
        if name in settings:
            raise ValueError(f"--set must name each setting once, got {name!r} more than once")
        if name in NOT_SETTINGS:
            raise ValueError(f"--set must name a setting of the metric, got {name!r}")
        settings[name] = value
    return settings


def check_target(target: str | None, source: str) -> None:
    """Refuse a file that cannot be written, before the work is done.

    Raises:
        ValueError: If its folder is missing, or it is the input.
    """
    if target is None:
        return
    if not Path(target).absolute().parent.is_dir() or Path(target).is_dir():
        raise ValueError(f"--output must be a file in an existing folder, got {target!r}")
    if source != "-" and Path(target).resolve() == Path(source).resolve():
        raise ValueError(f"--output must be another file than FILE, got {target!r} for both")


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
    except (ValueError, SyntaxError):
        return name, value
    return name, number if isinstance(number, (int, float)) else value


def summary(name: str, result: dict[str, Any], ids: Sequence[Any], texts: Sequence[Any], limit: int) -> str:
    """The table of scores, with mean, number of undefined examples and signature below it."""
    scores = result[f"{name}_scores"]
    shown = len(scores) if limit <= 0 else min(limit, len(scores))
    rows = [[ids[i], scores[i], _shortened(texts[i])] for i in range(shown)]
    lines = [to_table(["id", name, "predictions"], rows)]
    if shown < len(scores):
        lines.append(f"... and {len(scores) - shown} more rows (--rows 0 prints all, --output FILE writes all)")
    numbers = {key: value for key, value in result.items() if isinstance(value, (int, float))}
    lines += ["", to_table(["result", "value"], list(numbers.items())), "", result[f"{name}_signature"]]
    return "\n".join(lines)


def _cells(rows: Rows, column: Any, options: argparse.Namespace) -> list[Any] | None:
    """Cells of one input of the metric; None for an optional one that neither option nor file names."""
    title = getattr(options, column.name, None)
    if title is None and column.optional and column.name not in rows[0]:
        return None
    try:
        return take_column(rows, title or column.name)
    except ValueError as error:
        raise ValueError(f"{error}; choose with --{column.name} COLUMN") from None


def _details(metric: Any, options: argparse.Namespace) -> dict[str, bool]:
    if not options.details:
        return {}
    if "return_details" not in inspect.signature(metric._compute).parameters:
        raise ValueError(f"--details is nothing that {metric.name} can give")
    return {"return_details": True}


def _ids(rows: Rows, title: str | None) -> list[Any]:
    if title is None and not all("id" in row for row in rows):
        return list(range(len(rows)))
    return take_column(rows, title or "id")


def _shortened(text: Any) -> str:
    joined = " ".join((text if isinstance(text, str) else " | ".join(map(str, text))).split())
    return joined if len(joined) <= TEXT_WIDTH else joined[: TEXT_WIDTH - 3] + "..."
