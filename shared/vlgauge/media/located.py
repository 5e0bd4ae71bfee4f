"""Paths of images and videos in a file of examples: relative ones start at the folder of that file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PICTURED = ("images", "videos")


def located(columns: Mapping[str, list[Any] | None], file: str) -> dict[str, list[Any] | None]:
    """The columns with every relative path of an image or a video made absolute.

    Args:
        columns: Cells by name of the column, None for a column that is not there.
        file: The file of examples, whose folder the paths start at; "-" for the working folder.
    """
    folder = (Path.cwd() if file == "-" else Path(file).absolute().parent).as_posix()
    return {
        name: [_located(cell, folder) for cell in cells] if name in PICTURED and cells is not None else cells
        for name, cells in columns.items()
    }


def _located(cell: Any, folder: str) -> Any:
    """A path, a list of such cells, or a mapping with ``path`` or ``frames``; the metric judges anything else."""
    if isinstance(cell, str):
        from vlgauge.media.images import is_address  # it imports numpy, which `vlgauge list` does without

        # An address stays as it is, so that the metric refuses it as one.
        return cell if is_address(cell) else str(Path(folder) / cell)
    if isinstance(cell, list):
        return [_located(item, folder) for item in cell]
    if isinstance(cell, dict):
        return {key: _located(value, folder) if key in ("path", "frames") else value for key, value in cell.items()}
    return cell
