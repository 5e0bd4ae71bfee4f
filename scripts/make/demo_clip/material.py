"""Training data of the demo CLIP: images, crops, stories and videos, each with correct and wrong texts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from demo_clip.codes import claim_row, ground_row, scene_row, token_ids
from vlgauge.models.clip.demo import DEMO_ROW
from vlgauge.models.clip.pixels import square
from vlgauge.scenes.clips import SceneClip, clips
from vlgauge.scenes.content import BACKGROUNDS, Scene, change_fact, scenes, things
from vlgauge.scenes.drawing import Box, Drawing, draw_scene
from vlgauge.scenes.stories import stories
from vlgauge.scenes.wording import Claim, Statement, background_phrase, mention_of, noun_phrase, statement

# Texts per image, and versions per text: the correct one and two with a changed fact.
N_TEXTS = 4
N_VERSIONS = 3
MAX_TOKENS = 36

KINDS = ("scene", "crop", "empty", "story", "clip")
# Shapes, sizes and positions are the hardest to learn, so they are changed most often.
_CHANGES = ("shape", "shape", "shape", "size", "size", "place", "place", "colour", "background", "object")
_SIZES = (64, 96, 128, 128, 160)

Make = Callable[[Scene, np.random.Generator], Statement]
Texts = list[list[Statement]]


@dataclass(frozen=True)
class TrainingExample:
    """Image of the model's size, its content, and its texts, shape ``(N_TEXTS, N_VERSIONS)``."""

    kind: str
    pixels: np.ndarray
    seen: list[int]
    texts: Texts


@dataclass(frozen=True)
class TrainingMaterial:
    """All examples as arrays.

    Attributes:
        kinds: Indices of `KINDS`, shape ``(n,)``.
        pixels: Pixels, shape ``(n, 64, 64, 3)``, uint8.
        seen: Codes of the images, shape ``(n, 8)``. See `demo_clip.codes`.
        tokens: Token ids without start and end, padded with 0, shape ``(n, N_TEXTS, N_VERSIONS, MAX_TOKENS)``.
        lengths: Number of token ids of each text, shape ``(n, N_TEXTS, N_VERSIONS)``.
        claims: Codes of the texts, shape ``(n, N_TEXTS, N_VERSIONS, 8)``.
    """

    kinds: np.ndarray
    pixels: np.ndarray
    seen: np.ndarray
    tokens: np.ndarray
    lengths: np.ndarray
    claims: np.ndarray


def material(n_scenes: int, seed: int) -> TrainingMaterial:
    """Generate examples of the train split: the scenes, and crops, stories and videos in proportion to them."""
    rng = np.random.default_rng(seed)
    n_clips = min(n_scenes // 20, 1000)
    examples = [
        *_scene_examples(scenes(n_scenes, seed), rng),
        *_story_examples(n_scenes // 10, seed, rng),
        *(each for clip in clips(n_clips, seed) for each in _clip_examples(clip, rng)),
    ]
    shape = (len(examples), N_TEXTS, N_VERSIONS)
    tokens, lengths = np.zeros((*shape, MAX_TOKENS), np.int32), np.zeros(shape, np.int32)
    for i, example in enumerate(examples):
        for j, k in np.ndindex(N_TEXTS, N_VERSIONS):
            ids = token_ids(example.texts[j][k].text)
            lengths[i, j, k], tokens[i, j, k, : len(ids)] = len(ids), ids
    return TrainingMaterial(
        np.array([KINDS.index(example.kind) for example in examples]),
        np.stack([example.pixels for example in examples]),
        np.array([example.seen for example in examples], np.int8),
        tokens,
        lengths,
        np.array([[[claim_row(s.claim) for s in row] for row in example.texts] for example in examples], np.int8),
    )


def pixels_of(image: Image.Image) -> np.ndarray:
    """Resize an image to the input size of the model, uint8."""
    return square(image, DEMO_ROW)


def _style(rng: np.random.Generator) -> str:
    return "outlined" if rng.random() < 0.3 else "flat"


def _draw(scene: Scene, rng: np.random.Generator) -> Drawing:
    return draw_scene(
        scene, size=_SIZES[int(rng.integers(len(_SIZES)))], seed=int(rng.integers(2**31)), style=_style(rng)
    )


def versions(scene: Scene, make: Make, rng: np.random.Generator) -> list[Statement]:
    """Return the correct text and texts with one fact changed, in the same wording."""
    seed = int(rng.integers(2**31))
    wrong: list[Scene] = []
    for _ in range(N_VERSIONS - 1):
        what = _CHANGES[int(rng.integers(len(_CHANGES)))]
        other = change_fact(scene, what, seed + len(wrong)) or change_fact(scene, "object", seed)
        wrong.append(other or scene)
    return [make(each, np.random.default_rng(seed)) for each in (scene, *wrong)]


def _loose(scene: Scene, rng: np.random.Generator) -> Statement:
    return statement(scene, rng, complete=False)


def _phrase(scene: Scene, rng: np.random.Generator) -> Statement:
    """Generate a bare noun phrase of one of the objects, or occasionally of the background."""
    if rng.random() < 0.06:
        return _ground_statement(scene.background, rng)
    thing = scene.objects[int(rng.integers(len(scene.objects)))]
    mention = mention_of(thing, rng, complete=rng.random() < 0.5)
    text = noun_phrase(mention, rng, "a" if rng.random() < 0.6 else "the")
    return Statement(text, Claim((mention,)), (text,))


def _ground_statement(background: str, rng: np.random.Generator) -> Statement:
    text = background_phrase(background, rng)
    return Statement(text, Claim(background=background), (text,))


def _scene_texts(scene: Scene, rng: np.random.Generator) -> Texts:
    makes: tuple[Make, ...] = (statement, statement, statement, _loose if rng.random() < 0.5 else _phrase)
    return [versions(scene, make, rng) for make in makes]


def _scene_examples(chosen: list[Scene], rng: np.random.Generator) -> Iterator[TrainingExample]:
    for scene in chosen:
        drawing = _draw(scene, rng)
        yield TrainingExample("scene", pixels_of(drawing.image), scene_row(scene), _scene_texts(scene, rng))
        index = int(rng.integers(len(scene.objects)))
        yield _crop_example(scene, drawing, index, rng)
        if rng.random() < 0.5:
            yield from _cell_examples(scene, drawing, rng)


def _crop_example(scene: Scene, drawing: Drawing, index: int, rng: np.random.Generator) -> TrainingExample:
    """Crop one object, close or with a margin, without any part of the other object."""
    box = drawing.boxes[index]
    others = [each for i, each in enumerate(drawing.boxes) if i != index]
    window = box
    for _ in range(4):
        wide = _window(box, rng, drawing.image.width)
        if not any(_overlap(wide, other) for other in others):
            window = wide
            break
    return _object_example(scene, index, drawing.image.crop(window), rng)


def _object_example(scene: Scene, index: int, image: Image.Image, rng: np.random.Generator) -> TrainingExample:
    # The size of an object is not visible in a crop.
    alone = Scene((scene.objects[index],), None, scene.background)
    texts = [versions(alone, _phrase, rng) for _ in range(N_TEXTS)]
    return TrainingExample("crop", pixels_of(image), scene_row(alone, sized=False), texts)


def _window(box: Box, rng: np.random.Generator, size: int) -> Box:
    """Return a box with each side moved outward by up to 0.8 of its length, or slightly inward."""
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    out = rng.uniform(-0.05, 0.8, 4) * rng.random()
    return (
        max(round(left - out[0] * width), 0),
        max(round(top - out[1] * height), 0),
        min(round(right + out[2] * width), size),
        min(round(bottom + out[3] * height), size),
    )


def _overlap(one: Box, other: Box) -> int:
    """Return the number of pixels that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def _cell_examples(scene: Scene, drawing: Drawing, rng: np.random.Generator) -> Iterator[TrainingExample]:
    """Yield one of the 3 x 3 cells, if it shows most of one object and nothing else, or only background."""
    side = drawing.image.width
    column, row = (int(cell) for cell in rng.integers(3, size=2))
    cell = (side * column // 3, side * row // 3, side * (column + 1) // 3, side * (row + 1) // 3)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in drawing.boxes]
    shares = [_overlap(cell, box) / area for box, area in zip(drawing.boxes, areas, strict=True)]
    image = drawing.image.crop(cell)
    if not any(shares):
        texts = [_empty_texts(scene.background, rng) for _ in range(N_TEXTS)]
        yield TrainingExample("empty", pixels_of(image), ground_row(scene.background), texts)
    elif max(shares) > 0.6 and sum(shares) == max(shares):
        yield _object_example(scene, shares.index(max(shares)), image, rng)


def _empty_texts(background: str, rng: np.random.Generator) -> list[Statement]:
    """Return phrases of the background, of a random background, and of an object that is not visible."""
    other = BACKGROUNDS[int(rng.integers(len(BACKGROUNDS)))]
    thing = things()[int(rng.integers(len(things())))]
    grounds = [_ground_statement(each, rng) for each in (background, other)]
    return [*grounds, _phrase(Scene((thing,), None, background), rng)]


def _story_examples(n: int, seed: int, rng: np.random.Generator) -> Iterator[TrainingExample]:
    """Yield the images of stories, with the sentence as the first text."""
    for story in stories(n, seed):
        drawn = replace(story, style=_style(rng)).drawings()
        for scene, statements, drawing in zip(story.scenes, story.statements, drawn, strict=True):
            wrong = [versions(scene, _loose, rng)[1:], *_scene_texts(scene, rng)[1:]]
            texts = [[statements, *wrong[0]], *wrong[1:]]
            yield TrainingExample("story", pixels_of(drawing.image), scene_row(scene), texts)


def _clip_examples(clip: SceneClip, rng: np.random.Generator) -> Iterator[TrainingExample]:
    """Yield two frames of a video with its captions."""
    drawn = replace(clip, style=_style(rng)).drawings()
    for index in rng.choice(len(drawn), 2, replace=False):
        texts = []
        for _ in range(N_TEXTS):
            seed = int(rng.integers(2**31))
            others = [clip.change_fact(what, seed) for what in rng.choice(["colour", "shape", "size", "background"], 2)]
            texts.append([each.statement(np.random.default_rng(seed)) for each in (clip, *others)])
        yield TrainingExample("clip", pixels_of(drawn[int(index)].image), scene_row(clip.scene), texts)
