"""Sensitivity of metrics to differences of sampled and human captions, by sample size (Chan et al., Figure 3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge import stats
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_int
from vlgauge.research.studies.caption_pools import CaptionSets, caption_sets, compute_each, share_comparisons, together

SIGNIFICANT = 0.05
_TESTED = ("pvalue", "excess", "z", "mean_log_pvalue", "expected_mean_log_pvalue")  # as in results of metrics


@dataclass(frozen=True)
class SensitivityRow:
    """Results of one metric for one number of candidates.

    Attributes:
        candidates: Number of candidates per example.
        sizes: Numbers of candidates and references of the defined examples, such as "5v5", or "3-8v5" if they differ.
            If no example is defined, all examples that have both are counted.
        metric: Label of the metric, or ``label:separate`` and ``label:base`` for its additional statistics.
        pvalue: Corpus p-value, by the stratified permutation test.
        excess: Mean over the examples of score minus null mean, the effect size. Positive values indicate a difference,
            or negative ones for ``label:base``.
        excess_low: Low end of its 95% interval.
        excess_high: High end of its 95% interval.
        z: z of the stratified permutation test, with the sign of the excess.
        mean_log_pvalue: Mean of ln p, the "log p" of the paper. Lower is more sensitive.
        expected_mean_log_pvalue: Expected mean of ln p for equal distributions at these sizes.
        significant: Share of the defined examples with p at most 0.05.
        undefined: Number of undefined examples.
        details: ``harmonic_pvalue`` and ``calibrated_harmonic_pvalue``, for comparison with the paper. Do not use them
            as tests: for sets of 5 v 5 captions the calibrated one never rejects.
    """

    candidates: int
    sizes: str
    metric: str
    pvalue: float
    excess: float
    excess_low: float
    excess_high: float
    z: float
    mean_log_pvalue: float
    expected_mean_log_pvalue: float
    significant: float
    undefined: int
    details: dict[str, float]


def sensitivity(
    predictions: CaptionSets,
    references: CaptionSets,
    metrics: Mapping[str, Any],
    sizes: Sequence[int] | None = None,
    advance: Callable[[int], object] = lambda done: None,
) -> list[SensitivityRow]:
    """Test the first k candidates of each example against all its references, for each k and metric.

    The sets are nested, as in Appendix A.5. Examples with fewer than k candidates contribute all of them. Each caption
    is encoded once, and each pair of captions of an example compared once, for all k.

    Args:
        predictions: Candidates of each example.
        references: References of each example.
        metrics: Metrics of caption sets by label, each loaded with the setting ``pvalue``.
        sizes: Numbers of candidates. None for 1 to the largest number of candidates of an example.
        advance: Called with 1 after each metric and size.

    Raises:
        ValueError: If a size is below 1 or above the largest number of candidates, or a metric returns no p-values.
    """
    predictions, references = caption_sets("predictions", predictions), caption_sets("references", references)
    largest = max((len(captions) for captions in predictions), default=0)
    chosen = list(range(1, largest + 1)) if sizes is None else list(sizes)
    for size in chosen:
        check_int("sizes", size, 1, largest)
    rows = []
    with share_comparisons(metrics, together(predictions, references), references):
        for size in chosen:
            nested = [list(captions[:size]) for captions in predictions]
            counts = [(len(ours), len(theirs)) for ours, theirs in zip(nested, references, strict=True)]
            for one in compute_each(metrics, nested, references, advance):
                rows += rows_of_result(size, counts, *one)
    return rows


def sizes_in_words(sizes: Sequence[tuple[int, int]]) -> str:
    """Format the numbers of candidates and references of the examples that have both, such as "5v5" or "3-8v5"."""
    sides = zip(*(pair for pair in sizes if min(pair) > 0), strict=True)
    return "v".join(str(min(side)) if min(side) == max(side) else f"{min(side)}-{max(side)}" for side in sides)


def rows_of_result(
    candidates: int, sizes: Sequence[tuple[int, int]], label: str, name: str, result: Mapping[str, Any]
) -> list[SensitivityRow]:
    """Build one row for each statistic of a result that has p-values.

    Args:
        candidates: Number of candidates per example.
        sizes: Numbers of candidates and references of all examples.
        label: Label of the metric.
        name: Name of the metric.
        result: Result dictionary.

    Raises:
        ValueError: If the result has no p-values.
    """
    prefixes = [key.removesuffix("_pvalues") for key in result if key.endswith("_pvalues")]
    if not prefixes:
        raise UsageError.about("metrics", f"must be loaded with the setting `pvalue`, got {label} without p-values")
    rows = []
    for prefix in prefixes:
        pvalues = np.asarray(result[f"{prefix}_pvalues"], dtype=float)
        defined = pvalues[~np.isnan(pvalues)]
        tested = [sizes[i] for i in np.flatnonzero(~np.isnan(pvalues)).tolist()]
        low, high = result[f"{prefix}_excess_interval"]
        rows.append(
            SensitivityRow(
                candidates=candidates,
                sizes=sizes_in_words(tested or sizes),
                metric=":".join(filter(None, (label, prefix.removeprefix(name).strip("_")))),
                excess_low=low,
                excess_high=high,
                **{key: result[f"{prefix}_{key}"] for key in _TESTED},
                significant=float(np.mean(defined <= SIGNIFICANT)) if defined.size else float("nan"),
                undefined=len(pvalues) - defined.size,
                details={
                    "harmonic_pvalue": stats.harmonic_mean_pvalue(defined),
                    "calibrated_harmonic_pvalue": stats.compute_calibrated_harmonic_pvalue(defined),
                },
            )
        )
    return rows


def human_split(references: CaptionSets, seed: int = 0, least: int = 2) -> tuple[list[list[str]], list[list[str]]]:
    """Split the human captions of each image at random into one half, rounded down, and the rest (Appendix B.4).

    A suitable metric finds no difference between them: the mean of ln p is close to its expectation for these sizes.

    Args:
        references: Captions of each image.
        seed: Seed of the random order.
        least: Minimum number of captions of an image.

    Returns:
        Candidates and references. Both are empty lists for images with fewer captions.
    """
    rng = np.random.default_rng(seed)
    candidates: list[list[str]] = []
    others: list[list[str]] = []
    for texts in references:
        order, k = rng.permutation(len(texts)), len(texts) // 2 if len(texts) >= least else 0
        candidates.append([texts[i] for i in order[:k]])
        others.append([texts[i] for i in order[k:]] if k else [])
    return candidates, others
