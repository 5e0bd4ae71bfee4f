"""Scores of repeated captions and of captions of other images (Chan et al., Figures B.2 and B.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined
from vlgauge.core.validation import check_int
from vlgauge.research.studies.caption_pools import (
    CaptionSets,
    caption_sets,
    compute_each,
    share_comparisons,
    statistics_of,
    together,
)

PER_SIDE = 10


@dataclass(frozen=True)
class GridCell:
    """One statistic for one mixture of candidates.

    Attributes:
        unique: Number of different captions in each of the two pools, k.
        correct: Number of candidates from the pool of the image itself, m. The others are from other images.
        metric: Label of the metric, or ``label:separate`` and ``label:base`` for its additional statistics.
        score: Mean over the defined examples.
        undefined: Number of undefined examples.
    """

    unique: int
    correct: int
    metric: str
    score: float
    undefined: int


@dataclass(frozen=True)
class Pools:
    """References of an image, other captions of it in random order, and equally many captions of other images."""

    references: list[str]
    correct: list[str]
    incorrect: list[str]


def pools_of(references: CaptionSets, per_side: int = PER_SIDE, seed: int = 0) -> list[Pools]:
    """Split the captions of each image into two halves and add captions of other images.

    Images with fewer than twice `per_side` captions are left out.

    Raises:
        ValueError: If `per_side` is below 2, no image has enough captions, or there are too few captions of other
            images.
    """
    check_int("per_side", per_side, 2)
    most = max(map(len, references), default=0)
    if most < 2 * per_side:
        raise UsageError.about(
            "references", f"must have {2 * per_side} captions of an image, {per_side} per side, got {most}"
        )
    rng = np.random.default_rng(seed)
    found = []
    every = sorted({text for texts in references for text in texts})
    for texts in references:
        if len(texts) < 2 * per_side:
            continue
        order = [texts[i] for i in rng.permutation(len(texts)).tolist()]
        own = set(texts)
        others = [every[i] for i in rng.permutation(len(every)).tolist() if every[i] not in own][:per_side]
        if len(others) < per_side:
            raise UsageError.about(
                "references", f"must have {per_side} captions of other images for each image, got {len(others)}"
            )
        found.append(Pools(order[:per_side], order[per_side : 2 * per_side], others))
    return found


def unique_versus_correct(
    references: CaptionSets,
    metrics: Mapping[str, Any],
    *,
    per_side: int = PER_SIDE,
    uniques: Sequence[int] | None = None,
    corrects: Sequence[int] | None = None,
    seed: int = 0,
    advance: Callable[[int], object] = lambda done: None,
) -> list[GridCell]:
    """Score candidates of which m are drawn from k captions of the image and the rest from k captions of other images.

    All are drawn with replacement, so k limits the number of distinct captions. The pools are nested: each caption of
    an example is encoded, and each pair compared, once for the whole grid. Images with fewer than twice `per_side`
    captions are left out.

    Args:
        references: Captions of each image.
        metrics: Metrics of caption sets by label.
        per_side: Number of candidates and of references of each image.
        uniques: Values of k. None for 1 to `per_side`.
        corrects: Values of m. None for 0 to `per_side`.
        seed: Seed of the random draws.
        advance: Called with 1 after each metric and grid cell.

    Returns:
        One cell per k, m, metric and statistic.

    Raises:
        ValueError: If a value of k or m is out of range, or `pools_of` raises it.
    """
    ks = list(range(1, per_side + 1)) if uniques is None else list(uniques)
    ms = list(range(per_side + 1)) if corrects is None else list(corrects)
    for name, values, least in (("uniques", ks, 1), ("corrects", ms, 0)):
        for value in values:
            check_int(name, value, least, per_side)
    pools = pools_of(caption_sets("references", references), per_side, seed)
    kept = [one.references for one in pools]
    everything = together(kept, [one.correct for one in pools], [one.incorrect for one in pools])
    cells = []
    with share_comparisons(metrics, everything, kept):
        for k in ks:
            for m in ms:
                mixed = [_mix_captions(one, k, m, [seed, row, k, m]) for row, one in enumerate(pools)]
                for label, name, result in compute_each(metrics, mixed, kept, advance):
                    for own, prefix in statistics_of(label, name, result).items():
                        scores = result[f"{prefix}_scores"]
                        undefined = sum(score != score for score in scores)
                        cells.append(GridCell(k, m, own, mean_of_defined(scores), undefined))
    return cells


def _mix_captions(pools: Pools, k: int, m: int, seed: list[int]) -> list[str]:
    """Draw m captions from the first k correct ones and the rest from the first k incorrect ones, with replacement."""
    drawn = np.random.default_rng(seed).integers(0, k, len(pools.references)).tolist()
    return [pools.correct[i] for i in drawn[:m]] + [pools.incorrect[i] for i in drawn[m:]]
