"""FOIL (Shekhar et al., 2017): captions of COCO with one noun replaced, against the original captions.

``foilv1.0_test_2017.json`` has ``"images": [{"id", "file_name"}]`` and ``"annotations": [{"id", "image_id", "caption",
"foil"}]``, in which an original and its foils share an id. ``captions_val2014.json`` is published by COCO.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import (
    FilePath,
    Folder,
    coco_captions,
    columns_of,
    entry,
    find_named_files,
    read_json,
    tidy,
)
from vlgauge.research.protocols.pairs import RIGHT, CaptionPairs

FOIL_FILE, COCO_FILE = "foilv1.0_test_2017.json", "captions_val2014.json"


def read_foil(files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = 4) -> CaptionPairs:
    """Read FOIL: one original per annotation, and one pair for each of its foils.

    A decision is right if the score of the original is strictly higher. References are the other captions of the image
    in the order of the COCO file. The published results use an unpublished subset of 8,000 images, whereas this is the
    full set.

    Args:
        files: ``foilv1.0_test_2017.json`` and, for references, ``captions_val2014.json``, or folders with them.
        images: Folder of COCO's val2014.
        references: Number of references per row, 1 or 4 in the papers. None for all, 0 for none.

    Raises:
        ValueError: If a file is missing or has another layout.
        OSError: If a file cannot be read.
    """
    needed = [COCO_FILE] if references != 0 else []
    paths = find_named_files(files, [FOIL_FILE, *needed], optional=[] if needed else [COCO_FILE])
    path = paths[FOIL_FILE]
    content = read_json(path)
    listed = f"an image of `{path}`"
    names = {
        entry(image, "id", (int, str), listed): entry(image, "file_name", str, listed)
        for image in entry(content, "images", list, f"`{path}`")
    }
    captions = {} if references == 0 else coco_captions(read_json(paths[COCO_FILE]), paths[COCO_FILE])
    folder = Folder(images, path)
    predictions, known, seen, groups = [], [], [], []
    for original, foils in _annotations(content, path):
        image, right = original["image_id"], tidy(original["caption"])
        if image not in names:
            raise UsageError.about(
                str(path), f"must list image {image!r} of annotation {original['id']!r}, got no such image"
            )
        others = [text for text in captions.get(image, []) if text != right]
        for foil in foils:
            predictions += [right, tidy(foil["caption"])]
            known += [others, others]
            seen += [folder.image(names[image])] * 2
            groups.append(str(image))
    columns = columns_of(predictions, known, references, images=seen)
    votes = np.tile(np.array(RIGHT), (len(groups), 1))
    rules = {"references": "all" if references is None else references, "ties": "wrong"}
    return CaptionPairs("foil", columns, groups, rules, votes, ["foil"] * len(groups))


def _annotations(content: Mapping[str, Any], path: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the original and the foils of every id, in the order of the file."""
    found: dict[Any, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
    for annotation in entry(content, "annotations", list, f"`{path}`"):
        name = entry(annotation, "id", (int, str), f"an annotation of `{path}`")
        place = f"annotation {name!r} of `{path}`"
        entry(annotation, "image_id", (int, str), place)
        entry(annotation, "caption", str, place)
        found.setdefault(name, ([], []))[entry(annotation, "foil", bool, place)].append(annotation)
    for name, (originals, _) in found.items():
        if len(originals) != 1:
            raise UsageError(f"annotation {name!r} of `{path}` must have one original, got {len(originals)}")
    return [(originals[0], foils) for originals, foils in found.values()]
