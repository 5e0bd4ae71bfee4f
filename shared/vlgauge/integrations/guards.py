"""Guards of rewards, which detect texts that score well on a metric without being captions.

A guard uses only the text. All but "unfinished", which detects English words, are language-independent. Letters are
Unicode letters, and each character of a script without spaces between words, such as Chinese or Thai, counts as a word.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Collection, Iterable

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import as_list, short_repr
from vlgauge.inputs.text.endings import is_unfinished

GUARDS = ("wordless", "markup", "repetition", "unfinished", "context")
"""Names of the guards, in the order in which they are checked.

The guards detect texts without a meaningful word, tags, Markdown or special tokens, repeated words, texts that end in a
word such as "the" or "with", and texts with more tokens than the metric uses.
"""

# English function words, which carry no meaning on their own.
_EMPTY = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "it", "its", "there", "here"),
        *("is", "are", "was", "were", "be", "been", "and", "or", "but", "as"),
        *("of", "in", "on", "at", "to", "from", "by", "with", "for"),
    )
)

# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_LONE = re.compile(rf"[{_UNSPACED}]")

_MARKUP = re.compile(
    r"<\s?[a-z/!?|]|<0x|\|>"  # tags, <|endoftext|>, byte tokens
    r"|\[/?(?:inst|cls|sep|mask|pad|unk|bos|eos|img|image)\]|\u2581"  # other special tokens
    r"|\*\*\S|(?<!\w)__\S|`|\]\(|^\s*#{1,6}\s"  # Markdown
    r"|\\[a-z]+|\$\$|\{\{|\}\}|\{\s*[\"']",  # LaTeX, templates, JSON
    re.IGNORECASE | re.MULTILINE,
)

# Repetition of one letter, of several letters, or of one symbol, without other words in between.
_STUTTER = re.compile(r"([^\W\d_])\1{9}|([^\W\d_]{3,})\2\2|([^\w\s])(?:\s*\3){9}")

# Number of consecutive occurrences at which a sequence of this many words counts as repetition. Longer sequences may
# not occur twice in a row. In scripts whose characters are words, short sequences are doubled by chance and grammar.
_TIMES = {1: 3, 2: 3}
_TIMES_UNSPACED = {1: 6, 2: 4, 3: 3}
_LONGEST_RUN = 100
_PHRASE = 4  # words per phrase
_FEW_WORDS = 6  # shorter texts can hardly vary their words
_MANY_WORDS = 16


def check_guards(unguarded: object) -> tuple[str, ...]:
    """Return the guards that remain enabled if some are disabled.

    Args:
        unguarded: One or several names of `GUARDS` to disable.

    Raises:
        ValueError: If a name is unknown.
    """
    names = [unguarded] if isinstance(unguarded, str) else as_list(unguarded)
    known = ", ".join(map(repr, GUARDS))
    if names is None or not all(isinstance(name, str) for name in names):
        raise UsageError.about("unguarded", f"must be names among {known}, got {short_repr(unguarded)}")
    if unknown := [name for name in names if name not in GUARDS]:
        raise UsageError.about("unguarded", f"must be names among {known}, got {', '.join(map(short_repr, unknown))}")
    return tuple(name for name in GUARDS if name not in names)


def is_wordless(text: str, prompts: Iterable[str] = ()) -> bool:
    """Return whether a text has no meaningful word, only words such as "the" or "is", or words of a prompt.

    Args:
        text: Any text.
        prompts: Prompts with which the metric prefixes captions, whose words do not count as meaningful.
    """
    of_prompts = {word for prompt in prompts for word in _units(_fold_case(prompt))}
    words = (word for word in _units(_fold_case(text)) if any(map(_is_letter, word)))
    return all(word in of_prompts or word in _EMPTY for word in words)


def is_marked_up(text: str) -> bool:
    """Return whether a text contains tags, special tokens of language models, Markdown, LaTeX or JSON.

    The text is checked in the form that encoders process: HTML entities are unescaped twice, and full-width characters
    are normalized.
    """
    return _MARKUP.search(_visible(html.unescape(html.unescape(text)))) is not None


def repeats_itself(text: str) -> bool:
    """Return whether a text is repetitive.

    A text is repetitive if one of these conditions holds, with higher thresholds in scripts without spaces, where each
    character counts as a word:

    - one or two words occur three times in a row, or a longer phrase twice in a row
    - fewer than 2 sqrt(n) of n words are distinct (for n of at least 16, 1.5 sqrt(n) for n of at least 6)
    - a third of its phrases of four words occurred before (for n of at least 12)
    - a letter or a symbol occurs ten times in a row, or letters are repeated as in "redredred"
    """
    folded = _fold_case(text)
    if _STUTTER.search(folded):
        return True
    words = _units(folded)
    n, distinct = len(words), len(set(words))
    if n < min(_TIMES.values()):
        return False
    if n >= _FEW_WORDS and distinct < (2.0 if n >= _MANY_WORDS else 1.5) * math.sqrt(n):
        return True
    phrases = list(zip(*(words[start:] for start in range(_PHRASE)), strict=False))
    if n >= 3 * _PHRASE and len(phrases) - len(set(phrases)) >= len(phrases) / 3:
        return True
    unspaced = sum(_LONE.fullmatch(word) is not None for word in words) > n / 2
    return _follows_upon_itself(words, _TIMES_UNSPACED if unspaced else _TIMES)


def breaks_off(text: str) -> bool:
    """Return whether a text ends in an English determiner, preposition or conjunction. See `is_unfinished`."""
    return is_unfinished(_visible(text))


def without_prompts(text: str, prompts: Collection[str]) -> str:
    """Remove all prompts at the beginning of a text, ignoring case, whitespace and a colon after them."""
    beginnings = "|".join(r"\s+".join(map(re.escape, prompt.split())) for prompt in prompts if prompt.strip())
    found = re.match(rf"\s*(?:(?:{beginnings})(?!\w)[\s:,.]*)+", text, re.IGNORECASE) if beginnings else None
    return text[found.end() :] if found else text


def _follows_upon_itself(words: list[str], times: dict[int, int]) -> bool:
    """Return whether p words occur `times[p]` times in a row, or twice for a p that is not listed."""
    number = {word: i for i, word in enumerate(dict.fromkeys(words))}
    ids = np.array([number[word] for word in words])
    for p in range(1, min(len(ids) // 2, _LONGEST_RUN) + 1):
        differs = np.flatnonzero(np.concatenate([[True], ids[p:] != ids[:-p], [True]]))
        # The distance between two differing positions is one more than the number of consecutive words that equal the
        # word p positions before.
        if np.diff(differs).max() - 1 >= p * (times.get(p, 2) - 1):
            return True
    return False


def _visible(text: str) -> str:
    """Return a text in Unicode compatibility form (NFKC), without zero-width characters."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")


def _fold_case(text: str) -> str:
    """Return a text without case and combining marks, which would split words of Hindi or Arabic."""
    folded = _visible(text).casefold()
    return folded if folded.isascii() else "".join(c for c in folded if not unicodedata.category(c).startswith("M"))


def _units(folded: str) -> list[str]:
    """Return the words of a text. In scripts without spaces, each character is a word."""
    return _UNIT.findall(folded)


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter other than a modifier letter."""
    category = unicodedata.category(character)
    return category.startswith("L") and category != "Lm"
