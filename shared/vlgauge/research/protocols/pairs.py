"""Pairs of captions with a better one each, and the accuracy with which scores identify it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from vlgauge.core.validation import check_choice
from vlgauge.research.protocols.evaluation import Draws, Floats, Ints, Sampled, Task, check_scores, percent_by_kind

VOTE_TIES = ("half", "random")
SCORE_TIES = ("wrong", "half", "second")
RIGHT = (1, 0)
"""Votes of a pair whose first caption is better by construction."""


@dataclass(frozen=True)
class Ties:
    """Treatment of ties.

    Attributes:
        votes: Treatment of equal numbers of votes: "half" for each caption (the expected value of the random choice in
            the authors' code), or a "random" choice.
        scores: Treatment of equal scores: "wrong", "half" right, or a decision for the "second" caption.
        seed: Seed of the random choice.
    """

    votes: str = "half"
    scores: str = "wrong"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("vote_ties", self.votes, VOTE_TIES)
        check_choice("score_ties", self.scores, SCORE_TIES)


def first_is_better(votes: npt.NDArray[np.int64], vote_ties: str = "half", seed: int = 0) -> Floats:
    """Compute the weight with which each pair counts as one whose first caption is better, shape ``(n,)``.

    Args:
        votes: Votes for each caption, shape ``(n, 2)``.
        vote_ties: Treatment of equal numbers of votes. See `Ties`.
        seed: Seed of the random choice.
    """
    tied = votes[:, 0] == votes[:, 1]
    chosen = np.random.default_rng(seed).integers(0, 2, len(votes)) if vote_ties == "random" else 0.5
    return np.where(tied, chosen, votes[:, 0] > votes[:, 1]).astype(np.float64)


def pair_credits(scores: Floats, first: Floats, score_ties: str = "wrong") -> Floats:
    """Compute the credit of the scores for each pair, between 0 and 1, shape ``(n,)``. NaN if a score is NaN.

    Args:
        scores: Scores of both captions, shape ``(n, 2)``.
        first: Result of `first_is_better`, shape ``(n,)``.
        score_ties: Treatment of equal scores. See `Ties`.
    """
    a, b = scores.T
    for_tie = {"wrong": (0.0, 0.0), "half": (0.5, 0.5), "second": (0.0, 1.0)}[score_ties]
    if_first = (a > b) + for_tie[0] * (a == b)
    if_second = (b > a) + for_tie[1] * (a == b)
    right = first * if_first + (1 - first) * if_second
    return np.where(np.isnan(a) | np.isnan(b), np.nan, right)


def block_means(scores: Floats, lengths: Sequence[int]) -> Floats:
    """Compute the means of consecutive blocks, such as the sentences of a paragraph. NaN if a member is NaN.

    Args:
        scores: Scores, shape ``(sum of lengths,)``.
        lengths: Length of each block, at least 1.
    """
    counts = np.asarray(lengths, dtype=np.intp)
    return np.add.reduceat(scores, np.cumsum(counts) - counts) / counts


@dataclass(frozen=True)
class CaptionPairs(Task):
    """Task with pairs of captions.

    Attributes:
        columns: Rows to score, ordered by draw of references and by pair, with the rows of the first caption before the
            rows of the second.
        votes: Votes for each caption, shape ``(n_pairs, 2)``.
        kinds: Kind of each pair, such as "HC".
        lengths: Number of rows of each caption of each pair. None for one row each, unlike in paragraphs.
        draws: Number of draws of references. Accuracies are means over the draws.
        ties: Treatment of ties.
    """

    unit: ClassVar[str] = "pairs"

    votes: npt.NDArray[np.int64]
    kinds: Sequence[str]
    lengths: Sequence[int] | None = None
    draws: int = 1
    ties: Ties = Ties()

    @cached_property
    def _names(self) -> list[str]:
        """Kinds in the order of the first pair of each."""
        return list(dict.fromkeys(self.kinds))

    @cached_property
    def _kinds(self) -> Ints:
        """Index of the kind of each pair, shape ``(n_pairs,)``."""
        return np.array([self._names.index(kind) for kind in self.kinds], dtype=np.intp)

    def item_values(self, scores: Sequence[float]) -> Floats:
        """Compute the credit of the scores for each pair, averaged over the draws, shape ``(n_pairs,)``."""
        return np.asarray(np.mean(self.values_of_draws(scores), axis=0))

    def values_of_draws(self, scores: Sequence[float]) -> Floats:
        """Compute the credit of the scores for each pair in each draw, shape ``(draws, n_pairs)``.

        Raises:
            ValueError: If there is not one score per row.
        """
        values = check_scores(scores, len(self.columns["predictions"]))
        if self.lengths is not None:
            values = block_means(values, self.lengths)
        first = first_is_better(self.votes, self.ties.votes, self.ties.seed)
        by_draw = values.reshape(self.draws, len(self.votes), 2)
        return np.stack([pair_credits(part, first, self.ties.scores) for part in by_draw])

    def draws_of(self, scores: Sequence[float], items: Ints) -> dict[str, Draws]:
        """Compute the variation of the accuracies between draws, from the variance of each pair.

        The references of each pair are drawn independently, so the variances of pairs add up.

        Args:
            scores: One score per row.
            items: Indices of the pairs with defined values, shape ``(n_kept,)``.

        Returns:
            Variation in percentage points by name of the kind, and of the mean. Empty with fewer than two draws.
        """
        if self.draws < 2:
            return {}
        names, kinds = self._names, self._kinds[items]
        variances = self.values_of_draws(scores)[:, items].var(axis=0, ddof=1)
        counts = np.bincount(kinds, minlength=len(names))
        with np.errstate(invalid="ignore"):
            each = 100 * np.sqrt(np.bincount(kinds, weights=variances, minlength=len(names))) / counts
        found = dict(zip(names, each.tolist(), strict=True))
        if len(names) == 1:
            found = {"accuracy": each.item()}
        else:
            found["mean"] = math.hypot(*each.tolist()) / len(names)
        return {name: Draws(self.draws, deviation) for name, deviation in found.items()}

    def figures_of(self, values: Floats, items: Ints) -> dict[str, float]:
        """Compute the accuracy in percent. Several kinds have one accuracy each, and their unweighted mean.

        Returns:
            Percent by name of the kind and "mean", or "accuracy" for a single kind.
        """
        found = self.create_sampler(values, items)(np.arange(len(items)))
        return dict(zip([*self._names, "mean"] if len(self._names) > 1 else ["accuracy"], found, strict=True))

    def create_sampler(self, values: Floats, items: Ints) -> Sampled:
        """Return a function that computes the values of `figures_of` for positions in `items`."""
        kinds, own = self._kinds[items], values[items]

        def accuracies(drawn: Ints) -> list[float]:
            each = percent_by_kind(own[drawn], kinds[drawn], len(self._names)).tolist()
            return [*each, math.fsum(each) / len(each)] if len(each) > 1 else each

        return accuracies
