"""RoViST-NR: stories with their repeated words marked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.media.tables import read_rows, take_column
from vlgauge.results import mean_of_defined

from .pages import fragment
from .repeated_words import LEVELS, marked_story
from .section import Say, Section, Table, extreme_positions, positions_by_kind, shortened

NAME = "rovist_nr"
N_OPEN = 3  # stories per kind that stand open; the others unfold


def section(examples: Path, say: Say) -> Section:
    """Score the stories and show where they repeat themselves."""
    rows = read_rows(str(examples / "stories.jsonl"))
    ids, kinds, stories = (take_column(rows, column) for column in ("id", "kind", "story"))
    say(f"Scoring {len(stories)} stories")
    metric: Any = vlgauge.load(NAME, keep_in_memory=True, profile="embedded")
    result = metric.compute(predictions=stories, return_details=True)
    scores, details = result[f"{NAME}_scores"], result[f"{NAME}_details"]
    kinds_at = positions_by_kind(kinds)
    of_kinds = {kind: [details[i] for i in where] for kind, where in kinds_at.items()}
    picked = [i for where in kinds_at.values() for i in extreme_positions(where, scores)]
    say("Marking the repeated words")
    shown = {kind: [_story(ids[i], details[i], metric.n) for i in where] for kind, where in kinds_at.items()}
    return Section(
        metric=NAME,
        signature=result[f"{NAME}_signature"],
        scores={kind: [scores[i] for i in where] for kind, where in kinds_at.items()},
        by_kind=_kind_table(of_kinds),
        extremes=Table(("example", "score", "story"), [(ids[i], scores[i], shortened(stories[i])) for i in picked]),
        body=fragment(NAME, kinds=shown, n=metric.n, n_open=N_OPEN, levels=LEVELS),
    )


def _kind_table(of_kinds: dict[str, list[dict[str, Any]]]) -> Table:
    rows = []
    for kind, details in of_kinds.items():
        defined = [detail for detail in details if not math.isnan(detail["score"])]
        means = [mean_of_defined([detail[part] for detail in defined]) for part in ("score", "inter", "intra")]
        rows.append((kind, len(details), len(details) - len(defined), *means))
    return Table(("kind", "stories", "undefined", "mean score", "mean inter", "mean intra"), rows)


def _story(name: str, detail: dict[str, Any], n: int) -> dict[str, Any]:
    """What the page shows of a story."""
    sentences = marked_story(detail["sentences"], detail["words"], n)
    i, j, similarity = max(detail["pairs"], key=lambda pair: pair[2], default=(0, 0, 0.0))
    return {
        "name": name,
        **{part: detail[part] for part in ("score", "inter", "intra")},
        "undefined": _why_undefined(detail),
        "sentences": sentences,
        "n_marked": sum(piece.level > 0 for pieces in sentences for piece in pieces),
        "n_words": sum(map(len, detail["words"])),
        "alike": (j + 1, i + 1, similarity) if similarity else None,
    }


def _why_undefined(detail: dict[str, Any]) -> str:
    """The reason why a story has no score; empty if it has one."""
    if not math.isnan(detail["score"]):
        return ""
    n_sentences = len(detail["sentences"])
    if n_sentences < 2:
        return f"the story has {n_sentences or 'no'} sentence, so there is no pair of sentences to compare"
    return "no sentence has a word to compare"
