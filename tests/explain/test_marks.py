"""Texts in pieces, some of which are marked."""

from vlgauge.explain.marks import Mark, Piece, pieces, pieces_of_runs, word_spans

BLUE, ORANGE = Mark("for", note="one"), Mark("against", strong=True)


def test_the_pieces_joined_are_the_text():
    text = 'He said "Ahoy!" to  the cat, and  the cat.'
    words = ["He", "said", "``", "Ahoy", "!", "''", "to", "the", "cat", ",", "and", "the", "cat"]
    found = pieces_of_runs(text, words, [BLUE if word in ("the", "cat", "``") else None for word in words])
    assert "".join(piece.text for piece in found) == text
    assert [piece.text for piece in found if piece.mark] == ['"', "the cat", "the cat"]


def test_words_are_found_in_their_order_whatever_their_case():
    assert word_spans("A dog. a Dog", ["a", "dog", "a", "dog"]) == [(0, 1), (2, 5), (7, 8), (9, 12)]
    assert word_spans("one", ["two", "one"]) == [(0, 0), (0, 3)]
    # This letter has two characters in lowercase, and no offset is guessed.
    assert word_spans("İ dog", ["dog"]) == [(2, 5)]


def test_neighbours_of_one_kind_are_one_run_with_the_notes_of_both():
    first, second = Mark("for", note="one"), Mark("for", note="two")
    (run, rest) = pieces_of_runs("a b c", ["a", "b", "c"], [first, second, None])
    assert run == Piece("a b", Mark("for", note="one; two"))
    assert rest == Piece(" c")
    assert len(pieces_of_runs("a b", ["a", "b"], [BLUE, ORANGE])) == 3
    assert len(pieces_of_runs("a, b", ["a", "b"], [BLUE, BLUE])) == 3


def test_parts_that_are_not_in_the_text_mark_nothing():
    assert pieces("abc", [(0, 0), (1, 2)], [BLUE, ORANGE]) == [Piece("a"), Piece("b", ORANGE), Piece("c")]
    assert pieces("", [], []) == []
