"""Pairs from drawn scenes, and small word vectors that are made of their phrases alone."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.media.pictures import Box, CropPicture, SharedImage
from vlgauge.scenes import Mention, SceneStory, Thing, stories
from vlgauge.scenes.wording import background_phrase, mention_of, noun_phrase
from vlgauge.text.word_vectors import UNKNOWN
from vlgauge.training.rovist_vg.pairs import Pair

WIDTH = 48
MARGIN = 0.3  # of the sides of a box that may be seen around it
N_VIEWS = 2  # of an object, so that the pairs are mostly of objects


def drawn_pairs(n_stories: int, seed: int, split: str) -> Iterator[Pair]:
    """Regions of drawn stories with phrases that are true of them.

    Each view of an object, with some of its surroundings, gets a phrase that may leave words out, and its noun, which
    is all that is scored; the whole picture gets its background.
    """
    rng = np.random.default_rng([seed, 1])
    for story in stories(n_stories, seed, split):
        yield from _pairs_of(story, rng)


def _pairs_of(story: SceneStory, rng: np.random.Generator) -> Iterator[Pair]:
    for scene, drawing in zip(story.scenes, story.drawings(), strict=True):
        buffer = io.BytesIO()
        drawing.image.save(buffer, "PNG")
        cell = {"bytes": buffer.getvalue(), "path": None}
        whole = (0, 0, *drawing.image.size)
        ground = background_phrase(scene.background, rng)
        said = [(phrase, whole) for phrase in (ground, ground.split()[-1])]
        for thing, box in zip(scene.objects, drawing.boxes, strict=True):
            for _ in range(N_VIEWS):
                seen = widened(box, drawing.image.size, rng)
                said += [(phrase, seen) for phrase in phrases_of(thing, rng)]
        for phrase, box in said:
            yield Pair(story.key, CropPicture(SharedImage(cell, scene.key, 1), box, scene.key), phrase)


def phrases_of(thing: Thing, rng: np.random.Generator) -> list[str]:
    """Such as "a red disc" and "circle"."""
    partial = noun_phrase(mention_of(thing, rng, complete=False), rng)
    return [partial, noun_phrase(Mention(thing.shape), rng).split()[-1]]


def widened(box: Box, size: tuple[int, int], rng: np.random.Generator) -> Box:
    """The box with up to `MARGIN` of its sides around it, within the picture."""
    left, top, right, bottom = box
    grown = rng.random(4) * MARGIN * [right - left, bottom - top, right - left, bottom - top]
    return (
        max(0, int(left - grown[0])),
        max(0, int(top - grown[1])),
        min(size[0], int(right + grown[2])),
        min(size[1], int(bottom + grown[3])),
    )


def indexed_words(phrases: Sequence[str], seed: int) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Word vectors by random indexing: a direction of its own per word, and a little of those that it stands with.

    They know nothing of meaning, which the head learns; the last one, of "unk", is the mean of all.
    """
    words = sorted({word for phrase in phrases for word in phrase.split()})
    own = dict(zip(words, np.random.default_rng([seed, 2]).standard_normal((len(words), WIDTH)), strict=True))
    together: dict[str, Counter[str]] = {word: Counter() for word in words}
    for phrase in phrases:
        split = phrase.split()
        for word in split:
            together[word].update(other for other in split if other != word)
    made = {}
    for word in words:
        others = together[word]
        context = sum((count * own[other] for other, count in others.items()), np.zeros(WIDTH))
        made[word] = own[word] + 0.2 * context / max(others.total(), 1)
    yield from made.items()
    yield UNKNOWN, np.mean(list(made.values()), axis=0)
