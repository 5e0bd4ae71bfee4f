"""Nouns and regions of a story as unit vectors, from a checkpoint or from features that the caller gives."""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.regions import Region
from vlgauge.regions import regions_of
from vlgauge.regions.boxes import checked_scores
from vlgauge.regions.boxes import kept
from vlgauge.regions.features import check_features
from vlgauge.regions.features import entries_of
from vlgauge.regions.features import images_of
from vlgauge.regions.features import unit_vectors
from vlgauge.regions.sources import per_story

STORIES_AT_ONCE = 16  # their decoded images are in memory together
FORM = "{'text': {noun: vector}, 'images': [array of the regions, one per image]}"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """What the nouns of a story are compared with.

    Attributes:
        text: Unit vectors of the nouns, shape ``(n_nouns, d)``.
        regions: Unit vectors of the regions of all images in their order, shape ``(n_regions, d)``.
        image: Image of each region.
        place: Place of each region within its image.
        boxes: Box of each region, or None.
        n_images: Number of images, those without a region included.
    """

    text: Floats
    regions: Floats
    image: list[int]
    place: list[int]
    boxes: list[Any]
    n_images: int


def seen_stories(
    metric: Any, model: Any, source: Any, text: Sequence[Floats], images: Sequence[Any] | None, regions: Any
) -> Iterator[Evidence]:
    """Evidence of each story, made a few stories at a time; crops of several stories form one stream of batches.

    Args:
        metric: The metric, for its settings.
        model: The checkpoint.
        source: Where regions come from if none are given.
        text: Per story the unit vectors of its nouns.
        images: Per story the cells of its images, or None.
        regions: Per-call data, or None.
    """
    given = None if regions is None else per_story(regions, len(text), "regions")
    for start in range(0, len(text), STORIES_AT_ONCE):
        rows = slice(start, start + STORIES_AT_ONCE)
        cells = [None if images is None else images[start + i] for i in range(len(text[rows]))]
        seen = regions_of(
            cells,
            source,
            None if given is None else given[rows],
            first_story=start,
            top_k=metric.top_k,
            min_score=metric.min_score,
        )
        yield from _encoded(model, text[rows], seen, metric.batch_size)


def _encoded(
    model: Any, text: Sequence[Floats], stories: Sequence[Sequence[Sequence[Region]]], batch_size: int
) -> Iterator[Evidence]:
    flat = [region.picture for story in stories for image in story for region in image]
    vectors = model.regions(flat, batch_size=batch_size, progress=False) if flat else np.zeros((0, 0))
    start = 0
    for own, images in zip(text, stories, strict=True):
        where = [(j, k, region.box) for j, image in enumerate(images) for k, region in enumerate(image)]
        yield Evidence(own, vectors[start : start + len(where)], *_columns(where), len(images))
        start += len(where)


def _columns(where: Sequence[tuple[int, int, Any]]) -> tuple[list[int], list[int], list[Any]]:
    return [j for j, _, _ in where], [k for _, k, _ in where], [box for _, _, box in where]


def given_evidence(features: Any, nouns: Sequence[Sequence[str]], *, top_k: int, min_score: float) -> list[Evidence]:
    """Evidence of each story from features after the heads, which need not be normalised.

    Args:
        features: Per story ``{"text": {noun: vector}, "images": [array per image], "scores": [list per image]}``;
            ``scores`` may be absent.
        nouns: Nouns of each story.
        top_k: Largest number of regions of an image.
        min_score: Regions with a lower score are left out.

    Raises:
        ValueError: If a noun or an image lacks its vectors, or they are not finite, zero, or of several widths.
    """
    entries = per_story(features, len(nouns), "features")
    each = enumerate(zip(entries, nouns, strict=True))
    return [_given(entry, own, f"features[{i}]", top_k, min_score) for i, (entry, own) in each]


def _given(entry: Any, nouns: Sequence[str], place: str, top_k: int, min_score: float) -> Evidence:
    check_features(entry, nouns, place, form=FORM, unit="noun")
    text = {noun: unit_vectors([entry["text"][noun]], f"{place}['text'][{noun!r}]") for noun in dict.fromkeys(nouns)}
    images = images_of(entry, place)
    rows = []
    for j, (image, scores) in enumerate(images):
        regions = unit_vectors(entries_of(image, f"{place}['images'][{j}]"), f"{place}['images'][{j}]")
        values = checked_scores(scores, len(regions), f"{place}['scores'][{j}]")
        rows.append(regions[kept(values, top_k=top_k, min_score=min_score)])
    where = [(j, k, None) for j, image in enumerate(rows) for k in range(len(image))]
    own = one_width([text[noun] for noun in nouns], rows, place)
    return Evidence(*own, *_columns(where), len(images))


def one_width(text: Sequence[Floats], images: Sequence[Floats], place: str) -> tuple[Floats, Floats]:
    """The rows of all nouns, and those of all images.

    Raises:
        ValueError: If they have several widths.
    """
    parts = [part for part in (*text, *images) if len(part)]
    widths = list(dict.fromkeys(part.shape[1] for part in parts))
    if len(widths) > 1:
        raise ValueError(f"`{place}` must have vectors of one width, got {widths[0]} and {widths[1]}")
    nothing = np.zeros((0, widths[0] if widths else 0))
    text, images = ([nothing, *(part for part in side if len(part))] for side in (text, images))
    return np.concatenate(text), np.concatenate(images)
