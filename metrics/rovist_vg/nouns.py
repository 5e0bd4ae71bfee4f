"""Nouns of a story with their word vectors and weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.inputs.text.story_idf import IdfTable
from vlgauge.inputs.text.word_lookup import look_up
from vlgauge.inputs.text.word_vectors import WordVectorFile


@dataclass(frozen=True)
class StoryNouns:
    """Scored nouns of a story.

    Attributes:
        words: Nouns of all sentences. A noun that occurs in k sentences is listed k times.
        idf: Weight of each noun.
        seen: Whether each noun occurs in the corpus of the weights.
        oov: Whether each word vector belongs to another word.
        skipped: Nouns without a word vector, which are left out.
    """

    words: list[str]
    idf: npt.NDArray[np.float64]
    seen: list[bool]
    oov: list[bool]
    skipped: list[str]


def look_up_nouns(
    stories: Sequence[Sequence[str]], vectors: WordVectorFile, idf: IdfTable | None, oov: str
) -> tuple[list[StoryNouns], npt.NDArray[np.float32], list[list[int]]]:
    """Look up the word vectors and weights of the nouns of all stories.

    Returns:
        The nouns of each story, the distinct word vectors of the call, shape ``(n_distinct, d)``, float32, and the row
        of each noun in them, by story.

    Raises:
        ValueError: If the file of word vectors is not valid.
    """
    found = look_up([noun for story in stories for noun in story], vectors, oov)
    skipped = set(found.skipped)
    nouns, rows, start = [], [], 0
    for story in stories:
        kept = [noun for noun in story if noun not in skipped]
        end = start + len(kept)
        nouns.append(weigh_nouns(kept, idf, found.oov[start:end], [noun for noun in story if noun in skipped]))
        rows.append(found.rows[start:end])
        start = end
    return nouns, found.vectors, rows


def weigh_nouns(words: list[str], idf: IdfTable | None, oov: list[bool], skipped: list[str]) -> StoryNouns:
    """Return the nouns of a story with their weights, which are 1 without an idf table."""
    weights = np.array([1.0 if idf is None else idf.value(word) for word in words], dtype=np.float64)
    return StoryNouns(words, weights, [idf is None or idf.contains(word) for word in words], oov, skipped)
