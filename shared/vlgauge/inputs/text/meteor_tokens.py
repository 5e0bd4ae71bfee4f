"""Tokens of METEOR 1.5 for English, with normalization (``-l en -norm``). Punctuation marks are tokens."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

_LETTERS = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ӿԀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"
# Characters that Java's `trim` removes from both ends of a text.
_TRIMMED = "".join(map(chr, range(0x21)))
_MULTI, _PROTECTED = "DOTMULTI", "DOTDOTMULTI"  # placeholders of the program, which a caption may contain

_PLAIN = re.compile(r"[A-Za-z0-9 ]*")
_LINE_END = re.compile(r"[\r\n]")
_MARK = re.compile(rf"([^{_LETTERS}0-9 \t\n\x0b\f\r.'`,\-\u2018\u2019])")
_PERIODS = re.compile(r"\.(\.+)")
_LAST_PERIOD = re.compile(rf"{_MULTI}\.([^.])")
_COMMAS = tuple(map(re.compile, ("([^0-9]),([^0-9])", "([0-9]),([^0-9])", "([^0-9]),([0-9])")))
_SINGLE_QUOTE = re.compile("[`\u2018\u2019]")
_DOUBLE_QUOTE = re.compile("[\u201c\u201d]|''")
_HYPHEN = re.compile(rf"([{_LETTERS}0-9.])-([{_LETTERS}0-9])")
_APOSTROPHES = (
    (re.compile(rf"([^{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([^{_LETTERS}0-9])'([{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTERS}])'([{_LETTERS}])"), r"\1 '\2"),
    (re.compile(r"([0-9])'(s)"), r"\1 '\2"),
)
_BLANKS = re.compile("[ \u00a0\u2000-\u200a\u202f\u205f\u3000]+")
_BETWEEN_WORDS = re.compile(r"[ \t\n\r\f]+")
_LETTER = re.compile(f"[{_LETTERS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMERIC = "#NUMERIC_ONLY#"


@dataclass(frozen=True)
class Prefixes:
    """Words that keep their period.

    Attributes:
        always: Words that keep it before any word.
        before_numbers: Words that keep it before a digit only.
    """

    always: frozenset[str]
    before_numbers: frozenset[str]

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> "Prefixes":
        """Parse the lines of a list: one word each, some followed by a mark that limits the word to numbers."""
        words = [line.split() for line in lines]
        entries = [one for one in words if one and not one[0].startswith("#")]
        numeric = frozenset(one[0] for one in entries if one[1:2] == [_NUMERIC])
        return cls(frozenset(one[0] for one in entries) - numeric, numeric)


def meteor_tokens(text: str, prefixes: Prefixes) -> list[str]:
    """Split a text into lowercased tokens.

    Args:
        text: A caption. Its case matters for the word after a period.
        prefixes: Words that keep their period.
    """
    if _PLAIN.fullmatch(text) and _MULTI not in text:
        return text.lower().split()
    text = _LINE_END.sub(" ", _SURROGATE.sub("\ufffd", text))
    return _words(_normalize(text, prefixes).lower())


def _words(text: str) -> list[str]:
    return [word for word in _BETWEEN_WORDS.split(text) if word]


def _normalize(text: str, prefixes: Prefixes) -> str:
    """Insert spaces between the tokens of a text. The order of the rules matters."""
    text = _MARK.sub(r" \1 ", f" {text.strip(_TRIMMED)} ")
    text = _PERIODS.sub(rf" {_MULTI}\1", text)
    while f"{_MULTI}." in text:
        text = _LAST_PERIOD.sub(rf"{_PROTECTED} \1", text).replace(f"{_MULTI}.", _PROTECTED)
    if "," in text:
        for comma in _COMMAS:
            text = comma.sub(r"\1 , \2", text)
    text = _DOUBLE_QUOTE.sub(' " ', _SINGLE_QUOTE.sub("'", text))
    text = _HYPHEN.sub(r"\1 \2", text.replace("\u2013", "-").replace("--", "-"))
    if "'" in text:
        for apostrophe, parted in _APOSTROPHES:
            text = apostrophe.sub(parted, text)
    words = _words(text)
    text = " ".join(_split_period(word, after, prefixes) for word, after in pairwise([*words, ""]))
    while _PROTECTED in text:
        text = text.replace(_PROTECTED, f"{_MULTI}.")
    return _BLANKS.sub(" ", text.replace(_MULTI, ".")).strip(_TRIMMED)


def _split_period(word: str, after: str, prefixes: Prefixes) -> str:
    """Separate the last period of a word, unless the word is an abbreviation or the sentence continues."""
    if len(word) < 2 or not word.endswith("."):
        return word
    stem = word[:-1]
    if "." in stem and _LETTER.search(stem):
        return word.replace(".", "")
    goes_on = stem in prefixes.always or "a" <= after[:1] <= "z"
    if goes_on or (stem in prefixes.before_numbers and "0" <= after[:1] <= "9"):
        return word
    return f"{stem} ."
