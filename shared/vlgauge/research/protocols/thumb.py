"""THumB (Kasai et al., 2022): captions of four models and of humans for 500 images of COCO, rated by fixed rules.

The two files are in the folder ``mscoco`` of the repository jungokasai/THumB. Both are JSON lines:
``mscoco_THumB-1.0.jsonl`` has ``hyp`` (the caption), ``human_score``, ``seg_id`` and ``image`` in each row,
``mscoco_references.json`` has ``seg_id`` and ``refs``, four references per image without the rated human caption.
"""

from collections.abc import Sequence

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import FilePath, Folder, entry, find_named_files, placed_rows, texts, tidy
from vlgauge.research.protocols.ratings import RatedCaptions, RatedRow, rated_captions

RATINGS_FILE, REFERENCES_FILE = "mscoco_THumB-1.0.jsonl", "mscoco_references.json"


def read_thumb(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """Read THumB: 2,500 captions, 500 of which are human-written, each with one rating.

    The rating is ``human_score``: the mean of precision and recall, each from 1 to 5, minus the penalties for fluency,
    conciseness and inclusive language.

    Args:
        files: The two files, or a folder with them. The first one is enough without references.
        images: Folder of COCO's val2014.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Returns:
        One row per caption. Intervals resample images.

    Raises:
        UsageError: If a file is missing or has another layout, or an image has no references.
        OSError: If a file cannot be read.
    """
    needed = [REFERENCES_FILE] if references != 0 else []
    paths = find_named_files(files, [RATINGS_FILE, *needed], optional=[] if needed else [REFERENCES_FILE])
    path = paths[RATINGS_FILE]
    known: dict[str, list[str]] = {}
    for row, place in placed_rows(paths[REFERENCES_FILE], "jsonl") if needed else ():
        known[entry(row, "seg_id", str, place)] = texts(entry(row, "refs", list, place), f"'refs' of {place}")
    folder = Folder(images, path)
    rows = []
    for row, place in placed_rows(path):
        name = entry(row, "seg_id", str, place)
        if needed and name not in known:
            raise UsageError.about(str(paths[REFERENCES_FILE]), f"must have references of 'seg_id' {name!r}, got none")
        caption, image = tidy(entry(row, "hyp", str, place)), folder.image(entry(row, "image", str, place))
        rating = float(entry(row, "human_score", (int, float), place))
        rows.append(RatedRow(caption, known.get(name, []), image, name, [rating]))
    return rated_captions("thumb", rows, references, {"ratings": "rows"})
