"""Synthetic videos: an object that moves over the image, as a list of frames with captions."""

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice
from vlgauge.scenes.content import SPLITS, Scene, change_fact, single_scenes
from vlgauge.scenes.drawing import Drawing, background_shade, jitter_of, paint, place_at
from vlgauge.scenes.wording import (
    WORDING,
    Claim,
    ObjectMention,
    Statement,
    background_phrase,
    distinct_texts,
    noun_phrase,
    pick,
)

DIRECTIONS = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "down": (0, 1)}
"""Directions of motion in videos, with their steps to the right and downwards."""
_OPPOSITE = {"right": "left", "left": "right", "up": "down", "down": "up"}


@dataclass(frozen=True)
class SceneClip:
    """Video of an object that moves over a background.

    Attributes:
        scene: Scene with the background and a single object.
        direction: Key of `DIRECTIONS`.
        n_frames: Number of frames, 8 to 12.
        seed: Seed of the jitter and of the wording.
        style: Drawing style. See `draw_scene`.
    """

    scene: Scene
    direction: str
    n_frames: int
    seed: int
    style: str = "flat"

    @property
    def key(self) -> str:
        """Content of the video as a string."""
        return f"{self.scene.key} moving {self.direction}"

    @property
    def caption(self) -> str:
        """Caption such as "a red circle moves to the right", which names all properties and the background."""
        return self.captions(self.seed)[0]

    @property
    def references(self) -> list[str]:
        """Four other wordings of the caption."""
        return self.captions(self.seed, 5)[1:]

    def captions(self, seed: int, n: int = 1) -> list[str]:
        """Generate true captions of the video.

        They are distinct as long as there are enough wordings (dozens).
        """
        rng = np.random.default_rng(seed)
        return distinct_texts(lambda: self.statement(rng).text, n)

    def statement(self, rng: np.random.Generator) -> Statement:
        """Generate a caption together with its claim about every frame.

        The claim omits the direction, because a single frame cannot show it.
        """
        thing = self.scene.objects[0]
        mention = ObjectMention(thing.shape, thing.colour, thing.size)
        one, ground = noun_phrase(mention, rng), background_phrase(self.scene.background, rng)
        way = pick(WORDING["motions"][self.direction], rng)
        text = pick(WORDING["motion_templates"], rng).format(one=one, way=way, on=f"on {ground}")
        claim = Claim((mention,), None, self.scene.background)
        return Statement(text, claim, tuple(sorted((one, ground), key=text.index)))

    def drawings(self, size: int = 128) -> list[Drawing]:
        """Render the frames, with the box around the object.

        Raises:
            ValueError: If the size is below 16.
        """
        rng = jitter_of(self.key, self.seed)
        thing, background = self.scene.objects[0], background_shade(self.scene.background, rng)
        placed = place_at(thing, 0.5, 0.5, rng)
        across, reach = rng.uniform(-0.2, 0.2), rng.uniform(0.2, 0.27)
        dx, dy = DIRECTIONS[self.direction]
        drawings = []
        for step in np.linspace(-reach, reach, self.n_frames).tolist():
            x, y = 0.5 + dx * step + abs(dy) * across, 0.5 + dy * step + abs(dx) * across
            drawings.append(paint([replace(placed, x=x, y=y)], background, size=size, style=self.style))
        return drawings

    def frames(self, size: int = 128) -> list[Image.Image]:
        """Render the frames as RGB images.

        Args:
            size: Side in pixels, at least 16.

        Raises:
            ValueError: If the size is below 16.
        """
        return [drawing.image for drawing in self.drawings(size)]

    def change_fact(self, what: str, seed: int) -> "SceneClip":
        """Return a copy with one fact changed, so that its captions are false.

        "place" reverses the direction.

        Raises:
            ValueError: If `what` is not one of `vlgauge.scenes.CHANGES`.
        """
        scene = change_fact(self.scene, what, seed)
        if scene is None:
            return replace(self, direction=_OPPOSITE[self.direction])
        return replace(self, scene=scene)


def clips(n: int, seed: int, split: str = "train", *, style: str = "flat") -> list[SceneClip]:
    """Sample videos of one split with distinct content.

    The content of every frame belongs to that split as well.

    Args:
        n: Number of videos.
        seed: Seed. The same seed yields the same videos.
        split: ``"train"``, ``"validation"`` or ``"test"``.
        style: Drawing style. See `draw_scene`.

    Raises:
        ValueError: If the split is unknown or has fewer than `n` contents (train about 1,200, the others 150 each).
    """
    check_choice("split", split, SPLITS)
    rng = np.random.default_rng(seed)
    contents = [(scene, way) for scene in single_scenes() if scene.split == split for way in DIRECTIONS]
    if n > len(contents):
        raise UsageError.about("n", f"must be at most {len(contents)}, the number of {split} clips, got {n}")
    chosen = [contents[index] for index in rng.permutation(len(contents))[:n]]
    return [SceneClip(scene, way, int(rng.integers(8, 13)), int(rng.integers(2**31)), style) for scene, way in chosen]
