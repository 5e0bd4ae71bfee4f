"""The bundled caption sets: read, scored by kind, and told in the words that the metrics of two sets share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.media.tables import Rows, read_rows, take_column
from vlgauge.progress import progress_bar

from .section import Table, extreme_positions, positions_by_kind, shortened

DEVICE = "cpu"  # the captions are few, and the digits are the same on every machine with or without a GPU
TESTED = ("p", "excess", "95 % from", "to")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class CaptionSets:
    """Caption sets and their kinds.

    Attributes:
        rows: Each with ``id``, ``predictions`` and ``references``, perhaps ``scene``.
        ids: What each is called.
        kinds_at: Positions of the sets of each kind.
    """

    rows: Rows
    ids: list[str]
    kinds_at: dict[str, list[int]]


def read_caption_sets(examples: Path) -> CaptionSets:
    """The caption sets of a folder of examples."""
    rows = read_rows(str(examples / "caption_sets.jsonl"))
    ids, kinds = (take_column(rows, column) for column in ("id", "kind"))
    return CaptionSets(rows, ids, positions_by_kind(kinds))


def scored(metric: Any, rows: Rows) -> dict[str, Any]:
    """What a metric says of some caption sets."""
    columns = {column: take_column(rows, column) for column in ("predictions", "references")}
    with warnings.catch_warnings():
        # The bundled sets are of several sizes on purpose, and the page says of each why it has no score.
        warnings.filterwarnings("ignore", message=".* is (a mean over sets|undefined for all) of")
        result: dict[str, Any] = metric.compute(**columns)
    return result


def scored_by_kind(metric: Any, sets: CaptionSets) -> dict[str, dict[str, Any]]:
    """What a metric says of each kind as a corpus of its own."""
    return {kind: scored(metric, [sets.rows[i] for i in where]) for kind, where in sets.kinds_at.items()}


def scores_of_kinds(name: str, of_kinds: Mapping[str, dict[str, Any]]) -> dict[str, list[float]]:
    """The scores of each kind."""
    return {kind: result[f"{name}_scores"] for kind, result in of_kinds.items()}


def kind_table(name: str, of_kinds: Mapping[str, dict[str, Any]]) -> Table:
    """The corpus p of each kind, the excess with its interval, and the mean scores."""
    return Table(
        ("kind", "sets", "undefined", *TESTED, "mean score"),
        [
            (kind, len(result[f"{name}_scores"]), result[f"{name}_undefined"], *tested(result, name), result[name])
            for kind, result in of_kinds.items()
        ],
    )


def tested(result: Mapping[str, Any], name: str) -> tuple[float, float, float, float]:
    """The numbers that `TESTED` names: corpus p, excess, and both ends of its interval."""
    low, high = result[f"{name}_excess_interval"]
    return result[f"{name}_pvalue"], result[f"{name}_excess"], low, high


def extremes_table(name: str, sets: CaptionSets, result: dict[str, Any]) -> Table:
    """The sets with the highest and the lowest score of each kind."""
    scores, pvalues = result[f"{name}_scores"], result[f"{name}_pvalues"]
    chosen = [i for where in sets.kinds_at.values() for i in extreme_positions(where, scores)]
    rows = [(sets.ids[i], scores[i], pvalues[i], shortened(sets.rows[i]["predictions"])) for i in chosen]
    return Table(("example", "score", "p", "candidates"), rows)


def shown_sets(
    name: str,
    sets: CaptionSets,
    result: dict[str, Any],
    picked: Mapping[str, Sequence[int]],
    explain: Callable[[int, str], dict[str, Any]],
) -> dict[str, list[dict[str, Any]]]:
    """What the page shows of the picked sets of each kind.

    Args:
        name: Name of the metric.
        sets: Caption sets.
        result: What the metric says of all of them.
        picked: Positions to show, by kind.
        explain: Gives the ``figures`` and the ``meaning`` of the set at a position, and perhaps more ``facts``, each a
            name and a number; it also gets a name for the plots.
    """
    shown: dict[str, list[dict[str, Any]]] = {kind: [] for kind in picked}
    with progress_bar(sum(map(len, picked.values())), "Drawing") as advance:
        for kind, where in picked.items():
            for i in where:
                row = sets.rows[i]
                score, facts = result[f"{name}_scores"][i], [("p", result[f"{name}_pvalues"][i])]
                item = {"scene": "", **row, "score": score, "facts": facts, "undefined": why_undefined(row)}
                shown[kind].append(item if item["undefined"] else item | explain(i, f"{name}-{i}"))
                advance(1)
    return shown


def why_undefined(row: Mapping[str, Any]) -> str:
    """The reason why a caption set has no score; empty if it has one."""
    n, m = len(row["predictions"]), len(row["references"])
    if min(n, m) >= 2:
        return ""
    return f"each side needs two captions or more, got {counted(n, 'candidate')} and {counted(m, 'reference')}"


def meaning(count: int, total: int, n: int, m: int) -> str:
    """What a permutation p-value of ``count / total`` means, in words."""
    p = count / total
    surprise = "Only " if p <= 0.05 else ""
    sentence = (
        f"{surprise}{count} of {total} ways to split these {in_words(n + m)} captions into {in_words(n)} and "
        f"{in_words(m)} {'gives' if count == 1 else 'give'} a value at least as large as this one"
    )
    if n == m and count == 2:
        sentence += " (this split and its mirror image, so no set of this size can have a smaller p)"
    if p <= 0.05:
        return f"{sentence}: the candidates are not just more captions of the kind that the references are."
    if p <= 0.2:
        return f"{sentence}: the candidates may differ from the references, but one set this small cannot tell."
    return f"{sentence}: by this test, the candidates could pass for references."


def in_words(number: int) -> str:
    """A small number as a word."""
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def counted(number: int, noun: str) -> str:
    """A number and its noun, such as "one candidate"."""
    return f"{in_words(number)} {noun}{'' if number == 1 else 's'}"
