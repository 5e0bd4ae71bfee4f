"""Table of corpus-level values with intervals, directions and ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlgauge.api.columns import shorten
from vlgauge.core.catalog import direction_of, score_facts
from vlgauge.core.results import DIGITS, INTERVAL, format_value, to_cell, to_table
from vlgauge.core.signatures import describe_demo_models
from vlgauge.families.aggregation import (
    RowCounts,
    corpus_interval,
    describe_silent_rows,
    find_counts,
    has_interval,
    number_title,
    row_counts,
)
from vlgauge.leaderboard.runs import RowGroups
from vlgauge.leaderboard.table import PLAIN, Cell, Table
from vlgauge.stats import FEW_MARK, FEW_NOTE

CONFIDENCE = 0.95  # also the level of the intervals that metrics compute


@dataclass(frozen=True)
class Number:
    """Corpus-level value.

    Attributes:
        name: Key in the result.
        metric: Name of the metric.
        value: The value.
        low: Lower end of the interval. None without an interval.
        high: Upper end of the interval. None without an interval.
        better: "higher" or "lower". None if it is unknown, as for counts.
        score_range: Range of a score as text. None if it is unknown.
        few: Whether the interval is marked, because it is computed from few rows or groups of rows.
        rows: Numbers of rows with and without a score. None for a value without intervals.
    """

    name: str
    metric: str
    value: float
    low: float | None
    high: float | None
    better: str | None
    score_range: str | None
    few: bool
    rows: RowCounts | None


def numbers_of(
    results: Mapping[str, Mapping[str, Any]], confidence: float = CONFIDENCE, groups: RowGroups | None = None
) -> list[Number]:
    """Return the corpus-level values of the results, without duplicates.

    The p-value and the effect size of a corpus-level test come first.

    Args:
        results: Results by metric name.
        confidence: Level of the intervals.
        groups: Groups of rows that belong together. None if rows are independent.

    Raises:
        ValueError: If `confidence` is not between 0 and 1, or scores are invalid.
    """
    return [
        number
        for name, result in results.items()
        for number in _corpus_numbers(name, result, confidence, groups)
        if not _stands_elsewhere(number.name, name, results)
    ]


def _stands_elsewhere(key: str, name: str, results: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a value belongs to a component that also has a separate result with the same signature.

    An example is rovist_c, a component of rovist.
    """
    parts = [other for other in results if other != name and f"{key}_".startswith(f"{other}_")]
    return any(results[name].get(f"{part}_signature") == results[part][f"{part}_signature"] for part in parts)


def _corpus_numbers(name: str, result: Mapping[str, Any], confidence: float, groups: RowGroups | None) -> list[Number]:
    first = (f"{name}_pvalue", f"{name}_excess")
    keys = [key for key in first if key in result]
    keys += [key for key, value in result.items() if isinstance(value, (int, float)) and key not in first]
    labels = None if groups is None else groups.labels
    numbers = []
    for key in keys:
        low, high, few = None, None, False
        rows = row_counts(key, result) if has_interval(key, result) else None
        if rows and (found := corpus_interval(key, result, level=confidence, groups=labels)):
            low, high, few = found.low, found.high, found.of_few
        if confidence == CONFIDENCE and key + INTERVAL in result and groups is None:
            low, high = result[key + INTERVAL]  # from the seed of the metric
        numbers.append(Number(key, name, format_value(key, result[key]), low, high, *_reading(key, result), few, rows))
    return numbers


def _reading(key: str, result: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return direction and range of a value, each None if it is unknown. Only scores with a signature have a range."""
    higher = direction_of(key)
    score_range = score_facts(key).score_range if f"{key}_signature" in result and higher is not None else ""
    return None if higher is None else "higher" if higher else "lower", score_range or None


def summary(
    results: Mapping[str, dict[str, Any]],
    ids: Sequence[Any],
    texts: Sequence[Any],
    limit: int,
    *,
    digits: int = DIGITS,
    confidence: float = CONFIDENCE,
    groups: RowGroups | None = None,
    where: str = "--rows 0 prints all, --output FILE writes all",
) -> str:
    """Return the table of scores, then corpus-level values with intervals and directions, notes and signatures."""
    scores = [result[f"{name}_scores"] for name, result in results.items()]
    n_shown = len(ids) if limit <= 0 else min(limit, len(ids))
    rows = [[ids[i], *(column[i] for column in scores), shorten(texts[i])] for i in range(n_shown)]
    lines = [to_table(["id", *results, "predictions"], rows, digits, most_lines=1)]
    if n_shown < len(ids):
        lines.append(f"... and {len(ids) - n_shown} more rows ({where})")
    found = numbers_of(results, confidence, groups)
    numbers = [[one.name, one.value, one.low, one.high, one.better, one.score_range] for one in found]
    titles = ["result", "value", f"{100 * confidence:g}% from", "to", "better", "range"]
    used = [i for i in range(len(titles)) if any(row[i] is not None for row in numbers)]
    cells = [[row[i] for i in used] for row in numbers]
    lines += ["", to_table([titles[i] for i in used], cells, digits), ""]
    signatures = _signatures(results)
    lines += [line for note in [*describe_demo_models(signatures), *notes_of(results, groups)] for line in (note, "")]
    lines += signatures.values()
    return "\n".join(lines)


def numbers_table(results: Mapping[str, Mapping[str, Any]], groups: RowGroups | None = None) -> Table:
    """Return the corpus-level values as a table for a page. Names of values from demo models are marked."""
    rows = []
    for one in numbers_of(results, groups=groups):
        signature = str(results[one.metric][f"{one.metric}_signature"])
        higher = None if one.better is None else one.better == "higher"
        if one.name.endswith("_undefined"):
            continue  # column n shows the undefined rows already
        if isinstance(one.value, int) or one.low is None:
            value = to_cell(one.value)
        else:
            value = PLAIN.text(one.value, one.low, one.high, few=one.few)
        n = "" if one.rows is None else f"{one.rows.n}"
        n += f" of {one.rows.n + one.rows.undefined}" if one.rows and one.rows.undefined else ""
        named = number_title(one.name, signature=signature, higher_is_better=higher)
        cells = [Cell(named), Cell(value, right=True), Cell(n, right=True)]
        rows.append([*cells, Cell(one.score_range or "")])
    signatures = _signatures(results)
    notes = [f"{note}." for note in describe_demo_models(signatures)]
    drawn = "the rows" if groups is None else f"whole groups of {groups.name}"
    notes.append(f"Values with {100 * CONFIDENCE:g}% bootstrap intervals over {drawn}.")
    return Table(["score", "value", "n", "range"], rows, notes=[*notes, *signatures.values()])


def _signatures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: str(result[f"{name}_signature"]) for name, result in results.items()}


def notes_of(results: Mapping[str, Mapping[str, Any]], groups: RowGroups | None = None) -> list[str]:
    """Return notes on the values: which ones are not means, and how their intervals are computed."""
    notes = []
    if added := [name for name, own in results.items() if find_counts(name, str(own[f"{name}_signature"]))]:
        notes.append(f"{', '.join(added)}: the value is the corpus-level value, not the mean of the row scores")
    silent = {name: row_counts(name, results[name]).silent for name in added}
    notes += [describe_silent_rows(name, n_rows) for name, n_rows in silent.items() if n_rows]
    numbers = numbers_of(results, groups=groups)
    if groups is not None and any(one.low is not None for one in numbers):
        notes.append(f"intervals resample whole groups of {groups.name} ({len(set(groups.labels))} groups)")
    # Components of a marked metric have at most as many rows as the metric, so they are not listed.
    marked = {one.name for one in numbers if one.few and one.name in results}
    if few := [one.name for one in numbers if one.few and (one.name in marked or one.metric not in marked)]:
        notes.append(f"{FEW_MARK} {', '.join(few)}: {FEW_NOTE}")
    return notes
