"""The score of a story from its embeddings, in the symbols of the paper (Surikuchi et al., 2023, Algorithm 2)."""

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.families.grounding import Evidence
from vlgauge.families.grounding import Spots
from vlgauge.families.grounding import best_regions
from vlgauge.inputs.text.concreteness import UNKNOWN_WEIGHT

Floats = npt.NDArray[np.float64]

Weigh = Callable[[str], float | None]

VARIANTS = ("released", "paper")
SCALE = 2.5  # scale of CLIP-S, which the published thresholds use


@dataclass(frozen=True)
class StoryScore:
    """GROOViST of one story.

    Attributes:
        score: Mean contribution of the phrases. NaN without phrases or regions.
        weights: w of each phrase.
        rated: Whether the weight of each phrase comes from a known word.
        cosine: c of each phrase, its maximum cosine similarity. Empty without regions.
        scaled: s of each phrase.
        penalized: p of each phrase.
        best: Region of c. The first one of ties.
        per_image: s within each image, shape ``(n_phrases, n_images)``. NaN for an image without regions.
        covered: s of each region with its best phrase. Empty without phrases.
        penalized_regions: p of each region with its best phrase.
        spots: Positions of the regions.
    """

    score: float
    weights: list[float]
    rated: list[bool]
    cosine: Floats
    scaled: Floats
    penalized: Floats
    best: npt.NDArray[np.intp]
    per_image: Floats
    covered: Floats
    penalized_regions: Floats
    spots: Spots


def scale_scores(cosines: Floats, variant: str) -> Floats:
    """Compute s_k (Surikuchi et al., 2023, Algorithm 2).

    s_k is 2.5 c_k with "released", as in the authors' code, and max(0, c_k) with "paper".

    Args:
        cosines: c_k, shape ``(n,)``.
        variant: "released" or "paper".

    Returns:
        Shape ``(n,)``.
    """
    return SCALE * cosines if variant == "released" else np.maximum(cosines, 0.0)


def penalize_scores(scaled: Floats, theta: float, *, penalize: bool = True) -> Floats:
    """Compute p_k (Algorithm 2, lines 9 to 13).

    p_k is s_k if s_k >= theta, otherwise s_k - theta. Without the penalty (Table 2) it is s_k.

    Args:
        scaled: s_k, shape ``(n,)``.
        theta: The threshold.
        penalize: Whether the penalty is applied.

    Returns:
        Shape ``(n,)``.
    """
    return np.where(scaled >= theta, scaled, scaled - theta) if penalize else scaled


def fill_weights(weights: Sequence[float | None]) -> list[float]:
    """Return the weight w of each phrase, 1 if none of its words is known, as in the authors' code."""
    return [UNKNOWN_WEIGHT if weight is None else weight for weight in weights]


def groovist_score(penalized: Floats, weights: Sequence[float]) -> float:
    """Compute G = sum_k w_k p_k / n (Eq. 2 and Algorithm 2, line 15). NaN without phrases.

    Args:
        penalized: Penalized scores p of the phrases, shape ``(n,)``.
        weights: Weights w of the phrases.
    """
    return float(np.asarray(weights) @ penalized) / len(penalized) if len(penalized) else math.nan


def rescore_story(phrases: Sequence[Mapping[str, Any]], theta: float, *, weigh: Weigh | None, penalize: bool) -> float:
    """Compute G from the text, weight and s of each phrase in the output of `return_details`.

    Args:
        phrases: Phrases of the story. s is None if there are no regions.
        theta: Threshold on the scale of s.
        weigh: Function that returns w of a phrase. None to use the weights of the phrases.
        penalize: Whether to subtract theta from phrases below theta.

    Returns:
        G. NaN without phrases or regions.
    """
    seen = [phrase for phrase in phrases if phrase["scaled"] is not None]
    weights = [phrase["weight"] if weigh is None else weigh(phrase["text"]) for phrase in seen]
    penalized = penalize_scores(np.array([phrase["scaled"] for phrase in seen]), theta, penalize=penalize)
    return groovist_score(penalized, fill_weights(weights))


def scores_within_images(cosines: Floats, spots: Spots, variant: str) -> Floats:
    """Compute s of the best region within each image.

    Args:
        cosines: Cosine similarities, shape ``(n_phrases, n_regions)``.
        spots: Regions of the columns.
        variant: "released" or "paper". See `scale_scores`.

    Returns:
        Scores, shape ``(n_phrases, n_images)``. NaN for an image without regions.
    """
    best = np.full((len(cosines), spots.n_images), np.nan)
    starts = [column for column, region in enumerate(spots.region) if region == 0]
    if starts and len(cosines):
        best[:, [spots.image[column] for column in starts]] = np.maximum.reduceat(cosines, starts, axis=1)
    return scale_scores(best, variant)


def story_score(
    evidence: Evidence,
    weights: Sequence[float | None],
    theta: float,
    *,
    variant: str = "released",
    penalize: bool = True,
) -> StoryScore:
    """Compute GROOViST of one story (Algorithm 2).

    Args:
        evidence: L2-normalized embeddings of the phrases and of the regions of all images.
        weights: w of each phrase. None, which counts as 1, if none of its words is known.
        theta: Threshold on the scale of the variant.
        variant: "released" or "paper".
        penalize: Whether to subtract theta from phrases below theta.
    """
    cosines = evidence.cosines()
    best = best_regions(cosines)
    cosine = cosines[np.arange(len(best)), best]
    scaled = scale_scores(cosine, variant)
    penalized = penalize_scores(scaled, theta, penalize=penalize)
    covered = scale_scores(cosines.max(axis=0), variant) if len(cosines) else np.zeros(0)
    w = fill_weights(weights)
    return StoryScore(
        score=groovist_score(penalized, w) if cosines.size else math.nan,
        weights=w,
        rated=[weight is not None for weight in weights],
        cosine=cosine,
        scaled=scaled,
        penalized=penalized,
        best=best,
        per_image=scores_within_images(cosines, evidence.spots, variant),
        covered=covered,
        penalized_regions=penalize_scores(covered, theta, penalize=penalize),
        spots=evidence.spots,
    )
