"""Words and regions of a story as unit vectors, from a model or from features that the caller gives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError
from vlgauge.grounding.features import check_features, entries_of, images_of, per_story, unit_vectors
from vlgauge.media.pictures import Box, Picture
from vlgauge.regions import Region, RegionSource, regions_of
from vlgauge.regions.boxes import checked_scores, kept

STORIES_AT_ONCE = 16  # their decoded images are in memory together
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Encode = Callable[[Sequence[Picture]], Floats]
"""Gives the unit vectors of pictures, shape ``(n_pictures, d)``."""


@dataclass(frozen=True)
class Spots:
    """Where the regions of a story are.

    Attributes:
        image: Image of each region.
        region: Number of each region within its image, best first.
        boxes: Box of each region, or None.
        scores: Score of each region, or None.
        n_images: Number of images, those without a region included.
    """

    image: list[int]
    region: list[int]
    boxes: list[Box | None]
    scores: list[float | None]
    n_images: int

    @property
    def images_without_regions(self) -> list[int]:
        """The images that take no part."""
        seen = set(self.image)
        return [image for image in range(self.n_images) if image not in seen]

    def shown(self, k: int | None) -> dict[str, Any]:
        """What `return_details` shows of where region k is; None each if there is no region."""
        if k is None:
            return dict.fromkeys(("image", "region", "box"))
        box = self.boxes[k]
        return {"image": self.image[k], "region": self.region[k], "box": None if box is None else list(box)}


def best_regions(cosines: Floats) -> Indices:
    """Region of the largest cosine of each word, the first of equal ones; all words may share one region.

    Args:
        cosines: Shape ``(n_words, n_regions)``.

    Returns:
        Shape ``(n_words,)``; empty where there is no region.
    """
    return cosines.argmax(axis=1) if cosines.size else np.zeros(0, dtype=np.intp)


@dataclass(frozen=True)
class Evidence:
    """What is compared in one story.

    Attributes:
        text: Unit vectors of its words (noun phrases or nouns), shape ``(n_words, d)``.
        regions: Unit vectors of the regions of all images in their order, shape ``(n_regions, d)``.
        spots: Where the regions are.
    """

    text: Floats
    regions: Floats
    spots: Spots

    def cosines(self) -> Floats:
        """Cosine of each word and each region, shape ``(n_words, n_regions)``."""
        return self.text @ self.regions.T if len(self.text) else np.zeros((0, len(self.regions)))

    def best(self) -> tuple[Indices, Floats]:
        """Region of the largest cosine of each word, and that cosine; see `best_regions`."""
        cosines = self.cosines()
        best = best_regions(cosines)
        return best, cosines[np.arange(len(best)), best]


def seen_stories(
    text: Floats,
    rows: Sequence[Sequence[int]],
    regions: RegionSource | Sequence[Any],
    images: Sequence[Any] | None,
    encode: Encode,
    *,
    top_k: int,
    min_score: float,
) -> Iterator[Evidence]:
    """Evidence of each story, made a few stories at a time, whose crops form one stream of batches.

    Args:
        text: Unit vectors of the words of the call, each word once, shape ``(n_distinct, d)``.
        rows: Per story the rows of its words there.
        regions: Where regions come from, or per story what is given of them.
        images: Per story the cells of its images, or None.
        encode: What makes vectors of their pictures.
        top_k: Largest number of regions of an image.
        min_score: Regions with a lower score are left out.
    """
    for start in range(0, len(rows), STORIES_AT_ONCE):
        chunk = slice(start, start + STORIES_AT_ONCE)
        cells = [None] * len(rows[chunk]) if images is None else images[chunk]
        source = regions if isinstance(regions, RegionSource) else regions[chunk]
        seen = regions_of(cells, source, first_story=start, top_k=top_k, min_score=min_score)
        pictures = [region.picture for story in seen for image in story for region in image]
        vectors = encode(pictures) if pictures else np.zeros((0, text.shape[1]))
        ends = np.cumsum([sum(map(len, story)) for story in seen])[:-1]
        for own, part, story in zip(rows[chunk], np.split(vectors, ends), seen, strict=True):
            yield Evidence(text[list(own)], part, _spots(story))


def _spots(images: Sequence[Sequence[Region]]) -> Spots:
    every = [(j, k, region) for j, image in enumerate(images) for k, region in enumerate(image)]
    return Spots(
        image=[j for j, _, _ in every],
        region=[k for _, k, _ in every],
        boxes=[region.box for _, _, region in every],
        scores=[region.score for _, _, region in every],
        n_images=len(images),
    )


def given_stories(
    features: Any,
    words: Sequence[Sequence[str]],
    images: Sequence[Any] | None,
    *,
    unit: str,
    top_k: int,
    min_score: float,
) -> Iterator[Evidence]:
    """Evidence of each story from features; see `given_evidence`."""
    entries = per_story(features, len(words), "features")
    for i, (entry, own) in enumerate(zip(entries, words, strict=True)):
        found = given_evidence(entry, own, f"features[{i}]", unit=unit, top_k=top_k, min_score=min_score)
        n_images = found.spots.n_images
        if images is not None and images[i] is not None and len(images[i]) != n_images:
            raise UsageError.about(
                f"features[{i}]",
                f"must have one array of regions per image, got {n_images} for {len(images[i])} images",
            )
        yield found


def given_evidence(
    entry: Any, words: Sequence[str], place: str, *, unit: str, top_k: int, min_score: float
) -> Evidence:
    """Evidence of one story from features.

    Args:
        entry: ``{"text": {word: vector}, "images": [array per image], "scores": [list per image]}``; the vectors need
            not be normalised, ``scores`` may be absent. Every vector is checked, also of regions that are left out.
        words: What is scored.
        place: Where the entry stands, for messages.
        unit: What a word is called, for messages.
        top_k: Largest number of regions of an image.
        min_score: Regions with a lower score are left out.
    """
    check_features(entry, words, place, unit=unit)
    text = unit_vectors([entry["text"][word] for word in words], f"{place}['text']", names=words)
    width = text.shape[1] if words else None
    vectors: list[Floats] = []
    every: list[tuple[int, int, float | None]] = []  # image, number within it, score
    images = images_of(entry, place)
    for j, (regions, scores) in enumerate(images):
        where = f"{place}['images'][{j}]"
        rows = unit_vectors(entries_of(regions, where), where, width=width)
        values = checked_scores(scores, len(rows), f"{place}['scores'][{j}]")
        width = rows.shape[1] if len(rows) else width
        best = kept(values, top_k=top_k, min_score=min_score)
        vectors += [rows[best]] if best else []
        every += [(j, k, values[i]) for k, i in enumerate(best)]
    return Evidence(
        text=text,
        regions=np.concatenate(vectors) if vectors else np.zeros((0, width or 0)),
        spots=Spots(
            image=[j for j, _, _ in every],
            region=[k for _, k, _ in every],
            boxes=[None] * len(every),
            scores=[score for _, _, score in every],
            n_images=len(images),
        ),
    )
