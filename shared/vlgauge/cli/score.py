"""Score a file of rows with one or more metrics."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vlgauge.api import score_suite
from vlgauge.api.columns import read_columns, row_groups, row_ids
from vlgauge.api.computing import load_metrics
from vlgauge.api.numbers import CONFIDENCE, summary
from vlgauge.api.scored import SelectedRows, SystemScores, score_columns
from vlgauge.api.tables import OTHER_SOURCES
from vlgauge.cli import ray_scoring, scoring
from vlgauge.cli.drawing import check_figure_file, write_figure
from vlgauge.cli.inputs import MOST_DIGITS, add_row_options, at_least, declare, digits, is_source, level, scale
from vlgauge.cli.outputs import RESULT_ENDINGS, check_report, check_result_target, write_output, write_result
from vlgauge.cli.record import add_record_options, check_record_options, record_results
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError
from vlgauge.core.results import DIGITS, format_value, to_cell, to_json, to_table
from vlgauge.core.suites import SUITES
from vlgauge.inputs.limits import RowLimits
from vlgauge.inputs.tables.files import Rows, make_paths_absolute, read_rows, take_columns
from vlgauge.leaderboard.run_files import columns_of
from vlgauge.leaderboard.runs import GROUPED_BY, GROUPS
from vlgauge.leaderboard.table import Numbers, Table, render

if TYPE_CHECKING:
    from vlgauge.api.row_sources import Origin, RowReader
    from vlgauge.families.base import Metric

_FILE_HELP = (
    "JSONL, JSON, CSV, TSV or Parquet file, .txt with one prediction per line; - for standard input; hub:OWNER/NAME or "
    "hub:OWNER/NAME:CONFIG, a dataset of the Hub; a .tar of WebDataset; a folder of images or videos"
)
MARKUP = ("markdown", "latex")
MOSTLY_SKIPPED = 3
"""Exit code of a run that wrote its results but skipped more than half of the rows."""
# Fields of a file of scores that are not part of the result of a metric.
_NOT_RESULTS = ("ids", "sizes", GROUPS, GROUPED_BY)


class _InPlaceOfMetric(argparse.Action):
    """Action of `--metrics`, which replaces the positional METRIC, so that FILE is the only positional argument."""

    def __init__(self, file: argparse.Action, **settings: Any) -> None:
        super().__init__(**settings)
        self.file = file

    def __call__(self, parser: argparse.ArgumentParser, options: Any, values: Any, option: str | None = None) -> None:
        """Store the names, and make the second positional argument optional."""
        setattr(options, self.dest, values)
        self.file.required = False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    parser.usage = (
        "vlgauge score METRIC[,METRIC...] FILE [options]\n       vlgauge score FILE --metrics METRIC,METRIC..."
    )
    declare(parser, "metric METRIC", scoring.METRIC)
    file = declare(parser, "file FILE", f"{_FILE_HELP}; several with --engine ray", nargs="+")
    declare(parser, "--metrics METRIC,...", "alternative to METRIC", action=_InPlaceOfMetric, file=file)
    scoring.add_scoring(parser)
    scoring.add_suite_options(parser)
    add_row_options(parser)
    words = "sample K predictions per row (see --seed) and keep all references"
    declare(parser, "--captions-per-row K", words, type=partial(at_least, 1))
    declare(parser, "--seed", "seed of --captions-per-row (default: 0)", type=partial(at_least, 0), default=0)
    declare(parser, "--details", "add the details of each score (JSON)")
    words = "output format (default: table); markdown and latex require a suite"
    declare(parser, "--format", words, choices=("table", "json", *MARKUP))
    declare(parser, "--scale X", "multiply the values in the table of a suite by X", type=scale, default=1.0)
    declare(parser, "--output FILE", f"write the result, as {', '.join(RESULT_ENDINGS)}; with --engine ray a folder")
    declare(parser, "-q, --quiet", "print only the scores, prefixed with metric names if several")
    declare(parser, "-w, --digits N", "digits after the decimal point (default: 4)", type=digits, default=DIGITS)
    words = "confidence level of the bootstrap intervals (default: 0.95)"
    declare(parser, "--confidence LEVEL", words, type=level, default=CONFIDENCE)
    words = "resample rows with equal values in this column together, such as captions of one image"
    declare(parser, "--groups COLUMN", words)
    declare(parser, "--report FILE", "write a page that explains the worst and best rows (.html)")
    declare(parser, "--plot FILE", "plot the scores to this file (.png, .svg or .pdf; extra plots)")
    words = "kind of plot (default: distribution)"
    declare(parser, "--plot-kind", words, choices=("distribution", "correlation", "length"))
    declare(parser, "--rows N", "rows in the table; 0 for all (default: 20)", type=int, default=20)
    add_record_options(parser)
    ray_scoring.add_ray_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command: read the rows, score them, and print the result.

    Returns:
        Exit code: 0, 1 if a metric of a suite failed, or `MOSTLY_SKIPPED` if most rows of a dataset were skipped.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    if options.metrics is not None and options.file is not None:
        raise UsageError(f"METRIC cannot be combined with --metrics, got {options.metric!r}")
    names = options.metric if options.metrics is None else options.metrics
    suite = score_suite.find_suite(names)
    files = options.file if options.metrics is None else [options.metric]
    ray_scoring.check_ray_options(options, files)
    if options.engine == "ray":
        if suite is not None:
            raise UsageError(f"METRIC must be metrics with --engine ray, got the suite {names}")
        return score_with_ray(options, names, files)
    if suite is None and (options.without is not None or options.format in MARKUP or options.scale != 1.0):
        given = "--without" if options.without is not None else f"--format {options.format}"
        given = "--scale" if options.scale != 1.0 else given
        raise UsageError(f"{given} requires a suite ({', '.join(SUITES)}), got {names}")
    (file,) = files
    if options.details and options.format == "table" and not options.output:
        raise UsageError(
            "--details cannot be combined with --format table, which does not show them; pass --output FILE"
        )
    # Report unknown names before the file is read.
    without = scoring.names_in(options.without)
    if suite is not None:
        score_suite.choose_metrics(suite, (), without)
        if options.scale != 1.0 and (options.quiet or options.format == "json"):
            raise UsageError("--scale requires the table of a suite, which --quiet and --format json omit")
        scored_names = [name for name in suite.metrics if name not in without]
    else:
        scored_names = scoring.metric_list(names)
    settings = scoring.settings_by_metric(options.set, scored_names)
    check_result_target(options.output, file, details=options.details)
    check_report(options.report, [file], list(settings))
    if options.plot_kind and not options.plot:
        raise UsageError("--plot-kind requires --plot FILE")
    if options.plot_kind == "correlation" and len(settings) < 2:
        raise UsageError(f"--plot-kind correlation requires several metrics, got {', '.join(settings)}")
    check_figure_file(options.plot, [file])
    sources = import_module("vlgauge.api.sources") if is_source(file) else None  # not needed for tables
    limits = {limit.name: number for limit in fields(RowLimits) if (number := getattr(options, f"max_{limit.name}"))}
    how: dict[str, Any] = {"limits": RowLimits(**limits), "skip": options.skip, "limit": options.limit}
    source = None
    if sources is not None:
        source = sources.source_of(file, revision=options.revision, split=options.split, **how)
        if file.startswith("hub:"):
            record_origin(options, source.origin)
        if options.annotations is not None:
            raise UsageError(f"--annotations requires a table of rows, got {file!r}")
    check_record_options(options, file)
    rows: Rows = []
    if source is None:
        found = read_rows(file, options.input_format, others=OTHER_SOURCES, most_texts=how["limits"].texts)
        rows = scoring.join_annotations(found, options)
    human = None
    if suite is not None:
        titles = {*(rows[0] if source is None else score_suite.columns_of_source(source))}
        titles |= {column for column in COLUMNS if getattr(options, column) is not None}
        settings = score_suite.choose_metrics(suite, titles, without, settings)
        human = settings.pop(score_suite.DISTANCE, None)
    metrics = load_metrics(settings, config=options.config, profile=options.profile)
    reader: RowReader | Any = None
    if sources is not None:
        titles_by_column = {name: getattr(options, name) for name in (*COLUMNS, "id", "groups")}
        reader = sources.rows_of(source, metrics, titles_by_column, **how)
    selected = select_rows(rows, metrics, options, file) if sources is None else sources.select_rows(reader)
    describe_failure = None if suite is None else score_suite.describe_failure
    drawn: dict[str, Any] = {"captions_per_row": options.captions_per_row, "seed": options.seed}
    details = options.details or options.report is not None
    scored = score_columns(metrics, selected, details=details, describe_failure=describe_failure, **drawn)
    if human is not None:
        human_stories = take_columns(selected.rows, options.references or "references")
        scored = score_suite.add_distance(scored, metrics, human_stories)
    record = scored.run(details=options.details)
    of_rows = [] if sources is None else sources.lines_of(reader)
    # Print before anything is written, so that long computations are not lost if a file cannot be written.
    table = None if suite is None else score_suite.suite_table(suite, scored, Numbers(options.digits, options.scale))
    print_results(scored, of_rows, options, table)
    if options.output:
        write_result(options.output, record)
    record_results(record, scored.results, options)
    if options.plot:
        figures = import_module("vlgauge.api.figures")
        write_figure(figures.scores_figure(scored, options.plot_kind or "distribution"), options.plot)
    # Write the report last, because it is the most likely step to fail.
    if options.report:
        pages = import_module("vlgauge.api.pages")
        write_output(options.report, pages.report(pages.explanations(scored), notes=options.warned), "--report")
    if scored.failed:
        return 1
    if sources is None or not reader.left_out:
        return 0
    # Rows whose score is undefined are not skipped.
    sys.stderr.write(f"{sources.describe_skipped(reader)}\n")
    return MOSTLY_SKIPPED if 2 * len(reader.left_out) > reader.n_read else 0


def print_results(
    scored: SystemScores, of_rows: Sequence[str], options: argparse.Namespace, table: Table | None
) -> None:
    """Print the results in the format that the options select. The table of a suite comes first, or alone."""
    results = dict(scored.results) if options.details else scored.plain
    if table is not None and options.format in MARKUP:
        print(render(table, options.format), flush=True)
        return
    if table is not None and not options.quiet and options.format != "json":
        print(render(table, "text") + "\n")
        if options.scale != 1.0:
            print("The scores and values below are not multiplied.\n")
    if options.quiet:
        sys.stderr.write("".join(f"{line}\n" for line in of_rows))
        print(numbers_alone(results, options.digits), flush=True)
    elif options.format == "json" or (options.details and options.format is None and not options.output):
        print(to_json(scored.run(details=options.details)), flush=True)
    else:
        # Values that are not scaled need more digits for the same precision.
        more = max(0, math.ceil(math.log10(options.scale)))
        how: dict[str, Any] = {"digits": min(options.digits + more, MOST_DIGITS), "confidence": options.confidence}
        texts = scored.columns["predictions"] or []
        print(summary(results, scored.ids, texts, options.rows, groups=scored.groups, **how))
        print("".join(f"\n{line}" for line in of_rows), end="\n" if of_rows else "", flush=True)


def score_with_ray(options: argparse.Namespace, names: str, files: Sequence[str]) -> int:
    """Score files on several processes or machines, write the folder, and print the result.

    Returns:
        Exit code 0.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    settings = scoring.settings_by_metric(options.set, scoring.metric_list(names))
    check_record_options(options, files[0])
    found = ray_scoring.score_with_ray(options, settings, files)
    results = {name: {key: found[key] for key in found if key not in _NOT_RESULTS} for name in settings}
    record_results(found, results, options)
    rest = columns_of(found)[1]
    if options.quiet:
        print(numbers_alone(results, options.digits))
    elif options.format == "json":
        print(to_json(rest))
    else:
        numbers = [[key, format_value(key, value)] for key, value in rest.items() if isinstance(value, (int, float))]
        signatures = [value for key, value in rest.items() if key.endswith("_signature")]
        print("\n".join([to_table(["result", "value"], numbers, options.digits), "", *signatures]))
    return 0


def record_origin(options: argparse.Namespace, origin: Origin) -> None:
    """Set the record options to the dataset of the Hub that the rows come from.

    Raises:
        UsageError: If an option names another dataset.
    """
    if options.record is None:
        options.split = None  # the option selects the split of FILE in this case
        return
    own = {"dataset": origin.id, "dataset_config": origin.config, "dataset_revision": origin.revision}
    for name, value in (own | {"split": origin.split}).items():
        if getattr(options, name) not in (None, value):
            raise UsageError(
                f"--{name.replace('_', '-')} must be omitted or {value}, as in FILE, got {getattr(options, name)}"
            )
        setattr(options, name, value)


def select_rows(rows: Rows, metrics: Sequence[Metric], options: argparse.Namespace, file: str) -> SelectedRows:
    """Select rows of a table, and read their IDs, columns and groups as the options say.

    Raises:
        ValueError: If an option is not supported for tables, no row is selected, or a column is missing.
    """
    if options.revision is not None:
        raise UsageError(f"--revision requires a dataset of the Hub, got the file {file!r}")
    for limit in fields(RowLimits):
        is_of_tables = limit.name == "texts"
        if getattr(options, f"max_{limit.name}") is not None and not (is_of_tables and options.untrusted):
            given = f"--max-{limit.name.replace('_', '-')}"
            hint = "; or pass --untrusted" if is_of_tables else ""
            raise UsageError(f"{given} requires hub:, a .tar or a folder, whose rows it leaves out, got {file!r}{hint}")
    stop = None if options.limit is None else options.skip + options.limit
    if not (chosen := rows[options.skip : stop]):
        raise UsageError(f"--skip must be less than the number of rows, {len(rows)}, got {options.skip}")
    ids = row_ids(rows, options.id)[options.skip : stop]
    columns = read_columns(chosen, metrics, {column: getattr(options, column) for column in COLUMNS})
    groups = row_groups(chosen, ids, options.groups)
    return SelectedRows(ids, make_paths_absolute(columns, file), chosen, groups=groups)


def numbers_alone(results: Mapping[str, Mapping[str, Any]], digits: int) -> str:
    """Return the corpus-level value of each metric, preceded by its name if there are several."""
    cells = {name: to_cell(result[name], digits) for name, result in results.items()}
    return "\n".join(f"{name} {cell}" if len(cells) > 1 else cell for name, cell in cells.items())
