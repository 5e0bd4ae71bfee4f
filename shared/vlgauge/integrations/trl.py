"""Metrics as reward functions of trl: `caption_reward` and `combined_reward`.

A reward is gamed by whoever is trained on it. What is no caption at all gets the lowest reward there is, see
`vlgauge.integrations.guards`; None, which trl makes an advantage of 0 and so pays for, is left to rows that no text
could be scored for. But no guard knows what a picture shows, and a caption that adds what it does not show may still
score well: add a term that is not pleased the same way, such as cider against references, keep the KL term of the
trainer, look at samples, and watch a metric that is no reward.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import vlgauge
from vlgauge.base import Images, Metric, References, Story, Text
from vlgauge.clip_score.backbone_metric import BackboneMetric
from vlgauge.clip_score.metric import PROMPT, ClipScoreMetric
from vlgauge.errors import UsageError, UsageTypeError
from vlgauge.integrations.guards import checked_guards, is_marked_up, is_wordless, repeats_itself, without_prompts
from vlgauge.integrations.reward_ranges import bounded_settings, reward_range
from vlgauge.settings import finite_number, rows_of, shown
from vlgauge.signatures import format_signature
from vlgauge.version import __version__

# Scored in the place of a text whose score is undefined: if that is undefined as well, the text is not to blame.
_PLAIN = "A brown dog runs across the green grass. A small child watches the dog from a wooden bench."


@dataclass(frozen=True, eq=False)
class Judged:
    """Rewards of some texts.

    Attributes:
        values: shape ``(n,)``, NaN where a row could not be scored, whatever its text.
        guards: The guard that hit each text, or "".
    """

    values: npt.NDArray[np.float64]
    guards: list[str]


class CaptionReward:
    """One metric as a reward function; made by `caption_reward`.

    Attributes:
        metric: The metric that scores.
        guards: The guards that are on, in the order in which they are asked.
        range: Lowest and highest reward; None for a highest one that does not exist.
        signature: How a score becomes a reward, guards included.
        metric_signature: How the scores of the last call were made; empty before one.
    """

    def __init__(
        self,
        metric: Any,
        column: str,
        scale: float,
        offset: float,
        references: str | None,
        lowest: float | None,
        unguarded: str | Sequence[str],
    ) -> None:
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
                self._key = f"ref_{metric.name}" if metric.has_reference_scores else metric.name
            elif not own.optional:
                if isinstance(own, References):
                    raise UsageError(f"`references` must be a column of the data for {metric.name}, got None")
                raise UsageError(
                    f"`metric` must need no column but images and references, {metric.name} needs {own.name}"
                )
        own_prompt = (metric.prompt,) if isinstance(metric, BackboneMetric) else ()
        self._prompts = (PROMPT, metric.paper_prompt) if isinstance(metric, ClipScoreMetric) else own_prompt
        # What is split or refused is read to the end.
        cut = isinstance(metric, BackboneMetric) and metric.long_text == "truncate"
        self.guards = tuple(name for name in checked_guards(unguarded) if cut or name != "context")
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
        *,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One reward per completion: the lowest for a guarded text, None where no text could have been scored.

        Args:
            prompts: Not looked at.
            completions: Texts, or messages.
            completion_ids: Not looked at.
            log_metric: Called with the share of texts that each guard hit, that have no score of their own, and of rows
                that could not be scored; with the guard "context" off, of captions that CLIP cannot read to the end.
            log_extra: Called with the guard that hit each text.
            **columns: Columns of the training data, one row per completion, and what else trl passes.

        Raises:
            UsageError: If the training data have no such column or another number of rows, or a completion is neither
                text nor messages.
        """
        judged = self.judged(completions, log_metric=log_metric, log_extra=log_extra, **columns)
        return _rewards(judged.values)

    def judged(
        self,
        completions: Sequence[Any],
        *,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> Judged:
        """The rewards, with the guard that hit each text; arguments and errors as for a call."""
        if absent := [name for name in self._columns.values() if columns.get(name) is None]:
            raise UsageError(
                f"{self.__name__} must find {', '.join(absent)} among the columns of the training data, got "
                f"{', '.join(sorted(columns)) or 'none'}"
            )
        texts = [completion_text(completion) for completion in completions]
        if not texts:
            return Judged(np.zeros(0), [])
        rows = {name: self._rows(name, columns[column], len(texts)) for name, column in self._columns.items()}
        guards = self.hits(texts)
        free = [i for i, guard in enumerate(guards) if not guard]
        read = [without_prompts(texts[i], self._prompts) for i in free]
        given = {name: [cells[i] for i in free] for name, cells in rows.items()}
        scores = np.full(len(texts), np.nan)
        own, unscored = self._scores(read, given)
        scores[free] = own
        # A text that makes its own score undefined gets the lowest, too.
        low, high = self._ends
        worst = low if self._scale > 0 else high
        blamed = np.isnan(scores)
        blamed[np.array(free, dtype=int)[unscored]] = False
        scores = np.clip(scores, low, high)
        scores[blamed] = worst
        if log_metric is not None:
            self._log(texts, guards, own, unscored, log_metric)
        if log_extra is not None:
            log_extra(f"{self.metric.name}_guard", guards)
        return Judged(self._offset + self._scale * scores, guards)

    def _rows(self, name: str, cells: Sequence[Any], n_texts: int) -> list[Any]:
        """Cells of a column, one per completion; a row without references has none, whichever way its table says so."""
        rows = rows_of(self._columns[name], cells)
        if len(rows) != n_texts:
            raise UsageError.about(
                self._columns[name], f"must have one row per completion, got {len(rows)} for {n_texts} completions"
            )
        is_references = any(isinstance(own, References) for own in self.metric.columns if own.name == name)
        return [[] if cell is None else cell for cell in rows] if is_references else rows

    def hits(self, texts: Sequence[str]) -> list[str]:
        """The first guard that hits each text, or ""."""
        asked: dict[str, Callable[[str], bool]] = {
            "wordless": lambda text: is_wordless(text, self._prompts),
            "markup": is_marked_up,
            "repetition": lambda text: repeats_itself(without_prompts(text, self._prompts)),
        }
        found = [next((name for name in self.guards if name in asked and asked[name](text)), "") for text in texts]
        if "context" in self.guards:
            found = [guard or "context" * bool(long) for guard, long in zip(found, self._cut(texts), strict=True)]
        return found

    def _cut(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts CLIP cannot read to the end."""
        return self.metric.tokens().too_long(
            [self.metric.prompt + without_prompts(text, self._prompts) for text in texts]
        )

    def _scores(
        self, texts: list[str], given: dict[str, list[Any]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Scores of texts, and which rows have none whatever the text."""
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

    def _log(
        self,
        texts: Sequence[str],
        guards: Sequence[str],
        scores: npt.NDArray[np.float64],
        unscored: npt.NDArray[np.bool_],
        log_metric: Callable[[str, float], None],
    ) -> None:
        shares = {name: guards.count(name) for name in self.guards}
        shares |= {"undefined": int(np.sum(np.isnan(scores) & ~unscored)), "unscored": int(np.sum(unscored))}
        if self._logs_cut:
            shares["cut"] = int(np.sum(self._cut(texts)))
        for name, count in shares.items():
            log_metric(f"{self.metric.name}_{name}", count / len(texts))

    def _ends_of_scores(self, lowest: float | None) -> tuple[float | None, float | None]:
        """Lowest and highest score, of which the worse one must exist."""
        low, high = reward_range(self.metric, referenced=self._key.startswith("ref_"))
        if lowest is not None:
            finite_number("lowest", lowest)
            low, high = (lowest, high) if self._scale > 0 else (low, lowest)
        if (low if self._scale > 0 else high) is None:
            bounded = bounded_settings(self.metric.name, referenced=self._key.startswith("ref_"))
            better = ", ".join(f"{name}={value!r}" for name, value in bounded.items())
            raise UsageError(
                f"`lowest` must be the score of a text that is no caption, as {self._key} has no lowest one under "
                f"these settings, got None{better and f'; or load it with {better}'}"
            )
        return low, high


class CombinedReward:
    """The sum of several rewards; made by `combined_reward`.

    Attributes:
        rewards: The terms.
        range: Lowest and highest sum; None for a highest one that does not exist.
        signature: Those of the terms, and the range of the sum.
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
        """One sum per completion: the lowest if any guard of any term hits, None where a term could not be scored."""
        parts = [reward.judged(completions, **columns) for reward in self.rewards]
        guarded = np.array([any(guards) for guards in zip(*(part.guards for part in parts), strict=True)], dtype=bool)
        return _rewards(np.where(guarded, self.range[0], np.sum([part.values for part in parts], axis=0)))


def _rewards(values: npt.NDArray[np.float64]) -> list[float | None]:
    """As trl takes them: None for NaN."""
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
    """A reward function for the trainers of trl: ``offset + scale * score`` of each completion.

    The completions of one group share a picture, which is encoded once. Each process scores its own completions. A
    completion that a guard hits (see `vlgauge.integrations.guards`), or whose score is undefined because of what it
    says, gets the lowest value of the reward's range. What CLIP reads a caption behind, "A photo depicts", is taken off
    a completion that begins with it.

    Args:
        metric: Name of a metric that scores captions one by one, or one from `vlgauge.load`.
        column: Column of the training data with the image of each prompt.
        scale: Factor; negative for a metric of which lower is better.
        offset: Summand.
        references: Column with references; clip_s and pac_s then score against them, too.
        lowest: Score that counts as the worst, where the metric has none: what is worse counts as this.
        unguarded: Guards to switch off, among "wordless", "markup", "repetition" and "context".
        **settings: Of a metric given by name, such as ``profile="embedded"``. By default it is loaded so that its
            scores have a lowest value: clip_s and pac_s with references by ``variant="paper"``, rovist_nr by
            ``variant="paper"``, groovist by ``normalize="tanh"``, rovist_vg by ``scale=True``, rovist by the like.

    Raises:
        TypeError: If the metric is none.
        ValueError: If the metric needs other columns or sets of captions, or scores a caption by those beside it, such
            as cider without ``df``; if it looks only at what a caption says, such as chair, so that saying nothing is
            never worse; if the scale has the wrong sign, a guard is unknown, or the scores have no lowest value.
    """
    reward = _reward(
        *(metric, column, scale, offset, references, lowest, unguarded),
        **settings,
    )
    _refuse_silence([reward])
    return reward


def _reward(
    metric: str | Metric,
    column: str,
    scale: float,
    offset: float,
    references: str | None,
    lowest: float | None,
    unguarded: str | Sequence[str],
    **settings: Any,
) -> CaptionReward:
    loaded: Any = metric
    if isinstance(metric, str):
        bounded = bounded_settings(metric, referenced=references is not None)
        loaded = vlgauge.load(metric, **{"keep_in_memory": True, "progress": False, **bounded, **settings})
    if not isinstance(loaded, Metric):
        raise UsageTypeError(
            f"`metric` must be the name of a metric, or a metric from vlgauge.load, got {shown(metric)}"
        )
    if not isinstance(loaded.columns[0], (Text, Story)):
        raise UsageError(f"`metric` must score one caption at a time, got {loaded.name}, which compares sets or scores")
    try:
        counts = loaded.count({"predictions": ["a"], "references": [["a"]]})
    except UsageError as error:
        raise UsageError(f"`metric` must give a caption one score in every batch, got {loaded.name}: {error}") from None
    if counts is not None:
        raise UsageError(
            f"`metric` must give a caption one score in every batch, got {loaded.name}, which counts words in it; give "
            f"one that knows the counts of the training set, such as vlgauge.load('cider', df=...)"
        )
    factor = finite_number("scale", scale)
    if (factor > 0) != loaded.higher_is_better or factor == 0:
        sign = "positive" if loaded.higher_is_better else "negative"
        raise UsageError(f"`scale` must be {sign} for {loaded.name}, or the reward leads away from it, got {scale!r}")
    return CaptionReward(loaded, column, factor, finite_number("offset", offset), references, lowest, unguarded)


def combined_reward(
    weights: Mapping[Any, float],
    *,
    column: str = "image",
    references: str | None = None,
    unguarded: str | Sequence[str] = (),
    **settings: Any,
) -> CombinedReward:
    """The weighted sum of several metrics as one reward function, such as ``{"pac_s": 1.0, "rouge_l": 0.5}``.

    A completion that a guard of any term hits gets the lowest value of the sum. trl can weigh separate reward functions
    by itself; there a term without a value counts as 0, here it leaves the sum without one.

    Args:
        weights: Name of a metric, or a metric from `vlgauge.load`, -> its factor.
        column: Column of the training data with the image of each prompt.
        references: Column with references, for the metrics that take them.
        unguarded: As for `caption_reward`.
        **settings: Of all metrics given by name, such as ``profile="embedded"``. A setting of one of them alone, such
            as the ``df`` that cider needs, is that of a metric from `vlgauge.load`.

    Raises:
        ValueError: As `caption_reward`, or if there is no metric.
    """
    if not isinstance(weights, Mapping) or not weights:
        raise UsageError(f"`weights` must be a mapping from metrics to numbers, got {shown(weights)}")
    terms = [
        _reward(metric, column, weight, 0.0, references, None, unguarded, **settings)
        for metric, weight in weights.items()
    ]
    _refuse_silence(terms)
    return CombinedReward(terms)


def _refuse_silence(terms: Sequence[CaptionReward]) -> None:
    """Refuse rewards of which no term falls when a caption says less, as all look at what is said alone."""
    if all(term.metric.rewards_silence for term in terms):
        names = " and ".join(term.metric.name for term in terms)
        raise UsageError(
            f"a reward must have a term that falls when a caption says less, got {names}, which do not "
            "punish silence; combine them with one that does, such as combined_reward({'spice': 1.0, ...})"
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
        raise UsageError(f"`completions` must be texts or lists of messages, got {shown(completion)}")
    return said
