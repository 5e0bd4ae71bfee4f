"""Phrases and regions of a story as unit vectors, from an encoder or from features that the caller gives."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders import ImageTextEncoder
from vlgauge.encoders.clip.tokens import spells_special
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
Floats = npt.NDArray[np.float64]
FEATURES = "{'text': {phrase: vector}, 'images': [vectors of the regions, one array per image]}"


@dataclass(frozen=True)
class Spots:
    """Where the regions of a story are.

    Attributes:
        image: Image of each region.
        place: Place of each region within its image, best first.
        boxes: Box of each region, or None.
        scores: Score of each region, or None.
        n_images: Number of images, those without a region included.
    """

    image: list[int]
    place: list[int]
    boxes: list[Any]
    scores: list[float | None]
    n_images: int


@dataclass(frozen=True)
class Evidence:
    """What is compared in one story.

    Attributes:
        text: Unit vectors of the phrases, shape ``(n_phrases, d)``.
        regions: Unit vectors of the regions of all images in their order, shape ``(n_regions, d)``.
        spots: Where the regions are.
    """

    text: Floats
    regions: Floats
    spots: Spots

    def compared(self) -> tuple[Floats, Floats]:
        """Cosines, shape ``(n_phrases, n_regions)``, and the best within each image, ``(n_phrases, n_images)``.

        An image without a region has NaN.
        """
        cosines = self.text @ self.regions.T if len(self.text) else np.zeros((0, len(self.regions)))
        best = np.full((len(self.text), self.spots.n_images), np.nan)
        starts = [i for i, place in enumerate(self.spots.place) if place == 0]
        if starts and len(self.text):
            best[:, [self.spots.image[i] for i in starts]] = np.maximum.reduceat(cosines, starts, axis=1)
        return cosines, best


@dataclass(frozen=True)
class TextVectors:
    """Unit vectors of the phrases of a call, each phrase once.

    Attributes:
        rows: Vectors, shape ``(n_phrases, d)``.
        at: Row of each phrase.
        truncated: Phrases that were longer than the encoder takes.
        special: Phrases that spell a token of CLIP.
    """

    rows: Floats
    at: Mapping[str, int]
    truncated: set[str] = field(default_factory=set)
    special: set[str] = field(default_factory=set)

    def of(self, phrases: Sequence[str]) -> Floats:
        """Vectors of phrases, in their order."""
        return self.rows[[self.at[phrase] for phrase in phrases]]


def story_evidence(
    metric: Any,
    sources: Any,
    phrases: Sequence[Sequence[str]],
    images: Sequence[Any] | None,
    regions: Any,
    features: Any,
) -> tuple[TextVectors, Iterator[Evidence]]:
    """What was read of the phrases, nothing if features are given, and the evidence of each story, a few at a time.

    Args:
        metric: The metric, for its settings.
        sources: Its `encoder` (None if features are given) and `regions`.
        phrases: Per story the phrases that are scored.
        images: Per story the cells of its images, or None.
        regions: Per-call data, or None.
        features: Per-call data, or None.
    """
    limits = {"top_k": metric.top_k, "min_score": metric.min_score}
    if sources.encoder is None:
        entries = per_story(features, len(phrases), "features")
        return TextVectors(np.zeros((0, 0)), {}), _all_given(entries, phrases, images, limits)
    encoder = sources.encoder
    given = None if regions is None else per_story(regions, len(phrases), "regions")
    text = encoded_phrases(encoder, phrases, batch_size=metric.batch_size, progress=metric.progress)

    def in_chunks() -> Iterator[Evidence]:
        for start in range(0, len(phrases), STORIES_AT_ONCE):
            rows = slice(start, start + STORIES_AT_ONCE)
            own = phrases[rows]
            cells = [None if images is None else images[start + i] for i in range(len(own))]
            seen = regions_of(
                cells, sources.regions, None if given is None else given[rows], first_story=start, **limits
            )
            yield from encoded_stories(encoder, own, text, seen, batch_size=metric.batch_size)

    return text, in_chunks()


def encoded_phrases(
    encoder: ImageTextEncoder, stories: Sequence[Sequence[str]], *, batch_size: int, progress: Any
) -> TextVectors:
    """Vectors of all phrases, as they are, without a prompt."""
    distinct = list(dict.fromkeys(phrase for story in stories for phrase in story))
    if not distinct:
        return TextVectors(np.zeros((0, 0)), {})
    hidden = encoder.text_hidden(distinct, batch_size=batch_size, progress=progress)
    rows = unit_vectors(encoder.project(hidden.end, "text"), "the text features of the encoder")
    cut = {phrase for phrase, was in zip(distinct, hidden.truncated, strict=True) if was}
    special = set(filter(spells_special, distinct))
    return TextVectors(rows, {phrase: row for row, phrase in enumerate(distinct)}, cut, special)


def encoded_stories(
    encoder: ImageTextEncoder,
    phrases: Sequence[Sequence[str]],
    text: TextVectors,
    regions: Sequence[Sequence[Sequence[Region]]],
    *,
    batch_size: int,
) -> list[Evidence]:
    """Evidence of stories whose crops go through the encoder together."""
    flat = [region for story in regions for image in story for region in image]
    width = text.rows.shape[1]
    vectors = np.zeros((0, width))
    if flat:
        hidden = encoder.image_hidden([region.picture for region in flat], batch_size=batch_size, progress=False)
        vectors = unit_vectors(encoder.project(hidden, "image"), "the image features of the encoder")
    found, start = [], 0
    for own, images in zip(phrases, regions, strict=True):
        count = sum(map(len, images))
        rows = vectors[start : start + count]
        found.append(_evidence(text.of(own) if own else np.zeros((0, rows.shape[1])), rows, images))
        start += count
    return found


def _evidence(text: Floats, rows: Floats, images: Sequence[Sequence[Region]]) -> Evidence:
    places = [(j, k, region) for j, image in enumerate(images) for k, region in enumerate(image)]
    spots = Spots(
        image=[j for j, _, _ in places],
        place=[k for _, k, _ in places],
        boxes=[region.box for _, _, region in places],
        scores=[region.score for _, _, region in places],
        n_images=len(images),
    )
    return Evidence(text, rows, spots)


def _all_given(
    features: Sequence[Any], phrases: Sequence[Sequence[str]], images: Sequence[Any] | None, limits: Mapping[str, Any]
) -> Iterator[Evidence]:
    for i, (entry, own) in enumerate(zip(features, phrases, strict=True)):
        found = given_evidence(entry, own, f"features[{i}]", **limits)
        n_images = found.spots.n_images
        if images is not None and images[i] is not None and len(images[i]) != n_images:
            raise ValueError(
                f"`features[{i}]` must have one array of regions per image, got {n_images} for {len(images[i])} images"
            )
        yield found


def given_evidence(entry: Any, phrases: Sequence[str], place: str, *, top_k: int, min_score: float) -> Evidence:
    """Evidence of one story from features.

    Args:
        entry: ``{"text": {phrase: vector}, "images": [array per image], "scores": [list per image]}``; the vectors need
            not be normalised, ``scores`` may be absent.
        phrases: The phrases that are scored.
        place: Where the entry stands, for messages.
        top_k: Largest number of regions of an image.
        min_score: Regions with a lower score are left out.

    Raises:
        ValueError: If a phrase or an image lacks its vectors, or they are not finite.
    """
    check_features(entry, phrases, place, form=FEATURES, unit="scored phrase")
    images = images_of(entry, place)
    text = unit_vectors([entry["text"][phrase] for phrase in phrases], f"{place}['text']", names=phrases)
    width = text.shape[1] if phrases else None
    rows: list[Floats] = []
    where = []
    for j, (regions, scores) in enumerate(images):
        image = entries_of(regions, f"{place}['images'][{j}]")
        values = checked_scores(scores, len(image), f"{place}['scores'][{j}]")
        best = kept(values, top_k=top_k, min_score=min_score)
        if best:
            rows.append(unit_vectors([image[i] for i in best], f"{place}['images'][{j}]", width=width, names=best))
            width = rows[-1].shape[1]
        where += [(j, k, values[i]) for k, i in enumerate(best)]
    return Evidence(
        text=text,
        regions=np.concatenate(rows) if rows else np.zeros((0, width or 0)),
        spots=Spots(
            image=[j for j, _, _ in where],
            place=[k for _, k, _ in where],
            boxes=[None] * len(where),
            scores=[score for _, _, score in where],
            n_images=len(images),
        ),
    )
