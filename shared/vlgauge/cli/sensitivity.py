"""`vlgauge sensitivity FILE`: p-values of the metrics of caption sets over 1 to k candidates, as table and picture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vlgauge.catalog import metric_names
from vlgauge.cli.loading import load_metric
from vlgauge.cli.outputs import check_target
from vlgauge.cli.outputs import write_json
from vlgauge.cli.scoring import refuse_settings_of_python
from vlgauge.cli.scoring import setting
from vlgauge.cli.tables import READERS
from vlgauge.cli.tables import add_limits
from vlgauge.cli.tables import read_rows
from vlgauge.cli.tables import take_column
from vlgauge.progress import progress_bar
from vlgauge.results import to_table
from vlgauge.settings import setting_names

DEFAULT_METRICS = "trm,trm:distance=cider_d,mmd_bert,frechet_bert"
PICTURES = (".png", ".svg", ".pdf")
NEEDS_MATPLOTLIB = '--plot needs matplotlib; run: pip install "vlgauge[demo]"'


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("sensitivity", help="p-values over numbers of candidates", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="JSONL, JSON, CSV, TSV or Parquet file of caption sets")
    parser.add_argument("--input-format", choices=list(READERS), help="where the ending of FILE does not tell it")
    add_limits(parser)
    parser.add_argument("--predictions", metavar="COLUMN", default="predictions", help="column of the candidates")
    parser.add_argument("--references", metavar="COLUMN", default="references", help="column of the references")
    parser.add_argument(
        "--metrics",
        default=DEFAULT_METRICS,
        help=f"METRIC or METRIC:NAME=VALUE;... (default: {DEFAULT_METRICS})",
    )
    parser.add_argument("--sizes", metavar="K,K,...", help="numbers of candidates (default: 1 to the largest there is)")
    parser.add_argument("--no-human", action="store_true", help="leave out people's captions against people's")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of every metric")
    parser.add_argument("--profile", choices=("paper", "embedded"), help="published weights, or what is shipped")
    parser.add_argument("--output", metavar="FILE", help="write the rows as JSON to this file")
    parser.add_argument("--plot", metavar="FILE", help=f"draw mean ln p over the candidates ({', '.join(PICTURES)})")
    parser.add_argument("--seed", type=int, default=0, help="of the split of people's captions (default: 0)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, test, print, draw."""
    from vlgauge.sensitivity import human_split
    from vlgauge.sensitivity import sensitivity

    sizes = None if options.sizes is None else _numbers(options.sizes)
    check_target(options.output, [options.file])
    check_target(options.plot, [options.file], "--plot", PICTURES)
    if options.plot and find_spec("matplotlib") is None:
        raise ImportError(NEEDS_MATPLOTLIB)
    rows = read_rows(options.file, options.input_format)
    predictions, references = (take_column(rows, column) for column in (options.predictions, options.references))
    metrics = loaded_metrics(options)
    steps = len(metrics) * (max(map(len, predictions), default=0) if sizes is None else len(sizes))
    with progress_bar(steps, "Testing") as advance:
        found = sensitivity(predictions, references, metrics, sizes, advance)
        people = [] if options.no_human else sensitivity(*human_split(references, seed=options.seed), metrics)
    table = [asdict(row) | {"candidates from": "model"} for row in found]
    # The largest size holds all the candidates of every split.
    last = max((row.candidates for row in people), default=0)
    table += [asdict(row) | {"candidates from": "people"} for row in people if row.candidates == last]
    print(to_table(list(table[0]), [list(row.values()) for row in table]))
    if options.output:
        write_json(options.output, {"rows": table})
    if options.plot:
        draw(table, Path(options.plot))
        sys.stderr.write(f"wrote {options.plot}\n")
    return 0


def loaded_metrics(options: argparse.Namespace) -> dict[str, Any]:
    """Metrics by label, with exact p-values where these are cheap enough, unless `--set` says otherwise."""
    common: dict[str, Any] = {"pvalue": "auto"} | dict(map(setting, options.set))
    if options.profile:
        common["profile"] = options.profile
    return {label: _loaded(label, common) for label in options.metrics.split(",") if label.strip()}


def _loaded(label: str, common: dict[str, Any]) -> Any:
    name, _, own = label.strip().partition(":")
    settings = common | dict(map(setting, filter(None, own.split(";"))))
    if name == "trm":
        settings.setdefault("mean_aggregate", True)
    refuse_settings_of_python(settings)
    plain = load_metric(name)
    if not hasattr(plain, "partitions"):
        known = [one for one in metric_names() if hasattr(load_metric(one), "partitions")]
        raise ValueError(f"--metrics must be metrics of caption sets ({', '.join(known)}), got {name!r}")
    for setting_name in common:
        if setting_name not in setting_names(type(plain)):
            raise ValueError(
                f"--set must name a setting that every metric has, got {setting_name!r}, which {name} has not; "
                f"for one of them write --metrics METRIC:{setting_name}=VALUE"
            )
    return load_metric(name, **settings)


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"--sizes must be whole numbers with commas between them, got {text!r}") from None


def draw(table: Sequence[dict[str, Any]], path: Path) -> None:
    """Mean ln p of each metric over the number of candidates, after Figure 3 of Chan et al.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise ImportError(NEEDS_MATPLOTLIB) from error

    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    markers = "osv^D*Phx<>"
    for i, label in enumerate(dict.fromkeys(row["metric"] for row in table)):
        points = [row for row in table if row["metric"] == label and row["candidates from"] == "model"]
        (line,) = axes.plot(
            [row["candidates"] for row in points],
            [row["mean_log_pvalue"] for row in points],
            marker=markers[i % len(markers)],
            label=label,
        )
        people = [row for row in table if row["metric"] == label and row["candidates from"] == "people"]
        axes.plot(
            [row["candidates"] for row in people],
            [row["mean_log_pvalue"] for row in people],
            marker=markers[i % len(markers)],
            color=line.get_color(),
            fillstyle="none",
            linestyle="none",
        )
    axes.axhline(-1.0, color="gray", linestyle="--", linewidth=1)
    axes.annotate("equal distributions", (1.0, -1.0), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    axes.set_xlabel("candidates per example (hollow: people's captions in place of the model's)")
    axes.set_ylabel("mean ln p (lower: easier to tell apart)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(path)
