"""Analyses of the paper in addition to the score: temporal misalignment and noun phrase proportion."""

import math
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import listed
from vlgauge.core.validation import shown
from vlgauge.families.grounding.features import per_story
from vlgauge.inputs.text.language import words

Floats = npt.NDArray[np.float64]

ANALYSES = ("temporal_misalignment", "np_proportion")
MATCHING = ("each", "best")


def checked_analysis(analysis: Any) -> tuple[str, ...] | None:
    """Validate the setting `analysis`: None, one name, or several.

    Returns:
        The names. None for no analysis.

    Raises:
        ValueError: If a name is unknown.
    """
    names = (analysis,) if isinstance(analysis, str) else analysis
    if names is None:
        return None
    if (
        not isinstance(names, (list, tuple))
        or not names
        or not all(isinstance(name, str) and name in ANALYSES for name in names)
    ):
        raise UsageError(
            f"`analysis` must be one or several of {', '.join(map(repr, ANALYSES))}, got {shown(analysis)}"
        )
    return tuple(names)


def check_sentence_image(given: Any, analysis: tuple[str, ...] | None) -> None:
    """Check that `sentence_image` is only passed if an analysis uses it.

    Raises:
        ValueError: If it is passed without the analysis "temporal_misalignment".
    """
    if given is not None and "temporal_misalignment" not in (analysis or ()):
        raise UsageError(
            f"`sentence_image` requires analysis='temporal_misalignment', got {type(given).__name__} without it"
        )


def temporal_misalignment(
    sentences: Sequence[Floats], images: Sequence[int], theta: float, *, matching: str = "each"
) -> tuple[float, list[float]]:
    """Compute T(story) and t(sentence_i) (Surikuchi et al., 2023, Eqs. 3a and 3b).

        t_i = #(phrases of sentence i that match an image other than its own) / #(phrases of sentence i)
        T   = mean over the sentences of t_i

    Args:
        sentences: Best score of each phrase within each image, one array per sentence, shape ``(n_phrases, n_images)``,
            on the scale of theta. NaN for an image without regions.
        images: Image that each sentence belongs to.
        theta: Minimum score of a phrase that matches an image.
        matching: "each" counts every other image that matches, so T may exceed 1 as in the paper. "best" counts a
            phrase once, if its best image (the first one of ties) is another one and matches.

    Returns:
        T, NaN for a story without phrases, and t of each sentence, 0 for a sentence without phrases.
    """
    shares = [_misplaced(scores, own, theta, matching) for scores, own in zip(sentences, images, strict=True)]
    if not any(len(scores) for scores in sentences):
        return math.nan, shares
    return math.fsum(shares) / len(shares), shares


def _misplaced(scores: Floats, own: int, theta: float, matching: str) -> float:
    if not len(scores):
        return 0.0
    known = np.where(np.isnan(scores), -math.inf, scores)
    matches = known >= theta
    matches[:, own] = False
    if matching == "best":
        matches &= np.arange(known.shape[1]) == known.argmax(axis=1)[:, None]
    return int(np.count_nonzero(matches)) / len(scores)


def noun_phrase_proportion(n_phrases: int, n_words: int) -> float:
    """Compute P(story) = #(noun phrases) / #(words) (Eq. 4).

    The paper splits its data at P = 0.2325.

    Returns:
        The proportion. NaN without words.
    """
    return n_phrases / n_words if n_words else math.nan


def n_real_words(tokens: Sequence[str]) -> int:
    """Return the number of tokens with at least one letter or digit."""
    return sum(any(map(str.isalnum, token)) for token in tokens)


def analysed(
    names: Sequence[str],
    stories: Sequence[Sequence[str]],
    phrases: Sequence[Any],
    scored: Sequence[Any],
    *,
    theta: float,
    matching: str,
    sentence_image: Any,
    split: Callable[[str], list[str]],
    noun_phrases: Callable[[], tuple[Sequence[Sequence[Sequence[str]]], str]] | None,
) -> dict[str, list[float]]:
    """Compute the requested analyses.

    Args:
        names: Names of the analyses.
        stories: Sentences of each story.
        phrases: `StoryPhrases` of each story.
        scored: `StoryScore` of each story.
        theta: Minimum score of a phrase that matches an image.
        matching: See `temporal_misalignment`.
        sentence_image: Image of each sentence, one list per story, or None.
        split: Function that splits a sentence again before it is tokenized into words.
        noun_phrases: Function that extracts the noun phrases if other words are scored. None otherwise.

    Returns:
        Value of each story, by analysis.
    """
    found = {}
    if "np_proportion" in names:
        counts = [of.n_extracted for of in phrases]
        if noun_phrases is not None:
            counts = [sum(map(len, of)) for of in noun_phrases()[0]]
        n_words = [sum(n_real_words(words(text, split)) for text in story) for story in stories]
        found["np_proportion"] = list(map(noun_phrase_proportion, counts, n_words))
    if "temporal_misalignment" in names:
        found["temporal_misalignment"] = misaligned_stories(
            stories, phrases, scored, sentence_image, theta, matching=matching
        )
    return found


def misaligned_stories(
    stories: Sequence[Sequence[str]],
    phrases: Sequence[Any],
    scored: Sequence[Any],
    given: Any,
    theta: float,
    *,
    matching: str,
) -> list[float]:
    """Compute T of each story.

    Args:
        stories: Sentences of each story.
        phrases: `StoryPhrases` of each story.
        scored: `StoryScore` of each story.
        given: Image of each sentence, one list per story, or None.
        theta: Minimum score of a phrase that matches an image.
        matching: See `temporal_misalignment`.

    Returns:
        T of each story. NaN without phrases, or if the numbers of sentences and images differ and no images are
        specified.

    Raises:
        ValueError: If phrases are passed without their sentences, or if specified images do not exist.
    """
    owns: list[Any] = [None] * len(stories) if given is None else per_story(given, len(stories), "sentence_image")
    found = []
    for i, (sentences, own_phrases, story) in enumerate(zip(stories, phrases, scored, strict=True)):
        groups = own_phrases.sentences
        if not any(groups):
            found.append(math.nan)
            continue
        if len(groups) != len(sentences):
            raise UsageError(
                f"`noun_phrases[{i}]` must have one list per sentence for analysis 'temporal_misalignment', got "
                f"{len(groups)} for {len(sentences)} sentences"
            )
        images = own_images(owns[i], len(sentences), story.spots.n_images, f"sentence_image[{i}]")
        if images is None:
            found.append(math.nan)
            continue
        row = {phrase: k for k, phrase in enumerate(own_phrases.kept)}
        tables = [story.per_image[[row[phrase] for phrase in group]] for group in groups]
        found.append(temporal_misalignment(tables, images, theta, matching=matching)[0])
    return found


def own_images(given: Any, n_sentences: int, n_images: int, place: str) -> list[int] | None:
    """Return the image that each sentence belongs to.

    Returns:
        The image indices. None if they are not specified and the numbers of sentences and images differ.

    Raises:
        ValueError: If the specified indices are invalid or their number differs from the number of sentences.
    """
    if given is None:
        return list(range(n_images)) if n_sentences == n_images else None
    own = listed(given)
    if own is None or len(own) != n_sentences or not all(_is_index(j, n_images) for j in own):
        raise UsageError.about(
            place, f"must name one of {n_images} images for each of {n_sentences} sentences, got {shown(given)}"
        )
    return [int(j) for j in own]


def _is_index(value: Any, count: int) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and 0 <= int(value) < count
