"""Pictures that stand in the page itself, and what was found in them."""

import base64
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from PIL import Image

from vlgauge.errors import UsageError
from vlgauge.media.frames import video_pictures
from vlgauge.media.images import image_cell, open_image
from vlgauge.media.videos import video_cell

from .marks import Mark
from .plots import chart

SIDE = 168  # pixels of the longer side of what is shown
_ALL_OF_IT = 0.94  # a region of so much of width and height is the whole picture
_QUALITY = 80


@dataclass(frozen=True)
class Thumbnail:
    """A picture made small, as an address, and the size of the picture itself in pixels."""

    address: Markup
    width: int
    height: int


def thumbnail(image: Any, place: str = "images") -> Thumbnail | None:
    """A picture of a column made small; None for one that cannot be read."""
    try:
        return small(open_image(image_cell(image, place), place, convert="early"))
    except UsageError:
        return None


def small(picture: Image.Image) -> Thumbnail:
    """A picture made small, as PNG of few colours or as JPEG, whichever takes fewer bytes."""
    shown = picture.convert("RGB")
    shown.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    drawn, photo = io.BytesIO(), io.BytesIO()
    shown.quantize(64).save(drawn, "PNG", optimize=True)
    shown.save(photo, "JPEG", quality=_QUALITY, optimize=True)
    kind, data = min(("png", drawn.getvalue()), ("jpeg", photo.getvalue()), key=lambda form: len(form[1]))
    # A drawing of few colours keeps its edges.
    if len(drawn.getvalue()) < 2 * len(photo.getvalue()):
        kind, data = "png", drawn.getvalue()
    address = Markup(f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}")
    return Thumbnail(address, picture.width, picture.height)


def frames_of(video: Any, numbers: Sequence[int]) -> dict[int, Thumbnail]:
    """Some frames of a video by their numbers; none of a video that cannot be read, or without PyAV."""
    try:
        (pictures,) = video_pictures([video_cell(video, "videos")], n_frames="all", progress=False)
        wanted = {getattr(picture, "index", row): picture for row, picture in enumerate(pictures or [])}
        return {number: small(wanted[number].open()) for number in numbers if number in wanted}
    except UsageError:
        return {}


def with_boxes(picture: Thumbnail, found: Sequence[tuple[Sequence[float], Mark]], label: str) -> Markup:
    """A picture with boxes as lines of their own over it, each with the number of its mark."""
    width, height = picture.width, picture.height
    unit = max(width, height) / 128  # sizes below are of a picture of 128 pixels
    lines: dict[tuple[int, ...], str] = {}
    tags: dict[tuple[int, ...], list[Mark]] = defaultdict(list)
    # What counts next to nothing is drawn first, so that it covers nothing.
    for box, mark in sorted(found, key=lambda one: one[1].tone != "nil"):
        left, top, right, bottom = box
        whole = right - left >= _ALL_OF_IT * width and bottom - top >= _ALL_OF_IT * height
        if whole:
            left, top, right, bottom = 3 * unit, 3 * unit, width - 3 * unit, height - 3 * unit
        # A line at the very edge would be seen by half.
        left, top = max(left, 2 * unit), max(top, 2 * unit)
        right, bottom = min(right, width - 2 * unit), min(bottom, height - 2 * unit)
        corner = (round(left), round(top), round(right), round(bottom))
        size = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
        casing = f'<rect {size} fill="none" stroke="#fff" stroke-width="{6 * unit:.2f}"/>'
        lines[corner] = f'{casing}<rect class="bx {mark.tone}" {size} style="--unit:{unit:.3f}"/>'
        tags[corner].append(mark)
    placed: list[Area] = []
    drawn = [
        _tag(mark, area, unit)
        for corner, marks in tags.items()
        for mark, area in zip(marks, _areas(marks, corner, (width, height), unit, placed), strict=True)
    ]
    image = f'<image href="{picture.address}" width="{width}" height="{height}"/>'
    return chart(width, height, label, [image, *lines.values(), *drawn])


Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _areas(
    marks: Sequence[Mark], box: Sequence[float], size: tuple[int, int], unit: float, placed: list[Area]
) -> list[Area]:
    """Where the tags of a box stand: above or below it, in rows inside the picture, on no tag that stands already."""
    left, top, right, bottom = box
    high, gap = 20 * unit, unit
    rows: list[list[float]] = [[]]  # widths of the tags of each row
    for mark in marks:
        wide = (12 + 9 * len(str(mark.number))) * unit
        if rows[-1] and sum(rows[-1]) + gap * len(rows[-1]) + wide > size[0]:
            rows.append([])
        rows[-1].append(wide)
    tall = len(rows) * (high + gap) - gap
    # Of the whole picture at the bottom, out of the way of the others.
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
    """Rows of tags of these widths one below the other, each as near to x as it can be inside the picture."""
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


def _tag(mark: Mark, area: Area, unit: float) -> str:
    left, top, right, bottom = area
    return (
        f'<g class="tg {mark.tone}"><rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" rx="{2 * unit:.1f}"/><text x="{(left + right) / 2:.1f}" '
        f'y="{top + 16 * unit:.1f}" text-anchor="middle" style="font-size:{18 * unit:.1f}px">{mark.number}</text></g>'
    )


def boxed_pictures(images: Sequence[Any] | None, rows: Sequence[Mapping[str, Any]], marks: Sequence[Mark]) -> list[Any]:
    """The pictures of a story, each with the regions that parts of the story found in it.

    Returns:
        One element per picture; None for one that cannot be shown.
    """
    found: dict[int, list[tuple[Sequence[float], Mark]]] = defaultdict(list)
    for row, mark in zip(rows, marks, strict=True):
        if row.get("box") is not None and row.get("image") is not None:
            found[row["image"]].append((row["box"], mark))
    shown = []
    for index, image in enumerate(images or []):
        picture = thumbnail(image)
        n = len(found[index])
        label = f"Picture {index + 1} with {n} region{'s' if n != 1 else ''} that {'were' if n != 1 else 'was'} found"
        shown.append(picture and with_boxes(picture, found[index], label))
    return shown
