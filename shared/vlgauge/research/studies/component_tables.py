"""Tables of the component scores that d_hm compares: published files, our files, and alignment of two tables."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import csv_rows, read_text
from vlgauge.families.base.components import COMPONENTS, component
from vlgauge.research.protocols.files import read_json

Scores = dict[str, float]
Table = dict[str, Scores]
"""Scores by metric, by story id."""

# Suffixes of the three files of one stem.
GROUNDING, COHERENCE, NON_REDUNDANCY = "_G.json", "_C.csv", "_R.csv"


@dataclass(frozen=True)
class PairedRows:
    """Two tables in the same order, and the number of ids that only one of them has."""

    ids: list[str]
    model: list[Scores]
    human: list[Scores]
    n_left_out: int


def read_published(stem: str | Path) -> Table:
    """Read the scores from the three files ``STEM_G.json``, ``STEM_C.csv`` and ``STEM_R.csv``.

    This is the format of Surikuchi et al. (2024): raw GROOViST as ``{id: number}`` or, in a newer layout, ``{id:
    {"groovist": number}}``, and tables with the columns ``story_id`` and ``C_score`` or ``R_score``. Empty and NaN
    scores are dropped.

    Returns:
        The stories that occur in all three files, in the order of the first.

    Raises:
        ValueError: If a file has another form.
        OSError: If a file cannot be read.
    """
    files = {
        "groovist": read_grounding(f"{stem}{GROUNDING}"),
        "rovist_c": read_column(f"{stem}{COHERENCE}", "C_score", "rovist_c"),
        "rovist_nr": read_column(f"{stem}{NON_REDUNDANCY}", "R_score", "rovist_nr"),
    }
    common = [name for name in files["groovist"] if all(name in scores for scores in files.values())]
    return {name: {metric: scores[name] for metric, scores in files.items()} for name in common}


def read_grounding(path: str | Path) -> Scores:
    """Read GROOViST by story id from JSON: ``{id: number}`` or ``{id: {"groovist": number, ...}}``.

    Raises:
        ValueError: If the content has another form, or a score is not a number.
        OSError: If the file cannot be read.
    """
    content = read_json(path).items()
    records = {name: value.get("groovist", "") if isinstance(value, dict) else value for name, value in content}
    return _drop_undefined(path, records.items(), "groovist")


def read_column(path: str | Path, title: str, metric: str) -> Scores:
    """Read the score of a metric by ``story_id`` from a CSV file with the columns ``story_id`` and `title`.

    Raises:
        ValueError: If a column or an id is missing, an id is repeated, or a score is not a number.
        OSError: If the file cannot be read.
    """
    text = read_text(path, f"`{path}`")
    rows = csv_rows(text, f"`{path}`", path, skipinitialspace=True)
    _, titles = next(rows, (0, []))
    if not {"story_id", title} <= set(titles):
        there = ", ".join(titles) or "none"
        raise UsageError.about(str(path), f"must have the columns story_id and {title}, got {there}")
    id_at, score_at = titles.index("story_id"), titles.index(title)
    padded = ([*cells, *[""] * len(titles)] for _, cells in rows if cells)
    pairs = [(cells[id_at].strip(), cells[score_at]) for cells in padded]
    if any(not name for name, _ in pairs):
        raise UsageError.about(str(path), "must have a story_id in every line, got a line without one")
    return _drop_undefined(path, pairs, metric)


def _drop_undefined(path: str | Path, pairs: Iterable[tuple[str, Any]], metric: str) -> Scores:
    """Return the scores that are numbers. Empty strings and NaN are dropped, as in the authors' code."""
    found: Scores = {}
    for name, value in pairs:
        if name in found:
            raise UsageError.about(str(path), f"must have each story once, got {name!r} more than once")
        number = _cell(value, metric, f"{path}[{name!r}]")
        if not math.isnan(number):
            found[name] = number
    return found


def table_of_rows(rows: Sequence[Mapping[str, Any]], ids: Sequence[Any], what: str) -> Table:
    """Build a table from rows that contain the scores under the names of the metrics.

    Empty cells are undefined.

    Returns:
        Scores by metric of each id.

    Raises:
        UsageError: If an id is repeated, or a score is not a number.
    """
    table: Table = {}
    for name, row in zip(map(str, ids), rows, strict=True):
        if name in table:
            raise UsageError(f"{what} must have each id once, got {name!r} more than once")
        table[name] = {metric: _cell(row[metric], metric, f"{what}: {metric} of {name}") for metric in COMPONENTS}
    return table


def _cell(value: Any, metric: str, place: str) -> float:
    if isinstance(value, str):
        try:
            value = float(value) if value.strip() else None
        except ValueError:
            raise UsageError.about(place, f"must be a number or empty, got {value!r}") from None
    return component(value, metric, place)


def pair_rows(model: Mapping[str, Scores], human: Mapping[str, Scores], *, common: bool = False) -> PairedRows:
    """Align two tables in the order of the first.

    Args:
        model: Scores of the model by story id.
        human: Scores of the human-written stories by story id.
        common: Whether to leave out stories that only one of the tables has.

    Raises:
        ValueError: If the tables share no story, or differ in their stories and `common` is False.
    """
    shared = [name for name in model if name in human]
    n_left_out = len(model) + len(human) - 2 * len(shared)
    if n_left_out and not common:
        other = next(name for name in (*model, *human) if (name in model) != (name in human))
        raise UsageError.about(
            "references", f"must have the stories of `predictions`, got {other!r} in only one of the two"
        )
    if not shared:
        raise UsageError("`predictions` and `references` must have a common story, got none")
    return PairedRows(shared, [model[name] for name in shared], [human[name] for name in shared], n_left_out)
