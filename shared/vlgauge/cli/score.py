"""`vlgauge score METRIC FILE`: score a file of rows with one metric or several."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vlgauge.catalog import WITH_REFERENCES, metric_facts, metric_names
from vlgauge.cli.inputs import add_row_options, at_least, is_source
from vlgauge.cli.outputs import RESULT_ENDINGS, check_report, check_result_target, write_result
from vlgauge.cli.ray_options import add_ray_options, check_ray_options
from vlgauge.cli.record import add_record_options, check_record_options, record_results
from vlgauge.cli.scoring import (
    COLUMNS,
    add_scoring,
    compute_all,
    load_metrics,
    metric_list,
    read_columns,
    settings_by_metric,
    shortened,
)
from vlgauge.corpus_values import COUNTED, corpus_interval
from vlgauge.files import first_repeated
from vlgauge.leaderboard.run_files import columns_of
from vlgauge.leaderboard.runs import row_keys, set_sizes
from vlgauge.media.limits import RowLimits
from vlgauge.media.tables import Rows, located, read_rows, take_column
from vlgauge.results import DIGITS, INTERVAL, to_cell, to_json, to_table
from vlgauge.set_sizes import OPTION, drawn_captions, signed_sizes
from vlgauge.settings import shown, warn
from vlgauge.statistics import FEW, FEW_MARK, FEW_NOTE

if TYPE_CHECKING:
    from vlgauge.base import Metric

_FILE_HELP = (
    "JSONL, JSON, CSV, TSV or Parquet file, or .txt with a prediction a line; - for standard input; hub:OWNER/NAME or "
    "hub:OWNER/NAME:CONFIG, a data set of the Hub; a .tar of WebDataset; a folder of pictures or clips"
)
CONFIDENCE = 0.95  # of the intervals that metrics compute themselves, too
MOST_DIGITS = 17  # more than a number has


class _InPlaceOfMetric(argparse.Action):
    """`--metrics` takes the place of METRIC, so that FILE is the only word left."""

    def __call__(self, parser: argparse.ArgumentParser, options: Any, values: Any, option: str | None = None) -> None:
        """Keep the names, and let the second word be missing."""
        setattr(options, self.dest, values)
        for action in parser._actions:
            if action.dest == "file":
                action.required = False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    parser.usage = (
        "vlgauge score METRIC[,METRIC...] FILE [options]\n       vlgauge score FILE --metrics METRIC,METRIC..."
    )
    parser.add_argument("metric", metavar="METRIC", help="name of a metric, or several with commas; see `vlgauge list`")
    parser.add_argument("file", metavar="FILE", nargs="+", help=f"{_FILE_HELP}; several with --engine ray")
    parser.add_argument("--metrics", action=_InPlaceOfMetric, metavar="METRIC,...", help="the same in place of METRIC")
    add_scoring(parser)
    add_row_options(parser)
    words = "score so many captions of the system per row, drawn by --seed; those by people are all kept"
    parser.add_argument("--captions-per-row", type=partial(at_least, 1), metavar="K", help=words)
    parser.add_argument("--seed", type=partial(at_least, 0), default=0, help="of the captions per row (default: 0)")
    parser.add_argument("--details", action="store_true", help="also say how each score came about (JSON)")
    parser.add_argument("--format", choices=("table", "json"), help="of what is printed (default: table)")
    words = f"write the result, as {', '.join(RESULT_ENDINGS)}; with --engine ray a folder"
    parser.add_argument("--output", metavar="FILE", help=words)
    parser.add_argument("-q", "--quiet", action="store_true", help="print the number alone; of several, after names")
    parser.add_argument("-w", "--digits", type=digits, default=DIGITS, metavar="N", help="after the point (default: 4)")
    words = "of the intervals, which are of bootstrap (default: 0.95)"
    parser.add_argument("--confidence", type=level, default=CONFIDENCE, metavar="LEVEL", help=words)
    parser.add_argument(
        "--report", metavar="FILE", help="write a page that explains the worst and the best rows (.html)"
    )
    parser.add_argument("--rows", type=int, default=20, metavar="N", help="rows in the table; 0 for all (default: 20)")
    add_record_options(parser)
    add_ray_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, score, print."""
    if options.metrics is not None and options.file is not None:
        raise ValueError(f"METRIC must be left out next to --metrics, got {options.metric!r}")
    names = options.metric if options.metrics is None else options.metrics
    files = options.file if options.metrics is None else [options.metric]
    check_ray_options(options, files)
    if options.engine == "ray" and options.captions_per_row is not None:
        raise ValueError(f"{OPTION} must come without --engine ray, draw the captions before")
    if options.engine == "ray":
        return score_with_ray(options, names, files)
    (file,) = files
    if options.details and options.format == "table" and not options.output:
        raise ValueError("--details must go without --format table, which has no place for them, or with --output FILE")
    settings = settings_by_metric(options.set, metric_list(names))  # wrong names are told before the file is read
    check_result_target(options.output, file, details=options.details)
    check_report(options.report, [file], list(settings))
    data_sets = import_module("vlgauge.cli.data_sets") if is_source(file) else None
    source = None
    if data_sets is not None:
        source = data_sets.source_of(file, options)
        data_sets.record_origin(options, source.origin, file)
    check_record_options(options, file)
    rows = read_rows(file, options.input_format) if source is None else []
    metrics = load_metrics(settings, config=options.config, profile=options.profile, quiet=options.no_progress)
    reader = None if data_sets is None else data_sets.rows_of(source, metrics, options)
    if reader is None:
        ids, columns = table_columns(rows, metrics, options, file)
    else:
        ids, columns = reader.ids, reader.columns
    warn_of_repeated(ids)
    there = draw_captions(columns, ids, metrics, options)
    detailed = options.details or options.report is not None
    results = compute_all(metrics, columns, details=detailed, rows=rows[options.skip :])
    explained = results
    if not options.details:
        results = {name: without_details(name, result) for name, result in results.items()}
    record: dict[str, Any] = {"ids": ids} | ({} if data_sets is None else data_sets.told(reader))
    if any(metric.compares_sets for metric in metrics):
        # Without them nobody can tell later whether two systems can be compared.
        record["sizes"] = set_sizes(columns)
        for name, result in results.items():
            results[name] = result | signed_sizes(result, record["sizes"], there=there, seed=options.seed)
    for result in results.values():
        record |= result
    of_rows = [] if data_sets is None else data_sets.lines_of(reader)
    # Before anything is written: what took hours is seen, whatever becomes of the files.
    print_results(results, record, columns["predictions"] or [], of_rows, options)
    if options.output:
        write_result(options.output, record)
    record_results(results, options, ids)
    # Last, as most can go wrong with it.
    if options.report:
        import_module("vlgauge.cli.report").write_report(options.report, explained, columns, ids, options.told)
    return 0


def draw_captions(
    columns: dict[str, list[Any] | None], ids: Sequence[Any], metrics: Sequence[Metric], options: argparse.Namespace
) -> list[int]:
    """Keep as many captions of each row as `--captions-per-row` says; numbers of those that there were, if it is given.

    Raises:
        ValueError: If a metric compares no sets, or a row has fewer captions.
    """
    if options.captions_per_row is None:
        return []
    if others := [metric.name for metric in metrics if not metric.compares_sets]:
        raise ValueError(f"{OPTION} must come with metrics of sets of captions, got {', '.join(others)}")
    predictions = columns["predictions"] or []
    there = [len(captions) for captions in predictions]
    if (least := min(there)) < options.captions_per_row:
        raise ValueError(
            f"{OPTION} must be at most the least number of captions of a row, {least}, got {options.captions_per_row}"
        )
    numbers = [options.captions_per_row] * len(there)
    columns["predictions"] = drawn_captions(predictions, row_keys(ids), numbers, options.seed)
    return there


def print_results(
    results: Mapping[str, dict[str, Any]],
    record: Mapping[str, Any],
    texts: Sequence[Any],
    of_rows: Sequence[str],
    options: argparse.Namespace,
) -> None:
    """Print in the form that the options choose.

    Args:
        results: By name of the metric.
        record: All of it, with the ids of the rows.
        texts: Predictions of the rows.
        of_rows: Lines that tell how many rows were left out, and why.
        options: Those of the command.
    """
    if options.quiet:
        sys.stderr.write("".join(f"{line}\n" for line in of_rows))
        print(numbers_alone(results, options.digits), flush=True)
    elif options.format == "json" or (options.details and options.format is None and not options.output):
        print(to_json(record), flush=True)
    else:
        ids, n_rows = record["ids"], options.rows
        print(summary(results, ids, texts, n_rows, digits=options.digits, confidence=options.confidence))
        print("".join(f"\n{line}" for line in of_rows), end="\n" if of_rows else "", flush=True)


def score_with_ray(options: argparse.Namespace, names: str, files: Sequence[str]) -> int:
    """Score files on many processes or machines; write the folder, print."""
    settings = settings_by_metric(options.set, metric_list(names))
    check_record_options(options, files[0])
    found = import_module("vlgauge.cli.ray_scoring").scored_with_ray(options, settings, files)
    results = {name: {key: found[key] for key in found if key not in ("ids", "sizes")} for name in settings}
    record_results(results, options, found["ids"])
    rest = columns_of(found)[1]
    if options.quiet:
        print(numbers_alone(results, options.digits))
    elif options.format == "json":
        print(to_json(rest))
    else:
        numbers = [[key, value] for key, value in rest.items() if isinstance(value, (int, float))]
        signatures = [value for key, value in rest.items() if key.endswith("_signature")]
        print("\n".join([to_table(["result", "value"], numbers, options.digits), "", *signatures]))
    return 0


def table_columns(
    rows: Rows, metrics: Sequence[Metric], options: argparse.Namespace, file: str
) -> tuple[list[Any], dict[str, list[Any] | None]]:
    """Ids and columns of the rows of a table, of those that the options choose.

    Raises:
        ValueError: If a column is missing, or no row is left.
    """
    if options.revision is not None:
        raise ValueError(f"--revision must come with a data set of the Hub, got the file {file!r}")
    for limit in fields(RowLimits):
        if getattr(options, f"max_{limit.name}") is not None:
            given = f"--max-{limit.name.replace('_', '-')}"
            raise ValueError(f"{given} must come with hub:, a .tar or a folder, whose rows it leaves out, got {file!r}")
    ids = row_ids(rows, options.id)
    stop = None if options.limit is None else options.skip + options.limit
    if not (chosen := rows[options.skip : stop]):
        raise ValueError(f"--skip must be less than the number of rows, {len(rows)}, got {options.skip}")
    titles = {column: getattr(options, column) for column in COLUMNS}
    return ids[options.skip : stop], located(read_columns(chosen, metrics, titles), file)


def warn_of_repeated(ids: Sequence[Any]) -> None:
    """Say that ids name several rows: nothing that joins rows by their ids takes such a file of scores."""
    keys = row_keys(ids)
    if (first := first_repeated(keys)) is not None:
        rows = len(keys) - len(set(keys))
        warn(
            f"ids should name each row once, {rows} of {len(keys)} rows {'has' if rows == 1 else 'have'} the id of "
            f"another, the first is {shown(first)}; every row is scored, but rows cannot be joined by these ids"
        )


def numbers_alone(results: Mapping[str, Mapping[str, Any]], digits: int) -> str:
    """The number of each metric, with its name before it where there are several."""
    cells = {name: to_cell(result[name], digits) for name, result in results.items()}
    return "\n".join(f"{name} {cell}" if len(cells) > 1 else cell for name, cell in cells.items())


def without_details(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as it is without ``return_details``."""
    return {key: value for key, value in result.items() if key != f"{name}_details"}


def digits(text: str) -> int:
    """How many digits a number is printed with."""
    number = int(text)
    if not 0 <= number <= MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {MOST_DIGITS}, got {text!r}")
    return number


def level(text: str) -> float:
    """The level of an interval."""
    number = float(text)
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, such as 0.95, got {text!r}")
    return number


def summary(
    results: Mapping[str, dict[str, Any]],
    ids: Sequence[Any],
    texts: Sequence[Any],
    limit: int,
    *,
    digits: int = DIGITS,
    confidence: float = CONFIDENCE,
) -> str:
    """The table of scores; below it numbers of the whole with intervals and directions, signatures."""
    scores = [result[f"{name}_scores"] for name, result in results.items()]
    n_shown = len(ids) if limit <= 0 else min(limit, len(ids))
    rows = [[ids[i], *(column[i] for column in scores), shortened(texts[i])] for i in range(n_shown)]
    lines = [to_table(["id", *results, "predictions"], rows, digits)]
    if n_shown < len(ids):
        lines.append(f"... and {len(ids) - n_shown} more rows (--rows 0 prints all, --output FILE writes all)")
    numbers = [
        row
        for name, result in results.items()
        for row in _corpus_numbers(name, result, confidence)
        if not _stands_elsewhere(row[0], name, results)
    ]
    titles = ["result", "value", f"{100 * confidence:g} % from", "to", "better", "range"]
    used = [i for i in range(len(titles)) if any(row[i] is not None for row in numbers)]
    cells = [[row[i] for i in used] for row in numbers]
    lines += ["", to_table([titles[i] for i in used], cells, digits), ""]
    if added := [name for name in results if name in COUNTED]:
        lines += [f"{', '.join(added)}: the value is that of the corpus, not the mean of the scores of its rows", ""]
    defined = [sum(score == score for score in column) for column in scores]
    if few := [name for name, n in zip(results, defined, strict=True) if 2 <= n < FEW]:
        lines += [f"{FEW_MARK} {', '.join(few)}: {FEW_NOTE}", ""]
    lines += [result[f"{name}_signature"] for name, result in results.items()]
    return "\n".join(lines)


def _stands_elsewhere(key: str, name: str, results: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a number is of a part, such as rovist_c of rovist, that is also scored by itself, in the same way."""
    parts = [other for other in results if other != name and f"{key}_".startswith(f"{other}_")]
    return any(results[name].get(f"{part}_signature") == results[part][f"{part}_signature"] for part in parts)


def _corpus_numbers(name: str, result: Mapping[str, Any], confidence: float) -> list[list[Any]]:
    """Names and values of the numbers of a result, both ends of an interval, its direction and range.

    What tests the corpus leads: its p-value, then how large the effect is.
    """
    first = (f"{name}_pvalue", f"{name}_excess")
    keys = [key for key in first if key in result]
    keys += [key for key, value in result.items() if isinstance(value, (int, float)) and key not in first]
    ends: dict[str, Sequence[float]] = {}
    for key in keys:
        if confidence == CONFIDENCE and key + INTERVAL in result:
            ends[key] = result[key + INTERVAL]  # of the metric's own seed
        elif f"{key}_scores" in result:
            found = corpus_interval(key, result, level=confidence)
            ends |= {} if found is None else {key: (found.low, found.high)}
    return [[key, result[key], *ends.get(key, (None, None)), *_reading(key)] for key in keys]


def _reading(key: str) -> tuple[str | None, str | None]:
    """Direction and range of a number: of a metric, or direction alone of its form with references; else nothing."""
    name = key.removeprefix(WITH_REFERENCES)
    if name not in metric_names():
        return None, None
    facts = metric_facts(name)
    return facts.better, facts.score_range if key == name else None


def row_ids(rows: Rows, title: str | None) -> list[Any]:
    """What names the rows: a column, else the column "id" where every row has it, else their numbers."""
    if title is None and not all("id" in row for row in rows):
        return list(range(len(rows)))
    return take_column(rows, title or "id")
