"""Rows of PAC-S: reading or sampling, numbering of distinct images and texts, and batches."""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.research.training.pac_s.options import Columns
from vlgauge.research.training.row_files import image_field, number_distinct, records, text_field
from vlgauge.scenes import CHANGES, Scene, captions, change_fact, draw_scene, scenes

Indices = npt.NDArray[np.int64]

# "object" changes shape and color at once, which is easier to detect than either alone.
FOIL_KINDS = tuple(kind for kind in CHANGES if kind != "object")
VALIDATION_SHARE = 0.05
_STYLE, _OTHER_STYLE = "flat", "outlined"


# -- Rows -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class CaptionRow:
    """Image with one of its captions.

    Attributes:
        image: Image v.
        caption: Caption t.
        generated_image: Image v' generated from the caption. None excludes the row from that term.
        generated_caption: Caption t' generated from the image. None excludes the row from that term.
        group: Group of rows that share a batch as hard negatives of each other. None for a row without a group.
    """

    image: LazyImage
    caption: str
    generated_image: LazyImage | None
    generated_caption: str | None
    group: str | None = None


@dataclass(frozen=True)
class Foil:
    """Image with a correct and a wrong caption.

    Attributes:
        image: Image of both captions.
        right: Caption that should score higher.
        wrong: Caption that should score lower.
        kind: Kind of error in the wrong caption.
        group: Group of dependent pairs. None for one group per image.
    """

    image: LazyImage
    right: str
    wrong: str
    kind: str
    group: str | None = None


def read_rows(path: Path, columns: Columns, folder: Path | None = None) -> list[CaptionRow]:
    """Read training rows from JSON lines, or from a CSV with a header. Images are opened later.

    Args:
        path: File.
        columns: Names of the columns.
        folder: Folder of relative image paths. None for the folder of the file.

    Raises:
        ValueError: If a row has no image or caption, or there are fewer than 2 distinct images.
    """
    folder = folder or path.parent
    rows = []
    for place, fields in records(path, (columns.image, columns.caption)):
        image = image_field(fields, columns.image, folder, place)
        caption = text_field(fields, columns.caption, place)
        drawn, said, group = columns.generated_image, columns.generated_caption, columns.group
        rows.append(
            CaptionRow(
                image,
                caption,
                image_field(fields, drawn, folder, place) if drawn in fields else None,
                text_field(fields, said, place) if said in fields else None,
                text_field(fields, group, place) if group in fields else None,
            )
        )
    if len({row.image.key for row in rows}) < 2:
        raise UsageError.about(str(path), f"must have rows of at least 2 images, got {len(rows)} rows")
    return rows


def read_foils(path: Path, columns: Columns, folder: Path | None = None) -> list[Foil]:
    """Read test pairs from a file with the columns of image, caption and foil.

    Args:
        path: File.
        columns: Names of the columns.
        folder: Folder of relative image paths. None for the folder of the file.

    Raises:
        ValueError: If a row lacks a column, or there are no rows.
    """
    foils = []
    for place, fields in records(path, (columns.image, columns.caption, columns.foil)):
        image = image_field(fields, columns.image, folder or path.parent, place)
        right, wrong = text_field(fields, columns.caption, place), text_field(fields, columns.foil, place)
        foils.append(Foil(image, right, wrong, "foil"))
    return foils


# -- Synthetic scenes -------------------------------------------------------------------------------------------------
class SceneImage:
    """Image of a synthetic scene that is rendered when it is opened."""

    convert: Literal["early", "late"] = "late"

    def __init__(self, scene: Scene, seed: int, style: str = _STYLE) -> None:
        self.place = f"scene {scene.key!r}"
        self.key = hashlib.sha256(f"{scene.key} {seed} {style}".encode()).digest()
        self._drawn = scene, seed, style

    def open(self) -> Image.Image:
        """Render the scene."""
        scene, seed, style = self._drawn
        return draw_scene(scene, seed=seed, style=style).image


def scene_rows(n: int, seed: int, split: str, variants: int = 0) -> list[CaptionRow]:
    """Sample rows of scenes, in which V' is the caption rendered in another style and T' another wording.

    Each row is followed by up to `variants` rows of the scene with one fact changed and the same wording, in the same
    group.
    """
    found: dict[str, CaptionRow] = {}
    for number, scene in enumerate(scenes(n, seed, split)):
        own = 1_000_003 * seed + number
        kinds = np.random.default_rng(own).permutation(FOIL_KINDS)[:variants]
        changes = [change_fact(scene, str(kind), own) for kind in kinds]
        for jitter, each in enumerate([scene, *changes]):
            # Skip duplicates, which would be false negatives of each other, and content of other splits.
            if each is not None and each.split == split and each.key not in found:
                found[each.key] = _row(each, own, jitter, str(number) if variants else None)
    return list(found.values())


def _row(scene: Scene, seed: int, jitter: int, group: str | None) -> CaptionRow:
    caption, paraphrase = captions(scene, seed, n=2)
    drawings = SceneImage(scene, seed + jitter), SceneImage(scene, seed + jitter + 1, _OTHER_STYLE)
    return CaptionRow(drawings[0], caption, drawings[1], paraphrase, group)


def scene_foils(n: int, seed: int, draws: int = 1) -> list[Foil]:
    """Build one pair per kind of error for every test scene: the caption, and the same wording with one fact changed.

    The content occurs in no other split. Each scene is rendered, worded and changed `draws` times.
    """
    foils = []
    for index, scene in enumerate(scenes(n, seed, "test") * draws):
        draw, number = divmod(index, n)
        own = 1_000_003 * (seed + draw) + number
        image, right = SceneImage(scene, own), captions(scene, own)[0]
        for kind in FOIL_KINDS:
            other = change_fact(scene, kind, own)
            if other is not None:
                foils.append(Foil(image, right, captions(other, own)[0], kind, scene.key))
    return foils


# -- Distinct images and texts ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class CaptionMaterial:
    """Rows of training and validation as indices of distinct images and texts.

    Attributes:
        images: Distinct images, real and generated.
        texts: Distinct captions, real and generated.
        image: Index in `images` of each row's image, shape ``(n_rows,)``.
        caption: Index in `texts` of each row's caption.
        generated_image: Index in `images` of each row's V'. `MISSING` if it has none.
        generated_caption: Index in `texts` of each row's T'. `MISSING` if it has none.
        group: Number of each row's group.
        n_train: Number of training rows, which precede the validation rows.
    """

    images: list[LazyImage]
    texts: list[str]
    image: Indices
    caption: Indices
    generated_image: Indices
    generated_caption: Indices
    group: Indices
    n_train: int

    @property
    def train(self) -> Indices:
        """Indices of the training rows, shape ``(n_train,)``."""
        return np.arange(self.n_train)

    @property
    def validation(self) -> Indices:
        """Indices of the validation rows, shape ``(n_validation,)``."""
        return np.arange(self.n_train, len(self.image))


def material_of(train: Sequence[CaptionRow], validation: Sequence[CaptionRow]) -> CaptionMaterial:
    """Combine training and validation rows.

    Raises:
        ValueError: If one of them has fewer than 2 images, or they share images.
    """
    rows = [*train, *validation]
    parts = {"training": {row.image.key for row in train}, "validation": {row.image.key for row in validation}}
    for name, keys in parts.items():
        if len(keys) < 2:
            raise UsageError.about(name, f"rows must have at least 2 images, got {len(keys)}", "pass more rows")
    if shared := len(parts["training"] & parts["validation"]):
        raise UsageError.about("validation", f"rows must have separate images, got {shared} training images")
    every = [row.image for row in rows] + [row.generated_image for row in rows]
    of_images, seen = number_distinct([None if one is None else one.key for one in every])
    images = [one for one in map(every.__getitem__, seen) if one is not None]
    said = [row.caption for row in rows] + [row.generated_caption for row in rows]
    of_texts, _ = number_distinct(said)
    texts = [text for text in dict.fromkeys(said) if text is not None]
    image, generated_image = np.split(of_images, 2)
    caption, generated_caption = np.split(of_texts, 2)
    group, _ = number_distinct([index if row.group is None else row.group for index, row in enumerate(rows)])
    return CaptionMaterial(images, texts, image, caption, generated_image, generated_caption, group, len(train))


def split_by_image(rows: Sequence[CaptionRow], share: float, seed: int) -> tuple[list[CaptionRow], list[CaptionRow]]:
    """Split rows into training and validation, with all rows of an image on the same side.

    Args:
        rows: The rows.
        share: Share of the images for validation, of which there are at least two.
        seed: Seed of the split.

    Returns:
        Rows for training and rows for validation, in input order.
    """
    keys = sorted({row.image.key for row in rows})
    n_validation = max(2, round(share * len(keys)))
    chosen = np.random.default_rng(seed).permutation(len(keys))[:n_validation]
    held_out = {keys[index] for index in chosen}
    return [row for row in rows if row.image.key not in held_out], [row for row in rows if row.image.key in held_out]


# -- Batches ----------------------------------------------------------------------------------------------------------
def epoch_batches(
    images: Indices, groups: Indices, batch_size: int, rng: np.random.Generator, *, keep_rest: bool = False
) -> list[Indices]:
    """Divide the rows of one epoch into batches.

    The rows are shuffled, except that groups stay together, and dealt in rounds: the first row of every image, then the
    second, and so on. Batches do not cross the end of a round, so an image is never its own negative.

    Args:
        images: Number of the image of every row, shape ``(n_rows,)``.
        groups: Number of the group of every row. Rows of a group are negatives of each other within a batch.
        batch_size: Rows per batch.
        rng: Random generator for shuffling.
        keep_rest: Whether to keep the rest of each round (at least two rows) as a smaller batch. Otherwise it is kept
            only if the round has no full batch.
    """
    shuffled = np.lexsort((rng.random(len(images)), rng.permutation(groups.max() + 1)[groups]))
    order = np.argsort(images[shuffled], kind="stable")
    ordered = images[shuffled][order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rounds = np.empty(len(images), np.int64)
    rounds[order] = np.arange(len(images)) - np.repeat(starts, np.diff(np.r_[starts, len(images)]))
    batches = []
    for number in range(rounds.max() + 1):
        rows = shuffled[rounds == number]
        stops = range(batch_size, len(rows) + 1, batch_size)
        batches += [rows[stop - batch_size : stop] for stop in stops]
        rest = rows[len(stops) * batch_size :]
        if len(rest) > 1 and (keep_rest or not stops):
            batches.append(rest)
    return batches


def all_batches(rows: Indices, images: Indices, groups: Indices, batch_size: int, seed: int) -> Iterator[Indices]:
    """Yield the batches of all iterations indefinitely, reproducible for the same seed.

    Args:
        rows: Indices of the rows, shape ``(n_rows,)``.
        images: Number of the image of each row.
        groups: Number of the group of each row.
        batch_size: Rows per batch.
        seed: Seed. Every epoch shuffles with ``default_rng([seed, epoch])``.
    """
    for epoch in count():
        for batch in epoch_batches(images, groups, batch_size, np.random.default_rng([seed, epoch])):
            yield rows[batch]


# -- The rows of a run ------------------------------------------------------------------------------------------------
def training_rows(options: argparse.Namespace) -> tuple[list[CaptionRow], list[CaptionRow]]:
    """Return the rows for training and for validation.

    Raises:
        ValueError: If a file is not valid.
    """
    if options.scenes is not None:
        n_validation = max(2, min(2_000, round(VALIDATION_SHARE * options.scenes)))
        validation = scene_rows(n_validation, options.seed, "validation", options.variants)
        return scene_rows(options.scenes, options.seed, "train", options.variants), validation
    columns = columns_of(options)
    rows = read_rows(options.train, columns, options.image_folder)
    if options.validation is None:
        return split_by_image(rows, VALIDATION_SHARE, options.seed)
    return rows, read_rows(options.validation, columns, options.image_folder)


def columns_of(options: argparse.Namespace) -> Columns:
    """Return the names of the columns."""
    return Columns(**{name: getattr(options, f"{name}_column") for name in asdict(Columns())})


def test_pairs(options: argparse.Namespace, material: CaptionMaterial) -> list[Foil]:
    """Return the pairs of correct and wrong captions for the comparison of base and trained weights.

    Raises:
        ValueError: If a file is not valid.
    """
    if options.scenes is not None:
        return scene_foils(options.test_scenes, options.seed, options.test_draws)
    if options.test is not None:
        return read_foils(options.test, columns_of(options), options.image_folder)
    return other_captions(material, options.seed)


def other_captions(material: CaptionMaterial, seed: int) -> list[Foil]:
    """Combine each validation row with the caption of another image, the default test without a file of foils."""
    rows = material.validation
    rng = np.random.default_rng(seed)
    foils = []
    for row in rows:
        others = rows[material.image[rows] != material.image[row]]
        other = rng.choice(others)
        right, wrong = (material.texts[material.caption[index]] for index in (row, other))
        if right != wrong:
            foils.append(Foil(material.images[material.image[row]], right, wrong, "another image's caption"))
    return foils
