"""Synthetic stories of five images and five sentences, whose order can be inferred from the language alone.

An object is introduced with "a" and is "the circle" or "it" afterwards. Most sentences have a sequence word from a set
that depends on their position ("then", "next", "later", "finally").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from vlgauge.core.validation import check_choice
from vlgauge.scenes.content import BACKGROUNDS, OPPOSITES, SPLITS, Scene, SceneObject, may_meet, things
from vlgauge.scenes.drawing import Box, Drawing, draw_scene
from vlgauge.scenes.telling import tell
from vlgauge.scenes.wording import ObjectMention, Statement, noun_phrase, pick

# Events of the five images. `_opening` and `_following` define the scenes that each event allows.
PLOTS = (
    ("open one", "enter", "move", "exchange", "alone"),
    ("open one", "enter", "move", "exchange", "move"),
    ("open two", "move", "exchange", "move", "alone"),
    ("open two", "move", "exchange", "ground", "move"),
    ("open one", "ground", "enter", "move", "alone"),
    ("open one", "enter", "move", "ground", "alone"),
)

# Maximum number of draws of the next scene, because not every start can be continued within a split.
_TRIES = 60


@dataclass(frozen=True)
class SceneStory:
    """Five scenes with one sentence each.

    Attributes:
        scenes: Content of the images.
        statements: Text of each sentence, its claim about its image, and its noun phrases.
        seed: Seed of the jitter in the images.
        style: Drawing style. See `draw_scene`.
    """

    scenes: tuple[Scene, ...]
    statements: tuple[Statement, ...]
    seed: int
    style: str = "flat"

    @property
    def sentences(self) -> list[str]:
        """Texts of the five sentences."""
        return [each.text for each in self.statements]

    @property
    def noun_phrases(self) -> list[list[str]]:
        """Noun phrases of each sentence, one list per sentence, lowercased, in order, including pronouns."""
        return [list(each.phrases) for each in self.statements]

    @property
    def key(self) -> str:
        """Content of the five images as a string."""
        return "; ".join(scene.key for scene in self.scenes)

    def drawings(self, size: int = 128) -> list[Drawing]:
        """Render the five images with boxes and labels.

        Args:
            size: Side in pixels, at least 16.

        Returns:
            One drawing per image.

        Raises:
            ValueError: If the size is below 16.
        """
        images = enumerate(self.scenes)
        return [draw_scene(scene, size=size, seed=self.seed + i, style=self.style) for i, scene in images]

    def images(self, size: int = 128) -> list[Image.Image]:
        """Render the five images, in RGB.

        Args:
            size: Side in pixels, at least 16.

        Raises:
            ValueError: If the size is below 16.
        """
        return [drawing.image for drawing in self.drawings(size)]

    @property
    def boxes(self) -> list[list[Box]]:
        """Boxes of the objects, one list per image of ``images()``, in pixels: left, top, right, bottom.

        For images of another size, see ``drawings``.
        """
        return [drawing.boxes for drawing in self.drawings()]

    @property
    def labels(self) -> list[list[str]]:
        """Labels of the boxes, one list per image, parallel to ``boxes``."""
        return [[thing.label for thing in scene.objects] for scene in self.scenes]

    def retell_with(self, other: "SceneStory") -> "SceneStory":
        """Return a copy with these images and the sentences of another story."""
        return replace(self, statements=other.statements)

    def with_hallucination(self, seed: int) -> "tuple[SceneStory, str]":
        """Replace one object phrase with a phrase whose shape and color occur in none of the images.

        Returns:
            The changed story, and the inserted phrase.
        """
        rng = np.random.default_rng(seed)
        seen = [thing for scene in self.scenes for thing in scene.objects]
        absent = [each for each in things() if all(may_meet(each, thing) for thing in seen)]
        thing = absent[int(rng.integers(len(absent)))]
        phrase = noun_phrase(ObjectMention(thing.shape, thing.colour, thing.size), rng)
        known = [
            (i, j) for i, each in enumerate(self.statements) for j, old in enumerate(each.phrases) if _names_object(old)
        ]
        i, j = known[int(rng.integers(len(known)))]
        statements = list(self.statements)
        statements[i] = _with_phrase(statements[i], j, phrase)
        return replace(self, statements=tuple(statements)), phrase


def _names_object(phrase: str) -> bool:
    return phrase != "it" and not phrase.endswith(("background", "backdrop"))


def _with_phrase(old: Statement, index: int, phrase: str) -> Statement:
    """Replace one noun phrase of a statement. The claim is kept, because no mask is trained on it."""
    start = old.text.lower().index(old.phrases[index])
    new = phrase if start else phrase[0].upper() + phrase[1:]
    text = old.text[:start] + new + old.text[start + len(old.phrases[index]) :]
    return replace(old, text=text, phrases=(*old.phrases[:index], phrase, *old.phrases[index + 1 :]))


def stories(n: int, seed: int, split: str = "train", *, style: str = "flat") -> list[SceneStory]:
    """Sample stories of one split with distinct content. All five scenes of a story belong to that split.

    Args:
        n: Number of stories. Every split has many thousands.
        seed: Seed. The same seed yields the same stories.
        split: ``"train"``, ``"validation"`` or ``"test"``.
        style: Drawing style. See `draw_scene`.

    Raises:
        ValueError: If there is no such split.
    """
    check_choice("split", split, SPLITS)
    rng = np.random.default_rng(seed)
    found: dict[str, SceneStory] = {}
    while len(found) < n:
        plot = PLOTS[int(rng.integers(len(PLOTS)))]
        seen = _scenes_of(plot, split, rng)
        if seen is not None:
            story = SceneStory(seen, tell(plot, seen, rng), int(rng.integers(2**31)), style)
            found.setdefault(story.key, story)
    return list(found.values())


def _scenes_of(plot: Sequence[str], split: str, rng: np.random.Generator) -> tuple[Scene, ...] | None:
    """Sample five scenes of the split, or return None if a scene cannot be continued within it."""
    seen: list[Scene] = []
    met: list[SceneObject] = []
    for event in plot:
        last = seen[-1] if seen else None
        options = _opening(event, rng) if last is None else _following(event, last, met, rng)
        scene = next((option for option in options if option.split == split), None)
        if scene is None:
            return None
        seen.append(scene)
        met += [thing for thing in scene.objects if thing not in met]
    return tuple(seen)


def _opening(event: str, rng: np.random.Generator) -> Iterator[Scene]:
    """Yield scenes of one or two objects at random."""
    for _ in range(_TRIES):
        hero, other = (things()[int(index)] for index in rng.integers(len(things()), size=2))
        background = pick(BACKGROUNDS, rng)
        if event == "open one":
            yield Scene((hero,), None, background)
        elif may_meet(hero, other):
            yield Scene((hero, other), pick(tuple(OPPOSITES), rng), background)


def _following(event: str, last: Scene, met: list[SceneObject], rng: np.random.Generator) -> Iterator[Scene]:
    """Yield random scenes that may follow the last one. The acting object comes first.

    Events: "enter": a second object joins. "exchange": one of two objects stays and a new object joins. "move": the
    same two objects in another relation. "ground": the same objects on another background. "alone": one of two objects
    is left.
    """
    for _ in range(_TRIES):
        heroes = [last.objects[int(index)] for index in rng.permutation(len(last.objects))]
        relation = pick(tuple(OPPOSITES), rng)
        background = last.background if rng.random() < 0.5 else pick(BACKGROUNDS, rng)
        new = things()[int(rng.integers(len(things())))]
        if event in ("enter", "exchange"):
            if all(may_meet(new, thing) for thing in met):
                yield Scene((heroes[0], new), relation, last.background if event == "enter" else background)
        elif event == "alone":
            yield Scene((heroes[0],), None, background)
        elif event == "ground":
            moved = Scene((*heroes,), relation if len(heroes) == 2 else None, background)
            if background != last.background:
                yield moved
        elif _is_turned_from(last, moved := Scene((*heroes,), relation, background)):
            yield moved


def _is_turned_from(last: Scene, scene: Scene) -> bool:
    """Return whether the relation of the two objects has changed."""
    same = last if last.objects == scene.objects else last.reverse_order()
    return same.relation != scene.relation
