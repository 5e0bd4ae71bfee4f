"""Synonyms from a bundled table derived from WordNet 3.0 (data/SOURCES.md).

A line of wordnet_synonyms.txt.xz contains a lemma and, after a tab each, the names in its synsets as noun, verb,
adjective and adverb, separated by spaces. Trailing tabs are omitted. Lines are sorted by their characters. A line of
wordnet_exceptions.txt.xz contains a part of speech, an irregular form and its lemmas.
"""

import lzma
from bisect import bisect_left
from functools import lru_cache

from vlgauge.core.files import DATA
from vlgauge.core.lru_cache import cache_per_word

PARTS = ("noun", "verb", "adj", "adv")

# Endings of inflected forms, and the corresponding endings of possible lemmas.
INFLECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh")),
        *(("men", "man"), ("ies", "y")),
    ),
    "verb": (*(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


@cache_per_word
def synonyms(word: str) -> frozenset[str]:
    """Return the word itself and the names in all synsets of the word or its lemmas, in any part of speech.

    Args:
        word: A lowercased word.

    Returns:
        Lowercased names of a single token. Only the word itself if WordNet does not contain it or it has an underscore.
    """
    found = {word}
    if "_" not in word:
        own = _names(word)
        for index, part in enumerate(PARTS):
            found.update(own[index].split(), *(_names(lemma)[index].split() for lemma in _lemmas(word, part)))
    return frozenset(found)


def _lemmas(word: str, part: str) -> list[str]:
    """Return the lemmas of an irregular form, or otherwise the possible lemmas by the endings of the word."""
    irregular = exceptions().get((part, word))
    if irregular is not None:
        return irregular
    return [word.removesuffix(old) + new for old, new in INFLECTIONS[part] if word.endswith(old)]


def _names(lemma: str) -> list[str]:
    """Return the names in the synsets of a lemma, separated by spaces, as one string per part of speech."""
    lines = _synonym_lines()
    index = bisect_left(lines, lemma)
    fields = lines[index].split("\t") if index < len(lines) else [""]
    names = fields[1:] if fields[0] == lemma else []
    return names + [""] * (len(PARTS) - len(names))


@lru_cache(maxsize=1)
def _synonym_lines() -> list[str]:
    return _lines("wordnet_synonyms.txt.xz")


@lru_cache(maxsize=1)
def exceptions() -> dict[tuple[str, str], list[str]]:
    """Return the lemmas of irregular forms, by pair of part of speech and form."""
    rows = (line.split("\t") for line in _lines("wordnet_exceptions.txt.xz"))
    return {(part, form): lemmas.split(" ") for part, form, lemmas in rows}


def _lines(name: str) -> list[str]:
    packed = (DATA / name).read_bytes()
    return lzma.decompress(packed).decode("ascii").splitlines()
