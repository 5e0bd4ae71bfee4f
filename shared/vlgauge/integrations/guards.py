"""Guards of a reward: texts that score well by a metric without being captions.

A guard looks at the text alone and knows no language: letters are those of Unicode, and a character of a script without
spaces between words, such as Chinese or Thai, counts as a word.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Collection, Iterable

import numpy as np

from vlgauge.errors import UsageError
from vlgauge.settings import listed, shown

GUARDS = ("wordless", "markup", "repetition", "context")
"""The guards, in the order in which they are asked: no word that says anything; tags, Markdown or special tokens; words
said again and again; more tokens than the metric reads."""

# English words that say nothing by themselves.
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
    r"<\s?[a-z/!?|]|<0x|\|>"  # tags, <|endoftext|>, bytes as tokens
    r"|\[/?(?:inst|cls|sep|mask|pad|unk|bos|eos|img|image)\]|\u2581"  # other special tokens
    r"|\*\*\S|(?<!\w)__\S|`|\]\(|^\s*#{1,6}\s"  # Markdown
    r"|\\[a-z]+|\$\$|\{\{|\}\}|\{\s*[\"']",  # LaTeX, templates, JSON
    re.IGNORECASE | re.MULTILINE,
)

# One letter, several letters, or one sign again and again, without another word between.
_STUTTER = re.compile(r"([^\W\d_])\1{9}|([^\W\d_]{3,})\2\2|([^\w\s])(?:\s*\3){9}")

# How often a run of so many words may not follow upon itself; longer ones, twice. Of characters that are words, chance
# and grammar double short ones.
_TIMES = {1: 3, 2: 3}
_TIMES_UNSPACED = {1: 6, 2: 4, 3: 3}
_LONGEST_RUN = 100
_PHRASE = 4  # words of a phrase that is said again
_FEW_WORDS = 6  # fewer can hardly be varied
_MANY_WORDS = 16


def checked_guards(unguarded: object) -> tuple[str, ...]:
    """The guards that are left when those named are switched off.

    Args:
        unguarded: A name of `GUARDS`, or several.

    Raises:
        ValueError: If one of them is no guard.
    """
    names = [unguarded] if isinstance(unguarded, str) else listed(unguarded)
    known = ", ".join(map(repr, GUARDS))
    if names is None or not all(isinstance(name, str) for name in names):
        raise UsageError(f"`unguarded` must be names among {known}, got {shown(unguarded)}")
    if unknown := [name for name in names if name not in GUARDS]:
        raise UsageError(f"`unguarded` must be names among {known}, got {', '.join(map(shown, unknown))}")
    return tuple(name for name in GUARDS if name not in names)


def is_wordless(text: str, prompts: Iterable[str] = ()) -> bool:
    """Whether no word of a text says anything: none at all, or those of a prompt, and such as "the" or "is".

    Args:
        text: Any text.
        prompts: What the metric itself reads a caption behind, whose words say nothing either.
    """
    of_prompts = {word for prompt in prompts for word in _units(_folded(prompt))}
    words = (word for word in _units(_folded(text)) if any(map(_is_letter, word)))
    return all(word in of_prompts or word in _EMPTY for word in words)


def is_marked_up(text: str) -> bool:
    """Whether tags, special tokens of language models, Markdown, LaTeX or JSON stand in a text.

    Looked at is what encoders make of it: entities are spelled out twice, wide letters are plain ones.
    """
    return _MARKUP.search(_visible(html.unescape(html.unescape(text)))) is not None


def repeats_itself(text: str) -> bool:
    """Whether a text says the same again and again.

    One word or two words three times running, a longer phrase twice running; fewer than 2 sqrt(n) distinct words among
    n (from 16 words on; 1.5 sqrt(n) from 6 on); a third of its phrases of four words said before; a letter or a sign
    ten times running, or letters as in "redredred". In scripts without spaces, where a character is a word, more.
    """
    folded = _folded(text)
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


def without_prompts(text: str, prompts: Collection[str]) -> str:
    """A text less the prompts that it begins with, however often; case, spaces and a colon behind do not matter."""
    beginnings = "|".join(r"\s+".join(map(re.escape, prompt.split())) for prompt in prompts if prompt.strip())
    found = re.match(rf"\s*(?:(?:{beginnings})(?!\w)[\s:,.]*)+", text, re.IGNORECASE) if beginnings else None
    return text[found.end() :] if found else text


def _follows_upon_itself(words: list[str], times: dict[int, int]) -> bool:
    """Whether a run of p words comes `times[p]` times in a row, or twice for a p that is not listed."""
    number = {word: i for i, word in enumerate(dict.fromkeys(words))}
    ids = np.array([number[word] for word in words])
    for p in range(1, min(len(ids) // 2, _LONGEST_RUN) + 1):
        differs = np.flatnonzero(np.concatenate([[True], ids[p:] != ids[:-p], [True]]))
        # As many words in a row are those p words before as stand between two that are not.
        if np.diff(differs).max() - 1 >= p * (times.get(p, 2) - 1):
            return True
    return False


def _visible(text: str) -> str:
    """A text in compatibility form, less what has no width."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")


def _folded(text: str) -> str:
    """A text of letters without case and without the marks upon them, which would part words of Hindi or Arabic."""
    folded = _visible(text).casefold()
    return folded if folded.isascii() else "".join(c for c in folded if not unicodedata.category(c).startswith("M"))


def _units(folded: str) -> list[str]:
    """The words of a text; of scripts without spaces, the characters."""
    return _UNIT.findall(folded)


def _is_letter(character: str) -> bool:
    """Whether it is a letter, and no mere modifier of others."""
    category = unicodedata.category(character)
    return category.startswith("L") and category != "Lm"
