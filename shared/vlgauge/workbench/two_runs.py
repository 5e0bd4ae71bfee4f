"""Two runs on the same rows, scored here or before: which is better, and the rows in which they differ most."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vlgauge.explain.plots import Axis
from vlgauge.leaderboard import Comparison, compare
from vlgauge.leaderboard.joined_runs import joined_rows
from vlgauge.leaderboard.runs import Run, row_keys, set_sizes
from vlgauge.results import INTERVAL
from vlgauge.set_sizes import drawn_captions
from vlgauge.workbench.scoring import Scored, metric_of, notes_of, reasons_of, rows_of, score_checked

# Columns that must say the same of a row in both runs.
_SAME = ("references", "styles")


@dataclass(frozen=True)
class Given:
    """One of the runs.

    Attributes:
        name: What it is called.
        ids: What its rows are called.
        run: Its scores, None if they are to be computed.
        columns: What is to be scored.
    """

    name: str
    ids: Sequence[Any]
    run: Run | None = None
    columns: Mapping[str, Sequence[Any] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class TwoRuns:
    """Two runs compared by one metric.

    Attributes:
        comparison: Of the rows that both have.
        scored: Per run what explains its scores, None where only scores were given; in the order of the comparison.
        left_out: Rows that one of them cannot be scored on, and why.
        notes: What the metric and the comparison warned of.
    """

    comparison: Comparison
    scored: tuple[Scored | None, Scored | None]
    left_out: Sequence[tuple[str, str]]
    notes: Sequence[str]


def compare_two(name: str, profile: str, config: str, first: Given, second: Given) -> TwoRuns:
    """Compare two runs; each row is checked once, and scored once per run.

    Args:
        name: Of the metric.
        profile: Which models score what is to be scored.
        config: Configuration of the metric.
        first: A run.
        second: Another one.

    Raises:
        ValueError: If they do not have the same rows, one way of scoring and the same references, or no row is left.
    """
    keys, orders = joined_rows({name: {"ids": one.ids} for name, one in zip("AB", (first, second), strict=True)})
    both = [_reordered(one, order) for one, order in zip((first, second), orders.values(), strict=True)]
    _check_same(*both)
    loaded = metric_of(name, profile, config)
    reasons = [reasons_of(loaded, one.columns, len(keys)) if one.run is None else [""] * len(keys) for one in both]
    whys = [why or other for why, other in zip(*reasons, strict=True)]
    left_out = [(key, why) for key, why in zip(keys, whys, strict=True) if why]
    kept = [row for row, why in enumerate(whys) if not why]
    if not kept:
        raise ValueError(left_out[0][1])
    both = [_reordered(one, kept) for one in both]
    sizes = [set_sizes(one.columns) if one.run is None else one.run.get("sizes") for one in both]
    if loaded.compares_sets and all(sizes) and sizes[0] != sizes[1]:
        both = [_with_captions(one, [min(pair) for pair in zip(*_numbers(sizes), strict=True)]) for one in both]
        sizes = [set_sizes(one.columns) if one.run is None else one.run.get("sizes") for one in both]
    scored = [None if one.run is not None else score_checked(loaded, one.columns, one.ids) for one in both]
    runs = {}
    for one, own, size in zip(both, scored, sizes, strict=True):
        runs[one.name] = one.run or {"ids": one.ids, **({"sizes": size} if size else {}), **own.result}  # type: ignore[union-attr]  # one of the two is there
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        comparison = compare(runs, [name])
    _share_axis([own for own in scored if own is not None])
    notes = [note for own in scored if own is not None for note in own.notes]
    return TwoRuns(comparison, (scored[0], scored[1]), left_out, list(dict.fromkeys([*notes, *notes_of(told)])))


def _numbers(sizes: Sequence[Any]) -> list[list[int]]:
    """Numbers of captions by the systems, of each row."""
    return [[size[0] for size in own] for own in sizes]


def _with_captions(given: Given, numbers: Sequence[int]) -> Given:
    """A run with so many captions of each row; one that is scored already stays as it is."""
    if given.run is not None:
        return given
    predictions = drawn_captions(given.columns["predictions"] or [], row_keys(given.ids), numbers, 0)
    return replace(given, columns={**given.columns, "predictions": predictions})


def _reordered(given: Given, rows: Sequence[int]) -> Given:
    """Some rows of a run, in an order."""
    n, run = len(given.ids), given.run
    if run is not None:
        # What has one value per row; the two ends of an interval have not, also with two rows.
        run = {
            key: [value[row] for row in rows]
            if isinstance(value, list) and len(value) == n and not key.endswith(INTERVAL)
            else value
            for key, value in run.items()
            # Numbers of all rows are not those of some.
            if len(rows) == n or not isinstance(value, (int, float))
        }
    return Given(given.name, [given.ids[row] for row in rows], run, rows_of(given.columns, rows))


def _check_same(first: Given, second: Given) -> None:
    for column in _SAME:
        one, other = first.columns.get(column), second.columns.get(column)
        if one is None or other is None:
            continue
        for key, own, its in zip(row_keys(first.ids), one, other, strict=True):
            if own != its:
                raise ValueError(f"`{column}` must be the same in both runs, they differ in row {key!r}")


def _share_axis(scored: Sequence[Scored]) -> None:
    """Let the scores of both runs lie on one axis."""
    explanations = [one.explanation for one in scored]
    values = [value for one in explanations for value in (*one.scores, *one.on_axis)]
    for one in explanations:
        one.axis = Axis.holding(values, one.facts.higher_is_better)
