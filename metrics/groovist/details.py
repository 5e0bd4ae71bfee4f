"""Details of the score of a story, phrase by phrase."""

from collections.abc import Sequence
from typing import Any


def story_details(
    story: Any,
    phrases: Any,
    sentences: Sequence[str],
    *,
    truncated: set[str],
) -> dict[str, Any]:
    """Return the details of a story for `return_details`.

    Args:
        story: `StoryScore` of the story.
        phrases: `StoryPhrases` of the story.
        sentences: Sentences of the story.
        truncated: Truncated phrases of the call.
    """
    spots, count = story.spots, len(phrases.kept)
    rows = []
    for k in range(count):
        best = story.best[k] if len(story.best) else None
        rows.append(
            {
                "text": phrases.kept[k],
                "weight": story.weights[k],
                **{name: _at(getattr(story, name), k) for name in ("cosine", "scaled", "penalized")},
                "contribution": story.weights[k] * story.penalized[k] / count if best is not None else None,
                **spots.describe(best),
            }
        )
    regions = [
        {
            **spots.describe(k),
            "score": spots.scores[k],
            "scaled": _at(story.covered, k),
            "penalized": _at(story.penalized_regions, k),
        }
        for k in range(len(spots.image))
    ]
    return {
        "sentences": list(sentences),
        "sentence_phrases": phrases.sentences,
        "noun_phrases": rows,
        "dropped": [{"text": text, "reason": reason} for text, reason in phrases.dropped],
        "without_rating": [text for text, rated in zip(phrases.kept, story.rated, strict=True) if not rated],
        "truncated": [text for text in phrases.kept if text in truncated],
        "images_without_regions": spots.images_without_regions,
        "regions": regions,
        "per_image": story.per_image.tolist(),
    }


def _at(values: Any, k: int) -> float | None:
    return float(values[k]) if len(values) else None
