"""Character classes of the PTB tokenizer, each with one representative character.

The rules read a text in which every letter beyond ASCII is replaced with `LETTER`, and so on, so that the classes in
their patterns are small. Characters that are named in a rule are not replaced. The classes come from CoreNLP 3.4.1,
with letters and digits of Unicode 6, independent of Python's version of Unicode.
"""

import json
from bisect import bisect_right
from functools import cache

from vlgauge.core.files import DATA

LETTER, DIGIT, MARK, SYMBOL, SURROGATE, UNKNOWN = "\xaa", "\u0660", "\u0301", "\u2190", "\ud800", "\ufffe"

# Lists of words and of hexadecimal code points beyond ASCII, each one or first-last. No two ranges overlap.
LISTS = {name: " ".join(lines).split() for name, lines in json.loads((DATA / "ptb.json").read_text("utf-8")).items()}


def _ranges(name: str) -> list[tuple[int, int]]:
    ends = [code.split("-") for code in LISTS[name]]
    return [(int(end[0], 16), int(end[-1], 16)) for end in ends]


@cache
def _classes() -> list[tuple[int, int, str]]:
    """Return first, last and representative character of each range, in ascending order."""
    found = [(0, 0x7F, UNKNOWN), (0xD800, 0xDFFF, SURROGATE)]  # ASCII characters are never looked up
    for name, stand_in in (("letters", LETTER), ("marks", MARK), ("symbols", SYMBOL)):
        found += [(first, last, stand_in) for first, last in _ranges(name)]
    found += [(zero, zero + 9, DIGIT) for zero, _ in _ranges("zeros")]
    return sorted(found)


class _StandIns(dict[int, str]):
    """Cache of the representative character of each code point, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        classes = _classes()
        _, last, stand_in = classes[bisect_right(classes, code, key=lambda one: one[0]) - 1]
        self[code] = stand_in if code <= last else UNKNOWN
        return self[code]


STAND_INS = _StandIns((code, chr(code)) for code in range(128))
# Characters named in rules. The letters among them fold with "i", "s" and "k".
STAND_INS.update((code, chr(code)) for first, last in _ranges("named") for code in range(first, last + 1))
