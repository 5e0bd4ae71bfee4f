"""Stories of five pictures and five sentences, whose order can be told from the language alone.

An object comes in with "a", is "the circle" or "it" from then on, and the sentences carry words of sequence, each from
a set of its place ("then", "next", "later", "finally"), not all of them and not always the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from vlgauge.scenes.content import BACKGROUNDS, OPPOSITES, Scene, Thing, check_split, may_meet, things
from vlgauge.scenes.drawing import Box, Drawing, draw_scene
from vlgauge.scenes.telling import tell
from vlgauge.scenes.wording import Mention, Statement, noun_phrase, pick

# What happens in the five pictures; the functions at the end say what each event may lead to.
PLOTS = (
    ("open one", "enter", "move", "exchange", "alone"),
    ("open one", "enter", "move", "exchange", "move"),
    ("open two", "move", "exchange", "move", "alone"),
    ("open two", "move", "exchange", "ground", "move"),
    ("open one", "ground", "enter", "move", "alone"),
    ("open one", "enter", "move", "ground", "alone"),
)

# Draws of the next scene before a story is given up; not every start can be continued within a split.
_TRIES = 60


@dataclass(frozen=True)
class SceneStory:
    """Five scenes and a sentence for each.

    Attributes:
        scenes: What the pictures show.
        statements: Per sentence its text, what it claims of its picture, and its noun phrases.
        seed: Of the jitter in the pictures.
        style: Of the drawing, see `draw_scene`.
    """

    scenes: tuple[Scene, ...]
    statements: tuple[Statement, ...]
    seed: int
    style: str = "flat"

    @property
    def sentences(self) -> list[str]:
        """The five sentences."""
        return [each.text for each in self.statements]

    @property
    def noun_phrases(self) -> list[list[str]]:
        """Noun phrases of each sentence in order, in lower case, pronouns included."""
        return [list(each.phrases) for each in self.statements]

    @property
    def key(self) -> str:
        """What is seen, as text."""
        return "; ".join(scene.key for scene in self.scenes)

    def drawings(self, size: int = 128) -> list[Drawing]:
        """The five pictures with boxes and labels."""
        pictures = enumerate(self.scenes)
        return [draw_scene(scene, size=size, seed=self.seed + i, style=self.style) for i, scene in pictures]

    def images(self, size: int = 128) -> list[Image.Image]:
        """The five pictures."""
        return [drawing.image for drawing in self.drawings(size)]

    @property
    def boxes(self) -> list[list[Box]]:
        """Boxes around the objects of each picture of ``images()``; for other sizes see ``drawings``."""
        return [drawing.boxes for drawing in self.drawings()]

    @property
    def labels(self) -> list[list[str]]:
        """Labels of the boxes."""
        return [[thing.label for thing in scene.objects] for scene in self.scenes]

    def told_with(self, other: "SceneStory") -> "SceneStory":
        """These pictures with the sentences of another story."""
        return replace(self, statements=other.statements)

    def with_hallucination(self, seed: int) -> "tuple[SceneStory, str]":
        """The story with one object phrase replaced by one whose shape and colour are in none of the pictures.

        Returns:
            The other story, and the phrase that took the place.
        """
        rng = np.random.default_rng(seed)
        seen = [thing for scene in self.scenes for thing in scene.objects]
        absent = [each for each in things() if all(may_meet(each, thing) for thing in seen)]
        thing = absent[int(rng.integers(len(absent)))]
        phrase = noun_phrase(Mention(thing.shape, thing.colour, thing.size), rng)
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
    """The statement with one noun phrase exchanged; what it claims is kept, since no mask is trained on it."""
    start = old.text.lower().index(old.phrases[index])
    new = phrase if start else phrase[0].upper() + phrase[1:]
    text = old.text[:start] + new + old.text[start + len(old.phrases[index]) :]
    return replace(old, text=text, phrases=(*old.phrases[:index], phrase, *old.phrases[index + 1 :]))


def stories(n: int, seed: int, split: str = "train", *, style: str = "flat") -> list[SceneStory]:
    """Stories of one split, distinct in content; each of their five scenes belongs to that split.

    Args:
        n: How many; there are many thousands in every split.
        seed: The same stories come again for the same seed.
        split: ``"train"``, ``"validation"`` or ``"test"``.
        style: Of the drawing, see `draw_scene`.
    """
    check_split(split)
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
    """Five scenes of the split; None if one cannot be continued within it."""
    seen: list[Scene] = []
    met: list[Thing] = []
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
    """Scenes of one or two objects, in random order."""
    for _ in range(_TRIES):
        hero, other = (things()[int(index)] for index in rng.integers(len(things()), size=2))
        background = pick(BACKGROUNDS, rng)
        if event == "open one":
            yield Scene((hero,), None, background)
        elif may_meet(hero, other):
            yield Scene((hero, other), pick(tuple(OPPOSITES), rng), background)


def _following(event: str, last: Scene, met: list[Thing], rng: np.random.Generator) -> Iterator[Scene]:
    """Scenes that may follow the last one, in random order; the object that acts comes first.

    enter: another object comes to the one. exchange: one of two stays, and an object not yet met comes. move: the same
    two in another relation. ground: the same objects on another background. alone: one of two is left.
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
        elif _turned_from(last, moved := Scene((*heroes,), relation, background)):
            yield moved


def _turned_from(last: Scene, scene: Scene) -> bool:
    """Whether the two objects stand in another relation than before."""
    same = last if last.objects == scene.objects else last.turned()
    return same.relation != scene.relation
