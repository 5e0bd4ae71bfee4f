"""Phrases and nouns of a story, and the regions that they match."""

import re

import pytest
from explained import scored

from vlgauge.explain import explain
from vlgauge.explain.grounded import mark_parts
from vlgauge.explain.marks import Mark


def test_pieces_are_the_sentences_and_every_phrase_is_marked_once():
    sentences = ["A dog saw it.", "The dog saw a dog and THE cat."]
    marks = [Mark("for", number=number) for number in (1, 2, 3)]
    found = mark_parts(sentences, ["a dog", "the dog", "the cat"], marks)
    assert ["".join(piece.text for piece in row) for row in found] == sentences
    marked = [(piece.mark.number, piece.text) for row in found for piece in row if piece.mark]
    assert marked == [(1, "A dog"), (2, "The dog"), (3, "THE cat")]


@pytest.mark.parametrize(
    ("amount", "tone", "strong", "value"),
    [
        (0.5, "for", False, ""),
        (0.05, "nil", False, ""),
        (-0.09, "nil", False, ""),
        (-0.1, "against", False, "\u22120.10"),
        (-0.4, "against", True, "\u22120.40"),
    ],
)
def test_what_counts_next_to_nothing_carries_no_colour(amount, tone, strong, value):
    part = {"text": "a dog", "contribution": amount, "weight": 4.0, "penalized": amount, "cosine": 0.5, "image": 1}
    mark = explain("groovist", *scored("groovist")).mark(part, 7, 4)
    assert (mark.tone, mark.strong, mark.value, mark.number) == (tone, strong, value, 7)
    assert "= weight 4.00 \N{MULTIPLICATION SIGN} " in mark.note
    assert mark.note.endswith("÷ 4. Cosine 0.50, best match in image 2.")


@pytest.mark.parametrize(("name", "parts"), [("groovist", "noun_phrases"), ("rovist_vg", "nouns")])
def test_every_part_has_its_number_in_text_and_image(name, parts):
    columns, result = scored(name)
    explained = explain(name, columns, result)
    for row, detail in enumerate(result[f"{name}_details"]):
        body = explained.body(row)
        numbers = [str(number) for number in range(1, len(detail[parts]) + 1)]
        assert re.findall(r'<span class="n">(\d+)', body) == numbers
        assert sorted(re.findall(r"px\">(\d+)</text></g>", body), key=int) == numbers
        assert body.count("<image ") == 5


def test_phrases_add_up_to_the_score():
    _, result = scored("groovist")
    for score, detail in zip(result["groovist_scores"], result["groovist_details"], strict=True):
        assert sum(phrase["contribution"] for phrase in detail["noun_phrases"]) == pytest.approx(score)


def test_text_alone_is_explained_without_images():
    columns, result = scored("groovist")
    body = explain("groovist", {"predictions": columns["predictions"]}, result).body(0)
    assert "<image" not in body
    assert '<ol class="text">' in body


def test_an_image_that_is_gone_is_told():
    columns, result = scored("groovist")
    images = [["no/such.png", *row[1:]] for row in columns["images"]]
    body = explain("groovist", columns | {"images": images}, result).body(0)
    assert body.count("no image") == 1
    assert body.count("<image ") == 4


def test_a_story_without_a_phrase_says_so():
    result = {"groovist_scores": [float("nan")], "groovist_details": [{"noun_phrases": []}]}
    assert (
        explain("groovist", {"predictions": [["Hm."]]}, result).explain_undefined(0)
        == "the story has no noun phrase to look for"
    )
    result = {"rovist_vg_scores": [float("nan")], "rovist_vg_details": [{"nouns": [{"text": "dog"}]}]}
    assert explain("rovist_vg", {"predictions": [["Dog."]]}, result).explain_undefined(0) == "no image has a region"
