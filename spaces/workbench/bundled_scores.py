"""Cached scores of the bundled examples of a metric, and the rank of another score among them."""

import math
from dataclasses import dataclass
from functools import cache
from threading import RLock

from vlgauge.core.catalog import metric_facts
from vlgauge.explain import Explanation
from vlgauge.explain.examples import Example
from vlgauge.explain.pages import number
from vlgauge_workbench.inputs import examples_for
from vlgauge_workbench.profiles import needs_no_model
from vlgauge_workbench.scoring import ScoredTable, metric_of, score_example

# Score one metric at a time, so that a concurrent call for the same metric uses the cached result.
_SCORING = RLock()


@dataclass(frozen=True)
class Bundled:
    """Bundled example, with its result if it was scored."""

    example: Example
    scored: ScoredTable | None = None

    @property
    def score(self) -> float:
        """Score of the example. NaN if it was not scored."""
        return math.nan if self.scored is None else self.scored.explanation.scores[0]


@cache
def list_bundled(name: str, profile: str, config: str, tokenizer: str = "") -> tuple[Bundled, ...]:
    """Return the bundled examples in order, without scores if published models would be required."""
    if profile != "embedded" and not needs_no_model(name):
        return tuple(Bundled(one) for one in examples_for(metric_of(name, config=config)))
    with _SCORING:
        return _score(name, config, tokenizer)


@cache
def _score(name: str, config: str, tokenizer: str) -> tuple[Bundled, ...]:
    examples = examples_for(metric_of(name, config=config))
    found = []
    for one in examples:
        others = [other for other in examples if other is not one]
        scored = score_example(
            name, "embedded", config, one.cells, one.id, tokenizer=tokenizer, tested=True, bundled=others
        )
        found.append(Bundled(one, scored))
    return tuple(found)


@cache
def rank_bundled(name: str, profile: str, config: str, tokenizer: str = "") -> tuple[tuple[str, float], ...]:
    """Return titles and scores of the bundled examples that have a score, best first."""
    every = list_bundled(name, profile, config, tokenizer)
    found = [(one.example.title, one.score) for one in every if not math.isnan(one.score)]
    return tuple(sorted(found, key=lambda one: one[1], reverse=metric_facts(name).higher_is_better))


def place_of(explained: Explanation, examples: tuple[tuple[str, float], ...]) -> str:
    """Describe the rank of the score of one example among other examples in a sentence.

    Returns:
        The sentence. Empty if there are no other examples, or the score is undefined.
    """
    sign = 1 if explained.facts.higher_is_better else -1
    score = sign * explained.scores[0]
    if math.isnan(score) or not examples:
        return ""
    ranked = [(f"“{label}” ({number(value, explained.digits)})", sign * value) for label, value in examples]
    for text, value in ranked:
        if math.isclose(value, score, rel_tol=1e-6, abs_tol=1e-9):
            return f"The same score as the bundled example {text}."
    better = [text for text, value in ranked if value > score]
    worse = [text for text, value in ranked if value < score]
    if better and worse:
        return f"Between the bundled examples {better[-1]}, which is better, and {worse[0]}, which is worse."
    if worse:
        return f"Better than {_all(worse, 'the best of them ')}."
    return f"Worse than {_all(better[::-1], 'the worst of them ')}."


def _all(texts: list[str], end: str) -> str:
    """Name the bundled examples. The first one has the closest score."""
    return (
        f"the bundled example {texts[0]}" if len(texts) == 1 else f"all {len(texts)} bundled examples, {end}{texts[0]}"
    )
