"""Measure how well metrics agree with human ratings or rankings."""

import argparse
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from vlgauge.api.columns import read_columns, row_ids
from vlgauge.api.computing import Settings, compute_all, load_metrics
from vlgauge.cli.inputs import add_shared, at_least, declare, level, ratings_of
from vlgauge.cli.outputs import check_target, print_result
from vlgauge.cli.scoring import add_scoring, metric_list, name_list, settings_by_metric
from vlgauge.core.catalog import direction_of, metric_names
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError
from vlgauge.core.files import first_repeated
from vlgauge.core.results import plain, pvalue_text, row_keys
from vlgauge.families.aggregation import number_title
from vlgauge.inputs.tables.files import Rows, make_paths_absolute, read_rows, take_column
from vlgauge.leaderboard import read_run
from vlgauge.leaderboard.runs import labels_of, numbers
from vlgauge.leaderboard.table import PLAIN, Cell, Table, few_notes, render
from vlgauge.stats import RESAMPLES
from vlgauge.stats.rating_agreement import COEFFICIENTS, PVALUE_NOTE, Agreement, agreement

TITLES = {"tau_b": "tau-b", "tau_c": "tau-c", "spearman": "Spearman", "pearson": "Pearson"}

Scores = dict[str, dict[str, float]]  # scores by row key, by name


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        f"{__doc__} The scores are computed from FILE (--metrics), read from it (--scores), or joined by ID with a "
        "file that `vlgauge score ... --output` wrote (--run)."
    )
    declare(parser, "file FILE", "JSONL, JSON, CSV, TSV or Parquet file with the ratings")
    rated = parser.add_mutually_exclusive_group(required=True)
    declare(rated, "--ratings COLUMN", "ratings, higher is better; a list counts as its mean")
    declare(rated, "--rankings COLUMN", "ranks, 1 is best; a list counts as its mean")
    scored = parser.add_mutually_exclusive_group(required=True)
    declare(scored, "--metrics METRIC,...", "score FILE with these metrics")
    declare(scored, "--scores COLUMN,...", "columns of FILE with scores")
    declare(scored, "--run SCORES", "file of scores, joined by id", dest="scores_file")
    add_scoring(parser)
    declare(parser, "--groups COLUMN", "resample rows with equal values in this column together")
    declare(parser, "--confidence LEVEL", "confidence level of the intervals (default: 0.95)", type=level, default=0.95)
    words = f"number of bootstrap samples; 0 for no intervals (default: {RESAMPLES})"
    resamples = {"type": partial(at_least, 0), "default": RESAMPLES, "help": words}
    changed = {"seed": "seed of the intervals (default: 0)", "output": "write all results as JSON to this file"}
    add_shared(parser, "resamples", "seed", "format", "output", resamples=resamples, **changed)


def run(options: argparse.Namespace) -> None:
    """Run the command: read the ratings, compute or join the scores, and print their correlations.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    check_target(options.output, [file for file in (options.file, options.scores_file) if file])
    settings = settings_by_metric(options.set, metric_list(options.metrics)) if options.metrics else {}
    if not options.metrics and (options.set or options.profile or options.config):
        raise UsageError("--set, --profile and --config require --metrics")
    rows = read_rows(options.file, options.input_format)
    ids = row_ids(rows, options.id)
    keys = row_keys(ids)
    if (twice := first_repeated(keys)) is not None:
        raise UsageError(f"--id must be a column that names each row once, got {twice!r} more than once")
    title, sign, option = (options.ratings, 1, "--ratings") if options.ratings else (options.rankings, -1, "--rankings")
    ratings = [sign * rating for rating in ratings_of(rows, title, option)]  # higher is better
    labels = labels_of(rows, ids, options.groups) if options.groups else None
    scores, signatures = scores_of(rows, keys, settings, options)
    how: dict[str, Any] = {"level": options.confidence, "resamples": options.resamples, "seed": options.seed}
    groups = [labels[key] for key in keys] if labels else None
    found = {
        name: agreement([own.get(key, math.nan) for key in keys], ratings, groups=groups, **how)
        for name, own in scores.items()
    }
    unmatched = {name: len(own.keys() ^ set(keys)) for name, own in scores.items()}
    facts = {"ratings": title, "agreement": found, "unmatched": unmatched, "signatures": signatures}
    record = plain(facts | how)
    table = as_table(found, unmatched, title, options.confidence, options.groups)
    print_result(options, record, lambda: render(table, options.format))
    if signatures and options.format == "text":
        print("\n" + "\n".join(signatures.values()))


def scores_of(
    rows: Rows, keys: Sequence[str], settings: Mapping[str, Settings], options: argparse.Namespace
) -> tuple[Scores, dict[str, str]]:
    """Return the scores that the options select, and their signatures.

    Returns:
        Scores by row key, by name, and signatures by name. Scores from columns have no signature.

    Raises:
        ValueError: If a column, a metric or a file of scores is not valid.
    """
    if options.metrics:
        return compute_scores(rows, keys, settings, options)
    if options.scores_file:
        return run_scores(options.scores_file)
    columns = {name: numbers(name, take_column(rows, name), keys) for name in name_list(options.scores, "--scores")}
    return {name: dict(zip(keys, own, strict=True)) for name, own in columns.items()}, {}


def compute_scores(
    rows: Rows, keys: Sequence[str], settings: Mapping[str, Settings], options: argparse.Namespace
) -> tuple[Scores, dict[str, str]]:
    """Compute the scores of metrics on the rows.

    Returns:
        Scores by row key, by name of the metric, and signatures by name.

    Raises:
        ValueError: If a column is missing or a row is invalid.
    """
    metrics = load_metrics(settings, config=options.config, profile=options.profile)
    columns = read_columns(rows, metrics, {column: getattr(options, column) for column in COLUMNS})
    results = compute_all(metrics, make_paths_absolute(columns, options.file), rows=rows)
    scores = {name: dict(zip(keys, result[f"{name}_scores"], strict=True)) for name, result in results.items()}
    return scores, {name: result[f"{name}_signature"] for name, result in results.items()}


def run_scores(path: str) -> tuple[Scores, dict[str, str]]:
    """Return the scores and signatures of every metric in a file written by `vlgauge score --output`.

    Returns:
        Scores by row key, by name of the metric, and signatures by name.

    Raises:
        UsageError: If the file contains no scores.
    """
    found = read_run(path, [])
    names = [] if found is None else [name for name in metric_names() if f"{name}_scores" in found]
    if found is None or not names:
        raise UsageError(f"--run must be a file that `vlgauge score --output` wrote, got {path!r}")
    keys = row_keys(found["ids"])
    scores = {
        name: dict(zip(keys, numbers(f"{name}_scores", found[f"{name}_scores"], keys), strict=True)) for name in names
    }
    return scores, {name: str(found[f"{name}_signature"]) for name in names if f"{name}_signature" in found}


def as_table(
    found: dict[str, Agreement], unmatched: dict[str, int], title: str, confidence: float, groups: str | None = None
) -> Table:
    """Return a table with a row per metric: each coefficient with its interval, and the p-value of tau-b."""
    rows = []
    for name, one in found.items():
        cells = [Cell(number_title(name, of_row=True, higher_is_better=direction_of(name)))]
        for coefficient in COEFFICIENTS:
            correlation = one.correlations[coefficient]
            ends = (correlation.low, correlation.high)
            interval = (None, None) if math.isnan(ends[0]) else ends
            cells.append(Cell(PLAIN.text(correlation.value, *interval, few=one.is_of_few), right=True))
        tested = one.correlations["tau_b"]
        cells.append(Cell(pvalue_text(tested.pvalue, least=tested.least_pvalue), right=True))
        rows.append([*cells, Cell(str(one.n), right=True)])
    notes = [f"{100 * confidence:g}% bootstrap intervals; p of no association, by tau-b: {PVALUE_NOTE}"]
    has_interval = any(not math.isnan(one.correlations["tau_b"].low) for one in found.values() if one.is_of_few)
    notes += few_notes([has_interval])
    if groups:
        notes.append(f"the intervals resample whole groups of {groups}; p treats all rows as independent")
    lower = [name for name in found if direction_of(name) is False]
    if lower:
        notes.append(f"{', '.join(lower)}: lower is better, so that agreement is below 0")
    for name, one in found.items():
        if unmatched[name]:
            notes.append(f"{name}: ids in only one file: {unmatched[name]}")
        if one.n_dropped:
            notes.append(f"{name}: rows without a score or a rating, left out: {one.n_dropped}")
        if math.isnan(one.correlations["tau_b"].value):
            notes.append(f"{name}: undefined without two different scores and two different ratings")
    header = ["metric", *TITLES.values(), "p", "n"]
    return Table(header, rows, f"Agreement with {title}", notes)
