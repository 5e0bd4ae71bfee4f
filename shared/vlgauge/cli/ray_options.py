"""Options of `vlgauge score --engine ray`."""

import argparse
from collections.abc import Sequence

from vlgauge.cli.inputs import declare, is_source
from vlgauge.core.errors import UsageError
from vlgauge.core.files import STDIN

# Options and their attributes, which are also keyword arguments of `score_files`. They require --engine ray.
_RAY_ONLY = {
    **{"--workers": "workers", "--parts": "parts", "--batch-rows": "batch_rows", "--address": "address"},
    **{"--worker-cpus": "cpus", "--worker-gpus": "gpus"},
}
# Options that require all rows on this machine.
_HERE_ONLY = {
    **{"--details": "details", "--report": "report", "--limit": "limit", "--skip": "skip"},
    **{"--revision": "revision", "--annotations": "annotations", "--without": "without", "--plot": "plot"},
    "--captions-per-row": "captions_per_row",
}


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
    declare(group, "--worker-cpus X", "CPUs per worker (default: 1)", dest="cpus", type=float)
    declare(group, "--worker-gpus X", "GPUs per worker, such as 0.25", dest="gpus", type=float)


def check_ray_options(options: argparse.Namespace, files: Sequence[str]) -> None:
    """Check that the options can be combined.

    Raises:
        UsageError: If they cannot.
    """
    if options.engine is None:
        for option, name in _RAY_ONLY.items():
            if getattr(options, name) is not None:
                raise UsageError(f"{option} requires --engine ray")
        if len(files) > 1:
            raise UsageError(f"FILE must be one file without --engine ray, got {len(files)}")
        return
    for option, name in _HERE_ONLY.items():
        if getattr(options, name):
            raise UsageError(f"{option} cannot be combined with --engine ray")
    if options.output is None:
        raise UsageError("--engine ray requires --output DIR, the folder for the scores and the result")
    for file in files:
        if file == STDIN or is_source(file):
            raise UsageError(f"FILE must be Parquet or text files with --engine ray, got {file!r}")


def ray_options(options: argparse.Namespace) -> dict[str, object]:
    """Return the options that were passed, by keyword argument of `score_files`."""
    names = set(_RAY_ONLY.values()) - {"parts"}
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}
