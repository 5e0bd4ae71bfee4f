"""Compute the distance between generated and human stories, from scores or from the stories."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlgauge.api.columns import read_columns, row_ids
from vlgauge.api.computing import compute_all, load_metric, load_metrics
from vlgauge.cli.inputs import add_limits, add_shared, declare
from vlgauge.cli.outputs import check_target, print_result
from vlgauge.cli.scoring import settings_by_metric
from vlgauge.core.catalog import metric_facts
from vlgauge.core.errors import UsageError
from vlgauge.core.results import to_table
from vlgauge.core.signatures import describe_differences, parse_signature
from vlgauge.core.validation import short_repr, warn
from vlgauge.inputs.tables.files import make_paths_absolute, read_rows
from vlgauge.leaderboard import read_run
from vlgauge.research.studies.component_tables import PairedRows, Table, pair_rows, read_published, table_of_rows
from vlgauge.stats import FEW, FEW_MARK, FEW_NOTE, bootstrap_interval

NAME = "d_hm"
METRICS = ("groovist", "rovist_c", "rovist_nr")
PARTS = ("d_g", "d_c", "d_r")
# All published distances use the complete preceding text as context of coherence.
DEFAULTS = {"rovist_c": {"context": "prefix"}}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        f"{__doc__} MODEL and HUMAN are files with the columns {', '.join(METRICS)}; or results of "
        "`vlgauge score ... --output`; or the common prefix STEM of STEM_G.json, STEM_C.csv and STEM_R.csv (then only "
        "common stories are compared, as in the authors' code); or stories, with --score."
    )
    declare(parser, "model MODEL", "scores or stories of the model")
    declare(parser, "human HUMAN", "human scores or stories, joined by id")
    add_shared(parser, "input_format", input_format="format of the files (default: by extension)")
    add_limits(parser)
    declare(parser, "--id COLUMN", "column of story ids (default: id, if present)")
    declare(parser, "--common", "compare only the common stories")
    declare(parser, "--no-tanh", "use groovist scores without tanh")
    declare(parser, "--score", f"compute {', '.join(METRICS)} from the stories")
    for column in ("predictions", "images"):
        declare(parser, f"--{column} COLUMN", f"column of the {column}, with --score")
    words = "a setting for --score, such as groovist.theta=0.6; rovist_c has context=prefix by default"
    declare(parser, "--set METRIC.NAME=VALUE", words, action="append", default=[])
    changed = {"profile": "profile of the metrics, with --score", "seed": "seed of the interval (default: 0)"}
    resamples = {"default": 10_000, "help": "number of bootstrap samples (default: 10000)"}
    add_shared(parser, "profile", "resamples", "seed", resamples=resamples, **changed)
    declare(parser, "--format", "output format (default: table)", choices=("table", "json"))
    add_shared(parser, "output", output="write the whole result as JSON to this file")
    declare(parser, "--rows N", "rows in the table; 0 for all (default: 20)", type=int, default=20)
    add_shared(parser, "no_progress")


def run(options: argparse.Namespace) -> None:
    """Run the command: read or compute the scores, pair them, and print the distances.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    check_target(options.output, [options.model, options.human])
    if not options.score and (options.set or options.predictions or options.images or options.profile):
        raise UsageError("--set, --predictions, --images and --profile require --score")
    published = [_is_published(source) for source in (options.model, options.human)]
    model, model_signatures = read_side(options.model, "MODEL", options)
    human, human_signatures = read_side(options.human, "HUMAN", options)
    warn_of_signatures({"MODEL": model_signatures, "HUMAN": human_signatures})
    paired = pair_rows(model, human, common=options.common or any(published))
    result = load_metric(NAME, apply_tanh=not options.no_tanh).compute(
        predictions=paired.model, references=paired.human, return_details=True
    )
    record = {
        "ids": paired.ids,
        "left_out": paired.n_left_out,
        "signatures": {"model": model_signatures, "human": human_signatures},
        "intervals": intervals(result, options),
        **result,
    }
    print_result(options, record, lambda: summary(record, paired, options.rows))


def read_side(source: str, what: str, options: argparse.Namespace) -> tuple[Table, dict[str, str]]:
    """Return the scores of one side by story ID, from any supported input, and their signatures by metric.

    Returns:
        Scores by story ID, and signatures by metric, if they are known.

    Raises:
        ValueError: If scores or ids are missing or invalid.
    """
    if _is_published(source):
        return read_published(source), {}
    results = None if options.input_format else read_run(source, [])
    rows: list[dict[str, Any]] = []
    if results is None:
        rows = read_rows(source, options.input_format)
        ids = row_ids(rows, options.id)
        results = score_stories(rows, source, options) if options.score else None
    else:
        ids = results["ids"]
    if results is not None:
        cells = {name: results.get(f"{name}_scores", results.get(name)) for name in METRICS}
        columns = {name: own for name, own in cells.items() if isinstance(own, list)}
        rows = [dict(zip(columns, scores, strict=True)) for scores in zip(*columns.values(), strict=True)] or [{}]
    missing = next((name for name in METRICS if any(name not in row for row in rows)), None)
    if missing is not None:
        there = ", ".join(map(str, rows[0])) or "none"
        raise UsageError(
            f"{what} must have the scores {', '.join(METRICS)} in every row, lacks {missing!r} (there is: "
            f"{there}); pass --score to compute them from stories"
        )
    known = results or {}
    signatures = {name: str(known[f"{name}_signature"]) for name in METRICS if f"{name}_signature" in known}
    return table_of_rows(rows, ids, what), signatures


def warn_of_signatures(sides: Mapping[str, Mapping[str, str]]) -> None:
    """Warn if scores were computed with other settings than the published distances, or differently on the two sides.

    Warns:
        UserWarning: For each metric and each of the two cases.
    """
    for name in METRICS:
        known = {what: signatures[name] for what, signatures in sides.items() if name in signatures}
        for setting, usual in DEFAULTS.get(name, {}).items():
            others = {what: value for what, text in known.items() if (value := _field(text, setting, usual)) != usual}
            if others:
                differing = " and ".join(f"{what} has {name} with {setting}={value}" for what, value in others.items())
                warn(f"{differing}, all published distances with {usual}; score with --set {name}.{setting}={usual}")
        if len(set(known.values())) > 1:
            warn(
                f"{' and '.join(known)} have {name} computed in different ways ({_unlike(*known.values())}), which is "
                f"part "
                "of their distance; score both with the same settings and version"
            )


def _field(signature: str, key: str, otherwise: str) -> str:
    """Return a field of a signature, or the other value if the signature does not contain it."""
    try:
        return parse_signature(signature)[1].get(key, otherwise)
    except UsageError:
        return otherwise


def _unlike(one: str, other: str) -> str:
    """Describe the difference of two signatures, parsed if possible."""
    try:
        return describe_differences(one, other) or "in order"
    except UsageError:
        return f"{short_repr(one)} and {short_repr(other)}"


def score_stories(rows: list[dict[str, Any]], file: str, options: argparse.Namespace) -> dict[str, Any]:
    """Compute the results of the three metrics on stories.

    Returns:
        Values of the results of all metrics, by key.

    Raises:
        ValueError: If a column is missing or a row is invalid.
    """
    settings = settings_by_metric(options.set, METRICS)
    settings = {name: DEFAULTS.get(name, {}) | own for name, own in settings.items()}
    metrics = load_metrics(settings, profile=options.profile)
    columns = read_columns(rows, metrics, {"predictions": options.predictions, "images": options.images})
    results: dict[str, Any] = {}
    for name, result in compute_all(metrics, make_paths_absolute(columns, file)).items():
        sys.stderr.write(f"{name} {result[name]:.4f}, {result[f'{name}_signature']}\n")
        results |= result
    return results


def intervals(result: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return the 95% interval of each mean over the defined stories, by name of the mean.

    Returns:
        Lower and upper end. None with fewer than two defined stories.
    """
    columns = {NAME: result[f"{NAME}_scores"]}
    columns |= {f"{NAME}_{part}": [detail[part] for detail in result[f"{NAME}_details"]] for part in PARTS}
    found = {
        name: bootstrap_interval(values, resamples=options.resamples, seed=options.seed)
        for name, values in columns.items()
    }
    bounds = metric_facts(NAME).bounds
    within = {name: interval and interval.within(bounds, result[name]) for name, interval in found.items()}
    return {name: interval and [interval.low, interval.high] for name, interval in within.items()}


def summary(record: Mapping[str, Any], paired: PairedRows, limit: int) -> str:
    """Return the table of distances, followed by means, 95% intervals, and signatures of distance and scores."""
    n_rows = len(paired.ids) if limit <= 0 else min(limit, len(paired.ids))
    details = record[f"{NAME}_details"]
    rows = [[paired.ids[i], details[i]["score"], *(details[i][part] for part in PARTS)] for i in range(n_rows)]
    lines = [to_table(["id", NAME, *PARTS], rows)]
    if n_rows < len(paired.ids):
        lines.append(f"... and {len(paired.ids) - n_rows} more rows (--rows 0 prints all, --output FILE writes all)")
    means = []
    for name, interval in record["intervals"].items():
        means.append([name, record[name], *(interval or (None, None))])
    better = metric_facts(NAME).better
    lines += ["", to_table(["result", "mean", "95% from", "to", "better"], [[*row, better] for row in means]), ""]
    if 2 <= len(paired.ids) - record[f"{NAME}_undefined"] < FEW:
        lines.append(f"{FEW_MARK} {FEW_NOTE}")
    lines.append(f"{len(paired.ids)} stories compared, {record[f'{NAME}_undefined']} of them undefined")
    if paired.n_left_out:
        lines.append(f"{paired.n_left_out} stories skipped, because only one side has them")
    signatures = [signature for side in record["signatures"].values() for signature in side.values()]
    return "\n".join([*lines, record[f"{NAME}_signature"], *dict.fromkeys(signatures)])


def _is_published(source: str) -> bool:
    return not Path(source).is_file() and Path(f"{source}_G.json").is_file()
