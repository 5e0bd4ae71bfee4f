"""Tokenizers of the style table."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import (
    GOLDEN,
)

from vlgauge.families.style.tokenizers import TOKENIZERS, tokenize_texts, words_1


@pytest.mark.parametrize("case", GOLDEN["tokenizer"]["cases"], ids=lambda case: ascii(case["text"]))
def test_golden_tokens(case):
    assert words_1(case["text"]) == case["tokens"]


@given(st.text(max_size=40))
def test_tokens_have_no_white_space_and_split_no_further(text):
    tokens = words_1(text)
    assert all(token.split() == [token] for token in tokens)
    if unicodedata.normalize("NFC", text).isascii():
        assert words_1(" ".join(tokens)) == tokens


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\t", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_what_some_readers_take_for_the_end_of_a_line_is_white_space(end):
    assert words_1(f"one{end}two") == TOKENIZERS["whitespace"](f"one{end}two") == ["one", "two"]


def test_whitespace_tokenizer_neither_lowers_nor_cleans():
    assert tokenize_texts(["The  dog's\tball ."], "whitespace") == [["The", "dog's", "ball", "."]]


def test_equal_texts_are_tokenized_once(monkeypatch):
    asked = []
    monkeypatch.setitem(TOKENIZERS, "words-1", lambda text: asked.append(text) or text.split())
    assert tokenize_texts(["a b", "c", "a b"], "words-1") == [["a", "b"], ["c"], ["a", "b"]]
    assert asked == ["a b", "c"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", "b\ud800"], r"^`captions\[1\]`.*position 1"),
        (["a", None], r"^`captions\[1\]`.*got NoneType"),
        (["a", b"b"], r"^`captions\[1\]`.*got bytes"),
    ],
)
def test_text_that_is_none_is_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        tokenize_texts(texts, "words-1")
