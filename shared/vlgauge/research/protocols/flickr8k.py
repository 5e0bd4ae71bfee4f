"""Flickr8k-Expert and Flickr8k-CF (Hodosh et al., 2013), in the files that the code of CLIPScore and PAC-S reads.

Both contain ``{id: {"image_path", "ground_truth": [texts], "human_judgement": [{"caption", "rating"}]}}``.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import FilePath, Folder, columns_of, entry, one_file, read_json, texts, tidy
from vlgauge.research.protocols.ratings import RatedCaptions

EXPERT_FILE, CF_FILE = "flickr8k.json", "crowdflower_flickr8k.json"

Judgement = tuple[str, str, list[str], str, float]
"""Image id, its path, references, caption, rating."""


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
    judgements = list(_judgements(path))
    rated = [row for row in judgements if not math.isnan(row[-1])]
    left_out = {"ratings that are NaN": len(judgements) - len(rated)}
    rows = rated
    if average or unanimous:
        by_caption = _by_caption(rated)
        kept = [own for own in by_caption if average or len({row[-1] for row in own}) == 1]
        rows = [(*own[0][:-1], math.fsum(row[-1] for row in own) / len(own)) for own in kept]
        left_out |= {"captions on which the raters disagree": len(by_caption) - len(kept)} if unanimous else {}
    rules = {"ratings": "averaged" if average else "unanimous" if unanimous else "rows"}
    return _task("flickr8k_expert", rows, Folder(images, path), references, rules, left_out)


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
    judgements = list(_judgements(path))
    rated = [
        (name, image, [text for text in known if text != caption], caption, rating)
        for name, image, known, caption, rating in judgements
        if not math.isnan(rating)
    ]
    for name, *_, rating in rated:
        if not 0 <= rating <= 1:
            raise UsageError.about(str(path), f"must have shares from 0 to 1 as ratings, got {rating} for {name!r}")
    left_out = {"ratings that are NaN": len(judgements) - len(rated)}
    return _task("flickr8k_cf", rated, Folder(images, path), references, {"ratings": "shares"}, left_out)


def _judgements(path: Path) -> Iterator[Judgement]:
    for name, record in read_json(path).items():
        place = f"`{path}`, {name!r},"
        image = entry(record, "image_path", str, place)
        known = texts(entry(record, "ground_truth", list, place), f"'ground_truth' of {place}")
        for judgement in entry(record, "human_judgement", list, place):
            caption = tidy(entry(judgement, "caption", str, place))
            yield name, image, known, caption, float(entry(judgement, "rating", (int, float), place))


def _by_caption(rows: Sequence[Judgement]) -> list[list[Judgement]]:
    found: dict[tuple[str, str], list[Judgement]] = {}
    for row in rows:
        found.setdefault((row[0], row[3]), []).append(row)
    return list(found.values())


def _task(
    name: str,
    rows: Sequence[Judgement],
    folder: Folder,
    references: int | None,
    rules: dict[str, Any],
    left_out: dict[str, int],
) -> RatedCaptions:
    seen = [folder.image(image) for _, image, *_ in rows]
    columns = columns_of([row[3] for row in rows], [row[2] for row in rows], references, images=seen)
    ratings = np.array([row[4] for row in rows], dtype=np.float64).reshape(-1, 1)
    fields = {"references": "all" if references is None else references, **rules}
    return RatedCaptions(name, columns, [row[0] for row in rows], fields, ratings, left_out=left_out)
