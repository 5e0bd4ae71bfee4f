"""Captions with ratings, from JSON lines or CSV, or from synthetic scenes with simulated ratings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.research.training.pac_s.data import SceneImage
from vlgauge.research.training.row_files import image_field, records, text_field
from vlgauge.scenes import Scene, captions, change_fact, scenes

COLUMNS = ("image", "caption", "references", "rating")

# Penalty of a simulated annotator for each wrong fact.
PENALTIES = {"object": 0.6, "shape": 0.5, "colour": 0.4, "size": 0.3, "background": 0.3, "place": 0.25}
_INCOMPLETE = 0.15  # penalty for an incomplete caption
_SPREAD, _RATERS = 0.1, 3


@dataclass(frozen=True)
class Rated:
    """Caption of an image with its rating.

    Attributes:
        image: Image.
        caption: Caption.
        references: Human references, at least one.
        rating: Rating in [0, 1].
        group: Group of rows that stay on the same side of a split.
    """

    image: LazyImage
    caption: str
    references: tuple[str, ...]
    rating: float
    group: Any


def read_rows(path: Path, scale: Sequence[float], folder: Path | None = None) -> list[Rated]:
    """Read captions with ratings from JSON lines, or from a CSV with a header. Images are opened later.

    The columns are `COLUMNS`. References are a list of strings, encoded as JSON in a CSV.

    Args:
        path: File.
        scale: Lowest and highest rating, which are mapped to 0 and 1.
        folder: Folder of relative image paths. None for the folder of the file.

    Raises:
        ValueError: If a row lacks a column or has an invalid value, or there are no rows.
    """
    found = []
    for place, fields in records(path, COLUMNS):
        image = image_field(fields, "image", folder or path.parent, place)
        caption = text_field(fields, "caption", place)
        rating, references = _rating(fields, scale, place), _references(fields, place)
        found.append(Rated(image, caption, references, rating, image.key))
    return found


def _rating(fields: Mapping[str, Any], scale: Sequence[float], place: str) -> float:
    low, high = scale
    try:
        rating = float(fields["rating"])
    except (TypeError, ValueError):
        rating = float("nan")
    if isinstance(fields["rating"], bool) or not low <= rating <= high:
        raise UsageError.about(
            place,
            f"must have a rating from {low:g} to {high:g}, got {fields['rating']!r}",
            "pass another scale with --scale LOW HIGH, or remove the row",
        )
    return (rating - low) / (high - low)


def _references(fields: Mapping[str, Any], place: str) -> tuple[str, ...]:
    value = fields["references"]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            value = None
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise UsageError.about(
            place, f"must have a list of at least one string in the column 'references', got {fields['references']!r}"
        )
    return tuple(value)


def draw_rows(n: int, seed: int, split: str) -> list[Rated]:
    """Create six captions per synthetic scene with simulated ratings: correct, incomplete, wrong, and of another scene.

    A rating is the mean of three noisy votes, rounded to quarters. The noise is added to 1 minus the `PENALTIES` of the
    wrong facts.
    """
    every = scenes(n, seed, split)
    found = []
    for number, scene in enumerate(every):
        own = 1_000_003 * seed + number
        rng = np.random.default_rng([own, 5])
        candidates = captions(scene, own + 1, n=2 + int(rng.integers(4)))
        image = SceneImage(scene, own)
        other = every[(number + 1 + int(rng.integers(max(1, n - 1)))) % n]
        for text, quality in [*_word_captions(scene, own, rng), (captions(other, own)[0], _likeness(scene, other))]:
            references = tuple(one for one in candidates if one != text) or (candidates[0],)
            found.append(Rated(image, text, references, _simulate_rating(quality, rng), number))
    return found


def _word_captions(scene: Scene, seed: int, rng: np.random.Generator) -> list[tuple[str, float]]:
    """Return captions of a scene with their quality: correct, incomplete, and with one, one and two wrong facts."""
    found = [(captions(scene, seed)[0], 1.0)]
    short = captions(scene, seed + 7, complete=False)[0]
    found.append((short, 1.0 if len(short.split()) >= len(found[0][0].split()) else 1.0 - _INCOMPLETE))
    for n_errors in (1, 1, 2):
        now, quality = scene, 1.0
        for kind in rng.permutation(list(PENALTIES))[:n_errors]:
            turned = change_fact(now, str(kind), seed + int(rng.integers(1_000)))
            if turned is not None:
                now, quality = turned, quality - PENALTIES[str(kind)]
        found.append((captions(now, seed)[0], max(quality, 0.0)))
    return found


def _likeness(scene: Scene, other: Scene) -> float:
    """Return the quality of another scene's caption: 0.1 for each shared object, and 0.1 for the same background."""
    shared = {thing.label for thing in scene.objects} & {thing.label for thing in other.objects}
    return 0.1 * (len(shared) + (scene.background == other.background))


def _simulate_rating(quality: float, rng: np.random.Generator) -> float:
    votes = np.clip(quality + rng.normal(scale=_SPREAD, size=_RATERS), 0, 1)
    return float(np.mean(np.round(votes * 4) / 4))
