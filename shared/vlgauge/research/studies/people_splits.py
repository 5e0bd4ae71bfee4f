"""Human against other human captions of the same image, at equal sizes (Chan et al., Appendix B.4, Table B.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined
from vlgauge.core.validation import check_int
from vlgauge.research.studies.caption_pools import CaptionSets, caption_sets, compute_each, share_comparisons
from vlgauge.research.studies.sensitivity import SensitivityRow, human_split, rows_of_result

_MEANS = ("mean_log_pvalue", "expected_mean_log_pvalue", "significant", "z")  # columns that are averaged

Split = tuple[list[list[str]], list[list[str]]]


@dataclass(frozen=True)
class SplitRow:
    """One statistic over several splits.

    Attributes:
        metric: Label of the metric, or ``label:separate`` and ``label:base`` for its additional statistics.
        sizes: Number of captions on each side, such as "10v10".
        splits: Number of splits of the whole corpus.
        mean_log_pvalue: Mean of ln p over examples and splits.
        lowest: Lowest mean of a split.
        highest: Highest mean of a split.
        expected_mean_log_pvalue: Expected mean of ln p for equal distributions at these sizes.
        significant: Share of p-values of at most 0.05.
        rejected: Number of splits whose corpus p-value, by the stratified permutation test, is at most 0.05.
        z: Mean z of that test over the splits.
        undefined: Maximum number of undefined examples of a split.
    """

    metric: str
    sizes: str
    splits: int
    mean_log_pvalue: float
    lowest: float
    highest: float
    expected_mean_log_pvalue: float
    significant: float
    rejected: int
    z: float
    undefined: int


def equal_splits(references: CaptionSets, size: int | None = None, seed: int = 0) -> list[Split]:
    """Split human captions into pairs of groups of equal size.

    Args:
        references: Captions of each image.
        size: Captions per group. The function makes as many groups as the largest set of captions fills, and each pair
            of groups is a split. For example, the 40 captions of c40 form four groups of ten. None for two halves, of
            which the second has one more caption if their number is odd.
        seed: Seed of the order in which the captions of an image are dealt.

    Returns:
        Splits of the whole corpus. Images with too few captions for a pair have no captions on either side.

    Raises:
        ValueError: If `size` is below 1, or no image has enough captions for two groups.
    """
    if size is not None:
        check_int("size", size, 1)
    most = max(map(len, references), default=0)
    least = 4 if size is None else 2 * size
    if most < least:
        raise UsageError.about("references", f"must have {least} captions of an image for two groups, got {most}")
    if size is None:
        return [human_split(references, seed, least)]
    rng = np.random.default_rng(seed)
    dealt = [[texts[i] for i in rng.permutation(len(texts)).tolist()] for texts in references]
    groups = [[texts[start : start + size] for texts in dealt] for start in range(0, most - size + 1, size)]
    full = [[texts if len(texts) == size else [] for texts in group] for group in groups]
    return list(combinations(full, 2))


def people_splits(
    references: CaptionSets,
    metrics: Mapping[str, Any],
    *,
    size: int | None = None,
    draws: int = 1,
    seed: int = 0,
) -> list[SplitRow]:
    """Test human captions against other human captions. A suitable metric finds no difference.

    Args:
        references: Captions of each image.
        metrics: Metrics of caption sets by label, each loaded with the setting ``pvalue``.
        size: Captions per group. See `equal_splits`.
        draws: Number of random orders of the captions, 1 to 10,000.
        seed: Seed of the first random order. Each following one uses the next integer.
    """
    check_int("draws", draws, 1, 10_000)
    references = caption_sets("references", references)
    splits = [split for draw in range(draws) for split in equal_splits(references, size, seed + draw)]
    found: dict[str, list[SensitivityRow]] = {}
    with share_comparisons(metrics, references, references):
        for left, right in splits:
            sizes = [(len(ours), len(theirs)) for ours, theirs in zip(left, right, strict=True)]
            for one in compute_each(metrics, left, right):
                for row in rows_of_result(max(map(len, left)), sizes, *one):
                    found.setdefault(row.metric, []).append(row)
    return [_sum_row(name, rows) for name, rows in found.items()]


def _sum_row(name: str, rows: list[SensitivityRow]) -> SplitRow:
    logs = [row.mean_log_pvalue for row in rows]
    return SplitRow(
        metric=name,
        sizes=rows[0].sizes,
        splits=len(rows),
        lowest=min(logs),
        highest=max(logs),
        rejected=sum(row.pvalue <= 0.05 for row in rows),
        undefined=max(row.undefined for row in rows),
        **{key: mean_of_defined([getattr(row, key) for row in rows]) for key in _MEANS},
    )
