"""Run the studies of Chan et al. on your caption sets, as a table, JSON and a figure."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from vlgauge.api.computing import load_metric
from vlgauge.cli.drawing import FIGURE_SUFFIXES, check_figure_file, write_study
from vlgauge.cli.inputs import add_limits, add_shared, declare
from vlgauge.cli.outputs import check_target
from vlgauge.cli.sensitivity import DEFAULT_METRICS, load_metrics
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import progress_bar
from vlgauge.core.results import format_value, mean_of_defined, to_table
from vlgauge.inputs.tables.files import Rows, read_rows, take_column
from vlgauge.leaderboard.table import Numbers
from vlgauge.models.sentences.model import MINILM
from vlgauge.research.studies.central_captions import CentralCaption, central_captions, central_captions_by_chance
from vlgauge.research.studies.mauve_against_humans import MauveRow, mauve_against_humans
from vlgauge.research.studies.mauve_baseline import SEED, mauve_package
from vlgauge.research.studies.people_splits import people_splits
from vlgauge.research.studies.temperature_curve import curve
from vlgauge.research.studies.unique_versus_correct import PER_SIDE, unique_versus_correct
from vlgauge.stats import FEW_MARK, FEW_NOTE, bootstrap_interval

Table = list[dict[str, Any]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    studies = parser.add_subparsers(dest="study", required=True, metavar="STUDY")
    one = _add(studies, "curve", "scores by sampling temperature, with scores of equal distributions", "trm")
    words = 'columns of the candidates, one per system: in each row {"0.5": [...], "1.0": [...]}, by temperature'
    declare(one, "--predictions COLUMN,...", words, default="predictions")
    one.set_defaults(run=run_curve)
    one = _add(
        studies,
        "unique-versus-correct",
        "scores of repeated candidates and of candidates of other images",
        "trm,trm:distance=cider_d",
    )
    declare(one, "--per-side N", f"references and candidates (default: {PER_SIDE})", type=int, default=PER_SIDE)
    one.set_defaults(run=run_unique_versus_correct)
    one = _add(studies, "splits", "human captions against human captions, at equal sizes", DEFAULT_METRICS)
    declare(one, "--size N", "captions per group (default: halves)", type=int)
    declare(one, "--draws N", "number of repetitions (default: 1)", type=int, default=1)
    one.set_defaults(run=run_splits)
    one = _add(studies, "central", "the most central caption of each image, and its length", "trm")
    declare(one, "--show N", "central captions to print (default: 5)", type=int, default=5)
    one.set_defaults(run=run_central)
    one = _add(
        studies, "mauve", "MAUVE of a corpus and of human captions (requires the package mauve-text)", None, SEED
    )
    add_shared(one, "predictions")
    declare(one, "--encoder NAME", f"sentence encoder, as for mmd_bert (default: {MINILM})", default=MINILM)
    one.set_defaults(run=run_mauve)


def _add(studies: Any, name: str, words: str, metrics: str | None, seed: int = 0) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = studies.add_parser(name, help=words, description=words[0].upper() + words[1:])
    declare(parser, "file FILE", "JSONL, JSON, CSV, TSV or Parquet file, an image per row")
    add_shared(parser, "input_format")
    add_limits(parser)
    add_shared(parser, "references")
    if metrics:
        declare(parser, "--metrics METRICS", f"METRIC or METRIC:NAME=VALUE;... (default: {metrics})", default=metrics)
        add_shared(parser, "set")
    changed = {"seed": {"default": seed, "help": f"random seed (default: {seed})"}}
    plot = f"plot the study ({', '.join(FIGURE_SUFFIXES)})"
    add_shared(parser, "profile", "seed", "output", "plot", "no_progress", plot=plot, **changed)
    return parser


def run_curve(options: argparse.Namespace) -> None:
    """Compute Figures 5 and 6 of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    rows, references = _read(options)
    titles = [title.strip() for title in options.predictions.split(",")]
    sampled = {title: by_temperature(take_column(rows, title), title) for title in titles}
    metrics = load_metrics(options)
    table: Table = []
    with progress_bar(len(metrics) * sum(map(len, sampled.values())), "Testing") as advance:
        for title, predictions in sampled.items():
            found = curve(predictions, references, metrics, advance)
            table += [{"candidates from": title} | asdict(point) for point in found]
    _finish(options, table, _plot_curve)


def by_temperature(cells: Sequence[Any], title: str) -> dict[float, list[Any]]:
    """Return the candidates of all rows for each temperature, from cells that contain them by temperature.

    Raises:
        UsageError: If a cell is not a dictionary by temperature, or the rows have different temperatures.
    """
    found: dict[float, list[Any]] = {}
    for row, cell in enumerate(cells):
        own = {}
        for key, captions in cell.items() if isinstance(cell, dict) else ():
            try:
                number = float(key)
            except ValueError:
                number = math.nan
            if not 0.0 <= number < math.inf:
                raise UsageError(f"--predictions must have temperatures of at least 0, got {key!r} in row {row}")
            own[number] = captions
        if not own:
            raise UsageError(
                f'--predictions must be columns of captions by temperature, such as {{"0.5": [...]}}, got '
                f"{type(cell).__name__} in row {row} of {title!r}"
            )
        if row and own.keys() != found.keys():
            raise UsageError(
                f"--predictions must have the same temperatures in every row, got different ones in row {row} of "
                f"{title!r}"
            )
        for number, captions in own.items():
            found.setdefault(number, []).append(captions)
    return found


def run_unique_versus_correct(options: argparse.Namespace) -> None:
    """Compute Figures B.2 and B.3 of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    _, references = _read(options)
    metrics = load_metrics(options, pvalue=None)
    size = options.per_side
    with progress_bar(len(metrics) * size * (size + 1), "Mixing") as advance:
        found = unique_versus_correct(references, metrics, per_side=size, seed=options.seed, advance=advance)
    _finish(options, [asdict(cell) for cell in found], _plot_grid)


def run_splits(options: argparse.Namespace) -> None:
    """Compute Table B.1 of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    _, references = _read(options)
    metrics = load_metrics(options)
    found = people_splits(references, metrics, size=options.size, draws=options.draws, seed=options.seed)
    _finish(options, [asdict(row) for row in found], _plot_splits)


def run_central(options: argparse.Namespace) -> None:
    """Compute Figures B.4 to B.7 of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    _, references = _read(options)
    metrics = load_metrics(options, pvalue=None)
    if len(metrics) > 1 or not hasattr(next(iter(metrics.values())), "compared"):
        raise UsageError(f"--metrics must be trm, with one distance, for central captions, got {options.metrics!r}")
    metric = next(iter(metrics.values()))
    found = central_captions(references, metric)
    known = [one for one in found if one is not None]
    if not known:
        raise UsageError("FILE must have at least three captions of an image, got fewer in every row")
    titles = ["central captions", "distance", "the others'", "words", "the others' words"]
    central = known[: max(options.show, 0)]
    print(
        to_table(titles, [[one.caption, one.distance, one.others, one.words, one.words_of_others] for one in central])
    )
    chance = central_captions_by_chance(references, metric, options.seed)
    _print_lengths(found, chance, options.seed)
    tables = {"rows": found, "by_chance": chance}
    write_study(options, tables, lambda figure: _plot_central(figure, found, chance))


def run_mauve(options: argparse.Namespace) -> None:
    """Compute MAUVE for comparison with the other metrics, as in Appendix B.5 of the paper.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    rows, references = _read(options)
    predictions = take_column(rows, options.predictions)
    mauve_package()  # check before anything is encoded
    profile = {"profile": options.profile} if options.profile else {}
    metric = load_metric("mmd_bert", encoder=options.encoder, **profile)
    found = mauve_against_humans(predictions, references, metric, seed=options.seed)
    titles = ["candidates from", "images", "candidates", "references", "MAUVE (higher: more similar)"]
    print(to_table(titles, [[row.source, row.images, row.candidates, row.references, row.mauve] for row in found]))
    print(f"\nencoder: {found[0].encoder}")
    records = [asdict(row) for row in found]
    table = [{"candidates from": record.pop("source")} | record for record in records]
    write_study(options, {"rows": table}, lambda figure: _plot_mauve(figure, found))


def _print_lengths(found: Sequence[CentralCaption | None], chance: Sequence[CentralCaption | None], seed: int) -> None:
    """Print whether central captions are longer than the others, and longer than expected by chance."""
    pairs = [(own, other) for own, other in zip(found, chance, strict=True) if own is not None and other is not None]
    left_out = f", {len(found) - len(pairs)} left out" if len(pairs) < len(found) else ""
    lines = {
        "words more than the others of the image": [own.more_words for own, _ in pairs],
        "of captions assigned to the images at random": [other.more_words for _, other in pairs],
        "more than by chance": [own.more_words - other.more_words for own, other in pairs],
    }
    print()
    is_of_few = False
    for words, numbers in lines.items():
        interval = bootstrap_interval(numbers, seed=seed)
        is_of_few |= interval is not None and interval.of_few
        low, high = (interval.low, interval.high) if interval else (None, None)
        text = Numbers(2).text(mean_of_defined(numbers), low, high, few=bool(interval and interval.of_few))
        print(f"{words}: {text}, {len(pairs)} images{left_out}")
    if is_of_few:
        print(f"{FEW_MARK} {FEW_NOTE}")


def _read(options: argparse.Namespace) -> tuple[Rows, list[Any]]:
    check_target(options.output, [options.file])
    check_figure_file(options.plot, [options.file])
    rows = read_rows(options.file, options.input_format)
    return rows, take_column(rows, options.references)


def _finish(options: argparse.Namespace, table: Table, draw: Callable[[Any, pd.DataFrame], None]) -> None:
    print(to_table(list(table[0]), [[format_value(*cell) for cell in row.items()] for row in table]))
    write_study(options, {"rows": table}, lambda figure: draw(figure, pd.DataFrame(table)))


def _panels(figure: Any, table: pd.DataFrame) -> dict[str, Any]:
    labels = list(table["metric"].unique())
    columns = min(3, len(labels))
    axes = figure.subplots(math.ceil(len(labels) / columns), columns, squeeze=False).ravel().tolist()
    for empty in axes[len(labels) :]:
        empty.set_axis_off()
    for one, label in zip(axes, labels, strict=False):
        one.set_title(f"{label}\n({'higher' if _higher(label) else 'lower'} is better)", fontsize="small")
    return dict(zip(labels, axes, strict=False))


def _higher(label: str) -> bool:
    """Return whether higher is better, as for plain scores of single captions. Statistics of sets are divergences."""
    return label.endswith(":base")


def _plot_curve(figure: Any, table: pd.DataFrame) -> None:
    for label, axes in _panels(figure, table).items():
        systems = table[table["metric"] == label].groupby("candidates from", sort=False)
        for i, (system, points) in enumerate(systems):
            heat = points["temperature"]
            axes.fill_between(heat, points["low"], points["high"], color=f"C{i}", alpha=0.2)
            axes.plot(heat, points["score"], color=f"C{i}", marker="o", label=system)
            title = "equal distributions" if i == 0 else None
            axes.plot(heat, points["null_mean"], color=f"C{i}", linestyle="--", label=title)
        axes.set_xlabel("temperature")
    axes.legend(fontsize="small")


def _plot_grid(figure: Any, table: pd.DataFrame) -> None:
    for label, axes in _panels(figure, table).items():
        values = table[table["metric"] == label].pivot(index="unique", columns="correct", values="score")
        seen = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis" if _higher(label) else "viridis_r")
        axes.set_xticks(range(values.shape[1]), values.columns)
        axes.set_yticks(range(len(values)), values.index)
        axes.set(xlabel="correct candidates", ylabel="captions per pool")
        figure.colorbar(seen, ax=axes)


def _plot_splits(figure: Any, table: pd.DataFrame) -> None:
    axes = figure.subplots()
    mean = table["mean_log_pvalue"]
    ranges = [mean - table["lowest"], table["highest"] - mean]
    axes.errorbar(mean, table.index, xerr=ranges, fmt="o", label="human against human, and range")
    axes.plot(table["expected_mean_log_pvalue"], table.index, "k|", markersize=16, label="equal distributions")
    axes.set_yticks(table.index, table["metric"] + " " + table["sizes"])
    axes.invert_yaxis()
    axes.set_xlabel("mean ln p (lower: easier to distinguish)")
    axes.legend(fontsize="small")


def _plot_central(figure: Any, found: Sequence[CentralCaption | None], chance: Sequence[CentralCaption | None]) -> None:
    axes = figure.subplots()
    differences, by_chance = ([one.more_words for one in own if one is not None] for own in (found, chance))
    axes.hist(differences, bins=30)
    axes.axvline(float(np.mean(differences)), color="C1", label=f"mean {np.mean(differences):.2f}")
    if by_chance:
        label = f"captions assigned at random {np.mean(by_chance):.2f}"
        axes.axvline(float(np.mean(by_chance)), color="k", linestyle="--", label=label)
    axes.set(xlabel="words of the central caption minus words of the other captions", ylabel="images")
    axes.legend()


def _plot_mauve(figure: Any, found: Sequence[MauveRow]) -> None:
    axes = figure.subplots()
    axes.set_title(f"MAUVE (higher: more similar), {found[0].encoder}", fontsize="small")
    labels = [f"{row.source}, {row.candidates} v {row.references}: {row.mauve:.3f}" for row in found]
    if any(row.curve is None for row in found):
        axes.barh(range(len(found)), [row.mauve for row in found])
        axes.set_yticks(range(len(found)), labels)
        axes.invert_yaxis()
        axes.set(xlim=(0.0, 1.0), xlabel="MAUVE")
        return
    for row, label in zip(found, labels, strict=True):
        candidates, people = np.array(row.curve).T
        axes.plot(candidates, people, label=label, linestyle="--" if row.source == "people" else "-")
    axes.set(xlabel="exp(-c KL) of the candidates from mixtures of both", ylabel="exp(-c KL) of the references")
    axes.legend(fontsize="small")
