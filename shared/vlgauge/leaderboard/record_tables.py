"""Tables of records: one table per dataset, with a row per model and a column per metric."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from vlgauge.core.catalog import is_score, metric_facts, metric_of_score
from vlgauge.core.errors import UsageError
from vlgauge.families.aggregation import number_title, values_told
from vlgauge.families.set_sizes import are_of_one_size, comparable_signature, sizes_signed
from vlgauge.leaderboard.comparison import System
from vlgauge.leaderboard.record import Record
from vlgauge.leaderboard.record_groups import LEVEL, RECORD_DIGITS, RecordGroups, column_of, table_of
from vlgauge.leaderboard.table import Cell, Numbers, Table, each_by_itself, few_notes, groups_text, render, value_cell
from vlgauge.stats import FEW

_COUNTS = ("n", "undefined")
_HUB = "https://huggingface.co"  # base URL of models and datasets

_Row: TypeAlias = tuple[str, str | None]
"""Id and revision of a model."""


def tables(
    records: Sequence[Record],
    *,
    by: str | None = None,
    split_signatures: bool = False,
    form: str = "markdown",
    groups: RecordGroups | None = None,
) -> str:
    """Return a table per dataset, configuration, split and revision, with separate tables for the embedded profile.

    Args:
        records: Records of results.
        by: Metric by which the tables are sorted. None uses the first one.
        split_signatures: Whether results of one metric with different signatures get separate columns.
        form: Format of the tables, see `vlgauge.leaderboard.table.FORMS`.
        groups: Rank groups of the records. None without rank groups.

    Raises:
        ValueError: If no record has the metric `by`, or a column would contain results with different signatures.
    """
    if by is not None and by not in {record.metric for record in records}:
        raise UsageError.about("by", f"must be a metric of the records, got {by!r}")
    parted: dict[tuple[Any, ...], list[Record]] = {}
    for record in sorted(records, key=lambda record: record.profile == "embedded"):
        parted.setdefault(table_of(record), []).append(record)
    return "\n\n".join(
        render(records_table(own, by=by, split_signatures=split_signatures, groups=groups), form)
        for own in parted.values()
    )


def records_table(
    records: Sequence[Record],
    *,
    by: str | None = None,
    split_signatures: bool = False,
    groups: RecordGroups | None = None,
) -> Table:
    """Return the table of one dataset, with a row per model and a column per metric.

    If the scores of the rows are known for every model of a column, its values, order and bold cells are those of the
    comparison, over the rows that every model defines. Otherwise ties share a rank and the best value is bold. However,
    a column whose values may be of different rows or caption sets has neither ranks nor bold cells.

    Args:
        records: Records of one dataset.
        by: Metric by which the table is sorted. None uses the first one.
        split_signatures: Whether results of one metric with different signatures get separate columns.
        groups: Rank groups of the records. None without rank groups.

    Raises:
        ValueError: If a column would contain results with different signatures.
    """
    known = groups or RecordGroups()
    parted: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        parted.setdefault(record.metric, {}).setdefault(comparable_signature(record.signature), []).append(record)
    if not split_signatures:
        _check_one_signature(parted)
    columns = []
    for signatures in parted.values():
        for signature, own in signatures.items():
            by_row = {_row(record): record for record in own}
            compared = {row: known.systems[one.key] for row, one in by_row.items() if one.key in known.systems}
            columns.append(_TableColumn(signature, by_row, compared))
    chosen = by if by in parted else next(iter(parted))
    sorting = next(column for column in columns if column.first.metric == chosen)
    rows = _rank_rows(records, sorting)
    unranked: dict[str, str] = {}
    header, notes, of_groups = ["#", "model"], [], []
    for number, column in enumerate(columns, 1):
        mark = f" ({number})" if split_signatures and len(parted[column.first.metric]) > 1 else ""
        header.append(f"{column.title}{mark}")
        notes.append(f"{mark.strip()} {column.signature}".strip())
        unranked |= {header[-1]: f"No rank by {column.first.title}{mark}: {column.fault}."} if column.fault else {}
        header += ["group"] if column.compared else []
        of_groups += [f"{mark.strip()} {note}".strip() for note in known.notes.get(column_of(column.first), ())]
    names = _names(records)
    lines = [
        [
            Cell(rank, right=True),
            Cell(names[row], link=f"{_HUB}/{row[0]}"),
            *(cell for column in columns for cell in column.cells(row)),
            *(Cell(_count(row, columns, name), right=True) for name in _COUNTS),
        ]
        for row, rank in rows.items()
    ]
    notes += few_notes(one.few for column in columns for one in column.systems.values())
    n_tested = sum(bool(column.compared) for column in columns)
    of_groups += [f"{each_by_itself(n_tested, LEVEL)}."] if n_tested > 1 else []
    said = [_summary(records), *unranked.values(), *of_groups, *notes]
    bold = _describe_bold(columns) if any(cell.bold for line in lines for cell in line) else ""
    if len(sorting.records) > 1 and not sorting.fault:
        untested = "" if n_tested else "; differences are not tested"
        order = f"#: the order by {sorting.first.title}{untested}"
        bold, said = (f"{bold}; {order}", said) if bold else ("", [f"{order}.", *said])
    link = f"{_HUB}/datasets/{records[0].dataset.id}"
    return Table([*header, *_COUNTS], lines, _caption(records[0]), said, bold, link, frozenset(unranked))


@dataclass(frozen=True)
class _TableColumn:
    """Records of one metric and signature.

    Attributes:
        signature: Signature without the fields that do not affect scores.
        records: Records by row of the table.
        compared: Compared systems by row of the table, of the records whose row scores were compared.
    """

    signature: str
    records: Mapping[_Row, Record]
    compared: Mapping[_Row, System]

    @property
    def first(self) -> Record:
        return next(iter(self.records.values()))

    @property
    def title(self) -> str:
        one = self.first
        return number_title(
            one.metric, called=one.title, signature=one.signature, higher_is_better=one.higher_is_better
        )

    @property
    def is_tested(self) -> bool:
        """Whether the scores of the rows of every record were compared."""
        return len(self.compared) == len(self.records)

    @cached_property
    def fault(self) -> str:
        """Reason why the values cannot be ranked. Empty if they can."""
        every = list(self.records.values())
        if self.is_tested or len(every) < 2:
            return ""
        if any(record.undefined for record in every) or len({record.n for record in every}) > 1:
            return "row scores are required to know which rows have no score"
        if is_score(self.first.metric) and metric_facts(metric_of_score(self.first.metric)).compares_sets:
            sizes = sizes_signed(self.signature)
            if not are_of_one_size(sizes):
                return f"caption sets of different sizes, {sizes}" if sizes else "the sizes of the sets are unknown"
        return ""

    @cached_property
    def systems(self) -> Mapping[_Row, System]:
        """Displayed values: over the rows of all models if they were compared, otherwise from the records.

        Bold values are those of the first rank group, or the best of several values.
        """
        if self.is_tested:
            return self.compared
        values = [record.value for record in self.records.values()]
        top = max(values) if self.first.higher_is_better else min(values)
        is_ranked = len(values) > 1 and not self.fault
        return {row: _system_of(record, is_ranked and record.value == top) for row, record in self.records.items()}

    def cells(self, row: _Row) -> list[Cell]:
        """Return the cells of a row: its value, and its rank group if the column has rank groups."""
        record, system = self.records.get(row), self.compared.get(row)
        groups = [Cell(groups_text(system) if system else "-", right=True)] if self.compared else []
        if record is None:
            return [Cell("-", right=True), *groups]
        one, link = self.systems[row], record.source.url if record.source else ""
        return [replace(value_cell(one, Numbers(RECORD_DIGITS)), link=link), *groups]


def _describe_bold(columns: Sequence[_TableColumn]) -> str:
    """Return the meaning of the bold cells."""
    bold = [column for column in columns if any(one.bold for one in column.systems.values())]
    titles = " and ".join(column.first.title for column in bold if column.is_tested)
    if all(column.is_tested for column in bold):
        return "the first group"
    return "the best value" + (f", by {titles} the first group" if titles else "")


def _check_one_signature(columns: Mapping[str, Mapping[str, Sequence[Record]]]) -> None:
    for metric, signatures in columns.items():
        if len(signatures) > 1:
            raise UsageError.about(
                "records",
                f"must have one signature per metric in a table, got {len(signatures)} of {metric}: "
                f"{', '.join(signatures)}",
                "show each in a separate column with --split-signatures",
            )


def _caption(record: Record) -> str:
    on = record.dataset
    revision = f" at {on.revision[:8]}" if on.revision else ""
    profile = ", with demo models of the embedded profile" if record.profile == "embedded" else ""
    return f"{on.name}, {on.config}, {on.split}{revision}{profile}"


def _summary(records: Sequence[Record]) -> str:
    dates = sorted({record.date for record in records})
    period = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    intervals = sorted({f"{100 * record.ci.level:g}%" for record in records if record.ci})
    values = values_told(
        {record.metric: record.title for record in records}, {record.metric: record.signature for record in records}
    )
    what = f"{values} with {' or '.join(intervals)} intervals" if intervals else values.removesuffix(",")
    return f"{what}, {period}."


def _row(record: Record) -> _Row:
    return record.model.id, record.model.revision


def _names(records: Sequence[Record]) -> dict[tuple[str, str | None], str]:
    names = {_row(record): record.model.name for record in records}
    for label in (lambda row: row[0], lambda row: f"{row[0]} {(row[1] or 'no revision')[:14]}"):
        taken = Counter(names.values())
        names = {row: label(row) if taken[name] > 1 else name for row, name in names.items()}
    return names


def _rank_rows(records: Sequence[Record], sorting: _TableColumn) -> dict[_Row, str]:
    """Return the ranks of the rows, best first. Rows without a value or a rank come last, in record order."""
    if sorting.fault:
        return {row: "-" for row in [*sorting.records, *map(_row, records)]}
    values = {row: one.value for row, one in sorting.systems.items()}
    ordered = sorted(values, key=values.__getitem__, reverse=sorting.first.higher_is_better)
    first = {values[row]: place for place, row in reversed([*enumerate(ordered, 1)])}  # first position of each value
    ranks = {row: str(first[values[row]]) for row in ordered}
    return ranks | {_row(record): "-" for record in records if _row(record) not in ranks}


def _system_of(record: Record, bold: bool) -> System:
    """Return the value of a record as a system that was not compared with others."""
    ci, n, value = record.ci, record.n, record.value
    low, high, few = (None, None, False) if ci is None else (ci.low, ci.high, (ci.groups or n) < FEW)
    return System(record.model.id, value, low, high, n, record.undefined, value, None, (), bold, few)


def _count(row: _Row, columns: Sequence[_TableColumn], name: str) -> str:
    """Return the number of defined or undefined rows of a model, or its range if the metrics differ in it."""
    counts = sorted({getattr(column.systems[row], name) for column in columns if row in column.records})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
