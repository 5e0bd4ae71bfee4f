"""Tokenizers of captions. Their names are stored in tables and signatures, so a tokenizer is never changed."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.validation import plain_text, valid_unicode

Tokens = list[str]

# Soft hyphen, zero-width characters, byte order mark and variation selectors are invisible but would become tokens.
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xFE0E, 0xFE0F))
_STRAIGHT_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
_CLEANED = {**_INVISIBLE, **_STRAIGHT_QUOTES}
_WORD_OR_SIGN = re.compile(r"""\w+|[^\w\s'`.?!,:;"-]""")


def words_1(text: str) -> Tokens:
    """Split a text into lowercased words and single symbols, except ``' ` . ? ! , : ; " -``, which only separate words.

    Whitespace is defined as in Python, including U+2028 and U+0085, and no character ends a caption. Words are split at
    combining marks for which Unicode has no composed letter.
    """
    if text.isascii():
        return _WORD_OR_SIGN.findall(text.lower())
    cleaned = text.translate(_CLEANED).lower()
    # Without NFC, the accent of a decomposed "é" would split its word.
    return _WORD_OR_SIGN.findall(unicodedata.normalize("NFC", cleaned))


TOKENIZERS: dict[str, Callable[[str], Tokens]] = {"words-1": words_1, "whitespace": str.split}
"""Tokenizers by name: "words-1", and "whitespace" for tokenized text, which is neither cleaned nor lowercased."""


def tokenize_texts(
    texts: Sequence[str], tokenizer: str, name: str = "captions", progress: Progress = False
) -> list[Tokens]:
    """Tokenize texts. Equal texts are tokenized once and share their list.

    Args:
        texts: Captions.
        tokenizer: Key of `TOKENIZERS`.
        name: Name of the texts in error messages.
        progress: Progress reporting, see `progress_bar`.

    Raises:
        ValueError: If `texts` is a single string, or a text is not a string or contains a lone surrogate, which is half
            of a broken character pair.
    """
    if isinstance(texts, str):
        raise UsageError.about(name, "must be a list of strings, got one string; wrap it: [text]")
    split = TOKENIZERS[tokenizer]
    known: dict[str, Tokens] = {}
    with progress_bar(len(texts), "Tokenizing captions", progress) as advance:
        for start in range(0, len(texts), 1024):
            chunk = texts[start : start + 1024]
            for i, text in enumerate(chunk, start):
                if not isinstance(text, str) or text not in known:
                    known[text] = split(check_text(text, f"{name}[{i}]"))
            advance(len(chunk))
    return [known[text] for text in texts]


def check_text(text: str, name: str) -> str:
    """Check that a text is a string that can be encoded in UTF-8, and return it.

    Args:
        text: The text.
        name: Name of the text in error messages.

    Raises:
        ValueError: If it is not.
    """
    return valid_unicode(plain_text(text, name, "a string"), name)
