"""Objects that a caption mentions, in the three variants of CHAIR.

"2018" is the authors' code, which converts plurals to singulars with the rules of the library pattern, so that "bus"
becomes "bu" and is never found. "opera" uses the tags and lemmas of NLTK instead, as most papers since 2024 do. "fixed"
corrects the errors of both with WordNet lemmas, names of three words, and names without the stray spaces of the table.
"""

import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from vlgauge.core.files import DATA
from vlgauge.families.scene_graphs import singular
from vlgauge.inputs.text.language import words

VARIANTS = ("2018", "opera", "fixed")
Table = Mapping[str, str]
_NO_NAMES: Table = MappingProxyType({})


@dataclass(frozen=True)
class Mention:
    """Object that a caption mentions.

    Attributes:
        word: Word in the table, such as "puppy".
        node: Object that the word denotes, such as "dog".
        start: Index of the first token.
        end: Index after the last token.
    """

    word: str
    node: str
    start: int
    end: int


@lru_cache(maxsize=1)
def merge_names() -> dict[str, str]:
    """Return the names of two words, and the name that each of them counts as.

    "bow tie" is a tie, "toilet seat" is not a seat, and a "baby bird" is not a person. "wine glas" is the form of "wine
    glass" under the rules of 2018.
    """
    found: dict[str, str] = json.loads((DATA / "chair" / "merged_names.json").read_text())
    return found


@lru_cache(maxsize=2)
def mscoco_table(mended: bool = False) -> dict[str, str]:
    """Return the node of each of the 403 words for the 80 objects of MS-COCO.

    Args:
        mended: Whether to strip spaces around words and to lowercase them, because lowercased captions cannot match
            them otherwise.
    """
    rows = [line.strip().split(", ") for line in (DATA / "chair" / "mscoco_objects.txt").read_text().splitlines()]
    return object_table([[word.strip().lower() for word in row] if mended else row for row in rows if row != [""]])


def object_table(rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the node of each word in rows of synonyms.

    The first word of a row is its node. If several rows contain a word, the last row applies.
    """
    return {word: row[0] for row in rows for word in row}


def names_in(table: Table, forms: Callable[[list[str]], list[str]]) -> dict[str, str]:
    """Return the multi-word names of a custom table, by their form in a caption normalized with `forms`."""
    parts = {name: words(name) for name in table}
    return {" ".join(forms(own)): name for name, own in parts.items() if len(own) > 1}


def forms_2018(plain: Sequence[str]) -> list[str]:
    """Return the singulars by the rules of 2018."""
    return [singular_2018(word) for word in plain]


def forms_fixed(plain: Sequence[str], table: Table) -> list[str]:
    """Return the singulars, but keep words of the table unchanged."""
    return [word if word in table else singular(word) for word in plain]


def find_mentions(
    caption: str,
    table: Table,
    forms: Callable[[list[str]], list[str]],
    own: Table = _NO_NAMES,
    *,
    mended: bool = False,
) -> tuple[list[Mention], list[str]]:
    """Find the objects of a caption.

    Args:
        caption: Caption of the model.
        table: Node of each word.
        forms: Function that returns the singulars or lemmas of the words of a caption.
        own: Output of `names_in` for a custom table. Empty for the MS-COCO table.
        mended: Whether to correct the errors of the authors' code: names may have three words, and all words of a name
            but the last one are kept unchanged, as in "tennis racket".

    Returns:
        The mentions, and the words after multi-word names were merged. The seat of a toilet does not count as a seat.
    """
    plain = words(caption.lower())
    tokens = forms(plain)
    if mended:
        followers = [*tokens, ""][1:]
        tokens = [
            word if f"{word} {after}" in merge_names() else form
            for word, form, after in zip(plain, tokens, followers, strict=True)
        ]
    names = {**merge_names(), **own} if own else merge_names()
    longest = max([3 if mended else 2, *(name.count(" ") + 1 for name in own)])
    spans: list[tuple[str, int, int]] = []
    start = 0
    while start < len(tokens):
        sizes = range(min(longest, len(tokens) - start), 1, -1)
        size = next((size for size in sizes if " ".join(tokens[start : start + size]) in names), 1)
        word = " ".join(tokens[start : start + size])
        spans.append((names[word] if size > 1 else word, start, start + size))
        start += size
    merged = [word for word, *_ in spans]
    if "toilet" in merged and "seat" in merged:  # "the seat of the toilet" is not a chair
        spans = [span for span in spans if span[0] != "seat"]
    found = [Mention(word, table[word], first, last) for word, first, last in spans if word in table]
    return found, merged


@lru_cache(maxsize=1)
def _rules() -> tuple[dict[str, list[str]], list[tuple[re.Pattern[str], str]], dict[str, str]]:
    content = json.loads((DATA / "chair" / "singular_rules.json").read_text())
    lists = {key: content[key] for key in ("unchanged", "endings_in_ies", "prepositions")}
    return lists, [(re.compile(pattern), form) for pattern, form in content["rules"]], content["irregular"]


@lru_cache(maxsize=2**16)
def singular_2018(word: str) -> str:
    """Return the singular by the rules of the library pattern, including their errors: "bus" becomes "bu"."""
    lists, rules, irregular = _rules()
    head, dash, tail = word.partition("-")
    if dash and tail.split("-")[0] in lists["prepositions"]:
        return f"{singular_2018(head)}-{tail}"
    if word.endswith("'"):
        return singular_2018(word[:-1]) + "'s"
    # The library tests whether a word of the list ends with this word, not the reverse, so "s" is kept unchanged.
    if any(known.endswith(word) for known in lists["unchanged"]):
        return word
    if any(word.endswith(f"{ending}s") for ending in lists["endings_in_ies"]):
        return word
    for plural, form in irregular.items():
        if word.endswith(plural):
            return word.removesuffix(plural) + form
    for pattern, form in rules:
        if found := pattern.search(word):
            for number, group in enumerate(found.groups(), 1):
                if group is None:
                    form = form.replace(f"\\{number}", "")
            return pattern.sub(form, word)
    return word
