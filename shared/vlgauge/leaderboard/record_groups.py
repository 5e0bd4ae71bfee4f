"""Rank groups of records: systems of a table without a significant difference in the paired test of scores."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.families.set_sizes import comparable_signature
from vlgauge.leaderboard.comparison import System, compare
from vlgauge.leaderboard.record import Key, Record
from vlgauge.leaderboard.recorded_scores import is_grouped
from vlgauge.leaderboard.runs import Run, groups_of_run
from vlgauge.leaderboard.table import Numbers, describe_draws, describe_groups, lack_others, own_values, several_groups

MOST_SYSTEMS = 30  # maximum per column, which has 435 pairs
LEVEL = 0.95  # of intervals and tests
RECORD_DIGITS = 3  # decimals of a value in a table of records


@dataclass(frozen=True)
class RecordGroups:
    """Result of the comparison of records whose scores are available.

    Attributes:
        systems: Each compared record as a system of its column, by its key. The value is over the rows that every
            system defines.
        notes: Sentences about each column, by `column_of`.
    """

    systems: Mapping[Key, System] = field(default_factory=dict)
    notes: Mapping[tuple[Any, ...], Sequence[str]] = field(default_factory=dict)


def table_of(record: Record) -> tuple[Any, ...]:
    """Return the key that the records of a table have in common.

    Returns:
        Profile, and id, config, split and revision of the dataset.
    """
    on = record.dataset
    return record.profile, on.id, on.config, on.split, on.revision


def column_of(record: Record) -> tuple[Any, ...]:
    """Return the key that the records of a column of a table have in common.

    Returns:
        The key of the table, the metric, and the comparable signature.
    """
    return *table_of(record), record.metric, comparable_signature(record.signature)


def record_groups(records: Sequence[Record], runs: Mapping[Key, Run], faults: Mapping[Key, str]) -> RecordGroups:
    """Compare the records of each column with at least two systems by the scores of their rows.

    Args:
        records: All records.
        runs: Scores of the rows, by key of the record.
        faults: Reason for missing scores, by key of the record.
    """
    columns: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        columns.setdefault(column_of(record), []).append(record)
    systems: dict[Key, System] = {}
    notes: dict[tuple[Any, ...], list[str]] = {}
    for column, own in columns.items():
        if len(own) < 2:
            continue
        said = notes.setdefault(column, [])
        there = [record for record in own if record.key in runs]
        if len(there) < 2:
            why = f"row scores are available for {len(there)} of {len(own)} systems"
        elif len(there) > MOST_SYSTEMS:
            why = f"{len(there)} systems exceed the limit of {MOST_SYSTEMS}; use `vlgauge compare`"
        elif _lacks_groups(there, runs):
            why = "rows were resampled in groups, which differ between the files; use `vlgauge compare --groups`"
        else:
            why = _compare_column(there, runs, systems, said, len(own))
        if why:
            said.append(f"No rank groups by {own[0].title}: {why.rstrip('.')}.")
        wrong = [record for record in own if record.key in faults]
        said += [f"No group for {_name(record)}: {faults[record.key].rstrip('.')}." for record in wrong]
    return RecordGroups(systems, notes)


def _lacks_groups(records: Sequence[Record], runs: Mapping[Key, Run]) -> bool:
    """Return whether an interval uses groups of rows, but not all scores name groups with one common name."""
    if not any(is_grouped(one, runs[one.key]) for one in records):
        return False
    names = {groups and groups.name for groups in (groups_of_run(runs[record.key]) for record in records)}
    return len(names) > 1 or None in names


def _compare_column(
    records: Sequence[Record], runs: Mapping[Key, Run], systems: dict[Key, System], said: list[str], n_all: int
) -> str:
    """Add the systems of a column to `systems` and sentences about them to `said`.

    Returns:
        Reason for missing rank groups. Empty if the systems were added.
    """
    metric = records[0].metric
    names = {_name(record): record for record in records}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            found = compare({name: runs[record.key] for name, record in names.items()}, [metric], level=LEVEL)
        except UsageError as error:
            return str(error)
    (compared,) = found.metrics
    if len(records) < n_all and lack_others(compared):
        return f"systems lack scores of other rows, and row scores are available for {len(records)} of {n_all}"
    systems |= {names[system.name].key: system for system in compared.systems}
    rest = "" if len(records) == n_all else f" of the {len(records)} systems with row scores"
    said.append(f"{records[0].title}: {describe_groups(found)[:-1]}{rest}.")
    said += several_groups(compared.systems)
    said += [f"{describe_draws(found)}."] if found.n_groups is not None else []
    said += dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning))
    said += own_values(found, Numbers(digits=RECORD_DIGITS))
    return ""


def _name(record: Record) -> str:
    return record.model.id + (f" {record.model.revision[:8]}" if record.model.revision else "")
