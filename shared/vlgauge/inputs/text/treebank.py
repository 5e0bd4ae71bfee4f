"""Penn Treebank tokenization rules shared by the words of stories and the tokens of captions.

Each function accepts and returns a text in which spaces separate the tokens. `vlgauge.inputs.text.language` and
`vlgauge.inputs.text.treebank_tokens` select the rules, their order, and the marks.
"""

import re

_COLON_OR_COMMA = re.compile(r"([:,])(\D|\Z)")
_APOSTROPHE = re.compile(r"(?<=[^'])'(?= )")
# The character before a clitic is checked last, because searching for a character is faster than a lookbehind at each
# one.
_SHORT_CLITIC = re.compile(r"'(?<=[^' ]')[sSmMdD]?(?= )")
_LONG_CLITIC = re.compile(r"(?:'ll|'LL|'re|'RE|'ve|'VE|n't|N'T)(?<=[^' ]...)(?= )")
_FUSED_WORDS = re.compile(
    r"\b(can(?=not\b)|d(?='ye\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|more(?='n\b)|wan(?=na\s))"
    r"(not|'ye|me|na|ta|'n)",
    re.IGNORECASE,
)
# Texts without any of these contain no fused words. This check is faster than the regex.
_OF_FUSED_WORDS = ("nno", "nna", "mme", "tta", "'")
# Two regexes, because the first one may insert the space before the second word: " 'tis'twas".
_TIS = re.compile(r" ('t)(is)\b", re.IGNORECASE)
_TWAS = re.compile(r" ('t)(was)\b", re.IGNORECASE)


def part_colons_and_commas(text: str) -> str:
    """Separate colons and commas that no digit follows. In ",,a" only the first comma is separated."""
    return _COLON_OR_COMMA.sub(r" \1 \2", text)


def part_final_period(text: str, closers: str) -> str:
    """Separate the last period, except after another period, if only whitespace and `closers` follow."""
    # No regex, because the obvious one takes quadratic time on a run of spaces.
    body = text.rstrip().rstrip(closers)
    if body.endswith(".") and not body.endswith(".."):
        return f"{body[:-1]} . {text[len(body) :]}"
    return text


def part_final_apostrophes(text: str) -> str:
    """Separate an apostrophe at the end of a word."""
    return _APOSTROPHE.sub(" '", text)


def part_clitics(text: str) -> str:
    """Separate 's 'm 'd ' and then 'll 're 've n't at the end of a word. The text must end with a space."""
    return _LONG_CLITIC.sub(r" \g<0>", _SHORT_CLITIC.sub(r" \g<0>", text))


def part_fused_words(text: str) -> str:
    """Split cannot, gonna, 'tis and similar words in two. The text must begin and end with a space."""
    lower = text.lower()
    if any(part in lower for part in _OF_FUSED_WORDS):
        text = _FUSED_WORDS.sub(r" \1 \2 ", text)
    if "'" in text:
        return _TWAS.sub(r" \1 \2 ", _TIS.sub(r" \1 \2 ", text))
    return text
