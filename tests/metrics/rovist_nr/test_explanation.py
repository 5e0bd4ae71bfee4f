"""The share of each word in the score of a story with repetition."""

import math

import pytest
from explained import EMBEDDED
from folders import EXAMPLES

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.explain import explain
from vlgauge.inputs.tables.files import read_rows

explanation = folder_module("rovist_nr", "explanation")


@pytest.mark.parametrize("settings", [{}, {"variant": "paper"}, {"n": 2, "lowercase": True}])
def test_the_costs_of_all_words_add_up_to_what_is_lost(settings):
    stories = [row["story"] for row in read_rows(str(EXAMPLES / "stories.jsonl"))]
    result = vlgauge.load("rovist_nr", **EMBEDDED, **settings).compute(predictions=stories, return_details=True)
    n, variant = settings.get("n", 4), settings.get("variant", "released")
    for score, detail in zip(result["rovist_nr_scores"], result["rovist_nr_details"], strict=True):
        if not math.isnan(score):
            costs = explanation.word_costs(detail, n=n, variant=variant)
            assert math.fsum(map(math.fsum, costs)) == pytest.approx(1 - score, abs=1e-9)
            assert min(map(min, filter(None, costs))) >= 0
    explained = explain("rovist_nr", {"predictions": stories}, result)
    assert explained.html()


def test_costs_worked_by_hand():
    # "a" is once in either sentence, of five words together: similarity 1/5, half of it lost, a quarter at either side.
    detail = {"words": [["a", "b", "c"], ["d", "a", "e"]], "pairs": [(1, 0, 0.2)], "ngrams": []}
    assert explanation.word_costs(detail, n=4, variant="released") == [[0.05, 0, 0], [0, 0.05, 0]]
    # "a" comes twice in the first: its part of 2 + 1 is two thirds, half of that shared by both.
    detail = {"words": [["a", "a", "b"], ["a", "b"]], "pairs": [(1, 0, 1.5)], "ngrams": []}
    (first, second, b), (a, other) = explanation.word_costs(detail, n=4, variant="released")
    assert [first, second, b, a, other] == pytest.approx([0.125, 0.125, 0.125, 0.25, 0.125])
    assert explanation.word_costs(detail | {"pairs": [(1, 0, 1.0)]}, n=4, variant="paper")[1] == pytest.approx(
        [0.125, 0.125]
    )
    # Within a sentence: the last n-gram is shorter.
    detail = {"words": [["a", "b", "a"]], "pairs": [], "ngrams": [(0, 0, 0.5)]}
    assert explanation.word_costs(detail, n=2, variant="released") == [[0.125, 0, 0.125]]


def test_a_mark_shows_cost_and_not_count():
    assert explanation.word_mark(explanation.STEPS[0] - 1e-9, [1, 2, 3]) is None
    assert explanation.word_mark(explanation.STEPS[0], [1]).tone == "nil"
    weak, strong = explanation.word_mark(explanation.STEPS[1], [0, 2]), explanation.word_mark(explanation.STEPS[2], [])
    assert (weak.tone, weak.strong, weak.note) == ("against", False, "takes 0.006; also in sentences 1 and 3")
    assert (strong.strong, strong.note) == (True, "takes 0.012; again in the next words")


def test_articles_of_a_good_story_carry_no_alarm_colour():
    stories = [row["story"] for row in read_rows(str(EXAMPLES / "stories.jsonl"))]
    result = vlgauge.load("rovist_nr", **EMBEDDED).compute(predictions=stories, return_details=True)
    found = explain("rovist_nr", {"predictions": stories}, result)
    good = [row for row, score in enumerate(found.scores) if score >= 0.95]
    assert len(good) > 20
    assert not any('class="against' in found.body(row) for row in good)
    assert '<mark class="against strong" tabindex=0>' in found.body(found.worst_first[1])


def test_a_reason_names_the_words_that_take_most():
    story = [["The cat sat.", "A cat ran.", "Some cat hid."], ["One two.", "Three four."]]
    result = vlgauge.load("rovist_nr", **EMBEDDED).compute(predictions=story, return_details=True)
    found = explain("rovist_nr", {"predictions": story}, result)
    assert found.reason(0).startswith("most by “cat” 0.")
    assert found.reason(1) == "0.00 lost in all"
