"""Matplotlib figures of scores and systems (extra `plots`). Better scores are on the right of every score axis."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from vlgauge.api.numbers import CONFIDENCE, numbers_of
from vlgauge.api.scored import SystemScores
from vlgauge.core.catalog import metric_names, score_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.signatures import DEMO_NUMBERS, uses_demo_model
from vlgauge.core.validation import check_choice, nearest
from vlgauge.families.aggregation import find_counts, number_title, row_counts
from vlgauge.leaderboard.comparison import MetricComparison, RunComparison
from vlgauge.leaderboard.runs import scores_in
from vlgauge.leaderboard.table import the_test
from vlgauge.stats.rating_agreement import coefficient

KINDS = ("distribution", "correlation", "length")
NEEDS_MATPLOTLIB = 'plots require matplotlib; run: pip install "vlgauge[plots]"'

# Colors of Okabe and Ito, which are distinguishable with red-green color blindness.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00"),
    "#CC79A7",
)
_LINES = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
_DASHES = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_WIDTH, _PANEL = 7.0, 2.4  # inches
_GREY = "#555555"


def empty_figure(width: float, height: float) -> Any:
    """Create a matplotlib figure with a white background that notebooks show without pyplot.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    with importing(NEEDS_MATPLOTLIB):
        from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """Figure that notebooks show as PNG."""

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=110)
            return stream.getvalue()

        def _repr_html_(self) -> str:
            shows = escape("; ".join(axes.get_xlabel() or axes.get_ylabel() for axes in self.axes))
            return f'<img alt="{shows}" src="data:image/png;base64,{base64.b64encode(self._repr_png_()).decode()}">'

    return NotebookFigure(figsize=(width, height), layout="constrained", facecolor="white")


@dataclass(frozen=True)
class _Column:
    name: str
    scores: Sequence[float]
    signature: str

    @property
    def higher_is_better(self) -> bool:
        return score_facts(self.name).higher_is_better

    @property
    def label(self) -> str:
        """Axis label: name of the score, whether a demo model computed it, and its direction."""
        name = number_title(self.name, signature=self.signature, of_row=True)
        return f"{name}, {'higher' if self.higher_is_better else 'lower'} is better"


def _columns(scored: SystemScores, only: Sequence[str] | None) -> list[_Column]:
    run = scored.run()
    found = {name: _Column(name, run[f"{name}_scores"], str(run[f"{name}_signature"])) for name in scores_in(run)}
    if only is None:
        return [found[name] for name in scored.results]
    for name in only:
        if name not in found:
            raise UsageError.about("scores", f"must be in the result, got {name!r}", nearest(name, found))
    return [found[name] for name in only]


def scores_figure(scored: SystemScores, kind: str = "distribution", only: Sequence[str] | None = None) -> Any:
    """Plot the scores of rows.

    Args:
        scored: Scores.
        kind: "distribution" of each score with the corpus-level value and its interval, "correlation" for Spearman's
            coefficient of each pair of scores over the rows, or "length" for each score against the number of words.
        only: Names of the scores. None for the main score of each metric.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the kind or a score does not exist, or there are too few scores for the kind.
        ImportError: If matplotlib is not installed.
    """
    check_choice("kind", kind, KINDS)
    columns = _columns(scored, only)
    if kind == "correlation":
        return _correlation(columns)
    figure = empty_figure(_WIDTH, _PANEL * len(columns) + 0.4)
    panels = figure.subplots(len(columns), 1, squeeze=False)[:, 0]
    for axes, column in zip(panels, columns, strict=True):
        if kind == "distribution":
            _distribution(axes, column, scored)
        else:
            _against_length(axes, column, scored.columns["predictions"] or [])
    _note_demo_models(figure, [column.signature for column in columns])
    return figure


def _distribution(axes: Any, column: _Column, scored: SystemScores) -> None:
    defined = [score for score in column.scores if not math.isnan(score)]
    if defined:
        axes.hist(defined, bins="auto" if len(defined) > 1 else 1, color=SKY, edgecolor="white", linewidth=0.6)
    number = next(one for one in numbers_of(scored.results, groups=scored.groups) if one.name == column.name)
    if not math.isnan(number.value):
        kind = "corpus-level value" if find_counts(column.name, column.signature) is not None else "mean"
        axes.axvline(number.value, color=BLACK, linewidth=1.6, label=f"{kind} {number.value:.4g}")
    if number.low is not None and number.high is not None:
        words = f"{100 * CONFIDENCE:g}% interval {number.low:.4g} to {number.high:.4g}"
        axes.axvspan(number.low, number.high, facecolor="none", edgecolor=RED, hatch="////", linewidth=0, label=words)
    counts = row_counts(column.name, scored.results[number.metric])
    parts = [f"{len(defined)} rows"]
    parts += [f"{counts.silent} with an undefined score"] if counts.silent else []
    parts += [f"{counts.undefined} undefined"] if counts.undefined else []
    axes.set_title(", ".join(parts), fontsize=9, loc="left")
    axes.set_ylabel("rows")
    _score_axis(axes, column)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _score_axis(axes: Any, column: _Column | MetricComparison, label: str = "") -> None:
    """Format an axis such that better scores are on the right."""
    axes.set_xlabel(label or getattr(column, "label", ""))
    if not column.higher_is_better:
        axes.invert_xaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _against_length(axes: Any, column: _Column, texts: Sequence[Any]) -> None:
    lengths = [_words(text) for text in texts]
    axes.plot(lengths, column.scores, linestyle="none", marker="o", markersize=3.5, alpha=0.5, color=BLUE)
    value = coefficient("spearman", column.scores, lengths)
    n = sum(not math.isnan(score + length) for score, length in zip(column.scores, lengths, strict=True))
    label = "too few different values" if math.isnan(value) else f"Spearman {value:.2f}"
    axes.set_title(f"{label}, {n} rows", fontsize=9, loc="left")
    axes.set_xlabel("words")
    axes.set_ylabel(column.label.replace(", ", "\n"))
    axes.spines[["top", "right"]].set_visible(False)


def _words(text: Any) -> float:
    """Return the number of words. All captions of a set and all sentences of a story are counted."""
    if isinstance(text, str):
        return float(len(text.split()))
    if isinstance(text, Sequence):
        return float(sum(_words(one) for one in text))
    return math.nan


def _correlation(columns: Sequence[_Column]) -> Any:
    if len(columns) < 2:
        raise UsageError.about("kind", f"must not be 'correlation' for a single score, got {columns[0].name}")
    n = len(columns)
    side = max(4.4, 1.0 + 0.8 * n)
    figure = empty_figure(max(_WIDTH, side + 1.2), side)
    axes = figure.subplots()
    values = [[coefficient("spearman", one.scores, other.scores) for other in columns] for one in columns]
    drawing = axes.imshow(values, vmin=-1, vmax=1, cmap="PuOr_r")
    for row, own in enumerate(values):
        for place, value in enumerate(own):
            text = "-" if math.isnan(value) else f"{value:.2f}"
            axes.text(place, row, text, ha="center", va="center", color="white" if abs(value) > 0.6 else "black")
    names = [number_title(one.name, of_row=True, higher_is_better=one.higher_is_better) for one in columns]
    axes.set_xticks(range(n), names, rotation=40, ha="right")
    axes.set_yticks(range(n), names)
    bar = figure.colorbar(drawing, ax=axes, shrink=0.8)
    bar.set_label("Spearman's coefficient over rows")
    if len({one.higher_is_better for one in columns}) > 1:
        axes.set_title("scores with ↑ and ↓ that agree have negative values", fontsize=8, loc="left")
    _note_demo_models(figure, [column.signature for column in columns])
    return figure


def comparison_figure(comparison: RunComparison) -> Any:
    """Draw a forest plot with the paired differences of systems and their intervals for each metric.

    The first system of a pair is better on the right of 0. A filled mark is a pair with a significant difference after
    correction for all tests. Other marks are open.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    metrics = comparison.metrics
    n_pairs = len(metrics[0].pairs)
    figure = empty_figure(_WIDTH, (0.34 * n_pairs + 0.95) * len(metrics) + 0.4)
    panels = figure.subplots(len(metrics), 1, squeeze=False)[:, 0]
    for axes, compared in zip(panels, metrics, strict=True):
        for place, pair in enumerate(compared.pairs):
            is_apart = pair.better is not None
            colour = BLUE if is_apart else _GREY
            if pair.low is not None and pair.high is not None:
                style = "-" if is_apart else "--"
                axes.plot([pair.low, pair.high], [place, place], color=colour, linewidth=1.8, linestyle=style)
            face = colour if is_apart else "white"
            axes.plot(pair.difference, place, "o", markersize=7, markerfacecolor=face, markeredgecolor=colour)
        axes.axvline(0.0, color=BLACK, linewidth=0.9)
        axes.set_yticks(range(n_pairs), [f"{pair.first} - {pair.second}" for pair in compared.pairs])
        axes.set_ylim(n_pairs - 0.4, -0.6)
        words = "higher" if compared.higher_is_better else "lower"
        _score_axis(
            axes,
            compared,
            f"difference in {number_title(compared.metric, signature=compared.signature)}, {words} is better",
        )
        axes.tick_params(labelsize=9)
    note = f"right of 0 the first is better; filled: significant in {the_test(comparison)}; "
    note += f"{100 * comparison.level:g}% intervals, uncorrected"
    figure.suptitle(note, fontsize=8, x=0.01, ha="left")
    _note_demo_models(figure, [compared.signature for compared in metrics])
    return figure


def training_figure(records: Sequence[Mapping[str, Any]], scores: Sequence[str] | None = None) -> Any:
    """Plot scores over the steps of a training run.

    Args:
        records: A dictionary per evaluation with ``step`` and values, such as ``trainer.state.log_history``. Records
            without a score are ignored. Names may begin with ``eval_`` or ``test_``.
        scores: Names of the scores. None for the main score of each metric, and scores with references.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        UsageError: If no record has a step and a score, a score is in no record, or its direction is unknown.
        ImportError: If matplotlib is not installed.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        for key, value in record.items():
            name = key.removeprefix("eval_").removeprefix("test_")
            if "step" in record and _is_score(name, scores) and isinstance(value, (int, float)):
                curves.setdefault(name, []).append((float(record["step"]), float(value)))
    if lacking := [name for name in scores or () if name not in curves]:
        raise UsageError.about("scores", f"must be in a record that has a `step`, got {lacking[0]!r}, which is in none")
    if not curves:
        raise UsageError.about("records", "must have an evaluation with a `step` and a score, got none")
    figure = empty_figure(_WIDTH, 1.9 * len(curves) + 0.5)
    panels = figure.subplots(len(curves), 1, squeeze=False, sharex=True)[:, 0]
    for number, (axes, (name, points)) in enumerate(zip(panels, curves.items(), strict=True)):
        points.sort()
        facts = score_facts(name)
        defined = [value for _, value in points if not math.isnan(value)]
        look = {"color": _LINES[number % 7], "linestyle": _DASHES[number % 4], "marker": _MARKS[number % 7]}
        axes.plot([step for step, _ in points], [value for _, value in points], **look)
        if defined:
            best = max(defined) if facts.higher_is_better else min(defined)
            at = next(step for step, value in points if value == best)
            axes.plot(at, best, "o", markersize=12, markerfacecolor="none", markeredgecolor=BLACK, clip_on=False)
            axes.set_title(f"best {best:.4g} at step {at:g}", fontsize=9, loc="left")
        axes.set_ylabel(f"{name}\n{facts.better} is better")
        if not facts.higher_is_better:
            axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("step")
    return figure


def _is_score(name: str, wanted: Sequence[str] | None) -> bool:
    if wanted is not None:
        return name in wanted
    known = metric_names()
    return name in known or (name.startswith("ref_") and name.removeprefix("ref_") in known)


def _note_demo_models(figure: Any, signatures: Sequence[str]) -> None:
    """Add a note below the figure if a demo model computed a score."""
    if any(map(uses_demo_model, signatures)):
        figure.supxlabel(f"demo model: scores that {DEMO_NUMBERS}", fontsize=8, color=_GREY)
