"""Analyses of stories from the details of groovist: temporal misalignment, phrase proportion and coverage."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import parse_signature
from vlgauge.core.validation import as_list, check_one_each, short_repr
from vlgauge.inputs.text.language import sentence_splitter, words

Floats = npt.NDArray[np.float64]
Details = Mapping[str, Any]

MATCHING = ("each", "best")
CONFIDENT = 0.5


@dataclass(frozen=True)
class StoryAnalyses:
    """Analyses of all stories of a call, one value per story.

    Attributes:
        misalignment: T. See `temporal_misalignment`. NaN without phrases, or if a story has unequal numbers of
            sentences and images and the images of its sentences are not specified.
        proportion: P. See `noun_phrase_proportion`.
        coverage: Score in the reverse direction. See `coverage`.
        f: Harmonic mean of score and coverage. See `harmonic_mean`.
    """

    misalignment: list[float]
    proportion: list[float]
    coverage: list[float]
    f: list[float]


def analyze_stories(
    metric: Any, result: Mapping[str, Any], *, matching: str = "each", sentence_image: Any = None
) -> StoryAnalyses:
    """Compute all analyses of the stories of a call.

    Args:
        metric: The metric groovist.
        result: Result of its `compute` with ``return_details=True``.
        matching: See `temporal_misalignment`.
        sentence_image: Image of each sentence, one list per story. None if sentence i belongs to image i.

    Raises:
        ValueError: If phrases were passed without their sentences, or `sentence_image` is invalid.
    """
    stories = result["groovist_details"]
    theta = read_signed_theta(result["groovist_signature"])
    given = [None] * len(stories) if sentence_image is None else sentence_image
    check_one_each("sentence_image", given, len(stories), "entry per story")
    images = list(given)
    coverages = list(map(coverage, stories))
    return StoryAnalyses(
        [_misalignment(i, story, images[i], theta, matching) for i, story in enumerate(stories)],
        _proportions(metric, stories, result["groovist_signature"]),
        coverages,
        [harmonic_mean(_raw_score(story), covered) for story, covered in zip(stories, coverages, strict=True)],
    )


def read_signed_theta(signature: str) -> float:
    """Return theta from a signature of groovist.

    Raises:
        KeyError: If the signature has no theta.
    """
    return float(parse_signature(signature)[1]["theta"].partition("@")[0])


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
    shares = [_count_misplaced(scores, own, theta, matching) for scores, own in zip(sentences, images, strict=True)]
    if not any(len(scores) for scores in sentences):
        return math.nan, shares
    return math.fsum(shares) / len(shares), shares


def _count_misplaced(scores: Floats, own: int, theta: float, matching: str) -> float:
    if not len(scores):
        return 0.0
    known = np.where(np.isnan(scores), -math.inf, scores)
    matches = known >= theta
    matches[:, own] = False
    if matching == "best":
        matches &= np.arange(known.shape[1]) == known.argmax(axis=1)[:, None]
    return int(np.count_nonzero(matches)) / len(scores)


def _misalignment(i: int, story: Details, given: Any, theta: float, matching: str) -> float:
    groups, n_sentences = story["sentence_phrases"], len(story["sentences"])
    if not any(groups):
        return math.nan
    if len(groups) != n_sentences:
        raise UsageError.about(
            f"noun_phrases[{i}]",
            f"must have one list per sentence for temporal misalignment, got {len(groups)} for {n_sentences} sentences",
        )
    scores = np.array(story["per_image"])
    images = own_images(given, n_sentences, scores.shape[1], f"sentence_image[{i}]")
    if images is None:
        return math.nan
    row = {phrase["text"]: k for k, phrase in enumerate(story["noun_phrases"])}
    return temporal_misalignment(
        [scores[[row[text] for text in group]] for group in groups], images, theta, matching=matching
    )[0]


def own_images(given: Any, n_sentences: int, n_images: int, place: str) -> list[int] | None:
    """Return the image that each sentence belongs to.

    Returns:
        The image indices. None if they are not specified and the numbers of sentences and images differ.

    Raises:
        ValueError: If the specified indices are invalid or their number differs from the number of sentences.
    """
    if given is None:
        return list(range(n_images)) if n_sentences == n_images else None
    own = as_list(given)
    if own is None or len(own) != n_sentences or not all(_is_index(j, n_images) for j in own):
        raise UsageError.about(
            place, f"must name one of {n_images} images for each of {n_sentences} sentences, got {short_repr(given)}"
        )
    return [int(j) for j in own]


def _is_index(value: Any, count: int) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and 0 <= int(value) < count


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


def _proportions(metric: Any, stories: Sequence[Details], signature: str) -> list[float]:
    counts = [len(story["noun_phrases"]) + len(story["dropped"]) for story in stories]
    texts = [story["sentences"] for story in stories]
    if parse_signature(signature)[1].get("units") == "nouns":
        counts = [sum(map(len, groups)) for groups in metric.extract_words(texts, None, nouns=False)[0]]
    split = sentence_splitter(metric.sentences)
    n_words = [sum(n_real_words(words(text, split)) for text in sentences) for sentences in texts]
    return list(map(noun_phrase_proportion, counts, n_words))


def confident_regions(regions: Sequence[Details]) -> list[Details]:
    """Return the regions of an image that a story should cover.

    These are the regions with a detector score above 0.5, or all regions if there are none.
    """
    return [region for region in regions if (region["score"] or 0) > CONFIDENT] or list(regions)


def coverage(story: Details) -> float:
    """Compute the coverage of the images by the story: the mean penalized score of the regions with their best phrases.

    This is our extension of the paper. Of each image, only regions with a detector score above 0.5 count, or all
    regions if there are none.

    Args:
        story: Details of the story.

    Returns:
        Coverage. NaN without phrases or regions.
    """
    images: dict[int, list[Details]] = {}
    for region in story["regions"]:
        images.setdefault(region["image"], []).append(region)
    chosen = [region["penalized"] for regions in images.values() for region in confident_regions(regions)]
    return float(np.mean(chosen)) if chosen and story["noun_phrases"] else math.nan


def harmonic_mean(score: float, covered: float) -> float:
    """Compute 2 g r / (g + r) with g = tanh(score) and r = tanh(covered).

    Returns:
        Value in [0, 1]. 0 unless g and r are positive, NaN if one of them is NaN.
    """
    if math.isnan(score) or math.isnan(covered):
        return math.nan
    g, r = math.tanh(score), math.tanh(covered)
    return 2 * g * r / (g + r) if g > 0 and r > 0 else 0.0


def _raw_score(story: Details) -> float:
    """Return the score before tanh. NaN without phrases or regions."""
    contributions = [phrase["contribution"] for phrase in story["noun_phrases"] if phrase["contribution"] is not None]
    return math.fsum(contributions) if contributions else math.nan
