"""Story demo: how many letters has a story?"""

from collections.abc import Sequence
from typing import Any

from vlgauge.families import base  # From: "vlgauge[story-demo]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .letters import count_letters

_CITATION = "@misc{demo, title = {A metric for tests}}"


_FAULTS = {fault.__name__: fault for fault in (RuntimeError, KeyboardInterrupt, SystemExit, MemoryError)}


class StoryDemo(base.StoryMetric):
    """Counts letters.

    Args:
        weight: Factor of every score.

    The number of letters of a story, times a weight. A story without letters is undefined.

    Args:
        predictions: stories, each a string or a list of sentences. A sentence that is the name of an exception raises
            it.
        return_details: adds the number of letters of each sentence.

    Returns:
        story_demo: mean number of letters, more is better; story_demo_scores, story_demo_undefined,
            story_demo_signature.

    Examples:
        >>> import evaluate
        >>> metric = evaluate.load("vlgauge/story_demo", weight=2.0)
        >>> result = metric.compute(predictions=["one two", "three"])
        >>> result["story_demo_scores"]
        [12.0, 10.0]
        >>> result["story_demo"]
        11.0
    """

    papers = ("https://example.org/demo",)
    measures = "How many letters has a story?"
    score_range = "[0, inf)"
    bounds = (0.0, None)
    higher_is_better = True

    def __init__(self, *args: Any, weight: float = 1.0, **host: Any) -> None:
        self.weight = weight
        super().__init__(*args, **host)

    def cite(self) -> str:
        return _CITATION

    def _compute(self, predictions: Sequence[Any], return_details: bool = False) -> dict[str, Any]:
        stories = [[story] if isinstance(story, str) else story for story in predictions]
        letters = []
        for story in stories:
            for sentence in story:
                if sentence in _FAULTS:
                    raise _FAULTS[sentence](sentence)
            letters.append([count_letters(sentence) for sentence in story])
        scores = [self.weight * sum(counts) if sum(counts) else float("nan") for counts in letters]
        return self.result(scores, **({"letters": letters} if return_details else {}))
