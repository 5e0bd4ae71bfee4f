"""Sources of image regions, and parsing of regions provided by the user."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import as_list
from vlgauge.inputs.images import cells
from vlgauge.inputs.images.cells import image_cell, is_single_image, open_image
from vlgauge.inputs.images.lazy_images import Box, ImageCrop, LazyImage, SharedImage, WholeImage
from vlgauge.models.detectors.boxes import check_boxes, check_scores, grid_boxes, pixel_box, select_regions

Cell = Mapping[str, Any]
Detected = tuple[Any, Any]
"""Boxes ``(n, 4)`` and scores ``(n,)`` or None."""
ImageHead = tuple[tuple[int, int], str]
"""Size and mode of an image."""

GIVEN = "given"
MOST_KNOWN = 16_384  # maximum number of images with cached boxes, about 2 kB each
FORMS = "a list of crops, or {'boxes': [[x1, y1, x2, y2], ...], 'scores': [...]}"


@dataclass(frozen=True)
class Region:
    """Region of an image.

    Attributes:
        image: The image content of the region.
        box: Left, top, right, bottom in pixels. None for a crop without a box.
        score: Score of the detector. None without a score.
    """

    image: LazyImage
    box: Box | None
    score: float | None


class WholeCrop(ImageCrop):
    """Crop that covers a whole image. It has the key of the image, so that metrics of whole images reuse its features.

    Args:
        whole: The image.
        box: Box of the whole image.
        place: Position in the input, for messages.
        mode: Mode of the file. RGB and grayscale images are equal before and after resizing, so they are treated like
            images that are converted late, as in clip_s and pac_s.
    """

    def __init__(self, whole: SharedImage, box: Sequence[int], place: str, mode: str) -> None:
        super().__init__(whole, box, place)
        self.convert = "late" if mode in ("RGB", "L") else "early"

    @property
    def key(self) -> bytes:
        """SHA-256 digest of the file."""
        return self._whole.key


@dataclass(frozen=True)
class RegionSource:
    """Source of regions.

    Attributes:
        identity: Name used in signatures.
        detector: Function that finds boxes. None if they depend only on the size of the image.
        whole: Whether the only region is the image itself.
        known: Cached results of the detector by digest of the image: boxes ``(n, 4)`` and scores ``(n,)``, NaN without
            a score.
    """

    identity: str
    detector: Callable[[Image.Image], Detected] | None = None
    whole: bool = False
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, compare=False, repr=False)

    def find(self, cell: Cell, place: str, *, top_k: int, min_score: float) -> list[Region]:
        """Return the non-empty regions of one image, best first.

        Raises:
            ValueError: If the image cannot be read.
        """
        head = size, _ = image_head(cell, place)
        if self.detector is None:
            boxes: list[Box] = [(0, 0, *size)] if self.whole else grid_boxes(size)
            boxes = boxes[:top_k]
            return crops_of(SharedImage(cell, place, len(boxes)), head, boxes, [None] * len(boxes), place)
        # The detector uses the image like one more crop, so that it is decoded once for the detector and all crops.
        whole = SharedImage(cell, place, top_k + 1)
        before = self.known.get(whole.key)
        if before is None:
            before = self._detect(whole, place)
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[whole.key] = before
        else:
            whole.skip()
        found, scored = before  # use the local result, because another thread may have cleared `known`
        scores = [None if math.isnan(score) else score for score in scored.tolist()]
        best = select_regions(scores, top_k=top_k, min_score=min_score)
        for _ in range(top_k - len(best)):
            whole.skip()
        return crops_of(whole, head, [_box(found[i]) for i in best], [scores[i] for i in best], place)

    def _detect(self, whole: SharedImage, place: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the boxes of the detector that contain at least one pixel, and their scores."""
        assert self.detector is not None
        size = whole.size
        named = f"{place} as seen by the detector"
        found = self.detector(whole.crop((0, 0, *size)))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise UsageError.about(
                "regions",
                f"must be a function that returns boxes and scores (or None), got {type(found).__name__} for {place}",
            )
        boxes, scored = found
        raw = check_boxes(boxes, named)
        scores = check_scores(scored, len(raw), named)
        pixels = [(pixel_box(box, size), score) for box, score in zip(raw, scores, strict=True)]
        filled = [(box, math.nan if score is None else score) for box, score in pixels if box is not None]
        return (
            np.array([box for box, _ in filled], dtype=np.int32).reshape(-1, 4),
            np.array([score for _, score in filled], dtype=np.float64),
        )


def _box(row: np.ndarray) -> Box:
    left, top, right, bottom = row.tolist()
    return (left, top, right, bottom)


def crops_of(
    whole: SharedImage, head: ImageHead, boxes: Sequence[Box], scores: Sequence[float | None], place: str
) -> list[Region]:
    """Return the regions for the boxes of one image.

    Args:
        whole: The image.
        head: Size and mode of the image.
        boxes: Boxes in pixels.
        scores: Score of each box, or None.
        place: Position of the image in the input, for messages.

    Returns:
        One region per box, in the order of the boxes.
    """
    regions = []
    size, mode = head
    for i, (box, score) in enumerate(zip(boxes, scores, strict=True)):
        name = f"{place}, region {i}"
        image = WholeCrop(whole, box, name, mode) if box == (0, 0, *size) else ImageCrop(whole, box, name)
        regions.append(Region(image, box, score))
    return regions


def image_head(cell: Cell, place: str) -> ImageHead:
    """Return the size of an image after its EXIF rotation, and its mode, without decoding it if the header suffices.

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    try:
        return cells.image_head(cell, place)
    except Exception:
        # Decode the image instead, which raises an error with the reason.
        image = open_image(cell, place, convert="late")
        return image.size, image.mode


def convert_regions(
    entry: Any, cell: Cell | None, place: str, image_place: str, *, top_k: int, min_score: float
) -> list[Region]:
    """Return the regions of one image from the data provided by the user.

    Args:
        entry: A list of crops, or a mapping with ``boxes`` or ``crops`` and optionally ``scores``. With crops, boxes
            only describe their positions.
        cell: The image, which is required for boxes.
        place: Position of the entry in the input, for messages.
        image_place: Position of the image in the input, for messages.
        top_k: Maximum number of regions.
        min_score: Minimum score. Regions with a lower score are omitted.

    Raises:
        ValueError: If the entry has another form, or a box contains no pixel of the image.
    """
    if isinstance(entry, Mapping) and "crops" not in entry and "boxes" in entry:
        return _convert_boxes(entry, cell, place, image_place, top_k, min_score)
    about: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"crops": entry}
    crops = None if is_single_image(about.get("crops")) else as_list(about.get("crops"))
    if crops is None:
        raise UsageError.about(place, f"must be {FORMS}, got {_shorten_value(entry)}")
    scores = check_scores(about.get("scores"), len(crops), place)
    boxes = check_boxes(about.get("boxes", ()), place)
    if boxes and len(boxes) != len(crops):
        raise UsageError.about(place, f"must have one box per crop, got {len(boxes)} for {len(crops)}")
    regions = []
    for i in select_regions(scores, top_k=top_k, min_score=min_score):
        crop_place = f"{place}[{i}]"
        image = WholeImage(image_cell(crops[i], crop_place), crop_place, "early")
        x1, y1, x2, y2 = map(round, boxes[i]) if boxes else (0, 0, 0, 0)
        regions.append(Region(image, (x1, y1, x2, y2) if boxes else None, scores[i]))
    return regions


def _convert_boxes(
    entry: Mapping[str, Any], cell: Cell | None, place: str, image_place: str, top_k: int, min_score: float
) -> list[Region]:
    """Return regions from boxes. All boxes are checked, including the omitted ones."""
    if cell is None:
        raise UsageError.about(
            image_place, f"is missing: `{place}` has boxes, which require the image", "pass it, or crops"
        )
    raw = check_boxes(entry["boxes"], place)
    scores = check_scores(entry.get("scores"), len(raw), place)
    if not raw:
        return []
    head = size, _ = image_head(cell, image_place)
    boxes: list[Box] = []
    for i, box in enumerate(raw):
        pixels = pixel_box(box, size)
        if pixels is None:
            raise UsageError.about(
                place,
                "must have boxes [x1, y1, x2, y2] that contain at least one pixel of the image of "
                f"{size[0]} x {size[1]}, got {box} as box {i}",
            )
        boxes.append(pixels)
    best = select_regions(scores, top_k=top_k, min_score=min_score)
    whole = SharedImage(cell, image_place, len(best))
    return crops_of(whole, head, [boxes[i] for i in best], [scores[i] for i in best], image_place)


def _shorten_value(entry: Any) -> str:
    return f"a mapping with {sorted(map(str, entry))}" if isinstance(entry, Mapping) else type(entry).__name__
