"""MMD-BERT: caption clouds, and the observed value among those of all ways to split the captions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import vlgauge
from vlgauge.cli.tables import Rows
from vlgauge.cli.tables import read_rows
from vlgauge.cli.tables import take_column
from vlgauge.encoders.sentence import sentence_encoder
from vlgauge.progress import progress_bar
from vlgauge.statistics import partitions

from .caption_plots import TOLERANCE
from .caption_plots import caption_cloud
from .caption_plots import null_histogram
from .pages import fragment
from .section import Say
from .section import Section
from .section import Table
from .section import extreme_positions
from .section import positions_by_kind
from .section import shortened

NAME = "mmd_bert"
DEVICE = "cpu"  # the captions are few, and the digits are the same on every machine with or without a GPU
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def section(examples: Path, say: Say) -> Section:
    """Score the caption sets and show what their captions look like to the metric."""
    rows = read_rows(str(examples / "caption_sets.jsonl"))
    ids, kinds = (take_column(rows, column) for column in ("id", "kind"))
    kinds_at = positions_by_kind(kinds)
    say(f"Loading MiniLM and scoring {len(rows)} caption sets")
    metric = vlgauge.load(NAME, keep_in_memory=True, profile="embedded", pvalue="exact", device=DEVICE)
    result = _result(metric, rows)
    scores, pvalues = result[f"{NAME}_scores"], result[f"{NAME}_pvalues"]
    say("Testing each kind as a corpus of its own")
    of_kinds = {kind: _result(metric, [rows[i] for i in where]) for kind, where in kinds_at.items()}
    picked = {kind: extreme_positions(where, scores) for kind, where in kinds_at.items()}
    chosen = [i for where in picked.values() for i in where]
    say(f"Drawing the plots of {len(chosen)} caption sets")
    shown = dict(zip(chosen, _shown(metric, rows, result, chosen), strict=True))
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores={kind: of_kind[f"{NAME}_scores"] for kind, of_kind in of_kinds.items()},
        by_kind=_kind_table(of_kinds),
        extremes=Table(
            ("example", "score", "p", "candidates"),
            [(ids[i], scores[i], pvalues[i], shortened(rows[i]["predictions"])) for i in chosen],
        ),
        body=fragment(NAME, kinds={kind: [shown[i] for i in where] for kind, where in picked.items()}),
    )


def _result(metric: Any, rows: Rows) -> dict[str, Any]:
    columns = {column: take_column(rows, column) for column in ("predictions", "references")}
    result: dict[str, Any] = metric.compute(**columns)
    return result


def _kind_table(of_kinds: dict[str, dict[str, Any]]) -> Table:
    keys = (NAME, f"{NAME}_pvalue", f"{NAME}_stratified_pvalue")
    return Table(
        ("kind", "sets", "undefined", "mean score", "p (harmonic mean)", "p (stratified)"),
        [
            (kind, len(result[f"{NAME}_scores"]), result[f"{NAME}_undefined"], *(result[key] for key in keys))
            for kind, result in of_kinds.items()
        ],
    )


def _shown(metric: Any, rows: Rows, result: dict[str, Any], chosen: Sequence[int]) -> list[dict[str, Any]]:
    """What the page shows of the chosen caption sets."""
    shown = []
    with progress_bar(len(chosen), "Drawing") as advance:
        for i in chosen:
            values = {"score": result[f"{NAME}_scores"][i], "pvalue": result[f"{NAME}_pvalues"][i]}
            shown.append({"scene": "", **rows[i], **values, **_explained(metric, rows[i], f"{NAME}-{i}")})
            advance(1)
    return shown


def _explained(metric: Any, row: dict[str, Any], name: str) -> dict[str, Any]:
    """Plots and words that explain the score of a caption set, or why it has none."""
    n, m = len(row["predictions"]), len(row["references"])
    if min(n, m) < 2:
        why = f"each side needs two captions or more, got {counted(n, 'candidate')} and {counted(m, 'reference')}"
        return {"undefined": why, "cloud": "", "histogram": "", "meaning": ""}
    encoder = sentence_encoder(profile="embedded", device=DEVICE)
    vectors = encoder.encode([*row["predictions"], *row["references"]])
    null = _null_distribution(metric, vectors, n)
    count = int(np.count_nonzero(null >= null[0] - TOLERANCE))
    return {
        "undefined": "",
        "cloud": caption_cloud(name, vectors, n),
        "histogram": null_histogram(name, null),
        "meaning": meaning(count, len(null), n, m),
    }


def _null_distribution(metric: Any, vectors: np.ndarray, n: int) -> np.ndarray:
    """The squared MMD of every split by the metric's own functions, shape ``(P,)``, the observed one first."""
    formulas = sys.modules[type(metric).__module__]
    squared = formulas.squared_distances(vectors[None])
    kernel = formulas.gaussian_kernel(squared, formulas.bandwidths(squared, metric.bandwidth))
    splits = partitions(n, len(vectors) - n, pvalue="exact").candidates
    null: np.ndarray = formulas.null_distribution(kernel, splits, metric.estimator)[0]
    return null


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
