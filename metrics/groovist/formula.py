"""The score of a story from its vectors, with the symbols of the paper (Surikuchi et al., 2023, Algorithm 2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

VARIANTS = ("released", "paper")
CONFIDENT = 0.5
SCALE = 2.5  # of CLIP-S; the published thresholds are on this scale


@dataclass(frozen=True)
class StoryScore:
    """GROOViST of one story.

    Attributes:
        score: Mean contribution of the phrases; NaN without a phrase or a region.
        weights: w of each phrase.
        cosine: c of each phrase, its best cosine; empty without a region.
        scaled: s of each phrase.
        penalized: p of each phrase.
        best: Region of c; of equal ones the first.
        per_image: s within each image, shape ``(n_phrases, n_images)``, NaN for an image without regions.
        coverage: The score reversed, see `coverage`.
        spots: Where the regions are: image, place within it, box and score of each.
    """

    score: float
    weights: list[float]
    cosine: Floats
    scaled: Floats
    penalized: Floats
    best: npt.NDArray[np.intp]
    per_image: Floats
    coverage: float
    spots: Any


def scaled_scores(cosines: Floats, variant: str) -> Floats:
    """s_k: "released": 2.5 c_k, as the code has it; "paper": max(0, c_k) (Surikuchi et al., 2023, Algorithm 2)."""
    return SCALE * cosines if variant == "released" else np.maximum(cosines, 0.0)


def penalized_scores(scaled: Floats, theta: float) -> Floats:
    """p_k = s_k if s_k >= theta, else s_k - theta (Algorithm 2, lines 9 to 13)."""
    return np.where(scaled >= theta, scaled, scaled - theta)


def groovist_score(penalized: Floats, weights: Sequence[float]) -> float:
    """G = sum_k w_k p_k / n (Eq. 2 and Algorithm 2, line 15); NaN for no phrase."""
    return float(np.asarray(weights) @ penalized) / len(penalized) if len(penalized) else math.nan


def confident_regions(regions: Sequence[int], scores: Sequence[float | None]) -> list[int]:
    """The regions of an image that a story should cover: those with a score over 0.5, all if there are none."""
    sure = [region for region, score in zip(regions, scores, strict=True) if score is not None and score > CONFIDENT]
    return sure or list(regions)


def coverage(cosines: Floats, spots: Any, theta: float, *, variant: str, penalize: bool) -> float:
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
    return float(np.mean(penalized_scores(scaled, theta) if penalize else scaled))


def story_score(
    evidence: Any, weights: Sequence[float], theta: float, *, variant: str = "released", penalize: bool = True
) -> StoryScore:
    """GROOViST of one story (Algorithm 2).

    Args:
        evidence: unit vectors of the phrases and of the regions of all images.
        weights: w of each phrase.
        theta: threshold on the scale of the variant.
        variant: "released" or "paper".
        penalize: whether a phrase below theta loses theta.
    """
    cosines, within = evidence.compared()
    best = cosines.argmax(axis=1) if cosines.size else np.zeros(0, dtype=np.intp)
    cosine = cosines[np.arange(len(best)), best]
    scaled = scaled_scores(cosine, variant)
    penalized = penalized_scores(scaled, theta) if penalize else scaled
    return StoryScore(
        score=groovist_score(penalized, weights) if cosines.size else math.nan,
        weights=list(weights),
        cosine=cosine,
        scaled=scaled,
        penalized=penalized,
        best=best,
        per_image=scaled_scores(within, variant),
        coverage=coverage(cosines, evidence.spots, theta, variant=variant, penalize=penalize),
        spots=evidence.spots,
    )


def harmonic_mean(score: float, covered: float) -> float:
    """2 g r / (g + r) of g = tanh(score) and r = tanh(covered), 0 unless both are positive; NaN stays. In [0, 1]."""
    if math.isnan(score) or math.isnan(covered):
        return math.nan
    g, r = math.tanh(score), math.tanh(covered)
    return 2 * g * r / (g + r) if g > 0 and r > 0 else 0.0
