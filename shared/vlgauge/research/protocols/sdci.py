"""sDCI (Chen et al., 2025): captions of an image with a growing number of details, each with a wrong variant.

A table has one row per image: ``image``, and ``captions`` and ``neg_captions``, two lists of strings of equal length.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_float
from vlgauge.research.protocols.evaluation import Floats, Ints, Sampled, Task, check_scores, percent_by_kind
from vlgauge.research.protocols.files import (
    FilePath,
    Folder,
    entry,
    one_file,
    placed_rows,
    read_saved_rows,
    texts,
    with_places,
)

ENDINGS = ("", ".jpg", ".png")
# Positive: the longer caption is better. Negative: the caption is better than its variant with a wrong detail.
KINDS = ("positive", "negative", "authors' positive", "authors' negative")


def growth_rates(right: Floats, wrong: Floats) -> tuple[float, float]:
    """Compute the rates of right decisions about one image, against the previous caption and the wrong variant.

    Args:
        right: Scores of the growing captions, shape ``(n,)``, with n of at least 2.
        wrong: Scores of the captions with a wrong detail, shape ``(n,)``.

    Returns:
        Both rates. NaN for both if a score is NaN.
    """
    if np.isnan(right).any() or np.isnan(wrong).any():
        return math.nan, math.nan
    return float(np.mean(right[1:] > right[:-1])), float(np.mean(right > wrong))


def authors_rates(right: Floats, wrong: Floats, zero: float) -> tuple[float, float]:
    """Compute the rates as the authors' code does, which treats captions with a cosine of at most 0 as padding.

    If n captions have a positive cosine, the first n - 1 decisions of the image are counted, regardless of their
    captions.

    Args:
        right: Scores of the growing captions, shape ``(n,)``.
        wrong: Scores of the captions with a wrong detail, shape ``(n,)``.
        zero: Score of a cosine of 0.

    Returns:
        Both rates. NaN for both if there are fewer than three such captions, or a score is NaN.
    """
    n = int(np.count_nonzero(right > zero)) - 1
    if n <= 1 or np.isnan(right).any() or np.isnan(wrong).any():
        return math.nan, math.nan
    rises = np.append(right[1:] > right[:-1], False)
    return float(np.sum(rises[:n]) / n), float(np.sum((right > wrong)[:n]) / n)


@dataclass(frozen=True)
class GrowingCaptions(Task):
    """Task with growing captions.

    Attributes:
        columns: Rows to score: the captions of each image, followed by the captions with a wrong detail.
        counts: Number of captions of each image.
        groups: Image of each item. An item is one of `KINDS` for one image.
        rules: Fields of the signature. ``zero`` is the score of a cosine of 0.
    """

    unit: ClassVar[str] = "rates of images"

    counts: Sequence[int]

    def item_values(self, scores: Sequence[float]) -> Floats:
        """Compute the rates of each image by both rules, shape ``(4 n_images,)``. NaN for left-out rates.

        Raises:
            ValueError: If there is not one score per row.
        """
        values = check_scores(scores, len(self.columns["predictions"]))
        found: list[float] = []
        start = 0
        for n in self.counts:
            right, wrong = values[start : start + n], values[start + n : start + 2 * n]
            found += [*growth_rates(right, wrong), *authors_rates(right, wrong, self.rules["zero"])]
            start += 2 * n
        return np.array(found, dtype=np.float64)

    def figures_of(self, values: Floats, items: Ints) -> dict[str, float]:
        """Compute the mean rates in percent over the images, and their average by each rule.

        Returns:
            Percent by name: "positive", "negative", "average", the other kinds and "authors' average".
        """
        found = self.create_sampler(values, items)(np.arange(len(items)))
        return dict(zip(["positive", "negative", "average", *KINDS[2:], "authors' average"], found, strict=True))

    def create_sampler(self, values: Floats, items: Ints) -> Sampled:
        """Return a function that computes the values of `figures_of` for positions in `items`."""
        kinds, own = items % len(KINDS), values[items]

        def rates(drawn: Ints) -> list[float]:
            each = percent_by_kind(own[drawn], kinds[drawn], len(KINDS)).tolist()
            return [*each[:2], (each[0] + each[1]) / 2, *each[2:], (each[2] + each[3]) / 2]

        return rates


def read_sdci(files: Sequence[FilePath], *, images: FilePath | None = None, zero: float = 0.5) -> GrowingCaptions:
    """Read sDCI with both our rule and the rule of the authors' code.

    Our rule counts every caption of every image. The authors' rule treats captions with a cosine of at most 0 as
    padding, and leaves out images with fewer than three other captions.

    Args:
        files: JSONL, JSON or Parquet file with the columns ``image`` (a name, or ``bytes`` as in the Hub's files),
            ``captions`` and ``neg_captions``, or a folder written by `save_to_disk` of `datasets`, or its parent if the
            folder is named ``test``.
        images: Folder of the images.
        zero: Score of a cosine of 0, for the authors' rule: 0.5 for specs, 0 for cosines and CLIP-S.

    Raises:
        ValueError: If a column is missing, a cell has another type, or the two lists of a row differ in length.
        OSError: If the file cannot be read.
    """
    check_float("zero", zero, "a finite number", -math.inf)
    path, rows = _read(files)
    folder = Folder(images, path)
    predictions: list[str] = []
    seen: list[Any] = []
    counts: list[int] = []
    left_out = 0
    for row, place in rows:
        right = texts(entry(row, "captions", list, place), place)
        wrong = texts(entry(row, "neg_captions", list, place), place)
        if len(right) != len(wrong):
            raise UsageError(
                f"{place} must have as many `neg_captions` as `captions`, got {len(wrong)} and {len(right)}"
            )
        if len(right) < 2:
            left_out += 1
            continue
        image = entry(row, "image", (str, Mapping), place)
        content = folder.image(image, ENDINGS) if isinstance(image, str) else entry(image, "bytes", bytes, place)
        predictions += [*right, *wrong]
        seen += [content] * (2 * len(right))
        counts.append(len(right))
    groups = [str(number) for number in range(len(counts)) for _ in KINDS]
    columns = {"predictions": predictions, "images": seen}
    few = {"images with fewer than two captions": left_out}
    return GrowingCaptions("sdci", columns, groups, {"zero": float(zero)}, counts, left_out=few)


def _read(files: Sequence[FilePath]) -> tuple[Path, Iterator[tuple[dict[str, Any], str]]]:
    for saved in (Path(files[0]), Path(files[0], "test")) if len(files) == 1 else ():
        state = saved / "state.json"
        if state.is_file():
            return state, with_places(read_saved_rows(saved), state)
    path = one_file(files, "test.parquet")
    return path, placed_rows(path)
