"""Details of the score of a story, noun by noun."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.families.grounding import Spots


def story_details(
    sentences: Sequence[str], nouns: Any, spots: Spots, best: np.ndarray, cosines: np.ndarray
) -> dict[str, Any]:
    """Return the details of a story for `return_details`.

    Values that require a region are None if the images have no regions.

    Args:
        sentences: Sentences of the story.
        nouns: `StoryNouns` of the story.
        spots: Positions of its regions.
        best: Region with the maximum cosine similarity for each noun, shape ``(n_nouns,)``. Empty without regions.
        cosines: These cosine similarities, same shape.

    Returns:
        ``sentences``, ``nouns`` (one dictionary per noun), ``skipped`` nouns, ``n_oov``, ``n_unseen`` and
        ``images_without_regions``.
    """
    rows = []
    for k, text in enumerate(nouns.words):
        cosine = float(cosines[k]) if len(cosines) else None
        rows.append(
            {
                "text": text,
                "idf": float(nouns.idf[k]),
                "seen": nouns.seen[k],
                "oov": nouns.oov[k],
                "cosine": cosine,
                "weighted": None if cosine is None else float(nouns.idf[k] * cosine),
                **spots.describe(int(best[k]) if len(best) else None),
            }
        )
    return {
        "sentences": list(sentences),
        "nouns": rows,
        "skipped": nouns.skipped,
        "n_oov": sum(nouns.oov),
        "n_unseen": nouns.seen.count(False),
        "images_without_regions": spots.images_without_regions,
    }
