"""Content of synthetic scenes: objects, their spatial relation, background, and the split of each scene."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice

SHAPES = ("circle", "square", "triangle", "star", "cross", "ring")
"""Shapes of objects."""
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown")
"""Colors of objects."""
SIZES = ("small", "large")
"""Sizes of objects."""
BACKGROUNDS = ("white", "grey", "black", "beige")
"""Colors of backgrounds."""
OPPOSITES = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
SPLITS = ("train", "validation", "test")
"""Splits, which have no scene in common."""
CHANGES = ("colour", "shape", "size", "background", "place", "object")
"""Facts of a scene that `change_fact` can alter."""

# Share of scenes with a single object, as long as unused ones are left.
_SHARE_OF_SINGLES = 0.2


@dataclass(frozen=True)
class SceneObject:
    """Object of a synthetic scene.

    Raises:
        ValueError: If a property is not in `SHAPES`, `COLOURS` or `SIZES`.
    """

    shape: str
    colour: str
    size: str

    def __post_init__(self) -> None:
        for name, known in (("shape", SHAPES), ("colour", COLOURS), ("size", SIZES)):
            check_choice(name, getattr(self, name), known)

    @property
    def label(self) -> str:
        """Label such as "small red circle"."""
        return f"{self.size} {self.colour} {self.shape}"


@dataclass(frozen=True)
class Scene:
    """One or two objects on a background. Two objects always differ in shape and in color.

    Attributes:
        objects: Objects in the order in which captions name them.
        relation: Position of the first object relative to the second, a key of `OPPOSITES`. None for a single object.
        background: One of `BACKGROUNDS`.

    Raises:
        ValueError: If a value is unknown, or the relation does not fit the objects.
    """

    objects: tuple[SceneObject, ...]
    relation: str | None
    background: str

    def __post_init__(self) -> None:
        check_choice("background", self.background, BACKGROUNDS)
        if len(self.objects) == 1 and self.relation is None:
            return
        if len(self.objects) != 2 or not may_meet(*self.objects):
            raise UsageError.about(
                "objects",
                "must be one object without relation, or two that differ in shape and in color, got "
                f"{' and '.join(thing.label for thing in self.objects) or 'none'} with {self.relation!r}",
            )
        check_choice("relation", self.relation, tuple(OPPOSITES))

    @property
    def key(self) -> str:
        """Content as a string, equal for "A left of B" and "B right of A"."""
        labels = [thing.label for thing in self.objects]
        relation = self.relation
        if relation in ("right of", "below"):
            labels, relation = labels[::-1], OPPOSITES[relation]
        return f"{f' {relation} '.join(labels)} on {self.background}"

    @property
    def split(self) -> str:
        """Split (one of `SPLITS`), chosen by the hash of the key: 80% train, 10% each for the other two."""
        tenth = int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:8], "big") % 10
        return {0: "test", 1: "validation"}.get(tenth, "train")

    def reverse_order(self) -> "Scene":
        """Return the same content with the objects named in the opposite order."""
        if self.relation is None:
            return self
        return replace(self, objects=self.objects[::-1], relation=OPPOSITES[self.relation])


@lru_cache(maxsize=1)
def things() -> tuple[SceneObject, ...]:
    """Return all 96 objects."""
    return tuple(SceneObject(shape, colour, size) for shape in SHAPES for colour in COLOURS for size in SIZES)


def may_meet(one: SceneObject, other: SceneObject) -> bool:
    """Return whether two objects may share a scene, which requires different shapes and colors."""
    return one.shape != other.shape and one.colour != other.colour


def single_scenes() -> list[Scene]:
    """Return all 384 scenes with a single object."""
    return [Scene((thing,), None, background) for thing in things() for background in BACKGROUNDS]


def _pair_scene(index: int) -> Scene | None:
    """Return the scene with two objects that has an index below ``96 * 96 * 2 * 4``, or None if they may not meet."""
    all_things = things()
    index, background = divmod(index, len(BACKGROUNDS))
    index, relation = divmod(index, 2)
    one, other = (all_things[which] for which in divmod(index, len(all_things)))
    if not may_meet(one, other):
        return None
    return Scene((one, other), ("left of", "above")[relation], BACKGROUNDS[background])


def scenes(n: int, seed: int, split: str = "train") -> list[Scene]:
    """Sample scenes of one split with distinct content. Different splits never share content.

    Args:
        n: Number of scenes.
        seed: Any seed accepted by `numpy.random.default_rng`. The same seed yields the same scenes.
        split: ``"train"``, ``"validation"`` or ``"test"``.

    Raises:
        ValueError: If the split is unknown or has fewer than `n` contents (train 43,000, the others 5,300 each).
    """
    check_choice("split", split, SPLITS)
    rng = np.random.default_rng(seed)
    every = single_scenes()
    singles = iter([every[index] for index in rng.permutation(len(every)) if every[index].split == split])
    pairs = _pairs(rng, split)
    chosen: list[Scene] = []
    while len(chosen) < n:
        first, second = (singles, pairs) if rng.random() < _SHARE_OF_SINGLES else (pairs, singles)
        scene = next(first, None) or next(second, None)
        if scene is None:
            raise UsageError.about("n", f"must be at most {len(chosen)}, the number of {split} scenes, got {n}")
        # Captions must name the objects in both orders.
        chosen.append(scene.reverse_order() if rng.random() < 0.5 else scene)
    return chosen


def _pairs(rng: np.random.Generator, split: str) -> Iterator[Scene]:
    n_pairs = len(things()) ** 2 * 2 * len(BACKGROUNDS)
    for index in rng.permutation(n_pairs):
        scene = _pair_scene(int(index))
        if scene is not None and scene.split == split:
            yield scene


def change_fact(scene: Scene, what: str, seed: int) -> Scene | None:
    """Return a copy with exactly one fact changed, so that the captions of the copy are false for the original image.

    Args:
        scene: Scene to change.
        what: ``"colour"``, ``"shape"``, ``"size"`` (of one object), ``"background"``, ``"place"`` (the relation is
            replaced by its opposite), or ``"object"`` (one object is replaced by an object of another shape and color).
        seed: Seed that selects the object and the new value.

    Returns:
        The changed scene, which may belong to another split. None for ``"place"`` with a single object.

    Raises:
        ValueError: If `what` is not one of `CHANGES`.
    """
    check_choice("what", what, CHANGES)
    rng = np.random.default_rng(seed)
    if what == "place":
        return None if scene.relation is None else replace(scene, relation=OPPOSITES[scene.relation])
    if what == "background":
        return replace(scene, background=_other(BACKGROUNDS, {scene.background}, rng))
    index = int(rng.integers(len(scene.objects)))
    thing = scene.objects[index]
    shapes, colours = ({getattr(each, name) for each in scene.objects} for name in ("shape", "colour"))
    if what == "size":
        thing = replace(thing, size=_other(SIZES, {thing.size}, rng))
    if what in ("shape", "object"):
        thing = replace(thing, shape=_other(SHAPES, shapes, rng))
    if what in ("colour", "object"):
        thing = replace(thing, colour=_other(COLOURS, colours, rng))
    return replace(scene, objects=tuple(thing if i == index else each for i, each in enumerate(scene.objects)))


def _other(values: tuple[str, ...], taken: set[str], rng: np.random.Generator) -> str:
    return str(rng.choice([value for value in values if value not in taken]))
