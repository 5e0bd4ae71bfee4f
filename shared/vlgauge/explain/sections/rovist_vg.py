"""RoViST-VG: drawn stories with each noun marked by its likeness to the region that it found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from vlgauge import scenes
from vlgauge.results import mean_of_defined
from vlgauge.text.noun_phrases import phrase_source

from .groovist import N_STORIES, SEED, Example, effect, examples_of, grounded_section, marked_sentences, with_boxes
from .marked_words import Mark, level, signed
from .section import Say, Section, Table

NAME = "rovist_vg"
N_DRAWN = 40  # of which six have the same number of nouns
STEPS = (0.0, 0.4, 0.8)  # a noun gets a stronger mark if idf times cosine is so much


def section(examples: Path, say: Say) -> Section:
    """Score drawn stories beside their pictures and others, and show what each noun found."""
    return grounded_section(NAME, say, examples_of(equally_long(N_STORIES)), told_story, kind_table)


def equally_long(n: int) -> list[scenes.SceneStory]:
    """Test stories with equally many nouns: the score grows with their number, so others cannot be compared."""
    drawn = scenes.stories(N_DRAWN, SEED, "test")
    split = iter(phrase_source("embedded", argument="nouns").nouns([text for each in drawn for text in each.sentences]))
    counts = [sum(len(next(split)) for _ in each.sentences) for each in drawn]
    commonest = Counter(counts).most_common(1)[0][0]
    return [each for each, count in zip(drawn, counts, strict=True) if count == commonest][:n]


def kind_table(
    shown: Sequence[Example],  # who else makes such a table looks at them
    scores: Sequence[float],
    details: Sequence[Mapping[str, Any]],
    kinds_at: Mapping[str, Sequence[int]],
) -> Table:
    """Means of each kind."""
    rows: list[tuple[Any, ...]] = []
    for kind, where in kinds_at.items():
        nouns = sum(len(details[i]["nouns"]) for i in where)
        undefined = sum(math.isnan(scores[i]) for i in where)
        rows.append((kind, len(where), undefined, nouns, mean_of_defined([scores[i] for i in where])))
    return Table(("kind", "stories", "undefined", "nouns", "mean score"), rows)


def told_story(
    example: Example, detail: Mapping[str, Any], score: float, pictures: Sequence[Image.Image]
) -> dict[str, Any]:
    """What the page shows of a story."""
    rows = [{**row, "contribution": row["weighted"]} for row in detail["nouns"]]
    return {
        "name": example.name,
        "score": score,
        "invented": example.invented,
        "sum_of": "Idf times cosine of the nouns",
        "sum": " ".join(signed(row["weighted"]) for row in rows),
        "pictures": [with_boxes(picture, rows, image) for image, picture in enumerate(pictures)],
        "sentences": marked_sentences(detail["sentences"], rows, noun_mark),
        "n_images": len(pictures),
    }


def noun_mark(row: Mapping[str, Any]) -> Mark:
    """Mark of a noun, from its idf and cosine."""
    note = f"idf {row['idf']:.2f} times cosine {row['cosine']:.3f} in picture {row['image'] + 1}"
    return Mark(effect(row), max(1, level(row["weighted"], STEPS)), note)
