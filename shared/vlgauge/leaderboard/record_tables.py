"""Tables of records: a row per model and a column per metric, one table per data set."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vlgauge.corpus_values import COUNTED
from vlgauge.errors import UsageError
from vlgauge.leaderboard.record import Key, Record
from vlgauge.leaderboard.record_groups import RecordGroups, column_of, table_of
from vlgauge.leaderboard.table import ARROWS, Cell, Table, few_notes, mean_text, render
from vlgauge.set_sizes import without_draw
from vlgauge.statistics import FEW

_COUNTS = ("n", "undefined")
_HUB = "https://huggingface.co"  # where models and data sets of records are


def tables(
    records: Sequence[Record],
    *,
    by: str | None = None,
    split_signatures: bool = False,
    form: str = "markdown",
    groups: RecordGroups | None = None,
) -> str:
    """A table per data set, configuration, split and revision, those of the embedded profile by themselves.

    Raises:
        ValueError: If no record is of the metric, or results of different signatures would be in one column.
    """
    if by is not None and by not in {record.metric for record in records}:
        raise UsageError(f"`by` must be a metric of the records, got {by!r}")
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
    """The table of one data set: a row per model, a column per metric, the best of each bold, ties share a rank.

    Of a column in which every model has a rank group, those of the first group are bold, as in a comparison. No value
    is bold where those of its column are of unequal numbers of examples: the hard ones may be among those that one
    model lacks.
    """
    known = groups or RecordGroups()
    columns: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        columns.setdefault(record.metric, {}).setdefault(without_draw(record.signature), []).append(record)
    if not split_signatures:
        _refuse_several_signatures(columns)
    parted = [(signature, own) for signatures in columns.values() for signature, own in signatures.items()]
    chosen = by if by in columns else next(iter(columns))
    (sorting, *_) = columns[chosen].values()
    cells = [{_row(record): record for record in own} for _, own in parted]
    tested = [all(record.key in known.groups for record in own) for _, own in parted]
    tops = [
        _first_group(own.values(), known) if has_tests else _best(own.values())
        for own, has_tests in zip(cells, tested, strict=True)
    ]
    rows = _ranked(records, {_row(record): record for record in sorting})
    header, notes, of_groups, unequal = ["#", "model"], [], [], []
    grouped = [any(record.key in known.groups for record in own) for _, own in parted]
    for number, (signature, own) in enumerate(parted, 1):
        mark = f" ({number})" if split_signatures and len(columns[own[0].metric]) > 1 else ""
        header.append(f"{own[0].title} {ARROWS[own[0].higher_is_better]}{mark}")
        header += ["group"] if grouped[number - 1] else []
        notes.append(f"{mark.strip()} {signature}".strip())
        unequal += [f"{own[0].title}{mark}"] if _sizes(own)[1:] else []
        of_groups += [f"{mark.strip()} {note}".strip() for note in known.notes.get(column_of(own[0]), ())]
    names = _names(records)
    lines = [
        [
            Cell(rank, right=True),
            Cell(names[row], link=f"{_HUB}/{row[0]}"),
            *(
                cell
                for own, top, has_groups in zip(cells, tops, grouped, strict=True)
                for cell in (_value_cell(own, row, top), *([_group_cell(own, row, known)] if has_groups else []))
            ),
            *(Cell(_count(row, cells, name), right=True) for name in _COUNTS),
        ]
        for row, rank in rows.items()
    ]
    notes += few_notes(_is_few(record) for _, own in parted for record in own)
    bold = ""
    if len(rows) > 1:
        titles = " and ".join(own[0].title for (_, own), has_tests in zip(parted, tested, strict=True) if has_tests)
        what = "the first group" if all(tested) else "the best value" + (f", by {titles} the first group" * any(tested))
        untested = "" if any(grouped) else "; differences are not tested"
        bold = f"{what}; #: the order by {sorting[0].title}{untested}"
    said = [f"Nothing is bold by {' and '.join(unequal)}: the models have unequal n there."] if unequal else []
    notes = [_summary(records), *said, *of_groups, *notes]
    link = f"{_HUB}/datasets/{records[0].dataset.id}"
    return Table([*header, *_COUNTS], lines, _caption(records[0]), notes, bold, link)


def _refuse_several_signatures(columns: Mapping[str, Mapping[str, Sequence[Record]]]) -> None:
    for metric, signatures in columns.items():
        if len(signatures) > 1:
            raise UsageError(
                f"`records` must have one signature per metric in a table, got {len(signatures)} of {metric}: "
                f"{', '.join(signatures)}; give each a column with --split-signatures"
            )


def _caption(record: Record) -> str:
    on = record.dataset
    revision = f" at {on.revision[:8]}" if on.revision else ""
    profile = ", with toy weights of the embedded profile" if record.profile == "embedded" else ""
    return f"{on.name}, {on.config}, {on.split}{revision}{profile}"


def _summary(records: Sequence[Record]) -> str:
    dates = sorted({record.date for record in records})
    told = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    intervals = sorted({f"{100 * record.ci.level:g} %" for record in records if record.ci})
    what = f"{_kind(records)} with {' or '.join(intervals)} intervals, " if intervals else f"{_kind(records)}, "
    return f"{what}{told}."


def _kind(records: Sequence[Record]) -> str:
    added = list(dict.fromkeys(record.title for record in records if record.metric in COUNTED))
    if not added:
        return "Means"
    if all(record.metric in COUNTED for record in records):
        return "Values of the corpus"
    return f"Means, for {' and '.join(added)} the value of the corpus,"


def _row(record: Record) -> tuple[str, str | None]:
    return record.model.id, record.model.revision


def _names(records: Sequence[Record]) -> dict[tuple[str, str | None], str]:
    names = {_row(record): record.model.name for record in records}
    for tell in (lambda row: row[0], lambda row: f"{row[0]} {(row[1] or 'of no revision')[:14]}"):
        taken = Counter(names.values())
        names = {row: tell(row) if taken[name] > 1 else name for row, name in names.items()}
    return names


def _ranked(
    records: Sequence[Record], sorting: Mapping[tuple[str, str | None], Record]
) -> dict[tuple[str, str | None], str]:
    """Ranks of the rows, the best first; those without a value come last and have none."""
    higher = next(iter(sorting.values())).higher_is_better
    ordered = sorted(sorting, key=lambda row: -sorting[row].value if higher else sorting[row].value)
    first: dict[float, int] = {}  # of those with a value
    for place, row in enumerate(ordered, 1):
        first.setdefault(sorting[row].value, place)
    ranks = {row: str(first[sorting[row].value]) for row in ordered}
    return ranks | {_row(record): "-" for record in records if _row(record) not in ranks}


def _is_few(record: Record) -> bool:
    """Whether its interval is of so few examples that it is to be marked."""
    return record.ci is not None and (record.ci.groups or record.n) < FEW


def _best(own: Collection[Record]) -> set[Key]:
    """Who has the best value of a column; nobody where the values are of unequal numbers of examples."""
    if _sizes(own)[1:]:
        return set()
    top = (max if next(iter(own)).higher_is_better else min)(record.value for record in own)
    return {record.key for record in own if record.value == top}


def _first_group(own: Collection[Record], known: RecordGroups) -> set[Key]:
    """Who is in the first rank group of a column; nobody where its values are of unequal numbers of examples."""
    return set() if _sizes(own)[1:] else {record.key for record in own if record.key in known.bold}


def _value_cell(own: Mapping[tuple[str, str | None], Record], row: tuple[str, str | None], top: set[Key]) -> Cell:
    if row not in own:
        return Cell("-", right=True)
    record = own[row]
    best = record.key in top
    low, high = (record.ci.low, record.ci.high) if record.ci else (None, None)
    link = record.source.url if record.source else ""
    text = mean_text(record.value, low, high, digits=3, few=_is_few(record))
    return Cell(text, best, right=True, link=link)


def _group_cell(own: Mapping[tuple[str, str | None], Record], row: tuple[str, str | None], known: RecordGroups) -> Cell:
    return Cell(known.groups.get(own[row].key, "-") if row in own else "-", right=True)


def _sizes(own: Collection[Record]) -> list[int]:
    return sorted({record.n for record in own})


def _count(row: tuple[str, str | None], cells: Sequence[Mapping[tuple[str, str | None], Record]], name: str) -> str:
    """Number of the defined or undefined examples of a model; both ends where its metrics differ in it."""
    counts = sorted({getattr(own[row], name) for own in cells if row in own})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
