"""Tokens of captions as the COCO caption evaluation makes them: Penn Treebank tokens without punctuation."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from vlgauge.errors import UsageError
from vlgauge.settings import shown, warn
from vlgauge.text.treebank import (
    part_clitics,
    part_colons_and_commas,
    part_final_apostrophes,
    part_final_period,
    part_fused_words,
)

Tokenizer: TypeAlias = Callable[[str], Sequence[str]]

# Most captions: no mark but a period at the end, so that only fused words need a rule.
_PLAIN = re.compile(r"[A-Za-z0-9\s]*(?:\.\s*)?")

_OPENING_QUOTE = re.compile(r"""(?<=[ (\[{<])(?:"|'')""")
_PUNCTUATION = re.compile(r"\.\.\.|[;@#$%&?!]")
_BRACKET_OR_DASHES = re.compile(r"[<>]|--")
_WRITTEN_BRACKET = re.compile(r"(?<!\S)-[lr][rcs]b-(?!\S)")
_CLOSERS = "])}>\"'"

_BRACKETS = str.maketrans("[](){}", "      ")
_DELETED = dict.fromkeys(map(ord, "-.,;:!?\u2019\u2018\u201c\u201d\u2026"))
# Letters of Thai, Lao, Burmese, Khmer, of Japanese and of Chinese.
_OF_UNPARTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
_LONG_WORD = 6  # of such letters; few words have so many, few captions fewer

_DELETED |= dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2043\u207b\u208b\u2212\ufe63\uff0d"))


def coco_tokens(text: str) -> list[str]:
    """Split a caption into lower-case tokens without punctuation.

    The rules are those of NLTK's `TreebankWordTokenizer`, in this order:

    1. Opening double quotes become two backquotes.
    2. Colons and commas not before a digit are cut off.
    3. "..." and single marks ; @ # $ % & ? ! are cut off; between them the last period, if only closers follow.
    4. An apostrophe at the end of a word is cut off.
    5. Brackets and "--" are cut off.
    6. Other double quotes become two apostrophes.
    7. The clitics 's 'm 'd ' and then 'll 're 've n't at the end of a word are cut off.
    8. Fused words (cannot, gonna, 'tis) are cut in two.

    Then round, square and curly brackets are dropped, also where written -lrb-, and hyphens, dashes, typographic quotes
    and . , ; : ! ? are deleted, inside tokens too: "well-known" becomes wellknown, "5:30 p.m." becomes 530 pm.

    Returns:
        The tokens, none empty and none with white space; [] for a caption of white space and punctuation.
    """
    if _PLAIN.fullmatch(text):
        return part_fused_words(f" {text.replace('.', ' ')} ").lower().split()
    parted = _parted(text).lower()
    if "b-" in parted:
        parted = _WRITTEN_BRACKET.sub("", parted)
    return parted.translate(_DELETED).split()


def _parted(text: str) -> str:
    """The text with white space between its Treebank tokens and in place of brackets."""
    has_quotes = "'" in text or '"' in text
    if text.startswith('"'):
        text = f"``{text[1:]}"
    text = text.replace("``", " `` ")
    if has_quotes:
        text = _OPENING_QUOTE.sub(" `` ", text)
    text = part_colons_and_commas(text)
    text = part_final_period(_PUNCTUATION.sub(r" \g<0> ", text), _CLOSERS)
    if has_quotes:
        text = part_final_apostrophes(text)
    text = _BRACKET_OR_DASHES.sub(r" \g<0> ", f" {text.translate(_BRACKETS)} ")
    if has_quotes:
        text = part_clitics(text.replace("''", " '' ").replace('"', " '' "))
    return part_fused_words(text)


def warn_of_unparted(captions: Iterable[str]) -> None:
    """Warn where captions of a script without spaces between words would each be one token."""
    n_captions, unparted = 0, []
    for caption in captions:
        n_captions += 1
        if not caption.isascii() and len(caption.split()) == 1 and len(_OF_UNPARTED.findall(caption)) >= _LONG_WORD:
            unparted.append(caption)
    if 10 * len(unparted) > n_captions:
        warn(
            f"{len(unparted)} of {n_captions} captions have no spaces between their words, such as "
            f"{shown(unparted[0])}, and count as one word each; put spaces there, pass `tokenizer`, a function that "
            "splits them, or choose chrf"
        )


def tokenizer_setting(tokenizer: Any) -> Tokenizer | None:
    """The setting ``tokenizer`` of a metric; None stands for `coco_tokens`."""
    if tokenizer is not None and not callable(tokenizer):
        raise UsageError(f"`tokenizer` must be a function from str to list of str, got {shown(tokenizer)}")
    return tokenizer


def checked_tokenizer(tokenizer: Tokenizer) -> Callable[[str], tuple[str, ...]]:
    """The tokenizer of the user, whose results are checked."""

    def tokens(caption: str) -> tuple[str, ...]:
        found = tokenizer(caption)
        try:
            # A generator would be empty after the look at what it gives; joining is the fastest look.
            right = isinstance(found, (list, tuple)) and "".join(found) is not None
        except TypeError:
            right = False
        if not right:
            raise UsageError(f"`tokenizer` must return a list of str, got {shown(found)} for {shown(caption)}")
        return tuple(found)

    return tokens
