"""Metrics as reward functions of trl: `caption_reward` and `combined_reward`.

Models learn to exploit a reward. Texts that are not captions get the lowest reward (see `vlgauge.integrations.guards`).
None, which trl converts to an advantage of 0 and thereby rewards, is only used for rows that cannot be scored with any
text. However, guards do not know the content of an image, and a caption that adds content that the image does not show
may still score well. Add a term that does not reward this, such as cider against references, keep the KL term of the
trainer, inspect samples, and monitor a metric that is not part of the reward.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import vlgauge
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.signatures import format_signature
from vlgauge.core.validation import check_float, rows_of, short_repr
from vlgauge.families.base import Images, Metric, References, Story, Text
from vlgauge.families.clip_score.backbone_metric import Backbone
from vlgauge.families.clip_score.metric import PROMPT, ClipScoreMetric
from vlgauge.integrations.guards import (
    breaks_off,
    check_guards,
    is_marked_up,
    is_wordless,
    repeats_itself,
    without_prompts,
)
from vlgauge.integrations.reward_ranges import reward_range, reward_settings
from vlgauge.version import __version__

# Text that is scored if the score of a completion is undefined. If this score is undefined as well, the cause is the
# row.
_PLAIN = "A brown dog runs across the green grass. A small child watches the dog from a wooden bench."


@dataclass(frozen=True, eq=False)
class JudgedTexts:
    """Rewards of some texts.

    Attributes:
        values: Rewards, shape ``(n,)``. NaN for rows that cannot be scored with any text.
        guards: Guard that rejected each text, or "".
    """

    values: npt.NDArray[np.float64]
    guards: list[str]


class CaptionReward:
    """Reward function based on one metric, created by `caption_reward`.

    Attributes:
        metric: Metric that scores.
        guards: Enabled guards, in the order in which they are checked.
        range: Lowest and highest reward. None if there is no highest reward.
        signature: Signature of the reward, including the guards.
        metric_signature: Signature of the scores of the last call. Empty before the first call.
    """

    def __init__(
        self,
        metric: Any,
        column: str,
        scale: float,
        offset: float = 0.0,
        references: str | None = None,
        lowest: float | None = None,
        unguarded: str | Sequence[str] = (),
    ) -> None:
        self.metric = metric
        self.__name__ = f"{metric.name}_reward"  # name of the reward in the logs of trl
        self._scale, self._offset = scale, check_float("offset", offset)
        self._key = metric.name
        self._columns: dict[str, str] = {}
        for name, title in {"column": column, "references": references}.items():
            if title is not None and not (isinstance(title, str) and title):
                raise UsageError.about(name, f"must be the name of a column, got {short_repr(title)}")
        for own in metric.columns[1:]:
            if isinstance(own, Images):
                self._columns[own.name] = column
            elif isinstance(own, References) and references is not None:
                self._columns[own.name] = references
                # With references and an image, use the score that depends on both.
                self._key = f"ref_{metric.name}" if metric.has_reference_scores else metric.name
            elif not own.optional:
                if isinstance(own, References):
                    raise UsageError.about(
                        "references", f"is required for {metric.name}, a column of the training data"
                    )
                raise UsageError.about(
                    "metric", f"must require only images and references, but {metric.name} requires {own.name}"
                )
        clip = getattr(metric, "clip", None)
        own_prompt = (clip.prompt,) if isinstance(clip, Backbone) else ()
        self._prompts = (PROMPT, metric.paper_prompt) if isinstance(metric, ClipScoreMetric) else own_prompt
        # Texts that are split or rejected are never truncated.
        cut = isinstance(clip, Backbone) and clip.long_text == "truncate"
        self.guards = tuple(name for name in check_guards(unguarded) if cut or name != "context")
        self._logs_cut = cut and "context" not in self.guards
        self._ends = self._ends_of_scores(lowest)
        ends = [None if end is None else offset + scale * end for end in self._ends]
        self.range = (ends[0], ends[1]) if scale > 0 else (ends[1], ends[0])
        fields = {"v": __version__, "metric": self._key, "scale": scale, "offset": offset}
        self.signature = _signature(self.__name__, fields, self.range, self.guards)
        self.metric_signature = ""

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Any = None,
        **columns: Any,
    ) -> list[float | None]:
        """Compute one reward per completion.

        Args:
            prompts: Unused.
            completions: Texts or messages.
            completion_ids: Unused.
            **columns: Columns of the training data, one row per completion, and other arguments of trl. See `judge`.

        Returns:
            Rewards. The lowest one for a text that a guard rejected or that makes its score undefined, and None if the
            row cannot be scored with any text.

        Raises:
            UsageError: If the training data lack a column or have another number of rows, or a completion is neither
                text nor messages.
        """
        return _rewards(self.judge(completions, **columns).values)

    def judge(
        self,
        completions: Sequence[Any],
        *,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> JudgedTexts:
        """Compute the rewards, and the guard that rejected each text.

        Args:
            completions: Texts or messages.
            log_metric: Function that is called with the fractions of texts rejected by each guard, of texts without a
                score, and of rows that cannot be scored. If the guard "context" is disabled, also of captions that CLIP
                truncates.
            log_extra: Function that is called with the guard that rejected each text.
            **columns: Columns of the training data, one row per completion.

        Raises:
            ValueError: If a column is missing, or a row is invalid.
        """
        if absent := [name for name in self._columns.values() if columns.get(name) is None]:
            raise UsageError(
                f"{self.__name__} requires {', '.join(absent)} in the columns of the training data, got "
                f"{', '.join(sorted(columns)) or 'none'}"
            )
        texts = [completion_text(completion) for completion in rows_of("completions", completions)]
        if not texts:
            return JudgedTexts(np.zeros(0), [])
        rows = {name: self._rows(name, columns[column], len(texts)) for name, column in self._columns.items()}
        guards = self.hits(texts)
        free = [i for i, guard in enumerate(guards) if not guard]
        read = [without_prompts(texts[i], self._prompts) for i in free]
        given = {name: [cells[i] for i in free] for name, cells in rows.items()}
        scores = np.full(len(texts), np.nan)
        own, unscored = self._scores(read, given)
        scores[free] = own
        # A text that makes its score undefined gets the lowest reward, too.
        low, high = self._ends
        worst = low if self._scale > 0 else high
        blamed = np.isnan(scores)
        blamed[np.array(free, dtype=int)[unscored]] = False
        scores = np.clip(scores, low, high)
        scores[blamed] = worst
        if log_metric is not None:
            shares = {name: guards.count(name) for name in self.guards}
            shares |= {"undefined": int(np.sum(np.isnan(own) & ~unscored)), "unscored": int(np.sum(unscored))}
            shares |= {"cut": int(np.sum(self._cut(texts)))} if self._logs_cut else {}
            for name, count in shares.items():
                log_metric(f"{self.metric.name}_{name}", count / len(texts))
        if log_extra is not None:
            log_extra(f"{self.metric.name}_guard", guards)
        return JudgedTexts(self._offset + self._scale * scores, guards)

    def _rows(self, name: str, cells: Sequence[Any], n_texts: int) -> list[Any]:
        """Return one cell of a column per completion, with an empty list for rows without references."""
        rows = rows_of(self._columns[name], cells)
        if len(rows) != n_texts:
            raise UsageError.about(
                self._columns[name], f"must have one row per completion, got {len(rows)} for {n_texts} completions"
            )
        is_references = any(isinstance(own, References) for own in self.metric.columns if own.name == name)
        return [[] if cell is None else cell for cell in rows] if is_references else rows

    def hits(self, texts: Sequence[str]) -> list[str]:
        """Return the first guard that rejects each text, or ""."""
        asked: dict[str, Callable[[str], bool]] = {
            "wordless": lambda text: is_wordless(text, self._prompts),
            "markup": is_marked_up,
            "repetition": lambda text: repeats_itself(without_prompts(text, self._prompts)),
            "unfinished": breaks_off,
        }
        found = [next((name for name in self.guards if name in asked and asked[name](text)), "") for text in texts]
        if "context" in self.guards:
            found = [guard or "context" * bool(long) for guard, long in zip(found, self._cut(texts), strict=True)]
        return found

    def _cut(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts CLIP would truncate."""
        return self.metric.clip.tokens().too_long(
            [self.metric.clip.prompt + without_prompts(text, self._prompts) for text in texts]
        )

    def _scores(
        self, texts: list[str], given: dict[str, list[Any]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return the scores of texts, and which rows cannot be scored with any text."""
        if not texts:
            return np.zeros(0), np.zeros(0, dtype=bool)
        found = self.metric.compute(predictions=texts, **given)
        self.metric_signature = found[f"{self._key}_signature"]
        scores = np.array(found[f"{self._key}_scores"], dtype=np.float64)
        unscored = np.isnan(scores)
        if unscored.any():
            rows = [i for i, missing in enumerate(unscored) if missing]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plain = {name: [values[i] for i in rows] for name, values in given.items()}
                again = self.metric.compute(predictions=[_PLAIN] * len(rows), **plain)
            unscored[rows] = np.isnan(np.array(again[f"{self._key}_scores"], dtype=np.float64))
        return scores, unscored

    def _ends_of_scores(self, lowest: float | None) -> tuple[float | None, float | None]:
        """Return the lowest and highest score, and check that the worse one exists."""
        low, high = reward_range(self.metric, referenced=self._key.startswith("ref_"))
        if lowest is not None:
            check_float("lowest", lowest)
            low, high = (lowest, high) if self._scale > 0 else (low, lowest)
        if (low if self._scale > 0 else high) is None:
            bounded = reward_settings(self.metric.name, referenced=self._key.startswith("ref_"))
            better = ", ".join(f"{name}={value!r}" for name, value in bounded.items())
            raise UsageError.about(
                "lowest",
                f"must be the score of text that is not a caption, because {self._key} has no minimum with these "
                f"settings, got None{better and f'; or load it with {better}'}",
            )
        return low, high


class CombinedReward:
    """Sum of several rewards, created by `combined_reward`.

    Attributes:
        rewards: Terms of the sum.
        range: Lowest and highest sum. None if there is no highest sum.
        signature: Signature with the signatures of the terms and the range of the sum.
    """

    def __init__(self, rewards: Sequence[CaptionReward]) -> None:
        self.rewards = list(rewards)
        self.__name__ = "_".join([*(reward.metric.name for reward in rewards), "reward"])
        lows, highs = zip(*(reward.range for reward in rewards), strict=True)
        self.range = (float(sum(lows)), None if None in highs else float(sum(highs)))
        terms = {f"term{i}": reward.signature for i, reward in enumerate(rewards, 1)}
        guards = tuple(dict.fromkeys(guard for reward in rewards for guard in reward.guards))
        self.signature = _signature(self.__name__, {"v": __version__, **terms}, self.range, guards)

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Compute one sum per completion.

        Returns:
            Sums. The lowest one if a guard of any term rejected the text, and None if a term could not be scored.
        """
        parts = [reward.judge(completions, **columns) for reward in self.rewards]
        guarded = np.array([any(guards) for guards in zip(*(part.guards for part in parts), strict=True)], dtype=bool)
        return _rewards(np.where(guarded, self.range[0], np.sum([part.values for part in parts], axis=0)))


def _rewards(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Convert NaN to None, as trl expects."""
    return [None if np.isnan(value) else float(value) for value in values]


def _signature(
    name: str, fields: Mapping[str, Any], ends: tuple[float | None, float | None], guards: Sequence[str]
) -> str:
    low, high = ("inf" if end is None else f"{end:g}" for end in ends)
    return format_signature(name, {**fields, "range": f"{low}..{high}", "guards": "+".join(guards) or "none"})


def caption_reward(
    metric: str | Metric,
    *,
    column: str = "image",
    scale: float = 1.0,
    offset: float = 0.0,
    references: str | None = None,
    lowest: float | None = None,
    unguarded: str | Sequence[str] = (),
    **settings: Any,
) -> CaptionReward:
    """Create a reward function for trl trainers: ``offset + scale * score`` of each completion.

    The completions of one group share an image, which is encoded once. Each process scores its own completions. A
    completion that a guard rejects (see `vlgauge.integrations.guards`), or that makes its score undefined, gets the
    lowest reward. The prompt of CLIP metrics, "A photo depicts", is removed from completions that begin with it.

    Args:
        metric: Name of a metric that scores captions one by one, or one from `vlgauge.load`.
        column: Column of the training data with the image of each prompt.
        scale: Factor. Negative for a metric whose lower scores are better.
        offset: Summand.
        references: Column with references. clip_s and pac_s then also score against them.
        lowest: Score to use as the worst one if the metric has none. Scores are clipped to it.
        unguarded: Guards to disable, among "wordless", "markup", "repetition", "unfinished" and "context".
        **settings: Settings of a metric specified by name, such as ``profile="embedded"``. By default it is loaded with
            settings that give its scores a lowest value: ``variant="paper"`` for rovist_nr and for clip_s and pac_s
            with references, ``normalize="tanh"`` for groovist, ``scale=True`` for rovist_vg, and the same for the terms
            of rovist. cider and spider are loaded with ``eos=True``, so ``df`` must count an end token.

    Raises:
        TypeError: If the metric is invalid.
        ValueError: If the metric needs other columns or caption sets, scores a caption depending on its batch (such as
            cider without ``df``), or uses only the mentioned content (such as chair), so that omitting content is never
            worse. Also if the scale has the wrong sign, a guard is unknown, or the scores have no lowest value.
    """
    how: dict[str, Any] = {"scale": scale, "offset": offset, "lowest": lowest, "unguarded": unguarded}
    reward = _reward(metric, settings, column=column, references=references, **how)
    _check_not_silent([reward])
    return reward


def _reward(
    metric: str | Metric, settings: Mapping[str, Any], *, references: str | None, scale: float, **how: Any
) -> CaptionReward:
    loaded: Any = metric
    if isinstance(metric, str):
        usual = reward_settings(metric, referenced=references is not None)
        loaded = vlgauge.load(metric, **{"keep_in_memory": True, "progress": False, **usual, **settings})
    if not isinstance(loaded, Metric):
        raise UsageTypeError.about(
            "metric", f"must be the name of a metric, or a metric from vlgauge.load, got {short_repr(metric)}"
        )
    if not isinstance(loaded.columns[0], (Text, Story)):
        raise UsageError.about(
            "metric", f"must score single captions, got {loaded.name}, which compares sets or scores"
        )
    try:
        counts = loaded.count({"predictions": ["a"], "references": [["a"]]})
    except UsageError as error:
        raise UsageError.about(
            "metric", f"must give a caption the same score in every batch, got {loaded.name}: {error}"
        ) from None
    if counts is not None:
        raise UsageError.about(
            "metric",
            f"must give a caption the same score in every batch, got {loaded.name}, which counts words in the batch",
            "use fixed counts of the training set, such as vlgauge.load('cider', df=..., eos=True)",
        )
    factor = check_float("scale", scale)
    if (factor > 0) != loaded.higher_is_better or factor == 0:
        sign = "positive" if loaded.higher_is_better else "negative"
        raise UsageError.about(
            "scale", f"must be {sign} for {loaded.name}, so that better captions get higher rewards, got {scale!r}"
        )
    return CaptionReward(loaded, references=references, scale=factor, **how)


def combined_reward(
    weights: Mapping[Any, float],
    *,
    column: str = "image",
    references: str | None = None,
    unguarded: str | Sequence[str] = (),
    **settings: Any,
) -> CombinedReward:
    """Create a reward function for the weighted sum of several metrics, such as ``{"pac_s": 1.0, "rouge_l": 0.5}``.

    A completion that a guard of any term rejects gets the lowest sum. trl can also weight separate reward functions.
    There, a term without a value counts as 0. Here, the sum is None.

    Args:
        weights: Factor by metric, which is a name or a metric from `vlgauge.load`.
        column: Column of the training data with the image of each prompt.
        references: Column with references, for the metrics that use them.
        unguarded: See `caption_reward`.
        **settings: Settings of all metrics specified by name, such as ``profile="embedded"``. To pass a setting of one
            metric only, such as ``df`` of cider, use a metric from `vlgauge.load`.

    Raises:
        TypeError: If a metric is invalid.
        ValueError: If there are no metrics, or for the reasons listed in `caption_reward`.
    """
    if not isinstance(weights, Mapping) or not weights:
        raise UsageError.about("weights", f"must be a mapping from metrics to numbers, got {short_repr(weights)}")
    terms = [
        _reward(metric, settings, column=column, references=references, scale=weight, unguarded=unguarded)
        for metric, weight in weights.items()
    ]
    _check_not_silent(terms)
    return CombinedReward(terms)


def _check_not_silent(terms: Sequence[CaptionReward]) -> None:
    """Check that a term of the reward can fall if a caption mentions less content."""
    if all(term.metric.rewards_silence for term in terms):
        names = " and ".join(term.metric.name for term in terms)
        raise UsageError(
            f"a reward must have a term that penalizes omissions, got {names}; add one that does, such as "
            "combined_reward({'spice': 1.0, ...})"
        )


def completion_text(completion: Any) -> str:
    """Return the text of a completion: the string itself, or the text of the last message.

    Raises:
        ValueError: If the completion is neither a string nor a list of messages.
    """
    said = completion
    if isinstance(completion, (list, tuple)) and completion and isinstance(completion[-1], Mapping):
        said = completion[-1].get("content")
        said = "" if said is None else said  # tool call
        if isinstance(said, (list, tuple)) and all(isinstance(part, Mapping) for part in said):
            said = "".join(str(part.get("text", "")) for part in said if part.get("type") == "text")
    if not isinstance(said, str):
        raise UsageError.about("completions", f"must be strings or lists of messages, got {short_repr(completion)}")
    return said
