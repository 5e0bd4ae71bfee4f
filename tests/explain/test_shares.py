"""The contribution of each part: bars, and the sentence above them."""

import re

import pytest

from vlgauge.core.catalog import metric_names
from vlgauge.explain.examples import explain_examples
from vlgauge.explain.shares import Share, share_bars


def bars_of(*amounts):
    drawn = str(share_bars("Each", [Share("a", amount) for amount in amounts]))
    found = re.findall(r"left:([0-9.]+)%;width:([0-9.]+)%", drawn)
    (nought,) = set(re.findall(r"<s style=\"left:([0-9.]+)%", drawn))
    return [tuple(map(float, one)) for one in found], float(nought)


def test_bars_end_at_nought_and_are_as_long_as_their_amounts():
    assert bars_of(3.0, -1.0, 0.6) == ([(25.0, 75.0), (0.0, 25.0), (25.0, 15.0)], 25.0)
    assert bars_of(-2.0, -1.0) == ([(0.0, 100.0), (50.0, 50.0)], 100.0)
    assert bars_of(0.0) == ([(0.0, 0.8)], 0.0)


def test_a_text_of_a_bar_is_shown_and_not_obeyed():
    drawn = str(share_bars("Each", [Share('<b onclick="x">', -1.0, 3)]))
    assert "<b onclick" not in drawn
    assert 'data-n="3"' in drawn


@pytest.mark.parametrize(("amount", "tone"), [(0.2, "for"), (-0.2, "against"), (0.05, "nil"), (-0.05, "nil")])
def test_next_to_nothing_is_neither_for_nor_against(amount, tone):
    assert Share("a", amount, least=0.1).tone == tone


@pytest.mark.parametrize("name", metric_names())
def test_every_example_has_a_sentence(name):
    explained = explain_examples(name)
    for row in range(len(explained.scores)):
        said = str(explained.headline(row))
        assert said.endswith(".")
        assert said[:1].isupper() or said[:1] in "0123456789<“"
        parts = explained.contributions(row)
        assert bool(parts) == bool(explained.bars(row))


def test_shares_of_a_story_add_up_to_what_it_lost_or_won():
    story = explain_examples("groovist")
    for row, score in enumerate(story.scores):
        assert sum(one.amount for one in story.contributions(row)) == pytest.approx(score)
    said = explain_examples("rovist_nr")
    assert "come again and again" in said.headline(2)
    assert sum(one.amount for one in said.contributions(2)) >= said.scores[2] - 1
    assert "“a large red triangle”" in story.headline(1)
    assert "<em>" in story.headline(1)
