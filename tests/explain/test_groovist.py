"""The demo's drawn stories: each phrase is marked where it stands, and boxes are drawn where it was found."""

import io
import re
from base64 import b64decode

import numpy as np
import pytest
from folders import EXAMPLES
from PIL import Image

from vlgauge.explain.sections import groovist


@pytest.fixture(scope="module")
def shown():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groovist, "N_STORIES", 2)
        return groovist.section(EXAMPLES, lambda step: None)


def row(text, contribution, image=0, box=(0, 0, 8, 8)):
    numbers = {"weight": 4.0, "penalized": contribution / 4, "cosine": 0.5}
    return {"text": text, "contribution": contribution, "image": image, "box": list(box), **numbers}


def test_pieces_are_the_sentences_and_every_phrase_is_marked_once():
    sentences = ["A dog saw it.", "The dog saw a dog and THE cat."]
    rows = [row("a dog", 0.1), row("the dog", -0.4), row("the cat", 1.0)]
    marked = groovist.marked_sentences(sentences, rows)
    assert ["".join(part["piece"].text for part in parts) for parts in marked] == sentences
    found = [(p["number"], p["piece"].text, p["piece"].mark) for parts in marked for p in parts if p["number"]]
    assert [(number, text) for number, text, _ in found] == [(1, "A dog"), (2, "The dog"), (3, "THE cat")]
    assert [(mark.effect, mark.level) for *_, mark in found] == [("raised", 1), ("lowered", 2), ("raised", 3)]
    assert found[1][2].note == "adds \u22120.40: weight 4.00 times \u22120.10; cosine 0.500 in picture 1"


def test_boxes_stand_in_the_picture_that_won():
    blank = Image.new("RGB", (20, 20), "white")
    rows = [row("a dog", 0.5, image=1), row("a cat", -0.5, image=1, box=(10, 10, 20, 20))]

    def pixels(image):
        data = b64decode(str(groovist.with_boxes(blank, rows, image)).partition(",")[2])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    assert (pixels(0) == 255).all()
    drawn = pixels(1)
    assert drawn.shape == (40, 40, 3)
    assert np.abs(drawn[15, 0] - np.array(groovist.COLOURS["raised"])).max() < 8
    assert np.abs(drawn[39, 39] - np.array(groovist.COLOURS["lowered"])).max() < 8


def test_section_has_every_story_with_its_sum(shown):
    assert list(shown.scores) == [groovist.OWN, groovist.INVENTED, groovist.OTHER]
    articles = re.findall(r"<article.*?</article>", shown.body, re.DOTALL)
    assert len(articles) == 6
    scores = [score for scores in shown.scores.values() for score in scores]
    for article, score in zip(articles, scores, strict=True):
        assert article.count("<img ") == 5
        terms = re.search(r'Sum of the phrases: <span class="number">(.*?)</span>', article)[1]
        numbers = [float(term.replace("\u2212", "-")) for term in terms.split()]
        assert sum(numbers) == pytest.approx(score, abs=0.006 * len(numbers))
        assert article.count("<sup>") == len(numbers)
    assert "Invented: “" in articles[2]


def test_right_stories_score_higher(shown):
    own, invented, other = (np.mean(shown.scores[kind]) for kind in (groovist.OWN, groovist.INVENTED, groovist.OTHER))
    assert own > invented > other
