"""Rank groups of records: which systems of a table the paired test of their scores does not tell apart."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlgauge.errors import UsageError
from vlgauge.leaderboard.comparison import compare
from vlgauge.leaderboard.record import Key, Record
from vlgauge.leaderboard.runs import Run
from vlgauge.leaderboard.table import groups_text, groups_told, several_groups
from vlgauge.set_sizes import without_draw

MOST_SYSTEMS = 30  # of a column, that is 435 pairs


@dataclass(frozen=True)
class RecordGroups:
    """Rank groups, as far as the scores of each row are there.

    Attributes:
        groups: Numbers of the groups of a system, in words, by the key of its record.
        notes: What there is to say of a column, by `column_of`.
        bold: Keys of the systems of a first group, as far as a test could have told them apart.
    """

    groups: Mapping[Key, str] = field(default_factory=dict)
    notes: Mapping[tuple[Any, ...], Sequence[str]] = field(default_factory=dict)
    bold: Collection[Key] = frozenset()


def table_of(record: Record) -> tuple[Any, ...]:
    """What the records of one table have in common."""
    on = record.dataset
    return record.profile, on.id, on.config, on.split, on.revision


def column_of(record: Record) -> tuple[Any, ...]:
    """What the records of one column of a table have in common."""
    return *table_of(record), record.metric, without_draw(record.signature)


def record_groups(records: Sequence[Record], runs: Mapping[Key, Run], faults: Mapping[Key, str]) -> RecordGroups:
    """The groups of every column with two systems or more."""
    columns: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        columns.setdefault(column_of(record), []).append(record)
    groups: dict[Key, str] = {}
    bold: set[Key] = set()
    notes: dict[tuple[Any, ...], list[str]] = {}
    for column, own in columns.items():
        if len(own) < 2:
            continue
        said = notes.setdefault(column, [])
        there = [record for record in own if record.key in runs]
        if len(there) < 2:
            why = f"the scores of each row are there for {len(there)} of {len(own)} systems"
        elif len(there) > MOST_SYSTEMS:
            why = f"{len(there)} systems are more than {MOST_SYSTEMS}; `vlgauge compare` takes them"
        else:
            why = _compared(there, runs, groups, bold, said, len(own))
        if why:
            said.append(f"No rank groups by {own[0].title}: {why.rstrip('.')}.")
        wrong = [record for record in own if record.key in faults]
        said += [f"No group for {_name(record)}: {faults[record.key].rstrip('.')}." for record in wrong]
    return RecordGroups(groups, notes, bold)


def _compared(
    records: Sequence[Record],
    runs: Mapping[Key, Run],
    groups: dict[Key, str],
    bold: set[Key],
    said: list[str],
    n_all: int,
) -> str:
    """Add the groups of a column, who of it is bold, and what is to be said of them; returns why there are none."""
    metric = records[0].metric
    names = {_name(record): record for record in records}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        try:
            found = compare({name: runs[record.key] for name, record in names.items()}, [metric])
        except UsageError as error:
            return str(error)
    (compared,) = found.metrics
    groups |= {names[system.name].key: groups_text(system) for system in compared.systems}
    bold |= {names[system.name].key for system in compared.systems if system.bold}
    rest = "" if len(records) == n_all else f" of the {len(records)} systems whose scores of each row are there"
    said.append(f"{records[0].title}: {groups_told(found)[:-1]}{rest}.")
    said += several_groups(compared.systems)
    said += dict.fromkeys(str(one.message) for one in told if issubclass(one.category, UserWarning))
    return ""


def _name(record: Record) -> str:
    return record.model.id + (f" {record.model.revision[:8]}" if record.model.revision else "")
