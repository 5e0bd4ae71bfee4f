"""Output of `vlgauge protocol`: tables with the published rows, JSON, and a plot over the number of references."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlgauge.core.results import plain, pvalue_text
from vlgauge.leaderboard.table import Cell, Table, render
from vlgauge.research.protocols.evaluation import Evaluation, Figure, Judgement, Task
from vlgauge.research.protocols.scoring import TaskScores
from vlgauge.research.studies.published import PublishedRow, find_published_rows, verdict
from vlgauge.stats import alpha

EMBEDDED = "embedded profile: a demo model trained on synthetic scenes; these are not figures of the published metric"


@dataclass(frozen=True)
class JudgedTask:
    """Dataset with the scores of several metrics and their evaluation.

    Attributes:
        task: The dataset.
        scores: Families of scores.
        judgement: Figures and differences.
        unscored: Metrics that require references, if the rows have none.
    """

    task: Task
    scores: Sequence[TaskScores]
    judgement: Judgement
    unscored: Sequence[str] = ()


def tables_of(judged: JudgedTask) -> list[Table]:
    """Return the table of the figures with the published values below, and the table of differences between metrics."""
    task, found, judgement = judged.task, judged.scores, judged.judgement
    evaluations = judgement.evaluations
    first = evaluations[found[0].name]
    seen = task.group_unit or ("videos" if "videos" in task.columns else "images")
    rows = []
    for scores in found:
        own = evaluations[scores.name]
        counts = [Cell(str(number), right=True) for number in (own.n, own.n_groups, own.undefined)]
        figures = [Cell(_cell(figure), right=True) for figure in own.figures.values()]
        rows.append([Cell(f"{scores.name} (embedded)" if _is_embedded(scores) else scores.name), *figures, *counts])
        rows += [_own_cells(scores.name, own)] if own.n_own != own.n else []
        rows += [_list_published_cells(row, own) for row in _find_published_row(task, scores)]
    notes = [f"left out: {count} {reason}" for reason, count in task.left_out.items() if count]
    notes += [
        f"{scores.name}: {evaluations[scores.name].undefined} {task.unit} have no score and do not count"
        for scores in found
        if evaluations[scores.name].undefined
    ]
    if any(own.n_own != own.n for own in evaluations.values()):
        n = max(own.n for own in evaluations.values())
        notes.append(
            f"figures, intervals and differences are of the {n} {task.unit} for which every metric has a score; "
            "published rows are compared with the figures on all of a metric's own"
        )
    notes += [
        f"{scores.name}: not compared with the published row: {row.apart}"
        for scores in found
        for row in _find_published_row(task, scores)
        if row.apart
    ]
    notes += [f"not scored without references: {', '.join(judged.unscored)}"] if judged.unscored else []
    notes += [EMBEDDED] if any(map(_is_embedded, found)) else []
    notes += [first.signature, *dict.fromkeys(scores.signature for scores in found if scores.signature)]
    tables = [Table(["metric", *first.figures, task.unit, seen, "undefined"], rows, notes=notes)]
    if judgement.differences:
        header = ["figure", "metrics", "difference", "p", "p (Holm)", task.unit]
        pairs = []
        for one in judgement.differences:
            pvalue = pvalue_text(one.pvalue, least=judgement.least_pvalue)
            adjusted = pvalue_text(one.adjusted_pvalue, least=judgement.least_pvalue, raw=one.pvalue)
            numbers = [Cell(text, right=True) for text in (_cell(one), pvalue, adjusted, str(one.n))]
            pairs.append([Cell(one.figure), Cell(f"{one.first} - {one.second}"), *numbers])
        title = f"Differences between metrics, in {judgement.resamples} paired bootstrap samples"
        tables.append(Table(header, pairs, title, [_correction(judgement)]))
    return tables


def _correction(judgement: Judgement) -> str:
    """Describe the tests that Holm's correction covers."""
    pairs = f"{judgement.n_pairs} {'pairs' if judgement.n_pairs > 1 else 'pair'} of metrics"
    n_figures = len({one.figure for one in judgement.differences})
    by_itself = f", separately for each of the {n_figures} figures" if n_figures > 1 else ""
    return f"p (Holm) corrects for {pairs}{by_itself}; significant at {float(alpha(judgement.level)):.2g}."


def _find_published_row(task: Task, scores: TaskScores) -> list[PublishedRow]:
    """Return the published row of a family of scores, as a list of at most one row."""
    if _is_embedded(scores):
        return []
    return find_published_rows(task.name, task.rules, scores.name, scores.signature)[:1]


def _own_cells(name: str, own: Evaluation) -> list[Cell]:
    """Return the row of the figures on all rows or pairs that a metric defines."""
    figures = [Cell(_figure_text(value), right=True) for value in own.own_values.values()]
    return [Cell(f"{name}, on all its own"), *figures, Cell(str(own.n_own), right=True), Cell(""), Cell("")]


def _list_published_cells(row: PublishedRow, own: Evaluation) -> list[Cell]:
    cells = []
    for column in own.figures:
        stated = _verdict(row, column, own) if column in row.values else ""
        short = f" ({stated.partition(':')[0]})" if stated else ""
        cells.append(Cell(f"{row.text(column)}{short}", right=True))
    return [Cell(f"published: {row.source}"), *cells, *(Cell("", right=True) for _ in range(3))]


def _verdict(row: PublishedRow, column: str, own: Evaluation) -> str:
    drawn = own.drawn.get(column)
    spread = () if drawn is None else (drawn.n, drawn.deviation)
    return verdict(row, column, own.own_values[column], *spread)


def draw(axes: Any, judged: Mapping[str | None, JudgedTask]) -> None:
    """Plot the first figure of every metric over the number of references, with intervals."""
    counts = [count or "all" for count in judged]
    evaluated = [one.judgement.evaluations for one in judged.values()]
    names = dict.fromkeys(name for own in evaluated for name in own)
    for name in names:
        there = [(i, own[name]) for i, own in enumerate(evaluated) if name in own]
        figures = [next(iter(evaluation.figures.values())) for _, evaluation in there]
        places = [i for i, _ in there]
        (line,) = axes.plot(places, [figure.value for figure in figures], marker="o", label=name)
        # An interval need not contain the value.
        lows, highs = ([getattr(figure, end) for figure in figures] for end in ("low", "high"))
        axes.vlines(places, lows, highs, color=line.get_color(), alpha=0.4)
    first = next(iter(evaluated[0].values()))
    axes.set_xticks(range(len(counts)), counts)
    axes.set_xlabel("references")
    axes.set_ylabel(next(iter(first.figures)))
    axes.legend()


def render_tables(judged: Mapping[str | None, JudgedTask], form: str) -> str:
    """Render all tables, with the number of references as a heading if there are several numbers."""
    texts = []
    for count, one in judged.items():
        tables = tables_of(one)
        if count is not None:
            words = "no references" if count == "none" else f"references: {count}"
            tables[0] = Table(tables[0].header, tables[0].rows, words, tables[0].notes)
        texts += [render(table, form) for table in tables]
    return "\n\n".join(texts)


def record_of(judged: JudgedTask) -> dict[str, Any]:
    """Return the record of a task for JSON output.

    Returns:
        Results by name of the score, ``differences``, ``unscored`` and ``left_out``, in plain Python types.
    """
    record: dict[str, Any] = {}
    for scores in judged.scores:
        own = judged.judgement.evaluations[scores.name]
        published = [
            {
                "source": row.source,
                "row": row.row,
                "values": dict(row.values),
                "verdicts": {column: _verdict(row, column, own) for column in row.values},
            }
            for row in _find_published_row(judged.task, scores)
        ]
        made = {"scores": scores.values, "scores_signature": scores.signature, "published": published}
        record[scores.name] = {**plain(own), **made}
    record["differences"] = plain(list(judged.judgement.differences))
    record["unscored"] = list(judged.unscored)
    return {**record, "left_out": dict(judged.task.left_out)}


def _is_embedded(scores: TaskScores) -> bool:
    return "profile:embedded" in scores.signature.split("|")


def _cell(figure: Figure) -> str:
    interval = f" [{figure.low:.1f}, {figure.high:.1f}]" if figure.low == figure.low else ""
    return f"{_figure_text(figure.value)}{interval}"


def _figure_text(value: float) -> str:
    """Format a figure for a table."""
    return "undefined" if math.isnan(value) else f"{value:.2f}"
