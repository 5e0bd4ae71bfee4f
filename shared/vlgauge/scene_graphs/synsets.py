"""Synsets and lemmas of words and compounds, from a table derived from WordNet 3.0; see data/SOURCES.md.

A line of wordnet_synsets.txt.xz is a lemma, its words joined by underscores, and after a tab each the synsets that it
is in as noun, verb, adjective and adverb: their numbers, and "+2" for two synsets that no other lemma is in. Tabs at
the end are left out. Lines are in the order of their characters.
"""

import lzma
from bisect import bisect_left
from functools import lru_cache
from itertools import chain

from vlgauge.distances.wordnet import INFLECTIONS, PARTS, exceptions
from vlgauge.files import DATA
from vlgauge.remembered import remembered_for_words

# Endings that METEOR 1.5 takes off or replaces where the result is a lemma, the first that fits: those of nouns, verbs
# and adjectives. They are few, so that "wolves" has no stem here: its exception has.
_STEMMING = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
    *(("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    *(("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
)


@remembered_for_words
def synsets(concept: str) -> frozenset[str]:
    """Names of the synsets that a word or compound may be in, in any part of speech, and those of its stem.

    As METEOR 1.5 finds them, whose dictionary SPICE uses: the lemmas of an irregular form, else the first lemma that
    taking off an ending gives. In METEOR a few hundred unrelated synsets share a number; here none do.

    Args:
        concept: Words in lower case, parted by spaces: "dog", "traffic light".

    Returns:
        The names, which mean something only beside each other; none, if WordNet does not know the concept.
    """
    word = concept.strip().lower().replace(" ", "_")
    bases = _bases().get(word) or (_stem(word),)
    return frozenset(name for lemma in {word, *bases} for part in range(len(PARTS)) for name in _names(lemma, part))


def lemma(word: str, part: str) -> str:
    """The shortest lemma of an inflected word, as NLTK's lemmatizer finds it; the word itself if there is none.

    Args:
        word: A word or compound in lower case.
        part: "noun", "verb", "adj" or "adv".
    """
    return _lemma(f"{part} {word}")


def infinitive(verb: str) -> str:
    """The infinitive of a verb in lower case: "ride" of "rides", of which the shortest lemma is "rid"."""
    irregular = exceptions().get(("verb", verb))
    known = _known([verb, *_without_endings([verb], "verb")], PARTS.index("verb"))
    return irregular[0] if irregular else next(iter(known), verb)


def singular(noun: str) -> str:
    """The singular of a plural in lower case: "men" is a lemma of WordNet too, but of "man" here."""
    irregular = exceptions().get(("noun", noun))
    return irregular[0] if irregular else lemma(noun, "noun")


@remembered_for_words
def synonyms(concept: str) -> frozenset[str]:
    """All lemmas of the synsets that a word or compound, or a form of it, may be in, itself too if it is a lemma.

    Two words may have one in common and no synset, as CAPTURE's authors take it.

    Args:
        concept: Words in lower case, parted by spaces.

    Returns:
        Lemmas in lower case, their words joined by underscores.
    """
    word = concept.strip().lower().replace(" ", "_")
    forms = [(form, index) for index, part in enumerate(PARTS) for form in _lemmas(word, part)]
    shared = {name for form, index in forms for name in _names(form, index)} & _members().keys()
    return frozenset(form for form, _ in forms).union(*(_members()[name] for name in shared))


@remembered_for_words
def _lemma(part_and_word: str) -> str:
    part, word = part_and_word.split(" ", 1)
    return min(_lemmas(word, part), key=len, default=word)


def _lemmas(word: str, part: str) -> list[str]:
    """All lemmas that a word may be a form of, as one part of speech."""
    index = PARTS.index(part)
    irregular = exceptions().get((part, word))
    found = _known([word, *(irregular or _without_endings([word], part))], index)
    forms = [word]
    while not found and irregular is None and forms:
        forms = _without_endings(forms, part)
        found = _known(forms, index)
    return found


def is_lemma(word: str) -> bool:
    """Whether WordNet has a word or compound."""
    return any(_names(word.replace(" ", "_"), place) for place in range(len(PARTS)))


def _known(forms: list[str], index: int) -> list[str]:
    return [form for form in dict.fromkeys(forms) if _names(form, index)]


def _without_endings(forms: list[str], part: str) -> list[str]:
    pairs = ((form, old, new) for form in forms for old, new in INFLECTIONS[part] if form.endswith(old))
    return [form.removesuffix(old) + new for form, old, new in pairs]


def _stem(word: str) -> str:
    """The first lemma that an ending leads to, the word itself if none does."""
    if word.endswith("ful"):
        base = word.removesuffix("ful")
        return base if is_lemma(base) else word
    if word.endswith("ss") or len(word) <= 2:
        return word
    stems = (word.removesuffix(old) + new for old, new in _STEMMING if word.endswith(old))
    return next((stem for stem in stems if is_lemma(stem)), word)


def _names(lemma: str, index: int) -> tuple[str, ...]:
    """The synsets of a lemma as one part of speech: "12", and "dog+0" for the first that has no other lemma."""
    lines = _synset_lines()
    place = bisect_left(lines, lemma)
    # The line of "dog" may stand behind those of "dog's-tooth": a tab comes before all characters of lemmas.
    fields = lines[place].split("\t") if place < len(lines) else [""]
    if fields[0] != lemma or index + 1 >= len(fields):
        return ()
    *shared, last = fields[index + 1].split() or [""]
    alone = int(last) if last.startswith("+") else 0
    own = (f"{lemma}+{index}.{number}" for number in range(alone))
    return (*shared, *((last,) if last and not alone else ()), *own)


@lru_cache(maxsize=1)
def _bases() -> dict[str, tuple[str, ...]]:
    """Lemmas of irregular forms, whatever their part of speech."""
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
