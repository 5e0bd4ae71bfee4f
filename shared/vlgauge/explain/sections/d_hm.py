"""d_HM: how far drawn stories that were told badly are from those told well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.results import mean_of_defined
from vlgauge.statistics import bootstrap_interval

from .pages import fragment
from .part_plots import stacked_parts
from .section import Say, Section, Table, extreme_positions, positions_by_kind, shortened
from .told_stories import TOLD, Told, picture_columns, told_stories

NAME = "d_hm"
METRICS = ("groovist", "rovist_c", "rovist_nr")
SETTINGS: dict[str, dict[str, Any]] = {
    "rovist_c": {"context": "prefix", "device": "cpu"},
    "groovist": {"device": "cpu"},
}
PARTS = {"d_g": "in grounding", "d_c": "in coherence", "d_r": "in non-redundancy"}


def section(examples: Path, say: Say) -> Section:
    """Score drawn stories by three metrics, and compare those told badly with those told well."""
    stories = told_stories()
    say(f"Scoring {len(stories)} stories of five drawn pictures by {', '.join(METRICS)}")
    scored = component_scores(stories)
    n = sum(story.kind == TOLD for story in stories)
    say("Comparing them with the stories as told")
    worse = stories[n:]
    metric: Any = vlgauge.load(NAME, keep_in_memory=True)
    references = [scored[i % n] for i in range(n, len(stories))]
    result = metric.compute(predictions=scored[n:], references=references, return_details=True)
    scores, details = result[f"{NAME}_scores"], result[f"{NAME}_details"]
    kinds_at = positions_by_kind([story.kind for story in worse])
    picked = [i for where in kinds_at.values() for i in extreme_positions(where, scores)]
    plot = stacked_parts(
        f"{NAME}-parts",
        [story.name for story in worse],
        {word: [detail[part] / 3 for detail in details] for part, word in PARTS.items()},
        scores,
        "distance from the story as told: a third of each difference",
    )
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores={kind: [scores[i] for i in where] for kind, where in kinds_at.items()},
        by_kind=kind_table(details, kinds_at),
        extremes=Table(
            ("example", "score", "story"),
            [(worse[i].name, scores[i], shortened(worse[i].sentences)) for i in picked],
        ),
        body=fragment(NAME, plot=plot),
    )


def component_scores(stories: Sequence[Told]) -> list[dict[str, float]]:
    """The three scores of each story."""
    columns = picture_columns(stories)
    found = {}
    for name in METRICS:
        metric: Any = vlgauge.load(name, keep_in_memory=True, profile="embedded", **SETTINGS.get(name, {}))
        own = columns if name == "groovist" else {}
        found[name] = metric.compute(predictions=[story.sentences for story in stories], **own)[f"{name}_scores"]
    return [dict(zip(METRICS, row, strict=True)) for row in zip(*found.values(), strict=True)]


def kind_table(details: Sequence[Mapping[str, float]], kinds_at: Mapping[str, Sequence[int]]) -> Table:
    """Means of the distance and of its parts, and the interval of the first, of each kind."""
    rows: list[tuple[Any, ...]] = []
    for kind, where in kinds_at.items():
        interval = bootstrap_interval([details[i]["score"] for i in where])
        ends = (interval.low, interval.high) if interval else ("", "")
        means = (mean_of_defined([details[i][part] for i in where]) for part in ("score", *PARTS))
        first, *others = means
        rows.append((kind, len(where), first, *ends, *others))
    titles = ("kind", "stories", "mean distance", "95 % from", "to", *(f"mean {word}" for word in PARTS.values()))
    return Table(titles, rows)
