"""The numbers of a whole call: values with intervals, directions and ranges, as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlgauge.catalog import direction_of, score_facts
from vlgauge.corpus_values import COUNTED, corpus_interval, number_title
from vlgauge.leaderboard.table import Cell, Table, mean_text
from vlgauge.results import DIGITS, INTERVAL, shown_number, to_cell, to_table
from vlgauge.scoring.columns import shortened
from vlgauge.signatures import TOY_NUMBERS, made_by_toy
from vlgauge.statistics import FEW, FEW_MARK, FEW_NOTE

CONFIDENCE = 0.95  # of the intervals that metrics compute themselves, too


@dataclass(frozen=True)
class Number:
    """A number of a whole call.

    Attributes:
        name: Its key in the result.
        metric: Name of the metric.
        value: The number.
        low: Lower end of its interval; None without one.
        high: Upper end.
        better: "higher" or "lower"; None where that is not known, as of counts.
        score_range: Range of a score, in words; likewise.
    """

    name: str
    metric: str
    value: float
    low: float | None
    high: float | None
    better: str | None
    score_range: str | None


def numbers_of(results: Mapping[str, Mapping[str, Any]], confidence: float = CONFIDENCE) -> list[Number]:
    """The numbers of the results, each once.

    What tests the corpus leads: its p-value, then how large the effect is.
    """
    return [
        number
        for name, result in results.items()
        for number in _corpus_numbers(name, result, confidence)
        if not _stands_elsewhere(number.name, name, results)
    ]


def _stands_elsewhere(key: str, name: str, results: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a number is of a part, such as rovist_c of rovist, that is also scored by itself, in the same way."""
    parts = [other for other in results if other != name and f"{key}_".startswith(f"{other}_")]
    return any(results[name].get(f"{part}_signature") == results[part][f"{part}_signature"] for part in parts)


def _corpus_numbers(name: str, result: Mapping[str, Any], confidence: float) -> list[Number]:
    first = (f"{name}_pvalue", f"{name}_excess")
    keys = [key for key in first if key in result]
    keys += [key for key, value in result.items() if isinstance(value, (int, float)) and key not in first]
    ends: dict[str, Sequence[float]] = {}
    for key in keys:
        if confidence == CONFIDENCE and key + INTERVAL in result:
            ends[key] = result[key + INTERVAL]  # of the metric's own seed
        elif f"{key}_scores" in result:
            found = corpus_interval(key, result, level=confidence)
            ends |= {} if found is None else {key: (found.low, found.high)}
    numbers = []
    for key in keys:
        low, high = ends.get(key, (None, None))
        numbers.append(Number(key, name, shown_number(key, result[key]), low, high, *_reading(key, result)))
    return numbers


def _reading(key: str, result: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return direction and range of a number, each None if it is not known; only signed scores have a range."""
    higher = direction_of(key)
    score_range = score_facts(key).score_range if f"{key}_signature" in result else ""
    return None if higher is None else "higher" if higher else "lower", score_range or None


def summary(
    results: Mapping[str, dict[str, Any]],
    ids: Sequence[Any],
    texts: Sequence[Any],
    limit: int,
    *,
    digits: int = DIGITS,
    confidence: float = CONFIDENCE,
    where: str = "--rows 0 prints all, --output FILE writes all",
) -> str:
    """The table of scores; below it numbers of the whole with intervals and directions, signatures."""
    scores = [result[f"{name}_scores"] for name, result in results.items()]
    n_shown = len(ids) if limit <= 0 else min(limit, len(ids))
    rows = [[ids[i], *(column[i] for column in scores), shortened(texts[i])] for i in range(n_shown)]
    lines = [to_table(["id", *results, "predictions"], rows, digits, most_lines=1)]
    if n_shown < len(ids):
        lines.append(f"... and {len(ids) - n_shown} more rows ({where})")
    numbers = [
        [one.name, one.value, one.low, one.high, one.better, one.score_range] for one in numbers_of(results, confidence)
    ]
    titles = ["result", "value", f"{100 * confidence:g} % from", "to", "better", "range"]
    used = [i for i in range(len(titles)) if any(row[i] is not None for row in numbers)]
    cells = [[row[i] for i in used] for row in numbers]
    lines += ["", to_table([titles[i] for i in used], cells, digits), ""]
    lines += [line for note in [*_toys_of(results), *notes_of(results)] for line in (note, "")]
    lines += [result[f"{name}_signature"] for name, result in results.items()]
    return "\n".join(lines)


def numbers_table(results: Mapping[str, Mapping[str, Any]], confidence: float = CONFIDENCE) -> Table:
    """The numbers as a table for a page; numbers of toys say so beside their names."""
    rows = []
    for one in numbers_of(results, confidence):
        signature = str(results[one.metric][f"{one.metric}_signature"])
        higher = None if one.better is None else one.better == "higher"
        if one.name.endswith("_undefined"):
            continue  # it is what n lacks
        scores = results[one.metric].get(f"{one.name}_scores")
        defined = 0 if scores is None else sum(score == score for score in scores)
        if isinstance(one.value, int) or one.low is None:
            value = to_cell(one.value)
        else:
            value = mean_text(one.value, one.low, one.high, few=defined < FEW)
        n = "" if scores is None else f"{defined}" if defined == len(scores) else f"{defined} of {len(scores)}"
        named = number_title(one.name, signature=signature, higher_is_better=higher)
        cells = [Cell(named), Cell(value, right=True), Cell(n, right=True)]
        rows.append([*cells, Cell(one.score_range or "")])
    signatures = [str(result[f"{name}_signature"]) for name, result in results.items()]
    notes = [*(f"{note}." for note in _toys_of(results))]
    notes.append(f"Values with {100 * confidence:g} % bootstrap intervals over the rows.")
    return Table(["score", "value", "n", "range"], rows, notes=[*notes, *signatures])


def _toys_of(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    toys = [name for name, result in results.items() if made_by_toy(str(result[f"{name}_signature"]))]
    return [f"{', '.join(toys)}: scores of toys, which {TOY_NUMBERS}"] if toys else []


def notes_of(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is to be said of the numbers: which are no means, and whose intervals are of few rows."""
    notes = []
    if added := [name for name in results if name in COUNTED]:
        notes.append(f"{', '.join(added)}: the value is that of the corpus, not the mean of the scores of its rows")
    defined = {name: sum(score == score for score in result[f"{name}_scores"]) for name, result in results.items()}
    if few := [name for name, n in defined.items() if 2 <= n < FEW]:
        notes.append(f"{FEW_MARK} {', '.join(few)}: {FEW_NOTE}")
    return notes
