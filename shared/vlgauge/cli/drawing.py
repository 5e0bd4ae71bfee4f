"""Figures that commands draw with matplotlib. Files appear only when they are complete."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vlgauge.cli.outputs import check_target, write_json
from vlgauge.core.errors import MissingExtraError
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.results import printable
from vlgauge.core.writing import atomic_write

FIGURE_SUFFIXES = (".png", ".svg", ".pdf")
NEEDS_MATPLOTLIB = '--plot needs matplotlib; run: pip install "vlgauge[plots]"'


def check_figure_file(target: str | None, sources: Sequence[str]) -> None:
    """Check that a figure can be drawn and written, before the work is done.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ValueError: If the file cannot be written.
    """
    check_target(target, sources, "--plot", FIGURE_SUFFIXES)
    if target and find_spec("matplotlib") is None:
        raise MissingExtraError(NEEDS_MATPLOTLIB)


def draw_figure(path: str, draw: Callable[[Any], None]) -> None:
    """Draw a matplotlib figure and write it to a file. See `write_figure`.

    Raises:
        NotWritableError: If the file cannot be written.
        MissingExtraError: If matplotlib is not installed.
    """
    with importing(NEEDS_MATPLOTLIB):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8), layout="constrained")
    draw(figure)
    write_figure(figure, path, dpi=100)


def write_study(options: argparse.Namespace, record: Mapping[str, Any], draw: Callable[[Any], None]) -> None:
    """Write the results of a study as JSON and draw its figure, to the files of `--output` and `--plot`.

    Raises:
        NotWritableError: If a file cannot be written.
        MissingExtraError: If matplotlib is not installed.
    """
    if options.output:
        write_json(options.output, record)
    if options.plot:
        draw_figure(options.plot, draw)


def write_figure(figure: Any, path: str, dpi: int = 150) -> None:
    """Write a matplotlib figure and print its path. The file appears only when it is complete.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    with atomic_write(path, "--plot") as part:
        figure.savefig(part, format=Path(path).suffix.removeprefix(".").lower(), dpi=dpi)
    sys.stderr.write(f"wrote {printable(path)}\n")
