"""Words of a caption that are typical of a style, and words that it shares with references."""

import pytest
from explained import scored

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.explain import explain
from vlgauge.explain.styled import covering, share_mark, weights, weights_note
from vlgauge.families.style import StyleTable

CAPTION = "Love <b>it</b> & hate it."


@pytest.fixture(scope="module")
def table():
    """Return a table in which "love" and "love it" weigh 1/2 in the first style.

    "hate" and "hate it" weigh -1/2, and "it" weighs 0.
    """
    return StyleTable.fit(["Love it."] * 3 + ["Hate it!"] * 3, ["kind"] * 3 + ["harsh"] * 3)


def marked(body):
    return [
        (piece.mark.tone, piece.mark.strong, piece.mark.note.replace("\u2212", "-"), piece.text)
        for piece in body
        if piece.mark
    ]


def test_marks_of_a_caption_made_by_hand(table):
    metric = vlgauge.load("onlystyle", keep_in_memory=True, table=table)
    columns = {"predictions": [CAPTION], "styles": ["kind"]}
    found = explain("onlystyle", columns, metric.compute(**columns, return_details=True))
    # 8 distinct tokens and 10 bigrams, each order a quarter: 1/2/8/4 = 0.0156, 1/2/10/4/2 = 0.0063 for each word.
    assert marked(found.values(0)["pieces"]) == [
        ("for", True, "adds +0.0156; weights: love +0.50", "Love"),
        ("against", True, "adds -0.0219; weights: hate -0.50, hate it -0.50", "hate"),
        ("against", False, "adds -0.0063; weights: hate it -0.50", "it"),
    ]
    assert found.reason(0) == "raised by “love”; lowered by “hate”"
    assert found.extra(0) == "style: kind"


def test_marks_of_a_caption_next_to_its_reference_made_by_hand(table):
    metric = vlgauge.load("stylecider", keep_in_memory=True, table=table)
    columns = {"predictions": [CAPTION], "styles": ["kind"], "references": [["Love it."]]}
    found = explain("stylecider", columns, metric.compute(**columns, return_details=True))
    values = found.values(0)
    # cos_1 = 1/sqrt(2), and no longer n-gram in common.
    assert marked(values["pieces"]) == [
        ("for", True, "adds +0.1768; weights: love +0.50", "Love"),
        ("against", True, "in no reference; weight: hate -0.50", "hate"),
    ]
    (reference,) = values["closest"]
    assert marked(reference["pieces"]) == [("for", False, "shared; love +0.50", "Love")]
    assert found.reason(0) == "shares “love” with 1 of 1 references"
    word_marks = folder_module("stylecider", "explanation").word_marks
    assert not any(word_marks({"tokens": ["hm"], "words": [0.0], "references": []}))


def test_a_word_is_marked_from_the_first_step_on():
    assert share_mark(0.00049, (0.0005, 0.008), "") is None
    assert share_mark(-0.0005, (0.0005, 0.008), "").tone == "against"
    assert share_mark(0.008, (0.0005, 0.008), "").strong


def test_ngrams_that_cover_a_word():
    tokens = ["a", "b", "a", "b", "c"]
    known = {"b": 0.3, "a b": 0.2, "b c": 0.004, "b a b": -0.1, "c": 1.0, "a": 0.5}
    assert covering(tokens, 1, known) == ["b", "a b", "b a b"]
    assert covering(tokens, 3, known) == ["b", "a b", "b c", "b a b"]
    assert weights_note(tokens, 1, known) == "b +0.30, a b +0.20, b a b \N{MINUS SIGN}0.10"
    assert weights_note(tokens, 3, known).endswith("b c +0.00 and 1 more")
    assert weights([{"ngram": "a", "cng": 0.004}, {"ngram": "b", "cng": -0.3}]) == {"b": -0.3}


def test_words_of_a_caption_add_up_to_its_score():
    _, result = scored("onlystyle")
    for detail, score in zip(result["onlystyle_details"], result["onlystyle_scores"], strict=True):
        assert sum(detail["words"]) == pytest.approx(score, abs=1e-12)
