"""RoViST-C: drawn stories with the probability that each sentence follows from the one before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.results import mean_of_defined

from .pages import fragment
from .section import Say, Section, Table, extreme_positions, positions_by_kind, shortened
from .told_stories import FOREIGN, told_stories

NAME = "rovist_c"
N_OPEN = 2  # stories per kind that stand open; the others unfold


def section(examples: Path, say: Say) -> Section:
    """Score drawn stories, in order and not, and show which sentences do not follow."""
    # A story of other pictures reads like its own one: no picture is looked at.
    stories = [story for story in told_stories() if story.kind != FOREIGN]
    say(f"Scoring {len(stories)} drawn stories")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, profile="embedded", device="cpu")
    result = metric.compute(predictions=[story.sentences for story in stories], return_details=True)
    scores, details = result[f"{NAME}_scores"], result[f"{NAME}_details"]
    kinds_at = positions_by_kind([story.kind for story in stories])
    picked = [i for where in kinds_at.values() for i in extreme_positions(where, scores)]
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores={kind: [scores[i] for i in where] for kind, where in kinds_at.items()},
        by_kind=_kind_table({kind: [details[i] for i in where] for kind, where in kinds_at.items()}),
        extremes=Table(
            ("example", "score", "story"),
            [(stories[i].name, scores[i], shortened(stories[i].sentences)) for i in picked],
        ),
        body=fragment(
            NAME,
            kinds={
                kind: [{"name": stories[i].name, "score": scores[i], "lines": lines(details[i])} for i in where]
                for kind, where in kinds_at.items()
            },
            n_open=N_OPEN,
        ),
    )


def _kind_table(of_kinds: Mapping[str, list[dict[str, Any]]]) -> Table:
    rows = []
    for kind, details in of_kinds.items():
        pairs = [value for detail in details for value in detail["probabilities"]]
        same = sum(flag for detail in details for flag in detail["identical"])
        doubted = sum(value < 0.5 for value in pairs) - same
        mean = mean_of_defined([detail["score"] for detail in details])
        rows.append((kind, len(details), len(pairs), doubted, same, mean))
    return Table(("kind", "stories", "pairs", "below 0.5", "identical", "mean score"), rows)


def lines(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each sentence with the probability that it follows from the one before; None for the first."""
    sentences, flags = detail["sentences"], detail["identical"]
    found = [{"text": text, "probability": None, "identical": False} for text in sentences[:1]]
    for text, probability, identical in zip(sentences[1:], detail["probabilities"], flags, strict=True):
        found.append({"text": text, "probability": probability, "identical": identical})
    return found
