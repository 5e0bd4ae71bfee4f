"""How the score of a story came about, noun by noun."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.grounding import Spots


def story_details(
    sentences: Sequence[str], nouns: Any, spots: Spots, best: np.ndarray, cosines: np.ndarray
) -> dict[str, Any]:
    """What `return_details` shows of a story; None for what one without any region does not have.

    Args:
        sentences: Its sentences.
        nouns: Its `StoryNouns`.
        spots: Where its regions are.
        best: Region of the largest cosine of each noun, shape ``(n_nouns,)``; empty without a region.
        cosines: That cosine, same shape.
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
                **spots.shown(int(best[k]) if len(best) else None),
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
