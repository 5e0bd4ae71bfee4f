"""Rules of Penn Treebank tokens that the words of stories and the tokens of captions have in common.

Each function takes and returns text in which spaces part the tokens; which rules are applied, in which order, and with
which marks, is up to `vlgauge.text.language` and `vlgauge.text.coco_tokens`.
"""

import re

_COLON_OR_COMMA = re.compile(r"([:,])(\D|\Z)")
_APOSTROPHE = re.compile(r"(?<=[^'])'(?= )")
# What stands before a clitic is looked at last: a search for a character is faster than one that looks back at each.
_SHORT_CLITIC = re.compile(r"'(?<=[^' ]')[sSmMdD]?(?= )")
_LONG_CLITIC = re.compile(r"(?:'ll|'LL|'re|'RE|'ve|'VE|n't|N'T)(?<=[^' ]...)(?= )")
_FUSED_WORDS = re.compile(
    r"\b(can(?=not\b)|d(?='ye\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|more(?='n\b)|wan(?=na\s))"
    r"(not|'ye|me|na|ta|'n)",
    re.IGNORECASE,
)
# Texts without these have none of those words, and are told from the others sooner.
_OF_FUSED_WORDS = ("nno", "nna", "mme", "tta", "'")
# Two regexes, because the first may put the space before the second: " 'tis'twas".
_TIS = re.compile(r" ('t)(is)\b", re.IGNORECASE)
_TWAS = re.compile(r" ('t)(was)\b", re.IGNORECASE)


def part_colons_and_commas(text: str) -> str:
    """Cut off colons and commas that no digit follows; of ",,a" only the first."""
    return _COLON_OR_COMMA.sub(r" \1 \2", text)


def part_final_period(text: str, closers: str) -> str:
    """Cut off the last period, unless after another one, if only white space and `closers` follow."""
    # No regex, because the obvious one takes quadratic time on a row of spaces.
    body = text.rstrip().rstrip(closers)
    if body.endswith(".") and not body.endswith(".."):
        return f"{body[:-1]} . {text[len(body) :]}"
    return text


def part_final_apostrophes(text: str) -> str:
    """Cut off an apostrophe that ends a word."""
    return _APOSTROPHE.sub(" '", text)


def part_clitics(text: str) -> str:
    """Cut off 's 'm 'd ' and then 'll 're 've n't at the end of a word; the text must end in a space."""
    return _LONG_CLITIC.sub(r" \g<0>", _SHORT_CLITIC.sub(r" \g<0>", text))


def part_fused_words(text: str) -> str:
    """Cut cannot, gonna, 'tis and their like in two; the text must begin and end in a space."""
    lower = text.lower()
    if any(part in lower for part in _OF_FUSED_WORDS):
        text = _FUSED_WORDS.sub(r" \1 \2 ", text)
    if "'" in text:
        return _TWAS.sub(r" \1 \2 ", _TIS.sub(r" \1 \2 ", text))
    return text
