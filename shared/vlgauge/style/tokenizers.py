"""Captions to tokens. The name of a tokenizer stands in every table and signature, so none is ever changed."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from vlgauge.errors import UsageError
from vlgauge.progress import Progress, progress_bar

Tokens = list[str]

# Soft hyphen, zero-width characters, byte order mark and variation selectors: invisible, they would become tokens.
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xFE0E, 0xFE0F))
_STRAIGHT_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
_CLEANED = {**_INVISIBLE, **_STRAIGHT_QUOTES}
_WORD_OR_SIGN = re.compile(r"""\w+|[^\w\s'`.?!,:;"-]""")


def words_1(text: str) -> Tokens:
    """Lower-case words, and single signs other than ``' ` . ? ! , : ; " -``, which only separate.

    White space is what Python calls so, U+2028 and U+0085 included: no character ends a caption. Words that are
    written with combining marks which Unicode has no composed letter for are split there.
    """
    if text.isascii():
        return _WORD_OR_SIGN.findall(text.lower())
    cleaned = text.translate(_CLEANED).lower()
    # Without NFC the accent of a decomposed "é" would split its word.
    return _WORD_OR_SIGN.findall(unicodedata.normalize("NFC", cleaned))


TOKENIZERS: dict[str, Callable[[str], Tokens]] = {"words-1": words_1, "whitespace": str.split}
"""By name: "words-1", and "whitespace" for text that is already tokenized, which is neither cleaned nor lowered."""


def tokenized(texts: Sequence[str], tokenizer: str, name: str = "captions", progress: Progress = False) -> list[Tokens]:
    """Tokens of every text; equal texts are tokenized once and share their list.

    Args:
        texts: Captions.
        tokenizer: Key of `TOKENIZERS`.
        name: What to call the texts in an error.
        progress: As in `progress_bar`.

    Raises:
        ValueError: If they are one string, or a text is no string or has a lone surrogate, half of a broken character
            pair.
    """
    if isinstance(texts, str):
        raise UsageError.about(name, "must be a list of strings, got one string; wrap it: [text]")
    split = TOKENIZERS[tokenizer]
    known: dict[str, Tokens] = {}
    with progress_bar(len(texts), "Splitting captions into words", progress) as advance:
        for start in range(0, len(texts), 1024):
            chunk = texts[start : start + 1024]
            for i, text in enumerate(chunk, start):
                if not isinstance(text, str) or text not in known:
                    known[text] = split(checked_text(text, f"{name}[{i}]"))
            advance(len(chunk))
    return [known[text] for text in texts]


def checked_text(text: str, name: str) -> str:
    """The text, if it is a string that UTF-8 can hold; else ValueError by that name."""
    if not isinstance(text, str):
        raise UsageError.about(name, f"must be a string, got {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError.about(name, f"must be valid Unicode, got a lone surrogate at {error.start}") from None
    return text
