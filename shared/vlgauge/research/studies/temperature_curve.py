"""Scores by sampling temperature, with expected scores of equal distributions (Chan et al., Figures 5 and 6)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.research.studies.caption_pools import (
    CaptionSets,
    caption_sets,
    compute_each,
    share_comparisons,
    statistics_of,
    together,
)
from vlgauge.research.studies.sensitivity import sizes_in_words
from vlgauge.stats import bootstrap_interval


@dataclass(frozen=True)
class CurvePoint:
    """One statistic at one temperature.

    Attributes:
        temperature: Sampling temperature.
        sizes: Numbers of candidates and references of the examples that have both, such as "10v5".
        metric: Label of the metric, or ``label:separate`` and ``label:base`` for its additional statistics.
        score: Mean over the defined examples.
        low: Low end of its 95% interval. NaN for fewer than two defined examples.
        high: High end of its 95% interval.
        null_mean: Expected mean if candidates and references have the same distribution. NaN without p-values.
        excess: Score minus null mean. NaN without p-values.
        excess_low: Low end of its 95% interval.
        excess_high: High end of its 95% interval.
        pvalue: Corpus p-value, by the stratified permutation test. NaN without p-values.
        undefined: Number of undefined examples.
    """

    temperature: float
    sizes: str
    metric: str
    score: float
    low: float
    high: float
    null_mean: float
    excess: float
    excess_low: float
    excess_high: float
    pvalue: float
    undefined: int


def curve(
    predictions: Mapping[float, CaptionSets],
    references: CaptionSets,
    metrics: Mapping[str, Any],
    advance: Callable[[int], object] = lambda done: None,
) -> list[CurvePoint]:
    """Score the candidates sampled at each temperature against the same references.

    Each caption is encoded once. Scores and their excess depend on the sizes of the sets, so compare temperatures with
    equal numbers of captions.

    Args:
        predictions: Candidates of each example, by temperature.
        references: References of each example.
        metrics: Metrics of caption sets by label.
        advance: Called with 1 after each metric and temperature.

    Returns:
        One point per temperature, metric and statistic, sorted by temperature.

    Raises:
        ValueError: If there is no temperature.
    """
    if not predictions:
        raise UsageError.about("predictions", "must have candidates of at least one temperature, got none")
    points = []
    sampled = {key: caption_sets(f"predictions[{key}]", predictions[key]) for key in sorted(predictions)}
    people = caption_sets("references", references)
    with share_comparisons(metrics, together(*sampled.values(), people), people, pairs=False):
        for temperature, candidates in sampled.items():
            sizes = [(len(ours), len(theirs)) for ours, theirs in zip(candidates, people, strict=True)]
            for one in compute_each(metrics, candidates, people, advance):
                points += _points(temperature, sizes, *one)
    return points


def _points(
    temperature: float, sizes: Sequence[tuple[int, int]], label: str, name: str, result: Mapping[str, Any]
) -> list[CurvePoint]:
    points = []
    for own, prefix in statistics_of(label, name, result).items():
        scores = result[f"{prefix}_scores"]
        interval = bootstrap_interval(scores)
        low, high = (float("nan"),) * 2 if interval is None else (interval.low, interval.high)
        tested = [float("nan")] * 5
        if f"{prefix}_pvalues" in result:
            numbers = (result[f"{prefix}_{key}"] for key in ("null_mean", "excess", "excess_interval", "pvalue"))
            tested = list(chain.from_iterable(one if isinstance(one, list) else [one] for one in numbers))
        undefined = sum(score != score for score in scores)
        row = (temperature, sizes_in_words(sizes), own, result[prefix], low, high, *tested, undefined)
        points.append(CurvePoint(*row))
    return points
