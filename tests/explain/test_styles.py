"""The demo's styled captions: held out by picture, and every mark on the word it is about."""

import csv

import numpy as np
import pytest
from folders import EXAMPLES

from vlgauge.explain import sections as explain
from vlgauge.explain.sections import marked_words


@pytest.fixture
def corpus():
    return explain.styled_captions.read_styled_captions(EXAMPLES)


# -- the split --------------------------------------------------------------------------------------------------------
def test_no_picture_is_in_the_table_and_held_out(corpus):
    with (EXAMPLES / "styled_captions.csv").open(encoding="utf-8", newline="") as file:
        picture_of = {row["caption"]: row["picture"] for row in csv.DictReader(file)}
    fitted = {picture_of[caption] for captions in corpus.fitted.values() for caption in captions}
    assert fitted.isdisjoint({picture_of[caption] for caption in corpus.captions})
    assert (len(corpus.captions), sum(corpus.table.captions)) == (40, 120)
    assert not corpus.table.has_captions(corpus.table.tokenize(corpus.captions)).any()


def test_too_few_pictures_are_an_error(tmp_path):
    rows = [("caption", "style", "picture"), ("a dog", "x", "1"), ("a cat", "y", "1"), ("a cow", "y", "2")]
    with (tmp_path / "styled_captions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(ValueError, match="must have at least 4 pictures, got 2"):
        explain.styled_captions.read_styled_captions(tmp_path)


# -- the matrix -------------------------------------------------------------------------------------------------------
def test_own_style_comes_first_only_alone():
    matrix = np.array([[0.2, 0.1], [0.2, 0.2], [-0.1, -0.3], [0.1, 0.2]])
    first = explain.styled_captions.own_style_first(matrix, np.array([0, 0, 0, 0]))
    assert first == [True, False, True, False]
    np.testing.assert_array_equal(matrix[0], [0.2, 0.1])  # left as it is


def test_shades_go_with_the_means(corpus):
    matrix = np.zeros((40, 4))
    matrix[:, 1] = -0.5
    matrix[corpus.styles_at["plain"], 2] = 0.25
    shaded = explain.styled_captions.shaded_means(corpus, matrix)
    assert shaded["styles"] == ["angry", "humorous", "plain", "romantic"]
    rows = dict(shaded["rows"])
    assert [cell["shade"] for cell in rows["plain"]] == [0.0, -1.0, 0.5, 0.0]
    assert [cell["largest"] for cell in rows["plain"]] == [False, False, True, False]
    assert not any(cell["largest"] for cell in rows["angry"])


def test_style_that_scores_better(corpus):
    matrix = np.tile([0.1, 0.3, 0.2, 0.0], (40, 1))
    better = [
        explain.styled_captions.better_style(corpus, matrix, corpus.styles_at[style][0])
        for style in ("angry", "humorous")
    ]
    assert better == [("humorous", 0.3), None]


# -- the marks --------------------------------------------------------------------------------------------------------
ODD = [
    "Don\u2019t STOP \u2013 it's <b>now</b>!",
    "U\u0308ber \u00fcber \u0130stanbul uber",
    "soft\u00adly, softly",
    "",
    "...",
]


def test_pieces_are_the_caption_and_marks_are_on_their_words(corpus):
    for caption in [*ODD, *corpus.captions]:
        tokens = corpus.table.tokenize([caption])[0]
        marks = [marked_words.Mark("raised", 1, token) for token in tokens]
        pieces = marked_words.marked_caption(caption, tokens, marks)
        assert "".join(piece.text for piece in pieces) == caption
        assert all(piece.text.lower() == piece.mark.note for piece in pieces if piece.mark)
        if caption not in ODD:
            assert [piece.mark.note for piece in pieces if piece.mark] == tokens


def test_unmarked_words_join_what_is_around_them():
    mark = marked_words.Mark("lowered", 2, "")
    pieces = marked_words.marked_caption("So, a Dog.", ["so", "a", "dog"], [None, None, mark])
    assert [(piece.text, piece.mark) for piece in pieces] == [("So, a ", None), ("Dog", mark), (".", None)]


def test_ngrams_that_cover_a_word():
    tokens = ["a", "b", "a", "b", "c"]
    weights = {"b": 0.3, "a b": 0.2, "b c": 0.004, "b a b": -0.1, "c": 1.0, "a": 0.5}
    covering, note = marked_words.covering, marked_words.weights_note
    assert covering(tokens, 1, weights) == ["b", "a b", "b a b"]
    assert covering(tokens, 3, weights) == ["b", "a b", "b c", "b a b"]
    assert note(tokens, 3, weights) == "weights: b +0.30, a b +0.20, b a b \N{MINUS SIGN}0.10"
    assert note(tokens, 1, {"a b": 0.1, "b": 0.1, "b a": 0.1, "a b a": 0.1}).endswith(", b a +0.10 and 1 more")
    assert note(tokens, 4, {"a": 0.5}) == ""


def test_number_of_distinct_ngrams():
    assert marked_words.n_distinct(["a", "b", "a", "b"]) == 2 + 2 + 2 + 1
    assert marked_words.n_distinct([]) == 0


def test_words_marked_in_the_bundled_captions_add_up_to_the_score(corpus):
    import vlgauge

    metric = vlgauge.load("onlystyle", keep_in_memory=True, table=corpus.table)
    result = metric.compute(predictions=corpus.captions, styles=corpus.styles, return_details=True)
    for detail, score in zip(result["onlystyle_details"], result["onlystyle_scores"], strict=True):
        marks = explain.onlystyle.word_marks(detail)
        assert sum(detail["words"]) == pytest.approx(score, abs=1e-12)
        for mark, share in zip(marks, detail["words"], strict=True):
            assert (mark is None) == (abs(share) < 0.0005)
            if mark:
                assert mark.effect == ("raised" if share > 0 else "lowered")
                assert mark.note.startswith("adds +" if share > 0 else "adds \N{MINUS SIGN}")
