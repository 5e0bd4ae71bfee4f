"""Start positions of rules that look far ahead in a long text, found in linear time.

Sites, mail addresses, files and hyphenated words are searched from nearly every character up to the next space. In a
long text without spaces, each such search would scan the rest of the text. One pass over the text finds the characters
from which each of these rules can succeed at all.
"""

import re
from bisect import bisect_left

from vlgauge.inputs.text.ptb.rules import (
    AFTER_FILE,
    ENDS,
    EXTENSION,
    OF_ADDRESS,
    OF_SITE,
    OF_WORD_OR_NUMBER,
    OF_WWW,
    SPACE_OR_LINE_END,
    TOP_LEVEL,
)

# Patterns of each rule: characters that a match can contain before its last part, and the beginning of that part.
_RUNS = {
    # A label contains no uppercase letters, but the period before .COM ends it.
    "site": (re.compile(f"{OF_SITE}+(?:\\.{OF_SITE}+)*\\.?"), re.compile(f"\\.{TOP_LEVEL}")),
    "site-www": (re.compile(f"{OF_WWW}+(?:\\.{OF_WWW}+)*"), re.compile("\\.[A-Za-z]{2}")),
    "mail": (re.compile(f"<?{OF_ADDRESS}+"), re.compile(f"@(?=[^{ENDS}(){{}}.\\xa0])")),
    "file": (
        re.compile(f"{OF_WORD_OR_NUMBER}++(?:\\.{OF_WORD_OR_NUMBER}++)*+"),
        re.compile(f"\\.{EXTENSION}(?={AFTER_FILE})"),
    ),
}
_HYPHENATED = re.compile("([A-Za-z0-9.,\\xad]+)(?=(-[A-Za-z0-9\\xad\\u017f\\u212a])?)")
_OF_TAGS = re.compile("<[!?]?|[>\\r\\n]")
_OF_SLIPS = re.compile("[\\^x=~<>]\\.\\[\\^(?i:x)=|<(?:>\\])?")
_BEFORE_TAG = re.compile(f"[A-Za-z]\\.{SPACE_OR_LINE_END}++(?=<)")


def far_starts(text: str) -> dict[str, bytearray]:
    """Find the positions at which each rule that looks far ahead can begin to match.

    Args:
        text: Text of representative characters.

    Returns:
        For each rule, 1 for each character at which a match may begin, otherwise 0. A 1 does not guarantee a match.
    """
    starts = {name: _run_starts(text, run, end) for name, (run, end) in _RUNS.items()}
    starts["hyphenated"] = starts["hyphenated-stop"] = _mark_hyphenated(text)
    starts["tag"] = _tag_starts(text)
    starts["asian-smiley"] = _slip_starts(text)
    starts["letter-stop"] = _letter_stop_starts(text, starts["tag"])
    return starts


def _run_starts(text: str, run: re.Pattern[str], end: re.Pattern[str]) -> bytearray:
    """Mark the characters of a run before the last position in it at which its last part can begin."""
    starts = bytearray(len(text))
    ends = [found.start() for found in end.finditer(text)]
    for found in run.finditer(text) if ends else ():
        first, beyond = found.span()
        last = ends[bisect_left(ends, beyond) - 1]
        if first < last < beyond:
            starts[first:last] = b"\x01" * (last - first)
    return starts


def _mark_hyphenated(text: str) -> bytearray:
    """Mark each run of letters, digits, periods and commas before a hyphen and one of these characters."""
    starts = bytearray(len(text))
    for found in _HYPHENATED.finditer(text):
        if found[2]:
            first, beyond = found.span()
            starts[first:beyond] = b"\x01" * (beyond - first)
    return starts


def _tag_starts(text: str) -> bytearray:
    """Mark each "<", but "<!" and "<?" only if a ">" follows before the end of the line."""
    starts = bytearray(len(text))
    closes = False
    for found in reversed(list(_OF_TAGS.finditer(text))):
        mark = found[0]
        if mark[0] == "<":
            starts[found.start()] = mark == "<" or closes
        else:
            closes = mark == ">"
    return starts


def _slip_starts(text: str) -> bytearray:
    """Mark all characters, except where only the alternative that ends in "<>]" could match and no "<>]" follows."""
    starts = bytearray(b"\x01" * len(text))
    closes = False
    for found in reversed(list(_OF_SLIPS.finditer(text))):
        mark = found[0]
        if len(mark) > 3:
            starts[found.start()] = closes
            closes = closes and mark[0] != "<"
        else:
            closes = mark == "<>]"
    return starts


def _letter_stop_starts(text: str, tag_starts: bytearray) -> bytearray:
    """Mark all characters except letters followed by a period, spaces, and a "<" that does not begin a tag."""
    starts = bytearray(b"\x01" * len(text))
    for found in _BEFORE_TAG.finditer(text):
        starts[found.start()] = tag_starts[found.end()]
    return starts
