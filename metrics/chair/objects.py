"""Objects that a caption names, in the three dialects of CHAIR.

"2018": the authors' code, which cuts plurals by the rules of the library pattern, so that "bus" is "bu" and never an
object. "opera": what most papers since 2024 use, NLTK's tags and lemmas in its place. "fixed": their mistakes mended,
by WordNet's lemmas, names of three words, and names without the blanks that the table has by mistake.
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

from vlgauge.files import DATA
from vlgauge.scene_graphs import singular
from vlgauge.text.language import words

DIALECTS = ("2018", "opera", "fixed")
Table = Mapping[str, str]
_NO_NAMES: Table = MappingProxyType({})


@dataclass(frozen=True)
class Mention:
    """An object that a caption names.

    Attributes:
        word: As the table has it: "puppy".
        node: What it stands for: "dog".
        start: Index of its first token.
        end: Index behind its last token.
    """

    word: str
    node: str
    start: int
    end: int


# Two words that are one name. "bow tie" is a tie; "toilet seat" is no seat; "wine glas" is what the rules of 2018 make
# of "wine glass".
_PAIRS = (
    "motor bike",
    "motor cycle",
    "air plane",
    "traffic light",
    "street light",
    "traffic signal",
    "stop light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "suit case",
    "sports ball",
    "baseball bat",
    "baseball glove",
    "tennis racket",
    "wine glass",
    "hot dog",
    "cell phone",
    "mobile phone",
    "teddy bear",
    "hair drier",
    "potted plant",
    "laptop computer",
    "stove top oven",
    "home plate",
    "train track",
)
_RENAMED = {"bow tie": "tie", "toilet seat": "toilet", "wine glas": "wine glass"}
# A "baby bird" is no person.
_ANIMALS = ("bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "animal", "cub")
_VEHICLES = ("jet", "train")


@lru_cache(maxsize=1)
def merged_names() -> dict[str, str]:
    """Names of several words, and the name that counts."""
    found = {name: name for name in _PAIRS} | _RENAMED
    found |= {f"{age} {animal}": animal for animal in _ANIMALS for age in ("baby", "adult")}
    return found | {f"passenger {vehicle}": vehicle for vehicle in _VEHICLES}


@lru_cache(maxsize=2)
def mscoco_table(mended: bool = False) -> dict[str, str]:
    """Node of each of the 403 words for the 80 objects of MS-COCO.

    Mended, blanks around a word and capitals are taken off, as no caption in lower case has them.
    """
    rows = [line.strip().split(", ") for line in (DATA / "chair" / "mscoco_objects.txt").read_text().splitlines()]
    return object_table([[word.strip().lower() for word in row] if mended else row for row in rows if row != [""]])


def object_table(rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """Node of each word of rows of synonyms, the first of which is the node; the last row that has a word wins."""
    return {word: row[0] for row in rows for word in row}


def names_in(table: Table, forms: Callable[[list[str]], list[str]]) -> dict[str, str]:
    """Names of several words in a table of one's own, as they stand in a caption whose words became their forms."""
    parts = {name: words(name) for name in table}
    return {" ".join(forms(own)): name for name, own in parts.items() if len(own) > 1}


def forms_2018(plain: Sequence[str]) -> list[str]:
    """Singulars by the rules of 2018."""
    return [singular_2018(word) for word in plain]


def forms_fixed(plain: Sequence[str], table: Table) -> list[str]:
    """Singulars, but words that the table has stay as they are."""
    return [word if word in table else singular(word) for word in plain]


def mentions_2018(caption: str, table: Table, own: Table = _NO_NAMES) -> tuple[list[Mention], list[str]]:
    """Objects and words of a caption as the authors find them, in 2018; `own` are the `names_in` a table."""
    return _mentions(forms_2018(words(caption.lower())), table, own, longest=2)


def mentions_opera(
    caption: str, table: Table, lemmas: Callable[[list[str]], list[str]], own: Table = _NO_NAMES
) -> tuple[list[Mention], list[str]]:
    """The same with tags and lemmas of NLTK.

    Args:
        caption: As the model wrote it.
        table: Node of each word.
        lemmas: Of the words of a caption.
        own: The `names_in` the table, where it is one of one's own.
    """
    return _mentions(lemmas(words(caption.lower())), table, own, longest=2)


def mentions_fixed(caption: str, table: Table, own: Table = _NO_NAMES) -> tuple[list[Mention], list[str]]:
    """The same with the mistakes mended.

    A word that the table has stays as it is; else its singular is looked up. Names of three words are names, and the
    words of a name but the last stay as they are: "tennis racket". A seat of a toilet counts only beside another seat.
    """
    plain = words(caption.lower())
    names = merged_names()
    lemmas = forms_fixed(plain, table)
    forms = [
        word if f"{word} {after}" in names else lemma
        for word, lemma, after in zip(plain, lemmas, [*lemmas, ""][1:], strict=True)
    ]
    return _mentions(forms, table, own, longest=3)


def _mentions(tokens: Sequence[str], table: Table, own: Table, longest: int) -> tuple[list[Mention], list[str]]:
    """Mentions of a caption, and its words after names of several words have become one."""
    names = {**merged_names(), **own} if own else merged_names()
    longest = max([longest, *(name.count(" ") + 1 for name in own)])
    spans: list[tuple[str, int, int]] = []
    start = 0
    while start < len(tokens):
        sizes = range(min(longest, len(tokens) - start), 1, -1)
        size = next((size for size in sizes if " ".join(tokens[start : start + size]) in names), 1)
        word = " ".join(tokens[start : start + size])
        spans.append((names[word] if size > 1 else word, start, start + size))
        start += size
    merged = [word for word, *_ in spans]
    if "toilet" in merged and "seat" in merged:  # "the seat of the toilet" is no chair
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
    """The singular by the rules of the library pattern, mistakes included: "bus" gives "bu", "glass" gives "glas"."""
    lists, rules, irregular = _rules()
    head, dash, tail = word.partition("-")
    if dash and tail.split("-")[0] in lists["prepositions"]:
        return f"{singular_2018(head)}-{tail}"
    if word.endswith("'"):
        return singular_2018(word[:-1]) + "'s"
    # The library asks whether the list's word ends with this one, not the other way round: "s" stays as it is.
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
