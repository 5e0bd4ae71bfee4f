"""Caption file layouts of other tools, converted to rows with the columns `id`, `predictions` and `references`.

| written by | layout |
|---|---|
| COCO | results: list of objects with `image_id` and `caption`; annotations: such a list under `annotations` |
| pycocoevalcap | object of image id -> list of captions, or of objects with `caption` |
| lmms-eval | one object per line with `doc_id`, `filtered_resps` and, per metric, an object with `answer` and `pred` |
| VLMEvalKit | table with `index`, `answer` (a list as Python prints it) and `prediction` |
"""

import ast
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import first_repeated
from vlgauge.core.validation import is_missing, short_repr, warn

Rows = list[dict[str, Any]]

_LONGEST_LIST = 10**6  # maximum number of characters of a parsed cell


def rows_of_object(content: Mapping[str, Any]) -> Rows | None:
    """Return the rows of a JSON object in the layout of COCO annotations or of a pycocoevalcap dictionary.

    Returns:
        Rows with `id` and `references` for annotations, or with `id` and `predictions` for a dictionary (a string for a
        single caption, otherwise a list). None if the object has neither layout.
    """
    annotations = content.get("annotations")
    if isinstance(annotations, list) and annotations and all(_is_caption_of_image(one) for one in annotations):
        captions: dict[Any, list[str]] = {}
        for one in annotations:
            captions.setdefault(one["image_id"], []).append(one["caption"])
        return [{"id": image, "references": own} for image, own in captions.items()]
    lists = {key: _captions(key, value) for key, value in content.items()}
    if not lists or any(own is None for own in lists.values()):
        return None
    return [{"id": key, "predictions": own[0] if len(own) == 1 else own} for key, own in lists.items() if own]


def add_columns(rows: Rows, *, has_lists: bool = False) -> Rows:
    """Add `id`, `predictions` and, if they are known, `references` to rows in the layout of another tool.

    Rows in any other layout, and rows that have `predictions`, are returned unchanged.

    Args:
        rows: The rows, which are modified.
        has_lists: Whether the format has lists, so that lists as printed by Python are not parsed.
    """
    if not rows or any("predictions" in row for row in rows):
        return rows
    layouts = [_columns_of_coco_results, _columns_of_lmms_eval, _columns_of_vlmevalkit]
    if has_lists and isinstance(rows[0].get("answer"), str):
        layouts.remove(_columns_of_vlmevalkit)
    for columns in layouts:
        found = [own for own in takewhile(lambda own: own is not None, map(columns, rows)) if own is not None]
        if len(found) == len(rows):
            for row, own in zip(rows, found, strict=True):
                row.update(own)
            return rows
    return rows


def references_by_id(rows: Rows, name: str) -> dict[str, list[str]]:
    """Return the captions of each image in an annotation file, by image id.

    Args:
        rows: Rows returned by `vlgauge.inputs.tables.files.read_rows`.
        name: Name of the file in error messages.

    Raises:
        UsageError: If a row has no id or no captions, or an id is repeated.
    """
    found: dict[str, list[str]] = {}
    for number, row in enumerate(rows):
        captions = row.get("references", row.get("predictions"))
        captions = [captions] if isinstance(captions, str) else captions
        key = row.get("id", row.get("image_id"))
        if key is None or not isinstance(captions, list) or not all(isinstance(one, str) for one in captions):
            raise UsageError(
                f"{name} must contain COCO annotations, a dictionary of captions by image, or a table with the "
                f"columns id and references, got {short_repr(row)} in row {number}"
            )
        if (image := _image_key(key)) in found:
            raise UsageError(f"{name} must contain each image once, got {short_repr(key)} more than once")
        found[image] = captions
    return found


def join_references(rows: Rows, references: Mapping[str, list[str]], name: str) -> Rows:
    """Return the rows with the captions of their images as `references`.

    Annotated images without a row are dropped with a warning that counts them, as if ``coco_eval.params["image_id"]``
    contained only the images of the results.

    Args:
        rows: Rows with an id. They are not modified.
        references: Captions by id, as returned by `references_by_id`.
        name: Name of the annotation file in error messages.

    Raises:
        UsageError: If rows have no id, share an id, or have an id that is not in the annotations.
    """
    keys = [_image_key(row.get("id", row.get("image_id"))) for row in rows]
    if lacking := [number for number, row in enumerate(rows) if row.get("id", row.get("image_id")) is None]:
        raise UsageError(
            f"the rows must have the column id or image_id for use with {name}, got row {lacking[0]} without it"
        )
    if (twice := first_repeated(keys)) is not None:
        raise UsageError(
            f"the rows must have one caption per image for use with {name}, got image {twice!r} more than once"
        )
    if unknown := [key for key in keys if key not in references]:
        raise UsageError(
            f"{name} must have the captions of every image, got none for {len(unknown)} of {len(keys)}, the "
            f"first is {unknown[0]!r}; its own first image is {next(iter(references), None)!r}"
        )
    if n_left := len(references) - len(keys):
        warn(f"{n_left} of {len(references)} images of {name} have no row and are ignored")
    return [{**row, "references": references[key]} for row, key in zip(rows, keys, strict=True)]


def parse_list(cell: Any) -> list[str] | None:
    """Return the list of strings in a cell, stored as a list or as printed by Python. None for other cells."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "(") and len(cell) <= _LONGEST_LIST:
        try:
            cell = ast.literal_eval(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if isinstance(cell, (list, tuple)) and cell and all(isinstance(one, str) for one in cell):
        return list(cell)
    return None


def _is_caption_of_image(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("caption"), str):
        return False
    return "image_id" in value and not isinstance(value["image_id"], (list, dict))  # not a valid id


def _image_key(image: Any) -> str:
    """Return the id of an image as a string. An integral float, as in tables with missing ids, equals its integer."""
    return str(int(image) if isinstance(image, float) and image.is_integer() else image)


def _captions(key: Any, value: Any) -> list[str] | None:
    """Return the captions of one image in a pycocoevalcap dictionary. None if the value has another form."""
    if isinstance(value, str) and str(key).isdigit():  # other keys may be settings
        return [value]
    if not isinstance(value, list):
        return None
    found: list[Any] = [one.get("caption") if isinstance(one, Mapping) else one for one in value]
    return found if all(isinstance(one, str) for one in found) else None


def _columns_of_coco_results(row: Mapping[str, Any]) -> dict[str, Any] | None:
    # Null captions are reported with their row when the predictions are read.
    is_null = "caption" in row and is_missing(row["caption"]) and "image_id" in row
    if not (is_null or _is_caption_of_image(row)) or "references" in row:
        return None
    return {"id": row["image_id"], "predictions": row["caption"]}


def _columns_of_lmms_eval(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if "doc_id" not in row or "filtered_resps" not in row:
        return None
    scored = [one for one in row.values() if isinstance(one, Mapping) and "pred" in one and "answer" in one]
    if not scored or not isinstance(scored[0]["pred"], str):
        return None
    answer = scored[0]["answer"]
    references = [answer] if isinstance(answer, str) else answer
    if not isinstance(references, Sequence) or not all(isinstance(one, str) for one in references):
        return None
    image = scored[0].get("image_id", row["doc_id"])
    return {"id": image, "predictions": scored[0]["pred"], "references": list(references)}


def _columns_of_vlmevalkit(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if "index" not in row or "prediction" not in row or (references := parse_list(row.get("answer"))) is None:
        return None
    # Excel workbooks have no cell for an empty text, and a number for a text of digits.
    caption = "" if is_missing(row["prediction"]) else row["prediction"]
    if isinstance(caption, (int, float)) and not isinstance(caption, bool):
        caption = str(caption)
    return {"id": row["index"], "predictions": caption, "references": references}
