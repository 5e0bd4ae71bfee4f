"""The nouns of a story, each with its word vector and its weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.text.story_idf import IdfTable
from vlgauge.text.word_lookup import look_up
from vlgauge.text.word_vectors import WordVectorFile


@dataclass(frozen=True)
class StoryNouns:
    """What is scored of a story.

    Attributes:
        words: Nouns of all sentences; one of k sentences stands k times.
        idf: Weight of each.
        seen: Whether the corpus of the weights has it.
        oov: Whether its word vector is that of another word.
        skipped: Nouns without a word vector, left out.
    """

    words: list[str]
    idf: npt.NDArray[np.float64]
    seen: list[bool]
    oov: list[bool]
    skipped: list[str]


def looked_up(
    stories: Sequence[Sequence[str]], vectors: WordVectorFile, idf: IdfTable | None, oov: str
) -> tuple[list[StoryNouns], npt.NDArray[np.float32], list[list[int]]]:
    """Nouns with vectors and weights; the distinct vectors of the call; and per story the row of each noun there."""
    found = look_up([noun for story in stories for noun in story], vectors, oov)
    skipped = set(found.skipped)
    nouns, rows, start = [], [], 0
    for story in stories:
        kept = [noun for noun in story if noun not in skipped]
        end = start + len(kept)
        nouns.append(weighed(kept, idf, found.oov[start:end], [noun for noun in story if noun in skipped]))
        rows.append(found.rows[start:end])
        start = end
    return nouns, found.vectors, rows


def weighed(words: list[str], idf: IdfTable | None, oov: list[bool], skipped: list[str]) -> StoryNouns:
    """Nouns with their weights, 1 each without a table."""
    weights = np.array([1.0 if idf is None else idf.value(word) for word in words], dtype=np.float64)
    return StoryNouns(words, weights, [idf is None or idf.seen(word) for word in words], oov, skipped)
