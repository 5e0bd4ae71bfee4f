"""Metrics of stories: bundled ones, and drawn ones told well and badly beside their pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge import scenes
from vlgauge.media.tables import read_rows, take_column
from vlgauge.scenes.retold import FOREIGN, REPEATED, SHUFFLED, TOLD, picture_columns, told_stories
from vlgauge.text.noun_phrases import phrase_source

from .section import BAD, GOOD, Card, Columns, Section, scored

EMBEDDED: dict[str, Any] = {"profile": "embedded"}
ON_CPU: dict[str, Any] = {"profile": "embedded", "device": "cpu"}
N_STORIES, SEED = 6, 20
N_DRAWN = 40  # of which six have the same number of nouns
OWN, INVENTED, OTHER = "own story", "invented object", "other story"


def rovist_nr(examples: Path) -> Section:
    """Bundled stories, some of which repeat themselves."""
    rows = read_rows(str(examples / "stories.jsonl"))
    ids, kinds, stories = (take_column(rows, column) for column in ("id", "kind", "story"))
    return Section(
        asks="How little does a story repeat itself?",
        explained=scored("rovist_nr", {"id": ids, "predictions": stories}, **EMBEDDED),
        names=ids,
        kinds=kinds,
        good=("good",),
        bad=("repetitive",),
        cards=(
            Card("good-01", GOOD, "A good story: articles come again, and cost next to nothing", "Nothing to mend."),
            Card("repetitive-06", "", "One idea in every sentence", "Said in other words, but with the same ones."),
            Card("repetitive-09", BAD, "The same words again and again", "Each comes again within its sentence too."),
        ),
        note="Shuffled and off-topic stories score as well as good ones: only words that come again count.",
    )


def rovist_c(examples: Path) -> Section:
    """Drawn stories in order, shuffled, and with sentences said again."""
    # A story of other pictures reads like its own one: no picture is looked at.
    stories = [story for story in told_stories() if story.kind != FOREIGN]
    names = [story.name for story in stories]
    return Section(
        asks="Does each sentence follow from the one before?",
        explained=scored("rovist_c", {"id": names, "predictions": [story.sentences for story in stories]}, **ON_CPU),
        names=names,
        kinds=[story.kind for story in stories],
        good=(TOLD,),
        bad=(SHUFFLED, REPEATED),
        cards=(
            Card("story-3", GOOD, "As told: every sentence follows", "The order is the one that the pictures have."),
            Card("story-3-repeated", "", "Two sentences said again at once", "What is said again counts as 0."),
            Card("story-3-shuffled", BAD, "The same sentences in another order", "It names what has not come yet."),
        ),
        note="The same story in all three.",
    )


@dataclass(frozen=True)
class Beside:
    """A drawn story beside five pictures.

    Attributes:
        name: What it is called.
        kind: Where the story comes from.
        told: The story.
        seen: Whose pictures it stands beside.
    """

    name: str
    kind: str
    told: scenes.SceneStory
    seen: scenes.SceneStory


def beside_pictures(stories: Sequence[scenes.SceneStory]) -> list[Beside]:
    """The stories beside their own pictures, with an invented object, and beside those of the next one."""
    found = [Beside(f"story-{i}", OWN, story, story) for i, story in enumerate(stories, 1)]
    for i, story in enumerate(stories):
        found.append(Beside(f"story-{i + 1}-invented", INVENTED, story.with_hallucination(SEED + i)[0], story))
    for i, story in enumerate(stories):
        found.append(Beside(f"story-{i + 1}-other", OTHER, stories[(i + 1) % len(stories)], story))
    return found


def equally_long(n: int) -> list[scenes.SceneStory]:
    """Test stories with equally many nouns: the score grows with their number, so others cannot be compared."""
    drawn = scenes.stories(N_DRAWN, SEED, "test")
    split = iter(phrase_source("embedded", argument="nouns").nouns([text for each in drawn for text in each.sentences]))
    counts = [sum(len(next(split)) for _ in each.sentences) for each in drawn]
    commonest = Counter(counts).most_common(1)[0][0]
    return [each for each, count in zip(drawn, counts, strict=True) if count == commonest][:n]


def _grounded(name: str, asks: str, shown: list[Beside], cards: tuple[Card, Card, Card], note: str) -> Section:
    names = [one.name for one in shown]
    texts: Columns = {"id": names, "predictions": [one.told.sentences for one in shown]}
    return Section(
        asks=asks,
        explained=scored(name, texts | picture_columns([one.seen for one in shown]), **ON_CPU),
        names=names,
        kinds=[one.kind for one in shown],
        good=(OWN,),
        bad=(INVENTED, OTHER),
        cards=cards,
        note=note,
    )


def groovist(examples: Path) -> Section:
    """Drawn stories beside their pictures and others."""
    cards = (
        Card("story-3", GOOD, "As told: most phrases find what they name", "Near misses are a limit of the toy."),
        Card("story-3-invented", "", "One object is invented", "Its phrase counts against; the others stay."),
        Card("story-3-other", BAD, "The story of other pictures", "Hardly a phrase finds what it names."),
    )
    shown = beside_pictures(scenes.stories(N_STORIES, SEED, "test"))
    asks = "Do the pictures show what the story's phrases name?"
    return _grounded("groovist", asks, shown, cards, "The same five pictures in all three.")


def rovist_vg(examples: Path) -> Section:
    """Drawn stories of equally many nouns beside their pictures and others."""
    cards = (
        Card("story-6", GOOD, "As told: the nouns name what is there", "Rare nouns lead; “background” is everywhere."),
        Card("story-6-invented", "", "One object is invented", "Its nouns still find something that is like them."),
        Card("story-6-other", BAD, "The story of other pictures", "Its rarest nouns are like nothing here."),
    )
    asks = "Do the nouns of a story name what its pictures show?"
    note = "The same five pictures in all three. One noun more or less moves the score as much as one that is wrong."
    return _grounded("rovist_vg", asks, beside_pictures(equally_long(N_STORIES)), cards, note)


def rovist(examples: Path) -> Section:
    """Drawn stories told well and badly."""
    stories = told_stories()
    names = [story.name for story in stories]
    texts: Columns = {"id": names, "predictions": [story.sentences for story in stories]}
    seen = picture_columns([story.seen for story in stories])
    return Section(
        asks="Grounded, coherent and free of repetition, in one sum?",
        explained=scored("rovist", texts | seen, **ON_CPU, scale_vg=True),
        names=names,
        kinds=[story.kind for story in stories],
        good=(TOLD,),
        bad=(SHUFFLED, REPEATED),
        cards=(
            Card("story-2", GOOD, "As told: all three parts are high", "Unfold a part to see what made it."),
            Card("story-2-other", "", "Beside other pictures: grounding barely falls", "A limit of the toy."),
            Card("story-2-shuffled", BAD, "Shuffled: coherence falls", "The other two parts stay as they were."),
        ),
        note="The same sentences in all three.",
    )


def d_hm(examples: Path) -> Section:
    """Drawn stories told badly beside the same stories told well."""
    stories = told_stories()
    n = sum(story.kind == TOLD for story in stories)
    texts: Columns = {"predictions": [story.sentences for story in stories]}
    seen = picture_columns([story.seen for story in stories])
    parts = {
        "groovist": scored("groovist", texts | seen, **ON_CPU).scores,
        "rovist_c": scored("rovist_c", texts, **ON_CPU, context="prefix").scores,
        "rovist_nr": scored("rovist_nr", texts, **EMBEDDED).scores,
    }
    rows = [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
    worse = stories[n:]
    names = [story.name for story in worse]
    columns = {"id": names, "predictions": rows[n:], "references": [rows[i % n] for i in range(n, len(rows))]}
    return Section(
        asks="How far are a model's stories from human ones?",
        explained=scored("d_hm", columns),
        names=names,
        kinds=[story.kind for story in worse],
        good=(),
        bad=(),
        cards=(
            Card(
                "story-1-shuffled", GOOD, "The sentences in another order", "Near the human story in all but coherence."
            ),
            Card(
                "story-1-repeated", "", "Two sentences said again", "Coherence and repetition tell, grounding a little."
            ),
            Card("story-2-other", BAD, "The story of other pictures", "Only grounding can tell, and it tells most."),
        ),
        note="The “human” story is the drawn one as told; the “model” tells it worse.",
        toy=True,
    )
