"""Captions with human ratings: rank correlation of scores and ratings."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vlgauge.research.protocols.evaluation import Floats, Ints, Sampled, Task, check_scores
from vlgauge.research.protocols.files import columns_of
from vlgauge.stats.rating_agreement import coefficient, create_sampler

_ANNOTATED = ("tau_b", "spearman")


@dataclass(frozen=True)
class RatingRule:
    """Function that computes figures by name from scores and ratings as scipy does, and a faster one for samples."""

    exact: Callable[[Floats, Floats], dict[str, float]]
    sampled: Callable[[Floats, Floats, Sequence[object]], Sampled]


def correlation_rule(*names: str) -> RatingRule:
    """Return the rule that computes correlations, each times 100, with one row per rating.

    Args:
        *names: Names from `vlgauge.stats.rating_agreement.COEFFICIENTS`.
    """

    def exact(scores: Floats, ratings: Floats) -> dict[str, float]:
        return {name: 100 * coefficient(name, scores, ratings[:, 0]) for name in names}

    def sampled(scores: Floats, ratings: Floats, groups: Sequence[object]) -> Sampled:
        sample = create_sampler(scores, ratings[:, 0], names, groups)
        return lambda drawn: [100 * value for value in sample(drawn)]

    return RatingRule(exact, sampled)


def annotator_figures(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Compute the mean correlation over the annotators, by the rule of VATEX-EVAL.

    Scores are rounded to four decimals before, and means (of correlations, before multiplying by 100) after.

    Args:
        scores: Scores, shape ``(n,)``.
        ratings: Ratings, shape ``(n, n_annotators)``.
    """
    rounded = np.around(scores, 4)
    return {name: _round_mean([coefficient(name, rounded, column) for column in ratings.T]) for name in _ANNOTATED}


def create_annotator_sampler(scores: Floats, ratings: Floats, groups: Sequence[object]) -> Sampled:
    """Return a function that computes `annotator_figures` of samples."""
    samplers = [create_sampler(np.around(scores, 4), column, _ANNOTATED, groups) for column in ratings.T]
    return lambda drawn: list(map(_round_mean, zip(*(sample(drawn) for sample in samplers), strict=True)))


def _round_mean(values: Sequence[float]) -> float:
    return 100 * round(math.fsum(values) / len(values), 4)


TAUS = correlation_rule("tau_b", "tau_c")
ANNOTATORS = RatingRule(annotator_figures, create_annotator_sampler)
CORRELATIONS = correlation_rule("spearman", "tau_b")


@dataclass(frozen=True)
class RatedRow:
    """Caption with its ratings.

    Attributes:
        caption: The caption.
        references: References of the caption.
        seen: Image or video.
        group: Name of the image or video, which the intervals resample.
        ratings: Ratings, shape ``(n_annotators,)``.
    """

    caption: str
    references: list[str]
    seen: Any
    group: str
    ratings: Sequence[float]


@dataclass(frozen=True)
class RatedCaptions(Task):
    """Task with rated captions.

    Attributes:
        ratings: Ratings, shape ``(n_rows, n_annotators)``, without NaN. One column if every rating has its own row.
        rule: Functions that compute the figures from scores and ratings.
    """

    unit: ClassVar[str] = "rows"

    ratings: Floats
    rule: RatingRule = TAUS

    def item_values(self, scores: Sequence[float]) -> Floats:
        """Return the scores, shape ``(n_rows,)``.

        Raises:
            ValueError: If there is not one score per row.
        """
        return check_scores(scores, len(self.ratings))

    def figures_of(self, values: Floats, items: Ints) -> dict[str, float]:
        """Compute the correlations of scores and ratings, each times 100, by name."""
        return self.rule.exact(values[items], self.ratings[items])

    def create_sampler(self, values: Floats, items: Ints) -> Sampled:
        """Return a function that computes the values of `figures_of` for positions in `items`."""
        groups = [self.groups[i] for i in items.tolist()]
        return self.rule.sampled(values[items], self.ratings[items], groups)


def rated_captions(
    name: str,
    rows: Sequence[RatedRow],
    references: int | None,
    rules: Mapping[str, Any],
    rule: RatingRule = TAUS,
    *,
    seen: str = "images",
    left_out: Mapping[str, int] | None = None,
) -> RatedCaptions:
    """Build a task from its rows.

    Args:
        name: Name of the protocol.
        rows: Rated captions.
        references: Number of references per row, from the first one. None for all, 0 for none.
        rules: Fields of the signature in addition to the references.
        rule: Functions that compute the figures from scores and ratings.
        seen: Column of the images or videos.
        left_out: Number of rows that are left out, by reason.

    Raises:
        ValueError: If there are no rows, or the number of references is negative.
    """
    known = [row.references for row in rows]
    columns = columns_of([row.caption for row in rows], known, references, **{seen: [row.seen for row in rows]})
    fields = {"references": "all" if references is None else references, **rules}
    ratings = np.array([row.ratings for row in rows], dtype=np.float64)
    return RatedCaptions(name, columns, [row.group for row in rows], fields, ratings, rule, left_out=left_out or {})
