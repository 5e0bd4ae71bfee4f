"""Options shared by commands that score: columns of a file, and settings of metrics."""

import argparse
import ast
from collections.abc import Sequence
from typing import Any

from vlgauge.api.computing import Settings, load_metric
from vlgauge.cli.inputs import SET_SOME, add_limits, add_shared, declare
from vlgauge.core.catalog import metric_folder
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError
from vlgauge.core.files import first_repeated
from vlgauge.core.suites import SUITES
from vlgauge.core.validation import HOST_KEYWORDS, nearest, setting_names
from vlgauge.inputs.tables.caption_files import join_references, references_by_id
from vlgauge.inputs.tables.files import Rows, read_rows, rows_called

# Keyword arguments of `load` that commands pass themselves, or that are useful only in Python.
NOT_SETTINGS = {
    *("name", "path", "module_type", "download_config", "download_mode", "revision", "progress", "sandbox"),
    *(name for name in HOST_KEYWORDS if name != "seed"),
}

METRIC = f"name of a metric, or several with commas; see `vlgauge list`; or a suite: {', '.join(SUITES)}"

# Values of settings that require a keyword argument of `compute`.
_OF_PYTHON = {("distance", "precomputed"): "distances"}


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Add the options for the columns of a file and for its scoring."""
    add_shared(parser, "input_format")
    add_limits(parser)
    for column in COLUMNS:
        several = ", or several with commas" if column == "references" else ""
        declare(parser, f"--{column} COLUMN", f"column of the {column} in FILE{several}")
    declare(parser, "--id COLUMN", "column of row ids in FILE (default: id, if present)")
    add_shared(parser, "set", set=SET_SOME)
    declare(parser, "--config NAME", "configuration, for metrics that have several")
    add_shared(parser, "profile", "no_progress")


def add_suite_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of suites and of captions by image."""
    declare(parser, "--without METRIC,...", "metrics of a suite to leave out")
    words = "captions by image, joined by id: COCO's annotations, a dictionary of pycocoevalcap, or a table"
    declare(parser, "--annotations FILE", words)


def join_annotations(rows: Rows, options: argparse.Namespace) -> Rows:
    """Return the rows with the references of `--annotations`, if it is passed.

    Raises:
        ValueError: If the file is not valid, or a row has no annotations.
    """
    if options.annotations is None:
        return rows
    name = f"--annotations {options.annotations}"
    if getattr(options, "captions", None) is None:  # read only once for all systems
        with rows_called("--annotations"):
            options.captions = references_by_id(read_rows(options.annotations), name)
    return join_references(rows, options.captions, name)


def names_in(text: str | None) -> list[str]:
    """Split a list of names at commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def name_list(text: str, argument: str = "METRIC") -> list[str]:
    """Split a list of different names at commas.

    Args:
        text: The list.
        argument: Argument or option of the command, for error messages.

    Raises:
        UsageError: If there is no name, or a name is repeated.
    """
    names = names_in(text)
    if not names:
        raise UsageError(f"{argument} must be one or more names, separated by commas, got {text!r}")
    if twice := first_repeated(names):
        raise UsageError(f"{argument} must have each name once, got {twice!r} more than once")
    return names


def metric_list(text: str) -> list[str]:
    """Split a list of metric names at commas.

    Raises:
        ValueError: If there is no name, or a name is unknown or repeated.
    """
    names = name_list(text)
    for name in names:
        metric_folder(name)
    return names


def setting(text: str) -> tuple[str, Any]:
    """Parse ``NAME=VALUE``. Numbers, true, false and none are converted to Python values.

    Returns:
        Name and value: a bool, None, an integer, a float, or the text.

    Raises:
        UsageError: If the text has another form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--set must be NAME=VALUE, got {text!r}")
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    try:
        number = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value
    return name, number if isinstance(number, (int, float)) else value


def settings_by_metric(texts: Sequence[str], names: Sequence[str]) -> dict[str, Settings]:
    """Return the settings of each metric from the values of ``--set``.

    ``METRIC.NAME=VALUE`` is for one metric, ``NAME=VALUE`` for all metrics that have a setting of this name. Further
    dots refer to items of a setting that is a dictionary: ``c.context=prefix`` of rovist is ``c={"context":
    "prefix"}``.

    Raises:
        ValueError: If a setting is passed twice, belongs to the command or to `evaluate`, belongs to no metric, or has
            a value that can be used only in Python.
    """
    settings: dict[str, Settings] = {name: {} for name in names}
    seen = set()
    for word, value in map(setting, texts):
        if word in seen:
            raise UsageError(f"--set must name each setting once, got {word!r} more than once")
        seen.add(word)
        first, dot, rest = word.partition(".")
        owners = [first] if dot and first in names else _owners(first, names)
        path = (rest if dot and first in names else word).split(".")
        if path[0] in NOT_SETTINGS or not all(path):
            raise UsageError(f"--set must name a setting of the metric, got {word!r}")
        for owner in owners:
            _put(settings[owner], path, value, word)
    for own in settings.values():
        check_command_settings(own)
    return settings


def check_command_settings(settings: Settings) -> None:
    """Check that no value requires per-call inputs.

    Raises:
        UsageError: If one does.
    """
    for (name, value), keyword in _OF_PYTHON.items():
        if settings.get(name) == value:
            raise UsageError(
                f"--set must name a {name} that a command can compute, got {value!r}, which requires `{keyword}` of "
                f"`compute` in Python"
            )


def _owners(name: str, names: Sequence[str]) -> list[str]:
    """Return the metrics that have a setting.

    A single metric is always returned, because its error message is better.
    """
    if len(names) == 1 or name in NOT_SETTINGS:
        return list(names)
    known = {metric: setting_names(type(load_metric(metric))) for metric in names}
    owners = [metric for metric, its in known.items() if name in its]
    if not owners:
        there = {one for its in known.values() for one in its} - NOT_SETTINGS
        raise UsageError(f"--set must name a setting of {' or '.join(names)}, got {name!r}; {nearest(name, there)}")
    return owners


def _put(settings: Settings, path: Sequence[str], value: Any, word: str) -> None:
    for name in path[:-1]:
        settings = settings.setdefault(name, {})
        if not isinstance(settings, dict):
            raise UsageError(f"--set must name a setting or parts of it, got both for {word!r}")
    if path[-1] in settings:
        raise UsageError(f"--set must name each setting once, got {word!r} more than once")
    settings[path[-1]] = value
