"""GROOViST: drawn stories with each phrase marked by what it added, and the region that it found."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image, ImageDraw, ImageFont

import vlgauge
from vlgauge import scenes
from vlgauge.results import mean_of_defined

from .marked_words import LOWERED, RAISED, Mark, MarkedPiece, level, signed
from .pages import fragment
from .section import Say, Section, Table, extreme_positions, positions_by_kind, shortened
from .told_stories import picture_columns

NAME = "groovist"
N_STORIES, SEED = 6, 20
N_OPEN = 2  # stories per kind that stand open; the others unfold
OWN, INVENTED, OTHER = "own story", "invented object", "other story"
STEPS = (0.0, 0.3, 0.8)  # a phrase gets a stronger mark if it adds so much to the mean
SCALE, FONT_SIZE = 2, 15
COLOURS = {RAISED: (0, 103, 168), LOWERED: (193, 79, 0)}


@dataclass(frozen=True)
class Example:
    """One story beside five pictures.

    Attributes:
        name: Shown as its title.
        kind: Where the story comes from.
        told: The story.
        seen: Whose pictures it stands beside.
        invented: The phrase of the object that no picture shows; empty if there is none.
    """

    name: str
    kind: str
    told: scenes.SceneStory
    seen: scenes.SceneStory
    invented: str = ""


def section(examples: Path, say: Say) -> Section:
    """Score drawn stories beside their pictures and others, and show what each phrase found."""
    return grounded_section(NAME, say, drawn_examples(), told_story, kind_table)


def grounded_section(
    name: str,
    say: Say,
    shown: Sequence[Example],
    told: Callable[..., dict[str, Any]],
    table: Callable[..., Table],
) -> Section:
    """The section of a metric that looks for parts of a story in its pictures.

    Args:
        name: The metric.
        say: Prints a line.
        shown: The examples.
        told: What the page shows of a story, from the example, its details, its score and its pictures.
        table: Means of each kind, from the examples, their scores, their details and the positions of each kind.
    """
    say(f"Scoring {len(shown)} stories of five drawn pictures")
    metric: Any = vlgauge.load(name, keep_in_memory=True, profile="embedded", device="cpu")
    columns = picture_columns(shown)
    sentences = [example.told.sentences for example in shown]
    result = metric.compute(predictions=sentences, **columns, return_details=True)
    scores, details = result[f"{name}_scores"], result[f"{name}_details"]
    kinds_at = positions_by_kind([example.kind for example in shown])
    picked = [i for where in kinds_at.values() for i in extreme_positions(where, scores)]
    say("Drawing the regions that won")
    stories = {
        kind: [told(shown[i], details[i], scores[i], columns["images"][i]) for i in where]
        for kind, where in kinds_at.items()
    }
    rows = [(shown[i].name, scores[i], shortened(shown[i].told.sentences)) for i in picked]
    return Section(
        metric=name,
        signature=result[f"{name}_signature"],
        scores={kind: [scores[i] for i in where] for kind, where in kinds_at.items()},
        by_kind=table(shown, scores, details, kinds_at),
        extremes=Table(("example", "score", "story"), rows),
        body=fragment(name, kinds=stories, n_open=N_OPEN),
    )


def drawn_examples() -> list[Example]:
    """Test stories told in three ways, see `examples_of`."""
    return examples_of(scenes.stories(N_STORIES, SEED, "test"))


def examples_of(stories: Sequence[scenes.SceneStory]) -> list[Example]:
    """The stories beside their own pictures, with an invented object, and beside those of the next one."""
    found = [Example(f"story-{i + 1}", OWN, story, story) for i, story in enumerate(stories)]
    for i, story in enumerate(stories):
        other, phrase = story.with_hallucination(SEED + i)
        found.append(Example(f"story-{i + 1}-invented", INVENTED, other, story, phrase))
    for i, story in enumerate(stories):
        found.append(Example(f"story-{i + 1}-other", OTHER, stories[(i + 1) % len(stories)], story))
    return found


def kind_table(
    shown: Sequence[Example],
    scores: Sequence[float],
    details: Sequence[Mapping[str, Any]],
    kinds_at: Mapping[str, Sequence[int]],
) -> Table:
    """Means of each kind, and how often the lowest phrase is the invented one."""
    rows: list[tuple[Any, ...]] = []
    for kind, where in kinds_at.items():
        phrases = [len(details[i]["noun_phrases"]) for i in where]
        lowest = [shown[i].invented == lowest_phrase(details[i]) for i in where if shown[i].invented]
        found = f"{sum(lowest)} of {len(lowest)}" if lowest else ""
        undefined = sum(math.isnan(scores[i]) for i in where)
        rows.append((kind, len(where), undefined, sum(phrases), mean_of_defined([scores[i] for i in where]), found))
    return Table(("kind", "stories", "undefined", "phrases", "mean score", "invented phrase is lowest"), rows)


def lowest_phrase(detail: Mapping[str, Any]) -> str:
    """The phrase with the lowest cosine."""
    lowest: str = min(detail["noun_phrases"], key=lambda row: row["cosine"])["text"]
    return lowest


def told_story(
    example: Example, detail: Mapping[str, Any], score: float, pictures: Sequence[Image.Image]
) -> dict[str, Any]:
    """What the page shows of a story."""
    rows = detail["noun_phrases"]
    return {
        "name": example.name,
        "score": score,
        "invented": example.invented,
        "sum_of": "Sum of the phrases",
        "sum": " ".join(signed(row["contribution"]) for row in rows),
        "pictures": [with_boxes(picture, rows, image) for image, picture in enumerate(pictures)],
        "sentences": marked_sentences(detail["sentences"], rows),
        "n_images": len(pictures),
    }


def effect(row: Mapping[str, Any]) -> str:
    """Whether a phrase raised or lowered the score."""
    return RAISED if row["contribution"] >= 0 else LOWERED


def with_boxes(picture: Image.Image, rows: Sequence[Mapping[str, Any]], image: int) -> Markup:
    """A picture, twice as large, with the boxes that phrases found in it and the numbers of these phrases.

    Each row has ``image``, ``box`` and ``contribution``.
    """
    large = picture.resize((picture.width * SCALE, picture.height * SCALE), Image.Resampling.LANCZOS)
    pen, font = ImageDraw.Draw(large), ImageFont.load_default(FONT_SIZE)
    corners: dict[tuple[int, ...], int] = {}
    for number, row in enumerate(rows, 1):
        if row["image"] != image:
            continue
        box = tuple(SCALE * side for side in row["box"])
        colour, shift = COLOURS[effect(row)], corners.setdefault(box, 0)
        pen.rectangle((box[0], box[1], box[2] - 1, box[3] - 1), outline=colour, width=2)
        # Above the box where there is room.
        left, top = box[0] + shift, max(0, box[1] - FONT_SIZE - 3)
        width = round(pen.textlength(str(number), font=font)) + 6
        pen.rectangle((left, top, left + width, top + FONT_SIZE + 3), fill=colour)
        pen.text((left + 3, top), str(number), fill="white", font=font)
        corners[box] += width + 2
    buffer = io.BytesIO()
    large.quantize(64).save(buffer, "PNG", optimize=True)
    return Markup("data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii"))


def marked_sentences(
    sentences: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    mark_of: Callable[[Mapping[str, Any]], Mark] | None = None,
) -> list[list[dict[str, Any]]]:
    """The sentences in pieces; each phrase is marked where it comes first, with its number.

    Phrases are in lower case and in the order of the story, so each is looked for behind the last one.
    """
    pieces: list[list[dict[str, Any]]] = []
    left = list(enumerate(rows, 1))
    for sentence in sentences:
        parts: list[dict[str, Any]] = []
        lower, end = sentence.lower(), 0
        while left and (start := lower.find(left[0][1]["text"].lower(), end)) >= 0:
            number, row = left.pop(0)
            stop = start + len(row["text"])
            parts.append({"piece": MarkedPiece(sentence[end:start]), "number": None})
            parts.append({"piece": MarkedPiece(sentence[start:stop], (mark_of or phrase_mark)(row)), "number": number})
            end = stop
        parts.append({"piece": MarkedPiece(sentence[end:]), "number": None})
        pieces.append(parts)
    return pieces


def phrase_mark(row: Mapping[str, Any]) -> Mark:
    """Mark of a phrase, from what it added to the score."""
    note = (
        f"adds {signed(row['contribution'])}: weight {row['weight']:.2f} times {signed(row['penalized'])}; "
        f"cosine {row['cosine']:.3f} in picture {row['image'] + 1}"
    )
    return Mark(effect(row), max(1, level(row["contribution"], STEPS)), note)
