"""Metrics as reward functions of trl: `caption_reward` and `combined_reward`.

A reward is gamed by whoever is trained on it. A caption that repeats what it got right may score well by CLIP, which
reads no grammar; behind the 77th token it reads nothing, so that anything can stand there. Add a term that is not
pleased the same way, such as cider against references, or rovist_nr for texts of several sentences (it is undefined for
one), keep the KL term of the trainer, look at samples, and watch a metric that is no reward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import vlgauge
from vlgauge.base import Images, Metric, References, Story, Text
from vlgauge.clip_score.metric import ClipScoreMetric
from vlgauge.encoders.clip.tokens import too_long
from vlgauge.settings import finite_number, shown


class CaptionReward:
    """One metric as a reward function; made by `caption_reward`.

    Attributes:
        metric: The metric that scores.
    """

    def __init__(self, metric: Any, column: str, scale: float, offset: float, references: str | None) -> None:
        self.metric = metric
        self.__name__ = f"{metric.name}_reward"  # what trl logs the reward by
        self._scale, self._offset = scale, offset
        self._key = metric.name
        self._columns: dict[str, str] = {}
        for own in metric.columns[1:]:
            if isinstance(own, Images):
                self._columns[own.name] = column
            elif isinstance(own, References) and references is not None:
                self._columns[own.name] = references
                # With references and an image, the score that looks at both.
                self._key = f"ref_{metric.name}" if isinstance(metric, ClipScoreMetric) else metric.name
            elif not own.optional:
                if isinstance(own, References):
                    raise ValueError(f"`references` must be a column of the data for {metric.name}, got None")
                raise ValueError(
                    f"`metric` must need no column but images and references, {metric.name} needs {own.name}"
                )

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Any = None,
        *,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One reward per completion, None where the score is undefined.

        Args:
            prompts: Not looked at.
            completions: Texts, or messages.
            completion_ids: Not looked at.
            log_metric: Called with the share of undefined scores, and of captions that CLIP cannot read to the end.
            **columns: Columns of the training data, one row per completion, and what else trl passes.

        Raises:
            ValueError: If the training data have no such column, or a completion is neither text nor messages.
        """
        if absent := [name for name in self._columns.values() if columns.get(name) is None]:
            raise ValueError(
                f"{self.__name__} must find {', '.join(absent)} among the columns of the training data, got "
                f"{', '.join(sorted(columns)) or 'none'}"
            )
        texts = [completion_text(completion) for completion in completions]
        if not texts:
            return []
        given = {name: columns[column] for name, column in self._columns.items()}
        scores = np.array(self.metric.compute(predictions=texts, **given)[f"{self._key}_scores"])
        if log_metric is not None:
            log_metric(f"{self.metric.name}_undefined", float(np.isnan(scores).mean()))
            if isinstance(self.metric, ClipScoreMetric):
                cut = too_long([self.metric.prompt + text for text in texts])
                log_metric(f"{self.metric.name}_cut", float(cut.mean()))
        rewards = self._offset + self._scale * scores
        return [None if np.isnan(reward) else float(reward) for reward in rewards]


class CombinedReward:
    """The sum of several rewards; made by `combined_reward`."""

    def __init__(self, rewards: Sequence[CaptionReward]) -> None:
        self.rewards = list(rewards)
        self.__name__ = "_".join([*(reward.metric.name for reward in rewards), "reward"])

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """One sum per completion, None where a term is undefined: a sum of fewer terms is another reward."""
        parts = [reward(prompts, completions, completion_ids, **columns) for reward in self.rewards]
        return [None if None in terms else float(sum(terms)) for terms in zip(*parts, strict=True)]


def caption_reward(
    metric: str | Metric,
    *,
    column: str = "image",
    scale: float = 1.0,
    offset: float = 0.0,
    references: str | None = None,
    **settings: Any,
) -> CaptionReward:
    """A reward function for the trainers of trl: ``offset + scale * score`` of each completion.

    The completions of one group share a picture, which is encoded once. Each process scores its own completions.

    Args:
        metric: Name of a metric that scores captions one by one, or one from `vlgauge.load`.
        column: Column of the training data with the image of each prompt.
        scale: Factor; negative for a metric of which lower is better.
        offset: Summand.
        references: Column with references; clip_s and pac_s then score against them, too.
        **settings: Of a metric given by name, such as ``profile="embedded"``.

    Raises:
        TypeError: If the metric is none.
        ValueError: If the metric needs other columns or sets of captions, or counts words in the batch, such as cider
            without ``df``; or if the scale has the wrong sign.
    """
    loaded: Any = (
        vlgauge.load(metric, **{"keep_in_memory": True, "progress": False, **settings})
        if isinstance(metric, str)
        else metric
    )
    if not isinstance(loaded, Metric):
        raise TypeError(f"`metric` must be the name of a metric, or a metric from vlgauge.load, got {shown(metric)}")
    if not isinstance(loaded.columns[0], (Text, Story)):
        raise ValueError(f"`metric` must score one caption at a time, got {loaded.name}, which compares sets or scores")
    if loaded.counts_of(predictions=["a"], references=[["a"]]) is not None:
        raise ValueError(
            f"`metric` must give a caption one score in every batch, got {loaded.name}, which counts words in it; give "
            f"one that knows the counts of the training set, such as vlgauge.load('cider', df=...)"
        )
    factor = finite_number("scale", scale)
    if (factor > 0) != loaded.higher_is_better or factor == 0:
        sign = "positive" if loaded.higher_is_better else "negative"
        raise ValueError(f"`scale` must be {sign} for {loaded.name}, or the reward leads away from it, got {scale!r}")
    return CaptionReward(loaded, column, factor, finite_number("offset", offset), references)


def combined_reward(
    weights: Mapping[Any, float], *, column: str = "image", references: str | None = None, **settings: Any
) -> CombinedReward:
    """The weighted sum of several metrics as one reward function, such as ``{"pac_s": 1.0, "rouge_l": 0.5}``.

    trl can weigh separate reward functions by itself; there an undefined term is left out, here it makes the sum
    undefined.

    Args:
        weights: Name of a metric, or a metric from `vlgauge.load`, -> its factor.
        column: Column of the training data with the image of each prompt.
        references: Column with references, for the metrics that take them.
        **settings: Of all metrics given by name, such as ``profile="embedded"``. A setting of one of them alone, such
            as the ``df`` that cider needs, is that of a metric from `vlgauge.load`.

    Raises:
        ValueError: As `caption_reward`, or if there is no metric.
    """
    if not isinstance(weights, Mapping) or not weights:
        raise ValueError(f"`weights` must be a mapping from metrics to numbers, got {shown(weights)}")
    return CombinedReward(
        [
            caption_reward(metric, column=column, scale=weight, references=references, **settings)
            for metric, weight in weights.items()
        ]
    )


def completion_text(completion: Any) -> str:
    """Text of a completion: the text itself, or that of the last of its messages.

    Raises:
        ValueError: If it is neither.
    """
    said = completion
    if isinstance(completion, (list, tuple)) and completion and isinstance(completion[-1], Mapping):
        said = completion[-1].get("content")
        said = "" if said is None else said  # a call of a tool
        if isinstance(said, (list, tuple)) and all(isinstance(part, Mapping) for part in said):
            said = "".join(str(part.get("text", "")) for part in said if part.get("type") == "text")
    if not isinstance(said, str):
        raise ValueError(f"`completions` must be texts or lists of messages, got {shown(completion)}")
    return said
