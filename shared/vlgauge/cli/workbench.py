"""Open a browser workbench to try metrics on this machine."""

import argparse
import sys
from importlib import import_module

from vlgauge.cli.inputs import declare
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice

MOST_PORTS = 65535


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = f"{__doc__} The page is served to this machine only, until the command is interrupted."
    declare(parser, "--metric NAME", "metric to show first; see `vlgauge list`")
    declare(parser, "--port N", "port (default: a free one from 7860 on)", type=int)
    words = "records that the leaderboard shows at the start; may be repeated"
    declare(parser, "--results FILE", words, action="append", default=[])


def run(options: argparse.Namespace) -> None:
    """Serve the page until the command is interrupted.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    if options.metric is not None:
        check_choice("--metric", options.metric, metric_names())
    if options.port is not None and not 1 <= options.port <= MOST_PORTS:
        raise UsageError(f"--port must be a number from 1 to {MOST_PORTS}, got {options.port}")
    # Import here, so that the extra is required only for the page and not for --help.
    workbench = import_module("vlgauge_workbench")
    page = workbench.app(options.metric, results=options.results)
    workbench.launch(
        page, port=options.port, server_name="127.0.0.1", quiet=True, prevent_thread_lock=True, warmed=True
    )
    sys.stderr.write(f"the workbench is at {page.local_url}; stop it with Ctrl+C\n")
    try:
        page.block_thread()
    finally:
        page.close(verbose=False)
