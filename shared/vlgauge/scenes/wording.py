"""Captions of synthetic scenes in several wordings, complete or partial, together with their claims."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np

from vlgauge.core.files import DATA, read_json
from vlgauge.scenes.content import Scene, SceneObject

WORDING: Mapping[str, Any] = read_json(DATA / "scene_wording.json")
"""Words by kind and property, and templates of captions, of sentences in stories and of captions of videos."""
SIZE_WORDS, SHAPE_WORDS, COLOUR_WORDS = WORDING["sizes"], WORDING["shapes"], WORDING["colors"]
BACKGROUND_WORDS, RELATION_WORDS, GROUND_WORDS = WORDING["backgrounds"], WORDING["relations"], WORDING["grounds"]


@dataclass(frozen=True)
class ObjectMention:
    """Object as described by a text. None for unspecified properties."""

    shape: str | None = None
    colour: str | None = None
    size: str | None = None


@dataclass(frozen=True)
class Claim:
    """Claim of a text about an image. None for unspecified facts.

    Attributes:
        mentions: Mentioned objects, at most two.
        relation: Position of the first object relative to the second.
        background: Background of the image.
    """

    mentions: tuple[ObjectMention, ...] = ()
    relation: str | None = None
    background: str | None = None


@dataclass(frozen=True)
class Statement:
    """Text, its claim, and its noun phrases in order."""

    text: str
    claim: Claim
    phrases: tuple[str, ...]


def pick(words: Sequence[str], rng: np.random.Generator) -> str:
    """Pick one of the words at random."""
    return words[int(rng.integers(len(words)))]


def noun_phrase(mention: ObjectMention, rng: np.random.Generator, article: str = "a") -> str:
    """Build a phrase such as "a small red circle" or "the big star". An unspecified shape is "shape"."""
    words = [
        pick(SIZE_WORDS[mention.size], rng) if mention.size else "",
        pick(COLOUR_WORDS.get(mention.colour, (mention.colour,)), rng) if mention.colour else "",
        pick(SHAPE_WORDS[mention.shape], rng) if mention.shape else "shape",
    ]
    text = " ".join(word for word in words if word)
    return f"{'an' if article == 'a' and text[0] in 'aeiou' else article} {text}"


def mention_of(thing: SceneObject, rng: np.random.Generator, complete: bool = True) -> ObjectMention:
    """Mention all properties of an object, or randomly omit its size, its color or both."""
    if complete:
        return ObjectMention(thing.shape, thing.colour, thing.size)
    keep_colour, keep_size = rng.random(2) < (0.75, 0.35)
    return ObjectMention(thing.shape, thing.colour if keep_colour else None, thing.size if keep_size else None)


def background_phrase(background: str, rng: np.random.Generator) -> str:
    """Build a phrase such as "a white background"."""
    return f"a {pick(BACKGROUND_WORDS.get(background, (background,)), rng)} {pick(GROUND_WORDS, rng)}"


def statement(scene: Scene, rng: np.random.Generator, complete: bool = True) -> Statement:
    """Generate a caption of a scene together with its claim.

    Args:
        scene: Scene to describe.
        rng: Random generator that selects the wording, the order of the objects, and the omitted facts.
        complete: Whether to state all facts. Otherwise, size, color, relation, background or an object may be omitted.
    """
    if rng.random() < 0.5:
        scene = scene.reverse_order()
    objects, relation, background = scene.objects, scene.relation, scene.background
    said: str | None = background
    if not complete:
        objects = objects[:1] if rng.random() < 0.3 else objects
        relation = relation if len(objects) == 2 and rng.random() < 0.6 else None
        said = background if rng.random() < 0.4 else None
    mentions = tuple(mention_of(thing, rng, complete) for thing in objects)
    phrases = [noun_phrase(mention, rng) for mention in mentions]
    kind = "single" if len(phrases) == 1 else "pair" if relation else "group"
    template = pick(WORDING[f"{kind}_templates"], rng)
    ground = background_phrase(said, rng) if said else ""
    text = template.format(
        one=phrases[0],
        other=phrases[-1],
        is_at=pick(RELATION_WORDS[relation], rng) if relation else "",
        on=f"{pick(('on', 'on', 'against'), rng)} {ground}" if said else "",
    )
    phrases += [ground] if said else []
    text = " ".join(text.split()).removeprefix(", ")  # omitted parts leave gaps
    return Statement(text, Claim(mentions, relation, said), tuple(sorted(phrases, key=text.index)))


def captions(scene: Scene, seed: int, n: int = 1, *, complete: bool = True) -> list[str]:
    """Generate true captions of a scene in several wordings.

    Args:
        scene: Scene to describe.
        seed: Seed. The same seed yields the same captions.
        n: Number of captions. They are distinct as long as there are enough wordings (over 1,000 for two objects).
        complete: Whether to state all facts. Otherwise, size, color, relation, background or an object may be omitted.
    """
    rng = np.random.default_rng(seed)
    return distinct_texts(lambda: statement(scene, rng, complete).text, n)


def distinct_texts(make: Callable[[], str], n: int) -> list[str]:
    """Generate `n` texts, distinct until 100 draws in a row yield no new text, and repeated from then on."""
    texts: dict[str, None] = {}
    in_vain = 0
    while len(texts) < n and in_vain < 100:
        before = len(texts)
        texts[make()] = None
        in_vain = in_vain + 1 if len(texts) == before else 0
    return list(islice(cycle(texts), n))
