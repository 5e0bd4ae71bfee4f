"""L2-normalized embeddings of the words and regions of a story, from a model or provided by the user."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_one_each
from vlgauge.families.grounding.features import check_features, entries_of, images_of, unit_vectors
from vlgauge.inputs.images.lazy_images import Box, LazyImage
from vlgauge.models.detectors import RegionSource, regions_of
from vlgauge.models.detectors.boxes import check_scores, select_regions

STORIES_AT_ONCE = 16  # number of stories whose decoded images are in memory at the same time
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Encode = Callable[[Sequence[LazyImage]], Floats]
"""Function that returns the L2-normalized embeddings of images, shape ``(n_images, d)``."""


@dataclass(frozen=True)
class Spots:
    """Positions of the regions of a story.

    Attributes:
        image: Index of the image of each region.
        region: Rank of each region within its image, from 0.
        boxes: Box of each region, or None.
        scores: Score of each region, or None.
        n_images: Number of images, including images without a region.
    """

    image: list[int]
    region: list[int]
    boxes: list[Box | None]
    scores: list[float | None]
    n_images: int

    @classmethod
    def of(cls, regions: Sequence[Sequence[Any]], n_images: int) -> "Spots":
        """Return the positions of regions, each given by its image, rank, box and score."""
        image, rank, boxes, scores = ([region[i] for region in regions] for i in range(4))
        return cls(image, rank, boxes, scores, n_images)

    @property
    def images_without_regions(self) -> list[int]:
        """Indices of the images without a region."""
        seen = set(self.image)
        return [image for image in range(self.n_images) if image not in seen]

    def describe(self, k: int | None) -> dict[str, Any]:
        """Return ``image``, ``region`` and ``box`` of region k for `return_details`, each None if k is None."""
        if k is None:
            return dict.fromkeys(("image", "region", "box"))
        box = self.boxes[k]
        return {"image": self.image[k], "region": self.region[k], "box": None if box is None else list(box)}


def best_regions(cosines: Floats) -> Indices:
    """Return the region with the largest cosine for each word, or the first one of ties. Words may share a region.

    Args:
        cosines: Cosine similarities, shape ``(n_words, n_regions)``.

    Returns:
        Region indices, shape ``(n_words,)``. Empty if there is no region.
    """
    return cosines.argmax(axis=1) if cosines.size else np.zeros(0, dtype=np.intp)


@dataclass(frozen=True)
class Evidence:
    """Embeddings of one story.

    Attributes:
        text: L2-normalized embeddings of its words (noun phrases or nouns), shape ``(n_words, d)``.
        regions: L2-normalized embeddings of the regions of all images in order, shape ``(n_regions, d)``.
        spots: Positions of the regions.
    """

    text: Floats
    regions: Floats
    spots: Spots

    def cosines(self) -> Floats:
        """Return the cosine similarity of each word and each region, shape ``(n_words, n_regions)``."""
        return self.text @ self.regions.T if len(self.text) else np.zeros((0, len(self.regions)))

    def best(self) -> tuple[Indices, Floats]:
        """Return the region with the largest cosine for each word, and this cosine, shape ``(n_words,)`` each.

        Both are empty if there is no region. See `best_regions`.
        """
        cosines = self.cosines()
        best = best_regions(cosines)
        return best, cosines[np.arange(len(best)), best]


def encode_stories(
    text: Floats,
    rows: Sequence[Sequence[int]],
    regions: RegionSource | Sequence[Any],
    images: Sequence[Any] | None,
    encode: Encode,
    *,
    top_k: int,
    min_score: float,
) -> Iterator[Evidence]:
    """Yield the embeddings of each story, processing a few stories at a time in shared batches.

    Args:
        text: L2-normalized embeddings of the distinct words of the call, shape ``(n_distinct, d)``.
        rows: Row indices in `text` of the words of each story.
        regions: Source of regions, or the regions per story provided by the user.
        images: Image cells per story, or None.
        encode: Function that encodes images.
        top_k: Maximum number of regions per image.
        min_score: Minimum score. Regions with a lower score are omitted.

    Raises:
        ValueError: If images are missing or unreadable, or do not match the regions.
    """
    for start in range(0, len(rows), STORIES_AT_ONCE):
        chunk = slice(start, start + STORIES_AT_ONCE)
        cells = [None] * len(rows[chunk]) if images is None else images[chunk]
        source = regions if isinstance(regions, RegionSource) else regions[chunk]
        seen = regions_of(cells, source, first_story=start, top_k=top_k, min_score=min_score)
        crops = [region.image for story in seen for image in story for region in image]
        vectors = encode(crops) if crops else np.zeros((0, text.shape[1]))
        ends = np.cumsum([sum(map(len, story)) for story in seen])[:-1]
        for own, part, story in zip(rows[chunk], np.split(vectors, ends), seen, strict=True):
            every = [(j, k, one.box, one.score) for j, image in enumerate(story) for k, one in enumerate(image)]
            yield Evidence(text[list(own)], part, Spots.of(every, len(story)))


def read_stories(
    features: Any,
    words: Sequence[Sequence[str]],
    images: Sequence[Any] | None,
    *,
    unit: str,
    top_k: int,
    min_score: float,
) -> Iterator[Evidence]:
    """Yield the embeddings of each story from features. See `read_evidence`.

    Raises:
        ValueError: If there is not one entry per story or one array per image, or an entry is invalid.
    """
    check_one_each("features", features, len(words), "entry per story")
    for i, (entry, own) in enumerate(zip(features, words, strict=True)):
        found = read_evidence(entry, own, f"features[{i}]", unit=unit, top_k=top_k, min_score=min_score)
        n_images = found.spots.n_images
        if images is not None and images[i] is not None and len(images[i]) != n_images:
            raise UsageError.about(
                f"features[{i}]",
                f"must have one array of regions per image, got {n_images} for {len(images[i])} images",
            )
        yield found


def read_evidence(entry: Any, words: Sequence[str], place: str, *, unit: str, top_k: int, min_score: float) -> Evidence:
    """Return the embeddings of one story from features.

    Args:
        entry: ``{"text": {word: vector}, "images": [array per image], "scores": [list per image]}``. Vectors need not
            be normalized, and ``scores`` is optional. All vectors are checked, including omitted regions.
        words: Words to score.
        place: Position of the entry in the input, for messages.
        unit: Name of a word, for messages.
        top_k: Maximum number of regions per image.
        min_score: Minimum score. Regions with a lower score are omitted.

    Raises:
        ValueError: If the entry is invalid.
    """
    check_features(entry, words, place, unit=unit)
    text = unit_vectors([entry["text"][word] for word in words], f"{place}['text']", names=words)
    width = text.shape[1] if words else None
    vectors: list[Floats] = []
    every: list[tuple[int, int, Box | None, float | None]] = []
    images = images_of(entry, place)
    for j, (regions, scores) in enumerate(images):
        where = f"{place}['images'][{j}]"
        rows = unit_vectors(entries_of(regions, where), where, width=width)
        values = check_scores(scores, len(rows), f"{place}['scores'][{j}]")
        width = rows.shape[1] if len(rows) else width
        best = select_regions(values, top_k=top_k, min_score=min_score)
        vectors += [rows[best]] if best else []
        every += [(j, k, None, values[i]) for k, i in enumerate(best)]
    found = np.concatenate(vectors) if vectors else np.zeros((0, width or 0))
    return Evidence(text, found, Spots.of(every, len(images)))
