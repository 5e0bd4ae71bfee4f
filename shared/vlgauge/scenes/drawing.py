"""Rendering of synthetic scenes at four times the final size, followed by downsampling for smooth edges."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from vlgauge.core.validation import check_choice, check_int
from vlgauge.scenes.content import Scene, SceneObject

STYLES = ("flat", "outlined")
"""Drawing styles of images."""
Box = tuple[int, int, int, int]

_SCALE = 4
_RADIUS = {"small": 0.09, "large": 0.17}
_COLOURS = {
    "red": (220, 40, 40),
    "orange": (245, 140, 25),
    "yellow": (245, 225, 50),
    "green": (40, 160, 65),
    "blue": (40, 85, 220),
    "purple": (130, 50, 170),
    "pink": (250, 140, 190),
    "brown": (125, 75, 35),
}
_BACKGROUNDS = {"white": (250, 250, 250), "grey": (150, 150, 150), "black": (15, 15, 15), "beige": (232, 212, 170)}
_COLOUR_JITTER = 10


@dataclass(frozen=True)
class Drawing:
    """Rendered scene.

    Attributes:
        image: RGB image, square.
        boxes: Smallest box around the pixels of each object, in the order of the scene: (left, top, right, bottom),
            with right and bottom excluded.
        labels: Label of each object, such as "small red circle".
    """

    image: Image.Image
    boxes: list[Box]
    labels: list[str]


@dataclass(frozen=True)
class Placed:
    """Object with its center, radius (both relative to the side of the image) and RGB color."""

    thing: SceneObject
    x: float
    y: float
    radius: float
    rgb: tuple[int, int, int]


def draw_scene(scene: Scene, *, size: int = 128, seed: int = 0, style: str = "flat") -> Drawing:
    """Render a scene with seeded jitter of position, size and color.

    Args:
        scene: Scene to render. The order of its objects only affects the order of the boxes.
        size: Side in pixels, at least 16.
        seed: Seed of the jitter, combined with the content of the scene.
        style: ``"flat"`` for plain areas, or ``"outlined"`` for striped objects with a dark edge on a dotted
            background, at the same positions.

    Raises:
        ValueError: If the style is unknown or the size below 16.
    """
    turned = scene.relation in ("right of", "below")
    ordered = scene.reverse_order() if turned else scene
    rng = jitter_of(scene.key, seed)
    places = _places(ordered, rng)
    placed = [place_at(thing, x, y, rng) for thing, (x, y) in zip(ordered.objects, places, strict=True)]
    drawing = paint(placed, background_shade(scene.background, rng), size=size, style=style)
    step = -1 if turned else 1
    return Drawing(drawing.image, drawing.boxes[::step], drawing.labels[::step])


def jitter_of(key: str, seed: int) -> np.random.Generator:
    """Return a random generator for some content and a seed, identical on every machine."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def _shade(rgb: tuple[int, int, int], rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = np.clip(np.array(rgb) + rng.integers(-_COLOUR_JITTER, _COLOUR_JITTER + 1, 3), 0, 255)
    return int(red), int(green), int(blue)


def background_shade(name: str, rng: np.random.Generator) -> tuple[int, int, int]:
    """Sample a color close to the nominal color of a background.

    Returns:
        Red, green and blue, integers from 0 to 255.

    Raises:
        KeyError: If there is no background with this name.
    """
    return _shade(_BACKGROUNDS[name], rng)


def place_at(thing: SceneObject, x: float, y: float, rng: np.random.Generator) -> Placed:
    """Place an object at a center, with jitter of size and color."""
    radius = _RADIUS[thing.size] * rng.uniform(0.92, 1.08)
    return Placed(thing, x, y, radius, _shade(_COLOURS[thing.colour], rng))


def _places(scene: Scene, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Sample the centers of the objects. Two objects are separated along the axis of their relation."""
    if scene.relation is None:
        x, y = rng.uniform(0.3, 0.7, 2)
        return [(float(x), float(y))]
    along = np.array([0.27, 0.73]) + rng.uniform(-0.03, 0.03, 2)
    across = 0.5 + rng.uniform(-0.12, 0.12, 2)
    pairs = zip(along.tolist(), across.tolist(), strict=True)
    return list(pairs) if scene.relation == "left of" else [(x, y) for y, x in pairs]


def paint(
    placed: Sequence[Placed], background: tuple[int, int, int], *, size: int = 128, style: str = "flat"
) -> Drawing:
    """Render objects at fixed positions on a background with an RGB color.

    Raises:
        ValueError: If the style is unknown or the size below 16.
    """
    check_choice("style", style, STYLES)
    check_int("size", size, 16)
    side = size * _SCALE
    canvas = Image.new("RGB", (side, side), background)
    if style == "outlined":
        canvas.paste(_towards(background, 128, 0.25), mask=_pattern(side, "dots"))
    boxes = []
    for each in placed:
        mask = Image.new("L", (side, side), 0)
        _draw_shape(ImageDraw.Draw(mask), each, side)
        left, top, right, bottom = box = mask.getbbox() or (0, 0, 1, 1)
        canvas.paste(each.rgb, box, mask.crop(box))
        if style == "outlined":
            _decorate(canvas, mask.crop(box), box, each)
        boxes.append((left // _SCALE, top // _SCALE, -(-right // _SCALE), -(-bottom // _SCALE)))
    return Drawing(canvas.reduce(_SCALE), boxes, [each.thing.label for each in placed])


def _decorate(canvas: Image.Image, mask: Image.Image, box: Box, each: Placed) -> None:
    """Draw stripes on an object, and a dark edge inside it."""
    stripes = Image.composite(_pattern(canvas.width, "stripes").crop(box), Image.new("L", mask.size, 0), mask)
    canvas.paste(_towards(each.rgb, 255, 0.3), box, stripes)
    _draw_shape(ImageDraw.Draw(canvas), each, canvas.width, edge=_towards(each.rgb, 0, 0.7))


def _towards(rgb: tuple[int, int, int], goal: int, share: float) -> tuple[int, int, int]:
    red, green, blue = (round(value + share * (goal - value)) for value in rgb)
    return red, green, blue


@lru_cache(maxsize=16)
def _pattern(side: int, kind: str) -> Image.Image:
    """Return a mask of diagonal stripes or of dots, whose width scales with the image."""
    period = max(side // 32, 2)
    rows, columns = np.indices((side, side))
    if kind == "stripes":
        on = (rows + columns) // period % 3 == 0
    else:
        on = (rows // period % 3 == 0) & (columns // period % 3 == 0)
    return Image.fromarray((on * 255).astype(np.uint8))


def _draw_shape(draw: ImageDraw.ImageDraw, each: Placed, side: int, edge: tuple[int, int, int] | None = None) -> None:
    """Fill the shape with 255 in a mask, or draw only its edge."""
    x, y, r = each.x * side, each.y * side, each.radius * side
    style: dict[str, Any] = {"fill": 255} if edge is None else {"outline": edge, "width": max(round(side / 90), 1)}
    if each.thing.shape in ("circle", "ring"):
        draw.ellipse((x - r, y - r, x + r, y + r), **style)
        if each.thing.shape == "ring":
            hole = 0.55 * r
            draw.ellipse((x - hole, y - hole, x + hole, y + hole), **(style if edge else {"fill": 0}))
        return
    points = [(x + r * dx, y + r * dy) for dx, dy in _outline(each.thing.shape)]
    draw.polygon(points, **style)


def _outline(shape: str) -> list[tuple[float, float]]:
    """Return the corners of a shape of radius 1 around the origin."""
    if shape == "square":
        return [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
    if shape == "triangle":
        return [(0.0, -0.95), (1.0, 0.85), (-1.0, 0.85)]
    if shape == "star":
        turns = [(math.pi * i / 5 - math.pi / 2, 1.0 if i % 2 == 0 else 0.42) for i in range(10)]
        return [(length * math.cos(angle), length * math.sin(angle)) for angle, length in turns]
    corner = [(-0.32, -1.0), (0.32, -1.0), (0.32, -0.32)]
    # The arms of the cross are one corner rotated four times by 90 degrees.
    turned = [corner, *([] for _ in range(3))]
    for quarter in range(1, 4):
        turned[quarter] = [(-y, x) for x, y in turned[quarter - 1]]
    return [point for part in turned for point in part]
