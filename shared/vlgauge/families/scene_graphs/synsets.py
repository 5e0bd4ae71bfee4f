"""Synsets and lemmas of words and compounds, from a table derived from WordNet 3.0 (data/SOURCES.md).

A line of wordnet_synsets.txt.xz contains a lemma, with its words joined by underscores, and after a tab each its
synsets as noun, verb, adjective and adverb. Synsets are listed by number, and "+2" represents two synsets that contain
no other lemma. Trailing tabs are omitted. Lines are sorted by their characters.
"""

import lzma
from bisect import bisect_left
from functools import lru_cache
from itertools import chain

from vlgauge.core.files import DATA
from vlgauge.core.lru_cache import cache_per_word
from vlgauge.families.ngram.wordnet import INFLECTIONS, PARTS, exceptions

# Endings of nouns, verbs and adjectives that METEOR 1.5 removes or replaces if the result is a lemma. The first one
# that matches is used. There are few of them, so "wolves" has a stem only as an irregular form.
_STEMMING = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
    *(("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    *(("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
)


@cache_per_word
def synsets(concept: str) -> frozenset[str]:
    """Return the names of the synsets of a word or compound and of its stem, in any part of speech.

    The lookup follows METEOR 1.5, whose dictionary SPICE uses: the lemmas of an irregular form, or otherwise the first
    lemma that results from removing an ending. In METEOR a few hundred unrelated synsets share a number, but not here.

    Args:
        concept: Words separated by spaces, such as "dog" or "traffic light", case-insensitive.

    Returns:
        The names, which are only meaningful for comparisons with each other. Empty if WordNet does not contain the
        concept.
    """
    word = concept.strip().lower().replace(" ", "_")
    bases = _bases().get(word) or (_stem(word),)
    return frozenset(name for lemma in {word, *bases} for part in range(len(PARTS)) for name in _names(lemma, part))


def lemma(word: str, part: str) -> str:
    """Return the shortest lemma of an inflected word, as NLTK's lemmatizer does, or the word itself if there is none.

    Args:
        word: A lowercased word or compound.
        part: "noun", "verb", "adj" or "adv".
    """
    return _lemma(f"{part} {word}")


def infinitive(verb: str) -> str:
    """Return the infinitive of a lowercased verb: "ride" for "rides", although its shortest lemma is "rid"."""
    irregular = exceptions().get(("verb", verb))
    known = _find_known([verb, *_without_endings([verb], "verb")], PARTS.index("verb"))
    return irregular[0] if irregular else next(iter(known), verb)


def singular(noun: str) -> str:
    """Return the singular of a lowercased plural: "man" for "men", although "men" is also a lemma of WordNet."""
    irregular = exceptions().get(("noun", noun))
    return irregular[0] if irregular else lemma(noun, "noun")


@cache_per_word
def synonyms(concept: str) -> frozenset[str]:
    """Return all lemmas in the synsets of a word or compound, or of its base forms.

    The word itself is included if it is a lemma.

    Two words may have a lemma in common but no synset, as in the authors' code of CAPTURE.

    Args:
        concept: Words separated by spaces, case-insensitive.

    Returns:
        Lowercased lemmas, with their words joined by underscores.
    """
    word = concept.strip().lower().replace(" ", "_")
    forms = [(form, index) for index, part in enumerate(PARTS) for form in _lemmas(word, part)]
    shared = {name for form, index in forms for name in _names(form, index)} & _members().keys()
    return frozenset(form for form, _ in forms).union(*(_members()[name] for name in shared))


@cache_per_word
def _lemma(part_and_word: str) -> str:
    part, word = part_and_word.split(" ", 1)
    return min(_lemmas(word, part), key=len, default=word)


def _lemmas(word: str, part: str) -> list[str]:
    """Return all lemmas of which a word may be a form, as one part of speech."""
    index = PARTS.index(part)
    irregular = exceptions().get((part, word))
    found = _find_known([word, *(irregular or _without_endings([word], part))], index)
    forms = [word]
    while not found and irregular is None and forms:
        forms = _without_endings(forms, part)
        found = _find_known(forms, index)
    return found


def is_lemma(word: str) -> bool:
    """Return whether WordNet contains a word or compound."""
    return any(_names(word.replace(" ", "_"), place) for place in range(len(PARTS)))


def _find_known(forms: list[str], index: int) -> list[str]:
    return [form for form in dict.fromkeys(forms) if _names(form, index)]


def _without_endings(forms: list[str], part: str) -> list[str]:
    pairs = ((form, old, new) for form in forms for old, new in INFLECTIONS[part] if form.endswith(old))
    return [form.removesuffix(old) + new for form, old, new in pairs]


def _stem(word: str) -> str:
    """Return the first lemma that results from an ending, or the word itself if there is none."""
    if word.endswith("ful"):
        base = word.removesuffix("ful")
        return base if is_lemma(base) else word
    if word.endswith("ss") or len(word) <= 2:
        return word
    stems = (word.removesuffix(old) + new for old, new in _STEMMING if word.endswith(old))
    return next((stem for stem in stems if is_lemma(stem)), word)


def _names(lemma: str, index: int) -> tuple[str, ...]:
    """Return the synsets of a lemma as one part of speech: "12", or "dog+0.0" if it has no other lemmas."""
    lines = _synset_lines()
    place = bisect_left(lines, lemma)
    # The line of "dog" may be after the lines of "dog's-tooth": a tab precedes all characters of lemmas.
    fields = lines[place].split("\t") if place < len(lines) else [""]
    if fields[0] != lemma or index + 1 >= len(fields):
        return ()
    *shared, last = fields[index + 1].split() or [""]
    alone = int(last) if last.startswith("+") else 0
    own = (f"{lemma}+{index}.{number}" for number in range(alone))
    return (*shared, *((last,) if last and not alone else ()), *own)


@lru_cache(maxsize=1)
def _bases() -> dict[str, tuple[str, ...]]:
    """Return the lemmas of irregular forms, regardless of their part of speech."""
    found: dict[str, tuple[str, ...]] = {}
    for (_, form), lemmas in exceptions().items():
        found[form] = tuple(dict.fromkeys((*found.get(form, ()), *lemmas)))
    return found


@lru_cache(maxsize=1)
def _members() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in _synset_lines():
        lemma, *parts = line.split("\t")
        for name in chain.from_iterable(part.split() for part in parts):
            if not name.startswith("+"):
                found.setdefault(name, []).append(lemma)
    return found


@lru_cache(maxsize=1)
def _synset_lines() -> list[str]:
    packed = (DATA / "wordnet_synsets.txt.xz").read_bytes()
    return lzma.decompress(packed).decode("ascii").splitlines()
