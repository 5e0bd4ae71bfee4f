"""Do scores tell captions that repeat each other from captions of other images? (Chan et al., Figures B.2 and B.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.errors import UsageError
from vlgauge.results import mean_of_defined
from vlgauge.studies.caption_pools import CaptionSets, caption_sets, compared_once, quietly, statistics_of, together

PER_SIDE = 10


@dataclass(frozen=True)
class GridCell:
    """One statistic of candidates that were mixed in one way.

    Attributes:
        unique: Number of different captions that each of the two pools has, k.
        correct: Number of candidates from the pool of the image itself, m; the others are of other images.
        metric: Label of the metric; ``label:separate`` and ``label:base`` for its further statistics.
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
    """References of an image, other captions of it in random order, and as many of other images."""

    references: list[str]
    correct: list[str]
    incorrect: list[str]


def pools_of(references: CaptionSets, per_side: int = PER_SIDE, seed: int = 0) -> list[Pools]:
    """The captions of each image in two halves, with captions of other images; those that have too few are left out."""
    if per_side < 2:
        raise UsageError(f"`per_side` must be at least 2, got {per_side}")
    most = max(map(len, references), default=0)
    if most < 2 * per_side:
        raise UsageError(f"`references` must have {2 * per_side} captions of an image, {per_side} per side, got {most}")
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
            raise UsageError(
                f"`references` must have {per_side} captions of other images for each image, got {len(others)}"
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
    """Scores of candidates of which m are drawn from k captions of the image, the others from k of other images.

    All are drawn with replacement, so that k bounds how many differ. The pools are nested: each caption of an example
    is encoded, and each pair compared, once for the whole grid. Images with fewer than twice `per_side` captions are
    left out; k runs from 1, m from 0 to `per_side` where nothing else is asked for.
    """
    ks = list(range(1, per_side + 1)) if uniques is None else list(uniques)
    ms = list(range(per_side + 1)) if corrects is None else list(corrects)
    for name, values, least in (("uniques", ks, 1), ("corrects", ms, 0)):
        for value in values:
            if not least <= value <= per_side:
                raise UsageError(f"`{name}` must be from {least} to {per_side}, the number per side, got {value}")
    pools = pools_of(caption_sets("references", references), per_side, seed)
    kept = [one.references for one in pools]
    everything = together(kept, [one.correct for one in pools], [one.incorrect for one in pools])
    cells = []
    with compared_once(metrics, everything, kept):
        for k in ks:
            for m in ms:
                mixed = [_mixed(one, k, m, [seed, row, k, m]) for row, one in enumerate(pools)]
                for label, metric in metrics.items():
                    with quietly():
                        result = metric.compute(predictions=mixed, references=kept)
                    for own, prefix in statistics_of(label, metric.name, result).items():
                        undefined = sum(score != score for score in result[f"{prefix}_scores"])
                        cells.append(GridCell(k, m, own, mean_of_defined(result[f"{prefix}_scores"]), undefined))
                    advance(1)
    return cells


def _mixed(pools: Pools, k: int, m: int, seed: list[int]) -> list[str]:
    """Draw m captions from the first k correct ones and the rest from the first k incorrect ones, with replacement."""
    drawn = np.random.default_rng(seed).integers(0, k, len(pools.references)).tolist()
    return [pools.correct[i] for i in drawn[:m]] + [pools.incorrect[i] for i in drawn[m:]]
