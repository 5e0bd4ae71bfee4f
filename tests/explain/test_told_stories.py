"""The demo's drawn stories: how they are spoiled, and how their scores are drawn."""

import math

from folders import EXAMPLES

from vlgauge.explain import sections as explain
from vlgauge.text.noun_phrases import phrase_source


def test_every_kind_stands_beside_the_same_pictures():
    told = explain.rovist.told_stories(3, 5)
    names = [story.name for story in told]
    assert len(set(names)) == len(names) == 12
    assert [story.seen for story in told] == [story.seen for story in told[:3]] * 4
    kinds = {kind: [story for story in told if story.kind == kind] for kind in dict.fromkeys(s.kind for s in told)}
    own = [story.sentences for story in kinds["as told"]]
    assert [sorted(story.sentences) for story in kinds["shuffled"]] == [sorted(sentences) for sentences in own]
    assert all(story.sentences != sentences for story, sentences in zip(kinds["shuffled"], own, strict=True))
    assert [story.sentences for story in kinds["other pictures"]] == [*own[1:], own[0]]
    first = kinds["repeated"][0].sentences
    assert (first[0], first[2]) == (first[1], first[3])


def test_columns_of_pictures():
    told = explain.rovist.told_stories(1, 5)[:1]
    columns = explain.rovist.picture_columns(told)
    ((images,), (regions,)) = columns["images"], columns["regions"]
    assert len(images) == len(regions) == 5
    assert regions[0]["boxes"][-1] == (0, 0, 128, 128)


def test_lines_say_what_follows():
    detail = {"sentences": ["A.", "B.", "B."], "probabilities": [0.25, 0.0], "identical": [False, True]}
    assert explain.rovist_c.lines(detail) == [
        {"text": "A.", "probability": None, "identical": False},
        {"text": "B.", "probability": 0.25, "identical": False},
        {"text": "B.", "probability": 0.0, "identical": True},
    ]


def test_bars_of_parts():
    parts = {"one": [0.5, -1.0, math.nan], "two": [0.25, 0.5, 1.0]}
    drawn = explain.rovist.stacked_parts("x", ["a", "b", "c"], parts, [0.75, -0.5, math.nan], "score")
    assert drawn.count("undefined") == 1
    assert all(word in drawn for word in ("one", "two", "score"))
    assert drawn == explain.rovist.stacked_parts("x", ["a", "b", "c"], parts, [0.75, -0.5, math.nan], "score")


def test_section_of_rovist_c():
    section = explain.rovist_c.section(EXAMPLES, lambda text: None)
    means = {row[0]: row[-1] for row in section.by_kind.rows}
    assert means["as told"] > 0.9
    assert max(means["shuffled"], means["repeated"]) < 0.7
    assert section.body.count("<meter") == sum(row[2] for row in section.by_kind.rows)
    assert "profile:embedded" in section.signature


def test_stories_of_rovist_vg_have_equally_many_nouns():
    """Its score grows with the number of nouns."""
    stories = explain.rovist_vg.equally_long(3)
    nouns = phrase_source("embedded").nouns([text for story in stories for text in story.sentences])
    assert len({sum(map(len, nouns[5 * i : 5 * i + 5])) for i in range(3)}) == 1
