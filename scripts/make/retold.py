"""Synthetic stories in good and bad versions, each with five images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.scenes.stories import SceneStory, stories

N_STORIES, SEED = 6, 41
TOLD, SHUFFLED, REPEATED, FOREIGN = "as told", "shuffled", "repeated", "other pictures"


@dataclass(frozen=True)
class Told:
    """Story with its kind of version, and the story whose images are shown."""

    name: str
    kind: str
    sentences: list[str]
    seen: SceneStory


def retell_stories(n: int = N_STORIES, seed: int = SEED) -> list[Told]:
    """Return test stories in the original version, with shuffled or repeated sentences, and with other images."""
    drawn = stories(n, seed, "test")
    rng = np.random.default_rng(seed)
    found = [Told(f"story-{i}", TOLD, story.sentences, story) for i, story in enumerate(drawn, 1)]
    found += [
        Told(f"story-{i}-shuffled", SHUFFLED, shuffle_sentences(story.sentences, rng), story)
        for i, story in enumerate(drawn, 1)
    ]
    found += [
        Told(f"story-{i}-repeated", REPEATED, repeat_sentences(story.sentences), story)
        for i, story in enumerate(drawn, 1)
    ]
    found += [Told(f"story-{i}-other", FOREIGN, drawn[i % n].sentences, story) for i, story in enumerate(drawn, 1)]
    return found


def shuffle_sentences(sentences: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the sentences in a different order."""
    order = rng.permutation(len(sentences)).tolist()
    while order == sorted(order):
        order = rng.permutation(len(sentences)).tolist()
    return [sentences[index] for index in order]


def repeat_sentences(sentences: Sequence[str]) -> list[str]:
    """Replace the second and the fourth sentence with the first and the third."""
    return [sentences[index] for index in (0, 0, 2, 2, 4)]


def picture_columns(seen: Sequence[SceneStory]) -> dict[str, Any]:
    """Return the columns ``images`` and ``regions``: five images per story, with boxes of objects and whole images."""
    drawings = [story.drawings() for story in seen]
    return {
        "images": [[drawing.image for drawing in row] for row in drawings],
        "regions": [[{"boxes": [*drawing.boxes, (0, 0, *drawing.image.size)]} for drawing in row] for row in drawings],
    }
