"""Synthetic stories in good and bad versions, each with five images."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vlgauge.scenes.stories import SceneStory, stories


class RetoldStory(NamedTuple):
    """Sentences, and the story whose images are shown with them."""

    sentences: list[str]
    seen: SceneStory


def retell_stories(n: int, seed: int) -> tuple[list[RetoldStory], list[RetoldStory]]:
    """Return test stories in the original version and in a bad one.

    One after the other, the bad stories have shuffled sentences, repeated sentences, or the images of another story.
    """
    drawn = stories(n, seed, "test")
    rng = np.random.default_rng(seed)
    bad = []
    for number, story in enumerate(drawn):
        # Shuffle every story, so that the order does not depend on the kinds before.
        shuffled = shuffle_sentences(story.sentences, rng)
        versions = (shuffled, repeat_sentences(story.sentences), drawn[(number + 1) % n].sentences)
        bad.append(RetoldStory(versions[number % len(versions)], story))
    return [RetoldStory(story.sentences, story) for story in drawn], bad


def shuffle_sentences(sentences: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the sentences in a different order."""
    order = rng.permutation(len(sentences)).tolist()
    while order == sorted(order):
        order = rng.permutation(len(sentences)).tolist()
    return [sentences[index] for index in order]


def repeat_sentences(sentences: Sequence[str]) -> list[str]:
    """Replace the second and the fourth sentence with the first and the third."""
    return [sentences[index] for index in (0, 0, 2, 2, 4)]


def image_columns(seen: Sequence[SceneStory]) -> dict[str, Any]:
    """Return the columns ``images`` and ``regions``: five images per story, with boxes of objects and whole images."""
    drawings = [story.drawings() for story in seen]
    return {
        "images": [[drawing.image for drawing in row] for row in drawings],
        "regions": [[{"boxes": [*drawing.boxes, (0, 0, *drawing.image.size)]} for drawing in row] for row in drawings],
    }
