"""RoViST: grounding, coherence and non-redundancy of drawn stories as the parts of a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.results import mean_of_defined

from .pages import fragment
from .part_plots import stacked_parts
from .section import Say, Section, Table, extreme_positions, positions_by_kind, shortened
from .told_stories import picture_columns, told_stories

NAME = "rovist"
PARTS = {"vg": "grounding (scaled)", "c": "coherence", "nr": "non-redundancy"}


def section(examples: Path, say: Say) -> Section:
    """Score drawn stories, told well and badly, and draw the parts of each score."""
    stories = told_stories()
    say(f"Scoring {len(stories)} stories of five drawn pictures")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, profile="embedded", device="cpu", scale_vg=True)
    columns = picture_columns(stories)
    result = metric.compute(predictions=[story.sentences for story in stories], **columns, return_details=True)
    scores, details = result[f"{NAME}_scores"], result[f"{NAME}_details"]
    kinds_at = positions_by_kind([story.kind for story in stories])
    picked = [i for where in kinds_at.values() for i in extreme_positions(where, scores)]
    say("Drawing the parts of the scores")
    order = [i for where in kinds_at.values() for i in where]
    plot = stacked_parts(
        f"{NAME}-parts",
        [stories[i].name for i in order],
        {word: [details[i][part] for i in order] for part, word in PARTS.items()},
        [scores[i] for i in order],
        "score of a story, made up of its three parts",
    )
    signatures = {name: result[f"{NAME}_{name}_signature"] for name in PARTS}
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores={kind: [scores[i] for i in where] for kind, where in kinds_at.items()},
        by_kind=kind_table(details, kinds_at),
        extremes=Table(
            ("example", "score", "story"),
            [(stories[i].name, scores[i], shortened(stories[i].sentences)) for i in picked],
        ),
        body=fragment(NAME, plot=plot, signatures=signatures),
    )


def kind_table(details: Sequence[Mapping[str, float]], kinds_at: Mapping[str, Sequence[int]]) -> Table:
    """Means of the score and of its parts over the stories of each kind."""
    columns = ("score", *PARTS)
    rows = [
        (kind, len(where), *(mean_of_defined([details[i][column] for i in where]) for column in columns))
        for kind, where in kinds_at.items()
    ]
    return Table(("kind", "stories", "mean score", *(f"mean {word}" for word in PARTS.values())), rows)
