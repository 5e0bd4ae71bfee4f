"""Implementation of `vlgauge score --engine ray`."""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.api.columns import COLUMNS
from vlgauge.cli.outputs import write_json, write_result
from vlgauge.cli.ray_options import ray_options
from vlgauge.core.errors import UsageError
from vlgauge.core.run_locks import exclusive_run
from vlgauge.inputs.tables.files import PICTURED
from vlgauge.integrations.batches import RowScorer
from vlgauge.integrations.ray import common_folder, import_ray, score_files
from vlgauge.leaderboard.run_files import columns_of

SCORES, RESULT, PARTS = "scores.parquet", "result.json", "parts"


def score_with_ray(
    options: argparse.Namespace, settings: Mapping[str, Mapping[str, Any]], files: Sequence[str]
) -> dict[str, Any]:
    """Score the rows with Ray, and write ``scores.parquet``, with one line per row, and ``result.json``.

    Returns:
        Values of the result by key, with the ids.

    Raises:
        ValueError: If there are several metrics, or a file or a row is invalid.
    """
    import_ray()
    if len(settings) != 1:
        raise UsageError(f"METRIC must be one metric with --engine ray, got {', '.join(settings)}")
    ((name, own),) = settings.items()
    columns = {column: title for column in COLUMNS if (title := getattr(options, column)) is not None}
    given = {"profile": options.profile, **own} if options.profile else dict(own)
    if options.untrusted:
        given["sandbox"] = True  # also applies to the workers
    scorer = RowScorer(name, options.config, id=options.id or "id", columns=columns, **given)
    if options.input_format is None:
        pictured = any(column.name in PICTURED for column in scorer.metric.columns)
        scorer.folder = common_folder(files, pictured)
    output = Path(options.output)
    parts = output / PARTS if options.parts is None else Path(options.parts)
    if parts.resolve() == output.resolve():
        raise UsageError(f"--parts must be another folder than --output, got {str(output)!r} for both")
    how: dict[str, Any] = {**ray_options(options), "input_format": options.input_format, "groups": options.groups}
    with exclusive_run(output, "--output"):
        record = score_files(scorer, files, parts, **how)
        write_result(str(output / SCORES), record)
        write_json(output / RESULT, columns_of(record)[1])
        if options.parts is None:
            shutil.rmtree(parts)
    return record
