"""Compare systems by their predictions or scores."""

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from vlgauge.api.columns import row_ids, shorten
from vlgauge.api.computing import Settings, load_metrics
from vlgauge.api.score_suite import choose_compared, choose_metrics, find_suite
from vlgauge.api.scored import SystemScores
from vlgauge.api.systems import (
    GivenSystem,
    labels_of_systems,
    long_systems,
    runs_of,
    score_systems,
    wide_systems,
)
from vlgauge.cli import scoring
from vlgauge.cli.drawing import check_figure_file, write_figure
from vlgauge.cli.inputs import add_shared, declare, digits, scale
from vlgauge.cli.outputs import check_report, check_target, write_json, write_output
from vlgauge.core.catalog import metric_of_score
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError
from vlgauge.core.results import DIGITS, plain, row_keys, to_json
from vlgauge.core.suites import SUITES
from vlgauge.inputs.tables.files import Rows, read_rows, take_column
from vlgauge.leaderboard import RunComparison, compare, read_run, rows_that_differ
from vlgauge.leaderboard.comparison import FAMILIES
from vlgauge.leaderboard.joined_runs import join_rows
from vlgauge.leaderboard.paper import paper_latex
from vlgauge.leaderboard.runs import labels_of
from vlgauge.leaderboard.table import Numbers, differences_table, pairs_table, render, systems_table


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        f"{__doc__} A, B, ... are files of predictions with a column of ids, scored here, or files that "
        "`vlgauge score ... --output` wrote; their rows are joined by id. Differences have paired bootstrap intervals "
        "and sign-flip tests with Holm's correction; systems in one rank group do not differ significantly."
    )
    declare(parser, "metric METRIC", scoring.METRIC)
    words = "predictions or scores: one file per system, or one file with all (see --predictions, --system)"
    declare(parser, "files FILE", words, nargs="+")
    declare(parser, "--names NAME,...", "names of the systems (default: file names)")
    declare(parser, "--system COLUMN", "column of system names in a single FILE; --id is the column of row ids")
    declare(parser, "--baseline NAME", "compare the other systems with this one only, not all pairs")
    scoring.add_scoring(parser)
    scoring.add_suite_options(parser)
    words = "resample rows with equal values in this column together, such as the captions of one image"
    declare(parser, "--groups COLUMN", words)
    declare(parser, "--groups-file FILE", "table with ids and the group column (default: first FILE)")
    words = "number of bootstrap samples and permutations (default: 10000 for intervals, as many as required for tests)"
    add_shared(parser, "level", "resamples", resamples=words)
    words = "tests that Holm's correction covers: the pairs of all metrics together (default), or of each metric"
    declare(parser, "--family", words, choices=FAMILIES, default=FAMILIES[0])
    add_shared(parser, "seed", seed="seed of intervals and tests (default: 0)")
    declare(parser, "--rows-that-differ N", "also show the N largest differences", type=int, default=0)
    declare(parser, "--report FILE", "write a page that explains these rows for both systems, side by side (.html)")
    plot = "plot the differences with their intervals to this file (.png, .svg or .pdf; extra plots)"
    output = "write the whole comparison as JSON to this file"
    add_shared(parser, "plot", "format", "output", plot=plot, output=output)
    group = parser.add_argument_group("tables", "number format; --booktabs writes a table for a paper")
    declare(group, "-w, --digits N", "digits after the decimal point (default: 4)", type=digits, default=DIGITS)
    declare(group, "--scale X", "multiply by X, such as 100 (default: 1)", type=scale, default=1.0)
    declare(group, "--no-intervals", "omit the intervals")
    words = "with --format latex: one booktabs float with a row per system and a column per metric"
    declare(group, "--booktabs", words)
    declare(group, "--caption LATEX", "caption of the LaTeX table, followed by a legend of the marks")
    declare(group, "--label NAME", "label of the LaTeX table")


def run(options: argparse.Namespace) -> None:
    """Run the command: read or compute the scores of every system, compare them, and print the tables.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    _check_tables(options)
    check_target(options.output, options.files)
    suite = find_suite(options.metric)
    without = scoring.names_in(options.without)
    if suite is None and without:
        raise UsageError(f"--without requires a suite ({', '.join(SUITES)}), got {options.metric}")
    scores = [] if suite is not None else scoring.name_list(options.metric)
    if suite is not None:
        choose_metrics(suite, (), without)
        metrics = [name for name in suite.metrics if name not in without]
    else:
        metrics = list(dict.fromkeys(map(metric_of_score, scores)))
    settings = scoring.settings_by_metric(options.set, metrics)
    check_report(options.report, options.files, list(settings))
    check_figure_file(options.plot, options.files)
    if options.report and options.rows_that_differ < 1:
        raise UsageError("--report requires --rows-that-differ N, the number of rows that it explains")
    if options.groups_file and not options.groups:
        raise UsageError("--groups-file requires --groups COLUMN")
    files = _systems(scores, options)
    if options.report and (given := [one.file for one in files.values() if one.run is not None]):
        raise UsageError(f"--report requires files of predictions, which it explains, got scores in {given[0]!r}")
    if suite is not None:
        settings = choose_compared(suite, files, without, settings)
        scores = list(settings)
    join_rows({name: {"ids": file.ids} for name, file in files.items()})  # check the IDs before scoring
    scored = _score_systems(files, settings, options)
    runs = runs_of(files, scored, scores)
    baseline = next((name for name, file in files.items() if options.baseline == file.file), options.baseline)
    how = {name: getattr(options, name) for name in ("family", "level", "resamples", "seed")}
    comparison = compare(runs, scores, baseline=baseline, groups=_groups(files, options), **how)
    record = as_record(comparison, options.rows_that_differ)
    if options.output:
        write_json(options.output, record)
    if options.report:
        pages = import_module("vlgauge.api.pages")
        page = pages.differences_page(comparison, scored, options.rows_that_differ, options.warned)
        write_output(options.report, page, "--report")
    if options.plot:
        write_figure(import_module("vlgauge.api.figures").comparison_figure(comparison), options.plot)
    print(to_json(record) if options.format == "json" else _render_value(comparison, options, _texts(scored)))


def _check_tables(options: argparse.Namespace) -> None:
    if options.booktabs and options.format != "latex":
        raise UsageError(f"--booktabs requires --format latex, got {options.format}")
    for name in ("caption", "label"):
        if getattr(options, name) is not None and not options.booktabs:
            raise UsageError(f"--{name} requires --booktabs")


def _systems(scores: Sequence[str], options: argparse.Namespace) -> dict[str, GivenSystem]:
    (path, *others), titles = options.files, (options.predictions or "").split(",")
    if others:
        if options.system is not None:
            raise UsageError(f"--system requires one FILE with the rows of all systems, got {1 + len(others)}")
        names = system_names(options.files, options.names)
        return {name: _read(file, scores, options) for name, file in zip(names, options.files, strict=True)}
    if options.system is None and len(titles) < 2:
        raise UsageError(
            f"FILE must be at least two files, one per system, got only {path!r}; or one file with a column of "
            f"predictions per system, --predictions ours,base, or with a column of system names, --system COLUMN"
        )
    if options.names is not None:
        raise UsageError("--names requires a FILE per system; in one FILE the systems are named by columns or cells")
    rows = scoring.join_annotations(read_rows(path, options.input_format), options)
    if options.system is not None:
        return long_systems(rows, _name_rows(rows, path, options), options.system, path)
    options.predictions = None
    return wide_systems(rows, row_ids(rows, options.id), [title.strip() for title in titles], path)


def system_names(files: Sequence[str], given: str | None) -> list[str]:
    """Return the system names passed by the user, or otherwise the file names.

    Folders and extensions are removed from file names unless this would make them ambiguous.

    Raises:
        UsageError: If there is not one distinct name per file.
    """
    stems = [Path(file).stem for file in files]
    names = [name.strip() for name in given.split(",")] if given else stems
    if not given and len(set(stems)) < len(stems):
        names = list(files)
    if len(names) != len(files) or len(set(names)) < len(names) or not all(names):
        raise UsageError(f"--names must be {len(files)} different names, one per FILE, got {', '.join(names)}")
    return names


def _read(path: str, metrics: Sequence[str], options: argparse.Namespace) -> GivenSystem:
    found = None if options.input_format else read_run(path, metrics)
    if found is not None:
        return GivenSystem(found["ids"], found, file=path)
    rows = scoring.join_annotations(read_rows(path, options.input_format), options)
    return GivenSystem(_name_rows(rows, path, options), rows=rows, file=path)


def _name_rows(rows: Rows, path: str, options: argparse.Namespace) -> list[Any]:
    try:
        return take_column(rows, options.id or "id")
    except UsageError as error:
        raise error.with_message(f"{path}: {error}; choose the column of row IDs with --id COLUMN") from None


def _score_systems(
    systems: Mapping[str, GivenSystem], settings: Mapping[str, Settings], options: argparse.Namespace
) -> dict[str, SystemScores]:
    if all(one.run is not None for one in systems.values()):
        _check_no_scoring_options(options)
        return {}
    titles = {column: getattr(options, column) for column in COLUMNS}
    metrics = load_metrics(settings, config=options.config, profile=options.profile)
    how: dict[str, Any] = {"details": options.report is not None, "grouped": options.groups is not None}
    return score_systems(systems, metrics, titles, seed=options.seed, **how)


def _texts(scored: Mapping[str, SystemScores]) -> dict[str, dict[str, str]]:
    """Return the predictions of the systems that were scored here, by row key."""
    return {
        name: dict(zip(row_keys(one.ids), map(shorten, one.columns["predictions"] or []), strict=True))
        for name, one in scored.items()
    }


def _check_no_scoring_options(options: argparse.Namespace) -> None:
    given = [name for name in (*COLUMNS, "annotations", "config", "profile") if getattr(options, name) is not None]
    given += ["set"] if options.set else []
    if given:
        raise UsageError(f"--{given[0]} is not supported if every FILE contains scores")


def _groups(files: Mapping[str, GivenSystem], options: argparse.Namespace) -> dict[str, str] | None:
    if options.groups is None:
        return None
    if options.groups_file:
        rows = read_rows(options.groups_file)
        return labels_of(rows, take_column(rows, options.id or "id"), options.groups)
    found = labels_of_systems(files, options.groups, "--groups")
    if not found:
        raise UsageError("--groups requires --groups-file FILE if every FILE contains scores")
    return found


def as_record(comparison: RunComparison, limit: int) -> dict[str, Any]:
    """Return the comparison for JSON output.

    Args:
        comparison: The comparison.
        limit: Maximum number of rows with the largest differences for each pair.

    Returns:
        ``n_rows`` and the fields of `Comparison`, without ids and scores. Pairs have ``rows_that_differ`` if `limit` is
        not 0.
    """
    record = {"n_rows": len(comparison.ids)} | plain(comparison)
    del record["ids"]
    for compared, metric_record in zip(comparison.metrics, record["metrics"], strict=True):
        del metric_record["ids"], metric_record["scores"], metric_record["noise"]
        for pair, pair_record in zip(compared.pairs, metric_record["pairs"], strict=True) if limit else ():
            pair_record["rows_that_differ"] = [
                {"id": comparison.ids[row]} | {name: compared.scores[name][row] for name in (pair.first, pair.second)}
                for row in rows_that_differ(compared, pair, limit)
            ]
    return record


def _render_value(
    comparison: RunComparison, options: argparse.Namespace, texts: Mapping[str, Mapping[str, str]]
) -> str:
    numbers = Numbers(options.digits, options.scale, not options.no_intervals)
    if options.booktabs:
        return paper_latex(comparison, numbers, caption=options.caption or "", label=options.label or "")
    tables = [systems_table(comparison, numbers), pairs_table(comparison, numbers)]
    if options.rows_that_differ:
        tables += [
            differences_table(comparison, compared, pair, options.rows_that_differ, texts)
            for compared in comparison.metrics
            for pair in compared.pairs
        ]
    return "\n\n".join(render(table, options.format) for table in tables)
