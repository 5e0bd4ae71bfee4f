"""Several systems on the same rows, all scored in the same way, or with existing scores."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vlgauge.api.columns import Titles, get_named_column, read_columns, warn_of_repeated
from vlgauge.api.computing import compute_all
from vlgauge.api.scored import SystemScores
from vlgauge.core.errors import UsageError, as_option
from vlgauge.core.files import first_repeated
from vlgauge.core.results import row_keys
from vlgauge.core.validation import is_missing, short_repr
from vlgauge.families.set_sizes import add_set_sizes, sample_captions
from vlgauge.inputs.tables.files import Rows, make_paths_absolute, name_of_rows
from vlgauge.leaderboard.joined_runs import check_labels_agree
from vlgauge.leaderboard.runs import Run, count_set_sizes, labels_of, scores_in

if TYPE_CHECKING:
    from vlgauge.families.base import Metric

# Columns whose values must be equal in every system. Paths of images are excluded, because they depend on the folder.
_SAME = ("references", "styles")


@dataclass(frozen=True)
class GivenSystem:
    """System with its row IDs, and either its scores or the rows with its predictions.

    It may have separate column titles, such as the title of its predictions.
    """

    ids: Sequence[Any]
    run: Run | None = None
    rows: Rows = field(default_factory=list)
    file: str | None = None
    titles: Titles = field(default_factory=dict)


def score_systems(
    systems: Mapping[str, GivenSystem],
    metrics: Sequence[Metric],
    titles: Titles,
    *,
    details: bool = False,
    seed: int = 0,
    grouped: bool = False,
) -> dict[str, SystemScores]:
    """Return the scores of the systems that have no scores yet, by name.

    Warns if rows share an image or a video and no groups are named (`grouped`). Caption sets are reduced to the
    smallest set size of each row over all systems.

    Raises:
        ValueError: If columns are missing, references differ between systems, or a metric cannot score a row.
    """
    unscored = {name: one for name, one in systems.items() if one.run is None}
    columns = {}
    for name, one in unscored.items():
        try:
            own = read_columns(one.rows, metrics, {**titles, **one.titles})
        except UsageError as error:
            if one.file is None or len({other.file for other in unscored.values()}) == 1:
                raise
            raise error.with_message(f"{one.file}: {error}") from None
        columns[name] = own if one.file is None else make_paths_absolute(own, one.file)
    if not columns:
        return {}
    _check_same(columns, unscored)
    first = next(iter(columns))
    warn_of_repeated(unscored[first].ids, columns[first], grouped=grouped)
    there: dict[str, list[int]] = {}
    if any(metric.compares_sets for metric in metrics):
        sizes = {name: [tuple(size) for size in one.run.get("sizes", ())] for name, one in systems.items() if one.run}
        sizes |= {name: count_set_sizes(own) for name, own in columns.items()}
        there = _draw_equal_sets(columns, systems, sizes, seed)
    scored = {}
    for name, one in unscored.items():
        own_sizes = count_set_sizes(columns[name])
        results = compute_all(metrics, columns[name], details=details)
        for metric, result in results.items():
            results[metric] = result | add_set_sizes(result, own_sizes, one.ids, there=there.get(name, ()), seed=seed)
        scored[name] = SystemScores(one.ids, columns[name], results, own_sizes or None)
    return scored


def wide_systems(
    rows: Rows, ids: Sequence[Any], predictions: Sequence[str], file: str | None = None
) -> dict[str, GivenSystem]:
    """Return the systems of a table that has a column of predictions for each system.

    Raises:
        ValueError: If a column is named twice.
    """
    if (twice := first_repeated(predictions)) is not None:
        raise UsageError(f"{as_option('predictions')} must have distinct names, got {twice!r} more than once")
    return {name: GivenSystem(ids, rows=rows, file=file, titles={"predictions": name}) for name in predictions}


def long_systems(rows: Rows, ids: Sequence[Any], column: str, file: str | None = None) -> dict[str, GivenSystem]:
    """Return the systems of a table that has one row per system and example, in the order of their first rows.

    Raises:
        ValueError: If a row names no system, or all rows name the same one.
    """
    own: dict[str, tuple[Rows, list[Any]]] = {}
    for number, (name, row, one) in enumerate(zip(get_named_column(rows, column, "system"), rows, ids, strict=True)):
        if is_missing(name) or isinstance(name, (list, dict)):
            raise UsageError(
                f"{as_option('system')} must be a column with a system name in every row, got {short_repr(name)} in "
                "row "
                f"{number}"
            )
        found = own.setdefault(str(name), ([], []))
        found[0].append(row)
        found[1].append(one)
    if len(own) < 2:
        raise UsageError(f"{as_option('system')} must name at least two systems, got {', '.join(own)} in {column!r}")
    return {name: GivenSystem(one, rows=found, file=file) for name, (found, one) in own.items()}


def labels_of_systems(systems: Mapping[str, GivenSystem], title: str, option: str) -> dict[str, str]:
    """Return the label of each row in a column of the rows of the systems. Empty if all systems have scores only.

    Args:
        systems: Systems by name.
        title: Title of the column. Systems whose rows lack it use the labels of the others.
        option: Option that names the column, for error messages.

    Raises:
        UsageError: If a row has no label, or different labels in two systems.
    """
    rows = {name: one for name, one in systems.items() if one.rows}
    there = {name: one for name, one in rows.items() if title in one.rows[0]} or dict([*rows.items()][:1])
    found = {name: labels_of(one.rows, one.ids, title, option) for name, one in there.items()}
    return check_labels_agree(found) if found else {}


def runs_of(
    systems: Mapping[str, GivenSystem], scored: Mapping[str, SystemScores], names: Sequence[str]
) -> dict[str, Run]:
    """Return the scores of every system, in the order of the systems.

    Raises:
        ValueError: If a system lacks one of the named scores. The message lists the scores that it has.
    """
    runs = {name: scored[name].run() if name in scored else one.run or {} for name, one in systems.items()}
    for system, run in runs.items():
        known = scores_in(run)
        if lacking := [name for name in names if name not in known]:
            raise UsageError(f"{system} must have a score {lacking[0]!r} to be compared, has {', '.join(known)}")
    return runs


def _check_same(columns: Mapping[str, Mapping[str, Any]], systems: Mapping[str, GivenSystem]) -> None:
    """Check that references and styles of each row are equal in all systems."""
    (first, own), *others = columns.items()
    for column in _SAME:
        if own.get(column) is None:
            continue
        known = dict(zip(row_keys(systems[first].ids), own[column], strict=True))
        for name, other in others:
            for key, cell in zip(row_keys(systems[name].ids), other.get(column) or [], strict=False):
                if key in known and known[key] != cell:
                    raise UsageError(
                        f"{name_of_rows()} must have the same {column} for every system, {first} and {name} differ in "
                        f"row {key!r}; score all systems against the same ones, in the same order, and pass a column "
                        f"of ids, {as_option('id', 'COLUMN')}"
                    )


def _draw_equal_sets(
    columns: Mapping[str, dict[str, Any]], systems: Mapping[str, GivenSystem], sizes: Mapping[str, Any], seed: int
) -> dict[str, list[int]]:
    """Reduce the captions of each row to the smallest set size over all systems, in place.

    Returns:
        Number of captions of each row before sampling, for the systems that changed.
    """
    by_key = {name: dict(zip(row_keys(systems[name].ids), own, strict=False)) for name, own in sizes.items() if own}
    least: dict[str, int] = {}
    for own in by_key.values():
        least |= {key: min(size[0], least.get(key, size[0])) for key, size in own.items()}
    there: dict[str, list[int]] = {}
    for name, own in columns.items():
        numbers = [least[key] for key in row_keys(systems[name].ids)] if name in by_key else []
        counts = [size[0] for size in sizes[name]]
        if numbers != counts:
            own["predictions"] = sample_captions(own["predictions"], row_keys(systems[name].ids), numbers, seed)
            there[name] = counts
            sys.stderr.write(
                f"{name}: for each row, captions are sampled (seed {seed}) to match the system with the fewest\n"
            )
    return there
