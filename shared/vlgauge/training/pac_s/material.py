"""The training rows as numbers of distinct images and texts, so that each is encoded and held once."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.errors import UsageError
from vlgauge.media.pictures import Picture
from vlgauge.training.pac_s.batches import Indices
from vlgauge.training.pac_s.rows import Row

MISSING = -1


@dataclass(frozen=True)
class Material:
    """Rows of training and validation.

    Attributes:
        pictures: Distinct pictures, real and generated.
        texts: Distinct captions, real and generated.
        image: Per row its index in `pictures`, shape ``(n_rows,)``.
        caption: Per row its index in `texts`.
        generated_image: The same of V'; `MISSING` where there is none.
        generated_caption: The same of T'; `MISSING` where there is none.
        group: Number of each row's group.
        n_train: The first so many rows are for training, the others for validation.
    """

    pictures: list[Picture]
    texts: list[str]
    image: Indices
    caption: Indices
    generated_image: Indices
    generated_caption: Indices
    group: Indices
    n_train: int

    @property
    def train(self) -> Indices:
        """Rows of training."""
        return np.arange(self.n_train)

    @property
    def validation(self) -> Indices:
        """Rows of validation."""
        return np.arange(self.n_train, len(self.image))


def material_of(train: Sequence[Row], validation: Sequence[Row]) -> Material:
    """The rows of both parts as one material."""
    rows = [*train, *validation]
    parts = {"training": {row.image.key for row in train}, "validation": {row.image.key for row in validation}}
    for name, keys in parts.items():
        if len(keys) < 2:
            raise UsageError(f"`{name}` rows must have at least 2 images, got {len(keys)}; give more rows")
    if shared := len(parts["training"] & parts["validation"]):
        raise UsageError(f"`validation` rows must have images of their own, got {shared} that are trained on")
    every = [row.image for row in rows] + [row.generated_image for row in rows]
    pictures, of_pictures = _numbered(every, [None if picture is None else picture.key for picture in every])
    said = [row.caption for row in rows] + [row.generated_caption for row in rows]
    texts, of_texts = _numbered(said, said)
    image, generated_image = np.split(of_pictures, 2)
    caption, generated_caption = np.split(of_texts, 2)
    _, group = _numbered(rows, [index if row.group is None else row.group for index, row in enumerate(rows)])
    return Material(pictures, texts, image, caption, generated_image, generated_caption, group, len(train))


def split_by_image(rows: Sequence[Row], share: float, seed: int) -> tuple[list[Row], list[Row]]:
    """Rows for training and for validation; all rows of an image are on one side."""
    keys = sorted({row.image.key for row in rows})
    n_validation = max(2, round(share * len(keys)))
    chosen = np.random.default_rng(seed).permutation(len(keys))[:n_validation]
    held_out = {keys[index] for index in chosen}
    return [row for row in rows if row.image.key not in held_out], [row for row in rows if row.image.key in held_out]


def _numbered(values: Sequence[Any], keys: Sequence[Hashable | None]) -> tuple[list[Any], Indices]:
    """One value per key in order of appearance, and for every value its number; `MISSING` for None."""
    numbers: dict[Hashable, int] = {}
    distinct: list[Any] = []
    indices = []
    for value, key in zip(values, keys, strict=True):
        if key is not None and key not in numbers:
            numbers[key] = len(distinct)
            distinct.append(value)
        indices.append(MISSING if key is None else numbers[key])
    return distinct, np.array(indices, dtype=np.int64)
