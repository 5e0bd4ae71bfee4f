"""Regions from files in the format of the authors of GROOViST."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import csv_rows, read_text

AUTHORS_COLUMNS = ("image_name", "image_id", "bbox", "object", "score")

Entries = dict[str, dict[str, Any]]
"""``boxes``, ``scores`` and optionally ``crops`` by image id, best first, as expected by `compute(regions=...)`."""


def read_authors_regions(
    table: str | os.PathLike[str], crops: str | os.PathLike[str] | None = None, *, ending: str = ".jpg"
) -> Entries:
    """Read the regions of the authors' code: a CSV file of boxes, and one image per box.

    Args:
        table: CSV with the columns ``image_name, image_id, bbox, object, score``, where ``bbox`` is a string ``[x1, y1,
            x2, y2]``.
        crops: Folder of the images ``{image_id}_{bbox}.jpg``. None to crop the boxes from the images of the stories.
        ending: File extension of the images.

    Returns:
        Regions by image id, in descending order of their scores. Ties are in the order of the file.

    Raises:
        ValueError: If a column or an image is missing, or a number is invalid. Deviation from the authors' code, which
            omits an image if one of its crops is missing.
        OSError: If the table cannot be read.
    """
    table_name = os.fspath(table)
    lines = csv_rows(read_text(table, "`table`"), "`table`", table_name)
    _, titles = next(lines, (0, []))
    missing = set(AUTHORS_COLUMNS) - {"object", "image_name"} - set(titles)
    if missing:
        raise UsageError.about(
            "table", f"must have the columns {', '.join(AUTHORS_COLUMNS)}, got none for {missing} in {table_name!r}"
        )
    found: dict[str, list[tuple[float, list[float], str]]] = {}
    for number, cells in lines:
        if not cells:
            continue
        place = f"line {number} of {table_name!r}"
        row = dict(zip(titles, [*cells, *[""] * len(titles)], strict=False))
        found.setdefault(row["image_id"], []).append(
            (_score(row["score"], place), _box(row["bbox"], place), row["bbox"])
        )
    entries: Entries = {}
    for image, regions in found.items():
        regions.sort(key=lambda region: -region[0])  # stable sort
        entries[image] = {"boxes": [box for _, box, _ in regions], "scores": [score for score, _, _ in regions]}
        if crops is not None:
            names = [f"{image}_{text}{ending}" for _, _, text in regions]
            entries[image]["crops"] = [_image(Path(crops) / name, image) for name in names]
    return entries


def arrange_regions(entries: Mapping[str, Any], stories: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Arrange regions in the order of the images of stories, as expected by `compute(regions=...)`.

    Args:
        entries: Regions by image id, as read from a file.
        stories: Image ids per story.

    Returns:
        Regions per story and image, as in the file.

    Raises:
        ValueError: If an image is missing in the file.
    """
    for i, story in enumerate(stories):
        for j, image in enumerate(story):
            if str(image) not in entries:
                raise UsageError.about(
                    "entries", f"must have an entry for every image of the stories, got none for {image!r} [{i}][{j}]"
                )
    return [[entries[str(image)] for image in story] for story in stories]


def _score(text: str | None, place: str) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise UsageError.about("table", f"must have a number as each score, got {text!r} in {place}") from None


def _box(text: str | None, place: str) -> list[float]:
    try:
        box = json.loads(text or "")
        if len(box) == 4:
            return [float(x) for x in box]
    except (ValueError, TypeError, OverflowError, RecursionError):
        pass
    raise UsageError.about("table", f"must have a box [x1, y1, x2, y2] in each row, got {text!r:.60} in {place}")


def _image(path: Path, image: str) -> str:
    if not path.is_file():
        raise UsageError.about(
            "crops", f"must have an image file for each box, got no {path.name!r} for image {image!r}"
        )
    return str(path)
