"""The score of a story from its vectors, with the symbols of the paper (Surikuchi et al., 2023, Algorithm 2)."""

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.grounding import Evidence
from vlgauge.grounding import Spots
from vlgauge.grounding import best_regions
from vlgauge.results import mean_of_defined
from vlgauge.text.concreteness import UNKNOWN_WEIGHT

Floats = npt.NDArray[np.float64]

Weigh = Callable[[str], float | None]

VARIANTS = ("released", "paper")
CONFIDENT = 0.5
SCALE = 2.5  # of CLIP-S; the published thresholds are on this scale


@dataclass(frozen=True)
class StoryScore:
    """GROOViST of one story.

    Attributes:
        score: Mean contribution of the phrases; NaN without a phrase or a region.
        weights: w of each phrase.
        rated: whether each weight is that of a known word.
        cosine: c of each phrase, its best cosine; empty without a region.
        scaled: s of each phrase.
        penalized: p of each phrase.
        best: Region of c; of equal ones the first.
        per_image: s within each image, shape ``(n_phrases, n_images)``, NaN for an image without regions.
        coverage: The score reversed, see `coverage`.
        spots: Where the regions are.
    """

    score: float
    weights: list[float]
    rated: list[bool]
    cosine: Floats
    scaled: Floats
    penalized: Floats
    best: npt.NDArray[np.intp]
    per_image: Floats
    coverage: float
    spots: Spots


def scaled_scores(cosines: Floats, variant: str) -> Floats:
    """s_k: "released": 2.5 c_k, as the code has it; "paper": max(0, c_k) (Surikuchi et al., 2023, Algorithm 2)."""
    return SCALE * cosines if variant == "released" else np.maximum(cosines, 0.0)


def penalized_scores(scaled: Floats, theta: float, *, penalize: bool = True) -> Floats:
    """p_k = s_k if s_k >= theta, else s_k - theta (Algorithm 2, lines 9 to 13); without the penalty s_k (Table 2)."""
    return np.where(scaled >= theta, scaled, scaled - theta) if penalize else scaled


def filled(weights: Sequence[float | None]) -> list[float]:
    """W of each phrase, 1 where no word is known, as the authors' code has it."""
    return [UNKNOWN_WEIGHT if weight is None else weight for weight in weights]


def groovist_score(penalized: Floats, weights: Sequence[float]) -> float:
    """G = sum_k w_k p_k / n (Eq. 2 and Algorithm 2, line 15); NaN for no phrase."""
    return float(np.asarray(weights) @ penalized) / len(penalized) if len(penalized) else math.nan


def rescored_story(phrases: Sequence[Mapping[str, Any]], theta: float, *, weigh: Weigh | None, penalize: bool) -> float:
    """G from text, weight and s of each phrase, as `return_details` shows them; NaN without a phrase or a region.

    Args:
        phrases: the phrases of the story; s is None where there is no region.
        theta: threshold on the scale of s.
        weigh: gives w of a phrase; None for the weight that it has.
        penalize: whether a phrase below theta loses theta.
    """
    seen = [phrase for phrase in phrases if phrase["scaled"] is not None]
    weights = [phrase["weight"] if weigh is None else weigh(phrase["text"]) for phrase in seen]
    penalized = penalized_scores(np.array([phrase["scaled"] for phrase in seen]), theta, penalize=penalize)
    return groovist_score(penalized, filled(weights))


def confident_regions(regions: Sequence[int], scores: Sequence[float | None]) -> list[int]:
    """The regions of an image that a story should cover: those with a score over 0.5, all if there are none."""
    sure = [region for region, score in zip(regions, scores, strict=True) if score is not None and score > CONFIDENT]
    return sure or list(regions)


def scores_within_images(cosines: Floats, spots: Spots, variant: str) -> Floats:
    """S of the best region within each image, shape ``(n_phrases, n_images)``, NaN for an image without a region.

    Args:
        cosines: shape ``(n_phrases, n_regions)``.
        spots: the regions of the columns.
        variant: as for phrases.
    """
    best = np.full((len(cosines), spots.n_images), np.nan)
    starts = [column for column, region in enumerate(spots.region) if region == 0]
    if starts and len(cosines):
        best[:, [spots.image[column] for column in starts]] = np.maximum.reduceat(cosines, starts, axis=1)
    return scaled_scores(best, variant)


def coverage(cosines: Floats, spots: Spots, theta: float, *, variant: str, penalize: bool) -> float:
    """How far the story covers the images: mean penalized score of the regions, each with its best phrase.

    Ours, not in the paper. Of each image those regions count whose detector score is over 0.5, all if there are none.

    Args:
        cosines: shape ``(n_phrases, n_regions)``.
        spots: the regions of the columns.
        theta: as for phrases.
        variant: as for phrases.
        penalize: as for phrases.
    """
    if not cosines.size:
        return math.nan
    columns: dict[int, list[int]] = {}
    for column, image in enumerate(spots.image):
        columns.setdefault(image, []).append(column)
    chosen = [c for of in columns.values() for c in confident_regions(of, [spots.scores[c] for c in of])]
    scaled = scaled_scores(cosines[:, chosen].max(axis=0), variant)
    return float(np.mean(penalized_scores(scaled, theta, penalize=penalize)))


def story_score(
    evidence: Evidence,
    weights: Sequence[float | None],
    theta: float,
    *,
    variant: str = "released",
    penalize: bool = True,
) -> StoryScore:
    """GROOViST of one story (Algorithm 2).

    Args:
        evidence: unit vectors of the phrases and of the regions of all images.
        weights: w of each phrase; None where no word is known, which weighs 1.
        theta: threshold on the scale of the variant.
        variant: "released" or "paper".
        penalize: whether a phrase below theta loses theta.
    """
    cosines = evidence.cosines()
    best = best_regions(cosines)
    cosine = cosines[np.arange(len(best)), best]
    scaled = scaled_scores(cosine, variant)
    penalized = penalized_scores(scaled, theta, penalize=penalize)
    w = filled(weights)
    return StoryScore(
        score=groovist_score(penalized, w) if cosines.size else math.nan,
        weights=w,
        rated=[weight is not None for weight in weights],
        cosine=cosine,
        scaled=scaled,
        penalized=penalized,
        best=best,
        per_image=scores_within_images(cosines, evidence.spots, variant),
        coverage=coverage(cosines, evidence.spots, theta, variant=variant, penalize=penalize),
        spots=evidence.spots,
    )


def harmonic_mean(score: float, covered: float) -> float:
    """2 g r / (g + r) of g = tanh(score) and r = tanh(covered), 0 unless both are positive; NaN stays. In [0, 1]."""
    if math.isnan(score) or math.isnan(covered):
        return math.nan
    g, r = math.tanh(score), math.tanh(covered)
    return 2 * g * r / (g + r) if g > 0 and r > 0 else 0.0


def reversed_scores(scored: Sequence[StoryScore]) -> dict[str, Any]:
    """Means and scores of the stories reversed, and of the harmonic mean of both directions."""
    covered = [story.coverage for story in scored]
    f = [harmonic_mean(story.score, story.coverage) for story in scored]
    found = {"reverse": mean_of_defined(covered), "reverse_scores": covered}
    return found | {"f": mean_of_defined(f), "f_scores": f}
