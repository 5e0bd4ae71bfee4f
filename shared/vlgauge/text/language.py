"""Sentences and words of a story, the same for every story metric."""

import re
from collections.abc import Callable
from typing import Any

from vlgauge.errors import UsageError, WeightsNotFoundError
from vlgauge.installed import importing
from vlgauge.pool import pool
from vlgauge.settings import shown
from vlgauge.text.treebank import (
    part_clitics,
    part_colons_and_commas,
    part_final_apostrophes,
    part_final_period,
    part_fused_words,
)

SENTENCE_SPLITTERS = ("rules", "punkt")
PLACEHOLDERS = ("released", "all", None)

# What stands for names in VIST and its relatives; the authors of GROOViST leave the numbered ones in.
_RELEASED_PLACEHOLDER = re.compile(r"\[(male|female|location|organization)\]")
_ANY_PLACEHOLDER = re.compile(r"\[(male|female|location|organization)\d*\]")

# Words after which one period does not end a sentence, alone or behind a hyphen.
_ABBREVIATION = re.compile(
    r"(?:.*-)?(?:dr|mr|mrs|ms|st|jr|sr|prof|vs|etc|p\.m|a\.m|u\.s|no|e\.g|i\.e|inc|co|lt|col|gen|sgt|capt)"
)
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
_OPENERS = "(\"'`\u201c\u2018[{"

# A run of stops, its closers, white space, and a token that is only closers. The lookbehind lets a match start once per
# run, not once per character of it, so that long rows of dots stay linear.
_CANDIDATE = re.compile(
    r"""([.?!](?<![.?!]{2})[.?!]*)["'\u201d\u2019)\]}]*\s+(?:["'\u201d\u2019)\]}]+(?:\s+|\Z))?""",
)

# Rules 1 to 5 of `words`, the others are in `vlgauge.text.treebank`. Where their wording leaves a choice, NLTK's
# answer is taken: longer runs of backticks fall into pairs, and the star is cut off after the apostrophe.
_OPENING_MARK_1 = re.compile(r"[«“\u2018„]|``?")
_OPENING_QUOTE_1 = re.compile(r"""(?<=[ (\[{<])(?:"|'')""")
_APOSTROPHE_2 = re.compile(r"'(?!re|ve|ll|m|t|s|d|n)(\w)\b", re.IGNORECASE)
_CLOSERS_3 = "])}>\"'»”\u2019 "
_PUNCTUATION_4 = re.compile(r"\.{2,}|[;@#$%&?!]")
_BRACKET_4 = re.compile(r"[\[\](){}<>*]|--")
_CLOSING_MARK_5 = re.compile(r"[»”\u2019]|''")
# Of the characters that a piece has, those that let one of these find something; the rules add none of them.
_OPENING_1 = frozenset("«“\u2018„`")
_COLON_OR_COMMA_4 = frozenset(":,")
_PART_OF_4 = frozenset(";@#$%&?!")
_PART_OF_BRACKET_4 = frozenset("[](){}<>*-")
_CLOSING_5 = frozenset("»”\u2019'")


def checked_splitter(sentences: Any) -> Any:
    """The setting `sentences` of a metric, if `sentence_splitter` can resolve it."""
    if not callable(sentences) and not (isinstance(sentences, str) and sentences in SENTENCE_SPLITTERS):
        choices = ", ".join(map(repr, SENTENCE_SPLITTERS))
        raise UsageError(
            f"`sentences` must be one of {choices} or a function from str to list of str, got {shown(sentences)}"
        )
    return sentences


def story_sentences(story: str | list[str], split: Callable[[str], list[str]]) -> list[str]:
    """Sentences of a story: a string is split, a list is taken as it is; each is stripped, empty ones are dropped."""
    pieces = split(story) if isinstance(story, str) else story
    if not isinstance(pieces, (list, tuple)) or not all(isinstance(piece, str) for piece in pieces):
        raise UsageError(f"`sentences` must be a function that returns a list of str, got {type(pieces).__name__}")
    return [stripped for piece in pieces if (stripped := piece.strip())]


def sentence_splitter(sentences: str | Callable[[str], list[str]] = "rules") -> Callable[[str], list[str]]:
    """Resolve the setting `sentences` of a metric.

    Args:
        sentences: "rules" (`split_sentences`, needs no data), "punkt" (`punkt_splitter`), or a function from a text to
            its sentences, which is returned as it is.
    """
    if callable(sentences):
        return sentences
    return split_sentences if sentences == "rules" else punkt_splitter()


def checked_placeholders(mode: Any) -> str | None:
    """The setting `placeholders` of a metric, if `replace_placeholders` takes it."""
    if mode is not None and (not isinstance(mode, str) or mode not in PLACEHOLDERS):
        raise UsageError.about("placeholders", f"must be one of 'released', 'all' or None, got {shown(mode)}")
    return mode


def replace_placeholders(sentence: str, mode: str | None = "released") -> str:
    """Replace `[male]`, `[female]`, `[location]` and `[organization]`, the names of published stories, by the word.

    Args:
        sentence: Any text.
        mode: "released": these four, as the authors of GROOViST and RoViST do; "all": numbered ones such as `[male0]`
            too; None: nothing.
    """
    if mode is None:
        return sentence
    pattern = _RELEASED_PLACEHOLDER if mode == "released" else _ANY_PLACEHOLDER
    return pattern.sub(r"\1", sentence)


def split_sentences(text: str) -> list[str]:
    """Split a text after each run of `. ? !` and its closing marks that white space follows.

    A single period does not end a sentence after an abbreviation ("Dr."), initials ("t.j."), a single letter before a
    letter ("J. Smith"), or a number before a lower-case letter; neither does a row of periods. The rules need no data;
    against NLTK's trained splitter they change 0.15 % of the RoViST-NR values of the 11,124 published stories they were
    adjusted on. Time is linear in the length.

    Returns:
        The sentences in their order, stripped, none empty; [] for a blank text.
    """
    text = text.strip()
    pieces = []
    start = previous = 0
    for match in _CANDIDATE.finditer(text):
        if match.end() == len(text):
            break
        if _ends_sentence(text[previous : match.start()], match[1], text[match.end()]):
            pieces.append(text[start : match.end()].rstrip())
            start = match.end()
        previous = match.end()
    pieces.append(text[start:])
    return [piece for piece in pieces if piece]


def _ends_sentence(before: str, stops: str, following: str) -> bool:
    """Whether a candidate ends its sentence.

    Args:
        before: Text since the last candidate, which ended in white space: not all of the sentence, or a long one that
            is full of abbreviations would take quadratic time.
        stops: The run of `. ? !`.
        following: First character after the candidate and its white space.
    """
    if stops.strip("."):
        return True
    if len(stops) > 1:
        return False
    if not before or before[-1].isspace():
        return True
    core = before.split()[-1].lstrip(_OPENERS).lower()
    return not (
        _ABBREVIATION.fullmatch(core)
        or (len(core) == 1 and core.isalpha() and following.isalpha())
        or _INITIALS.fullmatch(core)
        or (following.islower() and _NUMBER.fullmatch(core))
    )


def punkt_splitter() -> Callable[[str], list[str]]:
    """NLTK's trained English sentence splitter, Punkt; reads its data from disk, once, and downloads nothing."""
    with importing('`sentences="punkt"` needs NLTK, which cannot be imported here; run: pip install "vlgauge[punkt]"'):
        from nltk import data
        from nltk.tokenize.punkt import PunktTokenizer
    try:
        tokenizer = pool.get(("punkt", *data.path), lambda: PunktTokenizer("english"))
    except LookupError:
        # NLTK's own message is a banner of twenty lines.
        raise WeightsNotFoundError(
            '`sentences="punkt"` needs NLTK\'s data set punkt_tab, found in no folder that NLTK searches; '
            "run: python -m nltk.downloader punkt_tab, or set NLTK_DATA to the folder that has it"
        ) from None
    except PermissionError as error:
        # NLTK opens nothing outside of the folders that it searches, so it follows no link that leads out of them.
        raise WeightsNotFoundError(
            '`sentences="punkt"` needs NLTK\'s data set punkt_tab where NLTK may open it, got a link that leads '
            f"out of the folders that it searches ({error}); set NLTK_DATA to the folder that the link leads to"
        ) from None
    return tokenizer.tokenize


def words(sentence: str, split: Callable[[str], list[str]] = split_sentences) -> list[str]:
    """Split a sentence into words and punctuation as NLTK 3.8.1 does.

    The sentence is split into sentences once more, as the authors of RoViST do; to each piece are applied, in order:

    1. Opening marks and backticks become words; an opening double quote becomes two backticks.
    2. An apostrophe is parted from a single character after it, unless that may be a clitic.
    3. The last period becomes a word, if only closing marks follow.
    4. Colons and commas not before a digit, rows of periods, other punctuation, brackets and "--" become words.
    5. Closing marks become words; other double quotes become two apostrophes.
    6. The clitics 's 'm 'd ' and then 'll 're 've n't at the end of a word become words.
    7. Fused words (cannot, gonna, 'tis) are cut in two.
    8. White space parts the words.

    Returns:
        The tokens, none empty and none with white space; case is kept.
    """
    return [word for piece in split(sentence) for word in _piece_words(piece)]


def _piece_words(piece: str) -> list[str]:
    """The tokens of one piece; a rule whose characters are absent is skipped."""
    characters = set(piece)
    has_apostrophe, has_quote = "'" in characters, '"' in characters
    text = piece if characters.isdisjoint(_OPENING_1) else _OPENING_MARK_1.sub(r" \g<0> ", piece)
    if has_apostrophe or has_quote:
        if text.startswith('"'):
            text = f" `` {text[1:]}"
        text = _OPENING_QUOTE_1.sub(" `` ", text)
        text = _APOSTROPHE_2.sub(r"' \1", text)
    text = part_final_period(text, _CLOSERS_3)
    if not characters.isdisjoint(_COLON_OR_COMMA_4):
        text = part_colons_and_commas(text)
    if ".." in text or not characters.isdisjoint(_PART_OF_4):
        text = _PUNCTUATION_4.sub(r" \g<0> ", text)
    if has_apostrophe:
        text = part_final_apostrophes(text)
    if not characters.isdisjoint(_PART_OF_BRACKET_4):
        text = _BRACKET_4.sub(r" \g<0> ", text)
    text = f" {text} "
    if not characters.isdisjoint(_CLOSING_5):
        text = _CLOSING_MARK_5.sub(r" \g<0> ", text)
    if has_quote:
        text = text.replace('"', " '' ")
    if has_apostrophe:
        text = part_clitics(text)
    return part_fused_words(text).split()
