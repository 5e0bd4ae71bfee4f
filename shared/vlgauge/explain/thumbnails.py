"""Thumbnails that are embedded in a page, and drawings of the regions found in images."""

import base64
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.inputs.images.cells import image_cell, open_image
from vlgauge.inputs.video.cells import video_cell
from vlgauge.inputs.video.frames import video_images

from .marks import Mark
from .pages import fragment

SIDE = 168  # longer side of a thumbnail in pixels
_ALL_OF_IT = 0.94  # minimum share of width and height of a region that is shown as the whole image
_QUALITY = 80


@dataclass(frozen=True)
class Thumbnail:
    """Reduced image.

    Attributes:
        address: The reduced image as a data URL.
        width: Width of the original image in pixels.
        height: Height of the original image in pixels.
    """

    address: Markup
    width: int
    height: int


def thumbnail(image: Any, place: str = "images") -> Thumbnail | None:
    """Create the thumbnail of an image of a column, or return None if the image cannot be read."""
    try:
        return small(open_image(image_cell(image, place), place, convert="early"))
    except UsageError:
        return None


def small(image: Image.Image) -> Thumbnail:
    """Create the thumbnail of an image, as PNG with 64 colors or as JPEG.

    PNG is used if it takes fewer than twice the bytes of JPEG.
    """
    converted = image.convert("RGB")
    converted.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    drawn, photo = io.BytesIO(), io.BytesIO()
    converted.quantize(64).save(drawn, "PNG", optimize=True)
    converted.save(photo, "JPEG", quality=_QUALITY, optimize=True)
    # PNG preserves the edges of drawings with few colors.
    kind, stream = ("png", drawn) if drawn.tell() < 2 * photo.tell() else ("jpeg", photo)
    address = Markup(f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode('ascii')}")
    return Thumbnail(address, image.width, image.height)


def frames_of(video: Any, numbers: Sequence[int]) -> dict[int, Thumbnail]:
    """Create thumbnails of the frames of a video with these numbers.

    Returns:
        Thumbnails by frame number. Empty if the video cannot be read or PyAV is not installed.
    """
    try:
        (images,) = video_images([video_cell(video, "videos")], n_frames="all", progress=False)
        wanted = {getattr(image, "index", row): image for row, image in enumerate(images or [])}
        return {number: small(wanted[number].open()) for number in numbers if number in wanted}
    except UsageError:
        return {}


def with_boxes(image: Thumbnail, found: Sequence[tuple[Sequence[float], Mark]], label: str) -> Markup:
    """Draw boxes over an image, each labeled with the number of its mark.

    Args:
        image: The image.
        found: Box (left, top, right, bottom in pixels) and mark of each region.
        label: Text alternative of the drawing.
    """
    width, height = image.width, image.height
    unit = max(width, height) / 128  # the sizes below are for an image of 128 pixels
    boxes: dict[tuple[int, ...], tuple[Area, Mark]] = {}
    tags: dict[tuple[int, ...], list[Mark]] = defaultdict(list)
    # Draw neutral boxes first, so that they do not cover others.
    for box, mark in sorted(found, key=lambda one: one[1].tone != "nil"):
        left, top, right, bottom = box
        whole = right - left >= _ALL_OF_IT * width and bottom - top >= _ALL_OF_IT * height
        if whole:
            left, top, right, bottom = 3 * unit, 3 * unit, width - 3 * unit, height - 3 * unit
        # Half of a line at the very edge would be cut off.
        left, top = max(left, 2 * unit), max(top, 2 * unit)
        right, bottom = min(right, width - 2 * unit), min(bottom, height - 2 * unit)
        corner = (round(left), round(top), round(right), round(bottom))
        boxes[corner] = (left, top, right, bottom), mark
        tags[corner].append(mark)
    placed: list[Area] = []
    numbers = [
        (area, mark)
        for corner, marks in tags.items()
        for mark, area in zip(marks, _areas(marks, corner, (width, height), unit, placed), strict=True)
    ]
    return fragment("boxes", image=image, label=label, unit=unit, boxes=list(boxes.values()), tags=numbers)


Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _areas(
    marks: Sequence[Mark], box: Sequence[float], size: tuple[int, int], unit: float, placed: list[Area]
) -> list[Area]:
    """Position the tags of a box above or below it, in rows inside the image, with minimal overlap with other tags."""
    left, top, right, bottom = box
    high, gap = 20 * unit, unit
    rows: list[list[float]] = [[]]  # widths of the tags in each row
    for mark in marks:
        wide = (12 + 9 * len(str(mark.number))) * unit
        if rows[-1] and sum(rows[-1]) + gap * len(rows[-1]) + wide > size[0]:
            rows.append([])
        rows[-1].append(wide)
    tall = len(rows) * (high + gap) - gap
    # Tags of the whole image are placed at the bottom, away from the others.
    whole = bottom - top >= _ALL_OF_IT * size[1]
    near = [bottom - tall] if whole else [top - tall + unit, bottom - unit, top, bottom - tall]
    anywhere = [row * (high + gap) for row in range(int(size[1] // (high + gap)))]
    tried: list[tuple[int, int, list[Area]]] = []
    xs = (left, right + gap, left - max(map(sum, rows)) - gap)
    for x, y in [(x, y) for ys in (near, anywhere) for x in xs for y in ys]:
        areas = _rows_of_areas(rows, x, min(max(0.0, y), max(0.0, size[1] - tall)), size[0], high, gap)
        tried.append((sum(_meet(one, other) for one in areas for other in placed), len(tried), areas))
    best = min(tried)[2]
    placed += best
    return best


def _rows_of_areas(
    rows: Sequence[Sequence[float]], x: float, y: float, width: float, high: float, gap: float
) -> list[Area]:
    """Arrange rows of tags with these widths below each other, as close to x as possible inside the image."""
    areas = []
    for row in rows:
        at = max(0.0, min(x, width - sum(row) - gap * (len(row) - 1)))
        for wide in row:
            areas.append((at, y, at + wide, y + high))
            at += wide + gap
        y += high + gap
    return areas


def _meet(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def draw_boxes(images: Sequence[Any] | None, rows: Sequence[Mapping[str, Any]], marks: Sequence[Mark]) -> list[Any]:
    """Draw the images of a story with the regions found for its parts.

    Args:
        images: Images of the story.
        rows: Details of each part, with its ``image`` and ``box`` or None.
        marks: Mark of each part.

    Returns:
        One drawing (`Markup`) per image. None for an image that cannot be shown.
    """
    found: dict[int, list[tuple[Sequence[float], Mark]]] = defaultdict(list)
    for row, mark in zip(rows, marks, strict=True):
        if row.get("box") is not None and row.get("image") is not None:
            found[row["image"]].append((row["box"], mark))
    drawings = []
    for index, image in enumerate(images or []):
        reduced = thumbnail(image)
        n = len(found[index])
        label = f"Image {index + 1} with {n} region{'s' if n != 1 else ''} that {'were' if n != 1 else 'was'} found"
        drawings.append(reduced and with_boxes(reduced, found[index], label))
    return drawings
