"""How well a checkpoint tells stories about drawn scenes apart, by the metric itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.scenes import SceneStory
from vlgauge.scenes import stories

SEED = 5


def held_out(folder: Path, vectors: Path, idf: Path | None, n_stories: int) -> dict[str, float]:
    """Shares of right comparisons on stories of the test split.

    Args:
        folder: The checkpoint.
        vectors: Its word vectors.
        idf: Weights; None for 1.
        n_stories: How many stories.

    Returns:
        Per kind of regions, "boxes" of the objects and "grid" of cells, how often a story scores above the next one on
        its own pictures, and how often the noun of an object that is in no picture has the lowest cosine of its story.
    """
    told = stories(n_stories, SEED, "test")
    swapped = [story.told_with(other) for story, other in zip(told, [*told[1:], told[0]], strict=True)]
    wrong = [story.with_hallucination(SEED + i) for i, story in enumerate(told)]
    found: dict[str, float] = {}
    for kind in ("boxes", "grid"):
        metric: Any = vlgauge.load(
            "rovist_vg",
            checkpoint=folder,
            glove_path=vectors,
            idf=None if idf is None else str(idf),
            profile="embedded",
            regions="grid",
            keep_in_memory=True,
        )
        right, others = (_scores(metric, each, kind)["rovist_vg_scores"] for each in (told, swapped))
        better = sum(a > b for a, b in zip(right, others, strict=True))
        details = _scores(metric, [story for story, _ in wrong], kind, return_details=True)["rovist_vg_details"]
        lowest = sum(_is_lowest(each, phrase.split()[-1]) for each, (_, phrase) in zip(details, wrong, strict=True))
        found[f"{kind}: right story above another"] = better / n_stories
        found[f"{kind}: absent object lowest"] = lowest / n_stories
    return found


def _scores(metric: Any, told: Sequence[SceneStory], kind: str, **options: Any) -> dict[str, Any]:
    boxes = [[{"boxes": image} for image in story.boxes] for story in told] if kind == "boxes" else None
    result: dict[str, Any] = metric.compute(
        predictions=[story.sentences for story in told],
        images=[story.images() for story in told],
        regions=boxes,
        **options,
    )
    return result


def _is_lowest(detail: dict[str, Any], noun: str) -> bool:
    """Whether the noun of the absent object is below every other noun for an object; backgrounds are no objects."""
    cosines = {row["text"]: row["cosine"] for row in detail["nouns"] if row["text"] not in ("background", "backdrop")}
    return noun in cosines and cosines[noun] == min(cosines.values())
