"""Caption tokens as in the authors' code: Penn Treebank tokens of NLTK without punctuation."""

import re

from vlgauge.inputs.text.treebank import (
    part_clitics,
    part_colons_and_commas,
    part_final_apostrophes,
    part_final_period,
    part_fused_words,
)

# Most captions contain no punctuation but a final period, so that only fused words need a rule.
_PLAIN = re.compile(r"[A-Za-z0-9\s]*(?:\.\s*)?")

_OPENING_QUOTE = re.compile(r"""(?<=[ (\[{<])(?:"|'')""")
_PUNCTUATION = re.compile(r"\.\.\.|[;@#$%&?!]")
_BRACKET_OR_DASHES = re.compile(r"[<>]|--")
_WRITTEN_BRACKET = re.compile(r"(?<!\S)-[lr][rcs]b-(?!\S)")
_CLOSERS = "])}>\"'"

_BRACKETS = str.maketrans("[](){}", "      ")
_DELETED = dict.fromkeys(map(ord, "-.,;:!?\u2019\u2018\u201c\u201d\u2026"))
_DELETED |= dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2043\u207b\u208b\u2212\ufe63\uff0d"))


def treebank_tokens(text: str) -> list[str]:
    """Split a caption into lowercase tokens without punctuation.

    The rules follow NLTK's `TreebankWordTokenizer`, in this order:

    1. Opening double quotes become two backquotes.
    2. Colons and commas that are not before a digit are split off.
    3. "..." and the single characters ; @ # $ % & ? ! are split off, and the last period, if only closing characters
      follow.
    4. An apostrophe at the end of a word is split off.
    5. Brackets and "--" are split off.
    6. Other double quotes become two apostrophes.
    7. The clitics 's 'm 'd ' and then 'll 're 've n't at the end of a word are split off.
    8. Fused words (cannot, gonna, 'tis) are split in two.

    Then round, square and curly brackets are removed, also in the form -lrb-, and hyphens, dashes, typographic quotes
    and . , ; : ! ? are deleted, also within tokens: "well-known" becomes wellknown, "5:30 p.m." becomes 530 pm.

    Returns:
        Non-empty tokens without whitespace. Empty for a caption of whitespace and punctuation.
    """
    if _PLAIN.fullmatch(text):
        return part_fused_words(f" {text.replace('.', ' ')} ").lower().split()
    parted = _split(text).lower()
    if "b-" in parted:
        parted = _WRITTEN_BRACKET.sub("", parted)
    return parted.translate(_DELETED).split()


def _split(text: str) -> str:
    """Insert spaces between the Treebank tokens of a text and in place of brackets."""
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
