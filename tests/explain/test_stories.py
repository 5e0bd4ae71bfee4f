"""The demo's stories: every repeated word is marked where it stands."""

import json

import pytest
from folders import EXAMPLES

from vlgauge.explain import sections as explain
from vlgauge.text.language import words


@pytest.mark.parametrize(
    ("words_of", "levels", "nearby", "notes"),
    [
        # n-grams "x a" and "a y" are neighbours; "x a" and "x" are not.
        ([["x", "a", "a", "y", "x"]], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], {"again in the neighbouring 2 words"}),
        ([["x"], ["x"], ["x", "z"], ["x", "x"]], [3], [0], {"also in sentences 2, 3 and 4"}),
        ([["x"], ["X"]], [0], [0], set()),
        ([["x"], ["x"]], [1], [0], {"also in sentence 2"}),
    ],
)
def test_marks_of_the_first_sentence(words_of, levels, nearby, notes):
    sentences = [" ".join(kept) for kept in words_of]
    marked = explain.repeated_words.marked_story(sentences, words_of, 2)[0]
    pieces = [piece for piece in marked if piece.text.strip()]
    assert [piece.level for piece in pieces] == levels
    assert [piece.nearby for piece in pieces] == [bool(value) for value in nearby]
    assert {piece.note for piece in pieces} - {""} == notes


QUOTED = [
    '"Stay," she said, "or go."',
    "It's “odd”: don't.",
    "``Quite'' so... (no, wait) -- $3.50!",
    "We cannot. Gonna 'tis.",
]


def bundled_sentences():
    for line in (EXAMPLES / "stories.jsonl").read_text("utf-8").splitlines():
        yield from json.loads(line)["story"]


def test_pieces_are_the_sentence_and_every_word_is_found():
    repeated_words = explain.repeated_words
    for sentence in [*QUOTED, *bundled_sentences()]:
        tokens = words(sentence)
        pieces = repeated_words.marked_story([sentence], [tokens], 4)[0]
        assert "".join(piece.text for piece in pieces) == sentence
        spans = repeated_words.word_spans(sentence, tokens)
        found = [sentence[start:end] for start, end in spans]
        assert [text.replace('"', "''") for text in found] == [
            "''" if token == "``" and text == '"' else token for token, text in zip(tokens, found, strict=True)
        ]
