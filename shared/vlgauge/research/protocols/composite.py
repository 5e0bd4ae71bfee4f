"""Composite (Aditya et al., 2015): correctness of captions of COCO, Flickr8k and Flickr30k images, rated 1 to 5.

The authors published no script. The reader uses the table of the Hugging Face dataset yuwd/Composite, one row per
rating.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.inputs.tables.caption_files import parse_list
from vlgauge.research.protocols.files import FilePath, Folder, entry, one_file, placed_rows, texts, tidy
from vlgauge.research.protocols.ratings import RatedCaptions, RatedRow, rated_captions

ENDINGS = ("", ".jpg")


def read_composite(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """Read Composite, one row per rating. References that equal the caption are removed.

    Args:
        files: Table described in `read_rated_table`.
        images: Folder of the images.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If a column is missing, or a cell has another type.
        OSError: If the file cannot be read.
    """
    return read_rated_table("composite", one_file(files, "test.parquet"), images, references, own_removed=True)


def read_rated_table(
    name: str, path: Path, images: FilePath | None, references: int | None, *, own_removed: bool
) -> RatedCaptions:
    """Read a table with one row per rating. Rows with a NaN rating are left out and counted.

    Args:
        name: Name of the dataset.
        path: JSONL, JSON, CSV, TSV or Parquet file with the columns ``mt`` (caption), ``refs`` (a list of strings, or a
            string with such a list in Python or JSON syntax), ``score`` and ``imgid`` (name of the image, with or
            without ".jpg"). A column ``img`` with ``bytes``, as in the Parquet files of the Hub, replaces the folder.
        images: Folder of the images. None for the folder of the file.
        references: Number of references per row, from the first one. None for all, 0 for none.
        own_removed: Whether to remove references that equal the caption.

    Raises:
        ValueError: If a column is missing, a cell has another type, or no row has a rating.
        OSError: If the file cannot be read.
    """
    folder, rows, n_undefined = Folder(images, path), [], 0
    for row, place in placed_rows(path):
        rating = _rating(row, place)
        if math.isnan(rating):
            n_undefined += 1
            continue
        caption = tidy(entry(row, "mt", str, place))
        image = str(entry(row, "imgid", (str, int), place))
        known = [text for text in _references(row, place) if not own_removed or text != caption]
        rows.append(RatedRow(caption, known, _embed(row) or folder.image(image, ENDINGS), image, [rating]))
    left_out = {"ratings that are NaN": n_undefined}
    return rated_captions(name, rows, references, {"ratings": "rows"}, left_out=left_out)


def _rating(row: Mapping[str, Any], place: str) -> float:
    value = entry(row, "score", (int, float, str), place)
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"{place} must have a number as 'score', got {value!r}") from None


def _references(row: Mapping[str, Any], place: str) -> list[str]:
    written = entry(row, "refs", (list, str), place)
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except ValueError:
            written = parse_list(written)
    return texts(written, f"'refs' of {place}")


def _embed(row: Mapping[str, Any]) -> dict[str, Any] | None:
    image = row.get("img")
    return {"bytes": image["bytes"], "path": None} if isinstance(image, Mapping) and image.get("bytes") else None
