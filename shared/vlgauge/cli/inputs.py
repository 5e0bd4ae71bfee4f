"""Options and checks of the files that commands read."""

import argparse
import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from vlgauge.core.errors import UsageError
from vlgauge.core.files import Limits
from vlgauge.core.validation import PROFILES, short_repr
from vlgauge.inputs.limits import RowLimits
from vlgauge.inputs.tables.files import READERS, Rows, take_column
from vlgauge.leaderboard.table import FORMS

Number = TypeVar("Number", int, float)

MOST_DIGITS = 17  # more than a float has
MOST_SCALE = 1e9
# Description of each limit of `RowLimits`.
_LIMITED = {
    "picture_bytes": "size of an image file in bytes",
    "clip_bytes": "size of a video file in bytes",
    "pixels": "pixels per image",
    "characters": "characters per text",
    "texts": "texts per cell",
    "run_bytes": "total size of all images and videos in bytes",
}


def declare(parser: Any, usage: str, words: str, **how: Any) -> argparse.Action:
    """Add an argument that is declared like a line of a help text, and return its action.

    Args:
        parser: Parser of the command, or a group of options.
        usage: ``"--flag"``, ``"--option VALUE"``, ``"-o, --option VALUE"``, or ``"name VALUE"`` without an option.
        words: Help text.
        **how: Other arguments of `add_argument`. An option without a value, choices and an action is a flag.
    """
    names = [name.rstrip(",") for name in usage.split(" ")]
    flags = [name for name in names if name.startswith("-")] or names[:1]
    if len(names) > len(flags):
        how["metavar"] = names[-1]
    elif usage.startswith("-") and not {"action", "choices", "type"} & how.keys():
        how["action"] = "store_true"
    action: argparse.Action = parser.add_argument(*flags, help=words, **how)
    return action


def add_shared(parser: argparse.ArgumentParser, *names: str, **changed: Any) -> None:
    """Add options that several commands have.

    Args:
        parser: Parser of the command.
        *names: Names of the options in the namespace.
        **changed: Arguments that replace arguments in `_SHARED`, by name of the option. A string is the help text.
    """
    for name in names:
        own = changed.get(name, {})
        how = _SHARED[name] | ({"help": own} if isinstance(own, str) else own)
        parser.add_argument(f"--{name.replace('_', '-')}", **how)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that change the limits of input files."""
    usual = Limits()
    for option, what in (
        ("max_bytes", "file size in bytes"),
        ("max_unpacked", "decompressed size in bytes"),
        ("max_rows", "rows per table"),
        ("max_row", "characters per row"),
    ):
        words = f"maximum {what} (default: {getattr(usual, option):,})".replace("%", "%%")
        declare(parser, f"--{option.replace('_', '-')} N", words, type=int)
    declare(parser, "--untrusted", "decode images, videos and text tables in worker processes, too")


def is_source(file: str) -> bool:
    """Return whether FILE is a Hub dataset, an archive or a folder instead of a table."""
    return file.startswith("hub:") or file.lower().endswith(".tar") or Path(file).is_dir()


def parse_number(
    text: str, kind: Callable[[str], Number], expected: str, is_it: Callable[[Number], bool] = lambda _: True
) -> Number:
    """Parse the number of an option.

    Args:
        text: Value of the option.
        kind: Type of the number.
        expected: Description of the valid numbers.
        is_it: Whether a number is valid.

    Raises:
        ArgumentTypeError: If it is not a valid number.
    """
    try:
        if is_it(number := kind(text)):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"must be {expected}, got {short_repr(text)}")


def at_least(minimum: int, text: str) -> int:
    """Parse an integer of at least `minimum`. See `parse_number`."""
    return parse_number(text, int, f"an integer of at least {minimum}", lambda number: number >= minimum)


def digits(text: str) -> int:
    """Parse the number of digits of printed values. See `parse_number`."""
    return parse_number(text, int, f"an integer from 0 to {MOST_DIGITS}", lambda number: 0 <= number <= MOST_DIGITS)


def scale(text: str) -> float:
    """Parse the factor by which values are multiplied. See `parse_number`."""
    return parse_number(text, float, "a number above 0, such as 100", lambda number: 0.0 < number <= MOST_SCALE)


def level(text: str) -> float:
    """Parse the level of an interval. See `parse_number`."""
    return parse_number(text, float, "between 0 and 1, such as 0.95", lambda number: 0.0 < number < 1.0)


_COUNT = {"type": partial(at_least, 0), "default": 0}
_SHARED: dict[str, dict[str, Any]] = {
    "input_format": {"choices": list(READERS), "help": "format of FILE (default: by extension)"},
    "predictions": {"metavar": "COLUMN", "default": "predictions", "help": "column of the candidates"},
    "references": {"metavar": "COLUMN", "default": "references", "help": "column of the human captions"},
    "set": {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "set an option of every metric"},
    "profile": {"choices": PROFILES, "help": "paper: published weights; embedded: small bundled models"},
    "level": {"type": float, "default": 0.95, "help": "confidence level of the intervals (default: 0.95)"},
    "resamples": {"type": int, "metavar": "N", "help": "number of bootstrap samples (default: 1000)"},
    "seed": {**_COUNT, "help": "random seed (default: 0)"},
    "format": {"choices": ("json", *FORMS), "default": "text", "help": "output format (default: text)"},
    "output": {"metavar": "FILE", "help": "write the rows as JSON to this file"},
    "plot": {"metavar": "FILE"},
    "json": {"action": "store_true", "help": "print JSON instead of a table"},
    "no_progress": {"action": "store_true", "help": "disable progress bars"},
}
SET_SOME = "set an option of every metric that has it; METRIC.NAME=VALUE applies to one metric only"


def add_row_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select rows, and the limits of rows of datasets, archives and folders."""
    group = parser.add_argument_group(
        "rows", "rows of hub:, .tar and folder inputs that cannot be scored are skipped and counted"
    )
    declare(group, "--limit N", "score N rows (default: all)", type=partial(at_least, 1))
    declare(group, "--skip N", "skip the first N rows", type=partial(at_least, 0), default=0)
    declare(group, "--revision COMMIT", "commit, branch or tag of a hub: dataset (default: newest commit)")
    for limit in fields(RowLimits):
        words = f"maximum {_LIMITED[limit.name]} (default: {limit.default:,})"
        declare(group, f"--max-{limit.name.replace('_', '-')} N", words, type=partial(at_least, 1))


def ratings_of(rows: Rows, title: str, option: str = "--ratings") -> list[float]:
    """Return a column of ratings as floats. Lists of ratings are averaged, and empty cells become NaN.

    Raises:
        UsageError: If a cell is not a finite number or a list of them.
    """
    ratings = []
    for number, cell in enumerate(take_column(rows, title)):
        values = cell if isinstance(cell, list) else [cell]
        try:
            given = [float(value) for value in values if value not in (None, "")]
        except (TypeError, ValueError):
            given = [math.inf]
        if any(map(math.isinf, given)) or any(isinstance(value, bool) for value in values):
            raise UsageError(f"{option} must be a column of finite numbers, got {cell!r} in row {number}")
        ratings.append(math.fsum(given) / len(given) if given else math.nan)
    return ratings
