"""Compute p-values of the caption-set metrics for 1 to k candidates, as a table and a figure."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from vlgauge.api.computing import load_metric
from vlgauge.cli.drawing import FIGURE_SUFFIXES, check_figure_file, write_study
from vlgauge.cli.inputs import add_limits, add_shared, declare
from vlgauge.cli.outputs import check_target
from vlgauge.cli.scoring import check_command_settings, setting
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import progress_bar
from vlgauge.core.results import format_value, to_table
from vlgauge.inputs.tables.files import read_rows, take_column
from vlgauge.research.studies.caption_pools import share_comparisons, together
from vlgauge.research.studies.sensitivity import SensitivityRow, human_split, sensitivity

DEFAULT_METRICS = "trm,trm:distance=cider_d,mmd_bert,frechet_bert"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    declare(parser, "file FILE", "JSONL, JSON, CSV, TSV or Parquet file of caption sets")
    add_shared(parser, "input_format")
    add_limits(parser)
    add_shared(parser, "predictions", "references", references="column of the references")
    words = f"METRIC or METRIC:NAME=VALUE;... (default: {DEFAULT_METRICS})"
    declare(parser, "--metrics METRICS", words, default=DEFAULT_METRICS)
    declare(parser, "--sizes K,K,...", "numbers of candidates (default: 1 to the largest number)")
    declare(parser, "--no-human", "omit the comparison of human captions with human captions")
    plot = f"plot mean ln p over the number of candidates ({', '.join(FIGURE_SUFFIXES)})"
    add_shared(parser, "set", "profile", "output", "plot", plot=plot)
    add_shared(parser, "seed", "no_progress", seed="seed of the split of human captions (default: 0)")


def run(options: argparse.Namespace) -> None:
    """Run the command: read the captions, test them, print the table, and draw the figure.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    sizes = None if options.sizes is None else _numbers(options.sizes)
    check_target(options.output, [options.file])
    check_figure_file(options.plot, [options.file])
    rows = read_rows(options.file, options.input_format)
    predictions, references = (take_column(rows, column) for column in (options.predictions, options.references))
    metrics = load_metrics(options)
    steps = len(metrics) * (max(map(len, predictions), default=0) if sizes is None else len(sizes))
    with (
        share_comparisons(metrics, together(predictions, references), references),
        progress_bar(steps, "Testing") as advance,
    ):
        found = sensitivity(predictions, references, metrics, sizes, advance)
        table = _as_table("model", found)
        if not options.no_human:
            table += _against_people(predictions, references, metrics, options.seed)
    formatted = [{name: format_value(name, value) for name, value in row.items() if name != "details"} for row in table]
    print(to_table(list(formatted[0]), [list(row.values()) for row in formatted]))
    write_study(options, {"rows": table}, lambda figure: draw(figure, table))


def _against_people(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], metrics: Mapping[str, Any], seed: int
) -> list[dict[str, Any]]:
    """Return rows of human captions against other human captions, and of model captions at the same set sizes."""
    people, others = human_split(references, seed=seed)
    size = max(map(len, people), default=0)
    if not size:
        return []
    as_many = [list(ours[: len(theirs)]) for ours, theirs in zip(predictions, people, strict=True)]
    table = _as_table("people", sensitivity(people, others, metrics, [size]))
    if max(map(len, as_many)) == size:
        table += _as_table("model, human set sizes", sensitivity(as_many, others, metrics, [size]))
    return table


def _as_table(source: str, rows: Sequence[SensitivityRow]) -> list[dict[str, Any]]:
    return [{"candidates from": source} | asdict(row) for row in rows]


def load_metrics(options: argparse.Namespace, pvalue: str | None = "auto") -> dict[str, Any]:
    """Return the metrics by label, with exact p-values if they are cheap enough.

    Settings of `--set` and the argument `pvalue` take precedence.

    Returns:
        Metrics by label.

    Raises:
        ValueError: If there is no label, or a metric or a setting is invalid.
    """
    common: dict[str, Any] = {"pvalue": pvalue} | dict(map(setting, options.set))
    if options.profile:
        common["profile"] = options.profile
    labels = [label for label in options.metrics.split(",") if label.strip()]
    if not labels:
        raise UsageError(f"--metrics must name at least one metric, got {options.metrics!r}")
    return {label: _load_metric(label, common) for label in labels}


def _load_metric(label: str, common: dict[str, Any]) -> Any:
    name, _, own = label.strip().partition(":")
    settings = common | dict(map(setting, filter(None, own.split(";"))))
    if name == "trm":
        settings.setdefault("mean_aggregate", True)
    check_command_settings(settings)
    plain = load_metric(name)
    if not hasattr(plain, "among"):
        known = [one for one in metric_names() if hasattr(load_metric(one), "among")]
        raise UsageError(f"--metrics must be metrics of caption sets ({', '.join(known)}), got {name!r}")
    return load_metric(name, **settings)


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--sizes must be integers separated by commas, got {text!r}") from None


def draw(figure: Any, table: Sequence[dict[str, Any]]) -> None:
    """Plot the mean ln p of each metric over the number of candidates, as in Figure 3 of Chan et al."""
    from matplotlib.ticker import MaxNLocator

    axes = figure.subplots()
    markers = "osv^D*Phx<>"
    styles = {"model": ("full", "-"), "people": ("none", "none"), "model, human set sizes": ("bottom", "none")}
    for i, (label, rows) in enumerate(pd.DataFrame(table).groupby("metric", sort=False)):
        look = {"marker": markers[i % len(markers)], "color": f"C{i % 10}"}
        for source, (fill, line) in styles.items():
            points = rows[rows["candidates from"] == source].set_index("candidates")
            title = label if source == "model" else None
            axes.plot(points["mean_log_pvalue"], fillstyle=fill, linestyle=line, label=title, **look)
            dashed = {"marker": "_", "linestyle": "--" if line == "-" else "none", "alpha": 0.5}
            axes.plot(points["expected_mean_log_pvalue"], **look | dashed)
    axes.plot([], [], marker="_", color="gray", linestyle="--", label="equal distributions,\nthese sizes")
    axes.set_xlabel(
        "candidates per example (hollow: human captions; half-filled: model captions at the same set sizes)"
    )
    axes.set_ylabel("mean ln p (lower: easier to distinguish)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside right upper", fontsize="small")
