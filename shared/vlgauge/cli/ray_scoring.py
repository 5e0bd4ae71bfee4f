"""Options and implementation of `vlgauge score --engine ray`."""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from vlgauge.cli.inputs import declare, is_source
from vlgauge.cli.outputs import write_json, write_result
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError
from vlgauge.core.files import STDIN
from vlgauge.core.run_locks import exclusive_run
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge.leaderboard.run_files import columns_of

SCORES, RESULT, PARTS = "scores.parquet", "result.json", "parts"
# Options that require --engine ray, and options that require all rows on this machine.
_RAY_ONLY = ("workers", "parts", "batch_rows", "address", "worker_cpus", "worker_gpus")
_HERE_ONLY = ("details", "report", "limit", "skip", "revision", "annotations", "without", "plot", "captions_per_row")


def add_ray_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("many processes or machines (extra ray)")
    words = "score with Ray Data: FILE are Parquet or text files with ids, --output is a folder"
    declare(group, "--engine", words, choices=("ray",))
    declare(group, "--workers N", "processes that score (default: 1)", type=int)
    words = "folder for finished parts; an interrupted run continues from it (default: within --output)"
    declare(group, "--parts DIR", words)
    declare(group, "--batch-rows N", "rows per batch and per output file (default: 256)", type=int)
    declare(group, "--address ADDRESS", "address of a cluster, such as auto (default: this machine)")
    declare(group, "--worker-cpus X", "CPUs per worker (default: 1)", type=float)
    declare(group, "--worker-gpus X", "GPUs per worker, such as 0.25", type=float)


def check_ray_options(options: argparse.Namespace, files: Sequence[str]) -> None:
    """Check that the options can be combined.

    Raises:
        UsageError: If they cannot.
    """
    if options.engine is None:
        for name in _RAY_ONLY:
            if getattr(options, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} requires --engine ray")
        if len(files) > 1:
            raise UsageError(f"FILE must be one file without --engine ray, got {len(files)}")
        return
    for name in _HERE_ONLY:
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} cannot be combined with --engine ray")
    if options.output is None:
        raise UsageError("--engine ray requires --output DIR, the folder for the scores and the result")
    for file in files:
        if file == STDIN or is_source(file):
            raise UsageError(f"FILE must be Parquet or text files with --engine ray, got {file!r}")


def score_with_ray(
    options: argparse.Namespace, settings: Mapping[str, Mapping[str, Any]], files: Sequence[str]
) -> dict[str, Any]:
    """Score the rows with Ray, and write ``scores.parquet``, with one line per row, and ``result.json``.

    Returns:
        Values of the result by key, with the ids.

    Raises:
        ValueError: If there are several metrics, or a file or a row is invalid.
    """
    # These modules import pandas and Ray, which other commands do not need.
    batches, ray = import_module("vlgauge.integrations.batches"), import_module("vlgauge.integrations.ray")
    ray.import_ray()
    if len(settings) != 1:
        raise UsageError(f"METRIC must be one metric with --engine ray, got {', '.join(settings)}")
    ((name, own),) = settings.items()
    columns = {column: title for column in COLUMNS if (title := getattr(options, column)) is not None}
    given = {"profile": options.profile, **own} if options.profile else dict(own)
    if options.untrusted:
        given["sandbox"] = True  # also applies to the workers
    scorer = batches.RowScorer(name, options.config, id=options.id or "id", columns=columns, **given)
    if options.input_format is None:
        has_media = any(column.name in MEDIA_COLUMNS for column in scorer.metric.columns)
        scorer.folder = ray.common_folder(files, has_media)
    output = Path(options.output)
    parts = output / PARTS if options.parts is None else Path(options.parts)
    if parts.resolve() == output.resolve():
        raise UsageError(f"--parts must be another folder than --output, got {str(output)!r} for both")
    names = {"input_format", "groups", *_RAY_ONLY} - {"parts"}
    how = {one.removeprefix("worker_"): value for one in names if (value := getattr(options, one)) is not None}
    with exclusive_run(output, "--output"):
        record: dict[str, Any] = ray.score_files(scorer, files, parts, **how)
        write_result(str(output / SCORES), record)
        write_json(output / RESULT, columns_of(record)[1])
        if options.parts is None:
            shutil.rmtree(parts)
    return record
