"""Pairs of captions of which one is better: how often does the score say so?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from vlgauge.settings import one_of
from vlgauge.studies.protocols.evaluation import Draws, Floats, Ints, Sampled, Task, checked_scores

VOTE_TIES = ("half", "random")
SCORE_TIES = ("wrong", "half", "second")
RIGHT = (1, 0)
"""Votes of a pair whose first caption is the better one by construction."""


@dataclass(frozen=True)
class Ties:
    """How ties are counted.

    Attributes:
        votes: As many votes for either caption: "half" for each (the expectation of the random choice in the authors'
            code), or one of the two at "random".
        scores: Equal scores: "wrong", "half" right, or a decision for the "second" caption.
        seed: Of the random choice.
    """

    votes: str = "half"
    scores: str = "wrong"
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("vote_ties", self.votes, VOTE_TIES)
        one_of("score_ties", self.scores, SCORE_TIES)


def first_is_better(votes: npt.NDArray[np.int64], vote_ties: str = "half", seed: int = 0) -> Floats:
    """Share with which each pair counts as one whose first caption is better, shape ``(n,)``.

    Args:
        votes: shape ``(n, 2)``, votes for either caption.
        vote_ties: As `Ties.votes`.
        seed: As `Ties.seed`.
    """
    tied = votes[:, 0] == votes[:, 1]
    chosen = np.random.default_rng(seed).integers(0, 2, len(votes)) if vote_ties == "random" else 0.5
    return np.where(tied, chosen, votes[:, 0] > votes[:, 1]).astype(np.float64)


def pair_credits(scores: Floats, first: Floats, score_ties: str = "wrong") -> Floats:
    """How right the scores are about each pair: 1, 0, or between; NaN where a score is NaN. Shape ``(n,)``.

    Args:
        scores: shape ``(n, 2)``.
        first: shape ``(n,)``, as `first_is_better` gives it.
        score_ties: As `Ties.scores`.
    """
    a, b = scores.T
    for_tie = {"wrong": (0.0, 0.0), "half": (0.5, 0.5), "second": (0.0, 1.0)}[score_ties]
    if_first = (a > b) + for_tie[0] * (a == b)
    if_second = (b > a) + for_tie[1] * (a == b)
    right = first * if_first + (1 - first) * if_second
    return np.where(np.isnan(a) | np.isnan(b), np.nan, right)


def block_means(scores: Floats, lengths: Sequence[int]) -> Floats:
    """Means of consecutive blocks, such as the sentences of a paragraph; NaN where a member is NaN.

    Args:
        scores: shape ``(sum of lengths,)``.
        lengths: Length of each block, at least 1.
    """
    counts = np.asarray(lengths, dtype=np.intp)
    return np.add.reduceat(scores, np.cumsum(counts) - counts) / counts


@dataclass(frozen=True)
class CaptionPairs(Task):
    """A `Task` of pairs of captions.

    Attributes:
        columns: Rows to be scored: of each draw of references, of each pair, the rows of the first and of the second
            caption.
        votes: shape ``(n_pairs, 2)``, votes for either caption.
        kinds: Kind of each pair, such as "HC".
        lengths: Rows of the two captions of each pair; one each unless they are paragraphs.
        draws: Number of draws of references; accuracies are their mean.
        ties: How ties are counted.
    """

    unit: ClassVar[str] = "pairs"

    votes: npt.NDArray[np.int64]
    kinds: Sequence[str]
    lengths: Sequence[int] | None = None
    draws: int = 1
    ties: Ties = Ties()

    def item_values(self, scores: Sequence[float]) -> Floats:
        """How right the scores are about each pair, the mean over the draws; shape ``(n_pairs,)``."""
        return np.asarray(np.mean(self.values_of_draws(scores), axis=0))

    def values_of_draws(self, scores: Sequence[float]) -> Floats:
        """Return how right the scores are about each pair in each draw, shape ``(draws, n_pairs)``."""
        values = checked_scores(scores, len(self.columns["predictions"]))
        if self.lengths is not None:
            values = block_means(values, self.lengths)
        first = first_is_better(self.votes, self.ties.votes, self.ties.seed)
        by_draw = values.reshape(self.draws, len(self.votes), 2)
        return np.stack([pair_credits(part, first, self.ties.scores) for part in by_draw])

    def draws_of(self, scores: Sequence[float], items: Ints) -> dict[str, Draws]:
        """Return how far the accuracies vary with the draws, from the variance of each pair between them.

        The references of each pair are drawn by themselves, so that the variances of pairs add up.
        """
        if self.draws < 2:
            return {}
        names = list(dict.fromkeys(self.kinds))
        kinds = np.array([names.index(self.kinds[i]) for i in items.tolist()], dtype=np.intp)
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
        """Accuracy in percent; of several kinds each of them and the mean of all, every kind weighing the same."""
        names = list(dict.fromkeys(self.kinds))
        found = self.sampled(values, items)(np.arange(len(items)))
        return dict(zip([*names, "mean"] if len(names) > 1 else ["accuracy"], found, strict=True))

    def sampled(self, values: Floats, items: Ints) -> Sampled:
        """The same of samples."""
        names = list(dict.fromkeys(self.kinds))
        kinds = np.array([names.index(self.kinds[i]) for i in items.tolist()], dtype=np.intp)
        own = values[items]

        def accuracies(drawn: Ints) -> list[float]:
            counts = np.bincount(kinds[drawn], minlength=len(names))
            sums = np.bincount(kinds[drawn], weights=own[drawn], minlength=len(names))
            each = [100 * right / n if n else math.nan for right, n in zip(sums.tolist(), counts.tolist(), strict=True)]
            return [*each, math.fsum(each) / len(each)] if len(each) > 1 else each

        return accuracies
