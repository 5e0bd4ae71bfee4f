"""Flickr8k-Expert and Flickr8k-CF (Hodosh et al., 2013), in the files that the code of CLIPScore and PAC-S reads.

Both contain ``{id: {"image_path", "ground_truth": [texts], "human_judgement": [{"caption", "rating"}]}}``.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import FilePath, Folder, entry, one_file, read_json, texts, tidy
from vlgauge.research.protocols.ratings import RatedCaptions, RatedRow, rated_captions

EXPERT_FILE, CF_FILE = "flickr8k.json", "crowdflower_flickr8k.json"


def read_flickr8k_expert(
    files: Sequence[FilePath],
    *,
    images: FilePath | None = None,
    references: int | None = None,
    average: bool = False,
    unanimous: bool = False,
) -> RatedCaptions:
    """Read Flickr8k-Expert, with one row per rating (1 to 4) of the three experts.

    The published file has 16,992 ratings. NaN ratings are left out. The file contains no captions that equal a
    reference.

    Args:
        files: ``flickr8k.json``, or a folder with it.
        images: Folder of the images.
        references: Number of references per row, from the first one. None for all, 0 for none.
        average: Whether to average the ratings of a caption to one row, which is another protocol with other results.
        unanimous: Whether to use only captions whose ratings are all equal, as one row each, as in the GROOViST paper.
            The published file has 3,247 of them.

    Raises:
        ValueError: If the file has another layout, or both `average` and `unanimous` are True.
        OSError: If the file cannot be read.
    """
    if average and unanimous:
        raise UsageError.about("average", "cannot be combined with `unanimous`")
    path = one_file(files, EXPERT_FILE)
    rows, left_out = _rated_rows(path, images)
    if average or unanimous:
        by_caption: dict[tuple[str, str], list[RatedRow]] = {}
        for row in rows:
            by_caption.setdefault((row.group, row.caption), []).append(row)
        kept = [own for own in by_caption.values() if average or len({row.ratings[0] for row in own}) == 1]
        rows = [replace(own[0], ratings=[math.fsum(row.ratings[0] for row in own) / len(own)]) for own in kept]
        left_out |= {"captions on which the raters disagree": len(by_caption) - len(kept)} if unanimous else {}
    rules = {"ratings": "averaged" if average else "unanimous" if unanimous else "rows"}
    return rated_captions("flickr8k_expert", rows, references, rules, left_out=left_out)


def read_flickr8k_cf(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """Read Flickr8k-CF, rated by the share of crowd workers who accepted the caption. About 47,800 rows.

    NaN ratings are left out, and the caption is removed from its references.

    Args:
        files: ``crowdflower_flickr8k.json``, or a folder with it.
        images: Folder of the images.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If the file has another layout, or a rating is not between 0 and 1.
        OSError: If the file cannot be read.
    """
    path = one_file(files, CF_FILE)
    found, left_out = _rated_rows(path, images)
    rows = [replace(row, references=[text for text in row.references if text != row.caption]) for row in found]
    for row in rows:
        if not 0 <= row.ratings[0] <= 1:
            problem = f"must have shares from 0 to 1 as ratings, got {row.ratings[0]} for {row.group!r}"
            raise UsageError.about(str(path), problem)
    return rated_captions("flickr8k_cf", rows, references, {"ratings": "shares"}, left_out=left_out)


def _rated_rows(path: Path, images: FilePath | None) -> tuple[list[RatedRow], dict[str, int]]:
    """Return a row per rating that is not NaN, and the number of the others by reason."""
    folder, rows, n_undefined = Folder(images, path), [], 0
    for name, record in read_json(path).items():
        place = f"`{path}`, {name!r},"
        image = folder.image(entry(record, "image_path", str, place))
        known = texts(entry(record, "ground_truth", list, place), f"'ground_truth' of {place}")
        for judgement in entry(record, "human_judgement", list, place):
            caption = tidy(entry(judgement, "caption", str, place))
            rating = float(entry(judgement, "rating", (int, float), place))
            if math.isnan(rating):
                n_undefined += 1
            else:
                rows.append(RatedRow(caption, known, image, name, [rating]))
    return rows, {"ratings that are NaN": n_undefined}
