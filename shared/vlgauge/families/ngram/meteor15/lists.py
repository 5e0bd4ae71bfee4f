"""Word lists of METEOR 1.5, read from its jar: function words, prefixes, synonym sets and irregular forms."""

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from vlgauge.core.errors import UsageError
from vlgauge.core.files import decode_text
from vlgauge.core.lru_cache import cache_per_word
from vlgauge.inputs.text.meteor_tokens import Prefixes
from vlgauge.inputs.text.porter2 import porter2_stem

FUNCTION_WORDS = "function/english.words"
PREFIXES = "nonbreaking/english.prefixes"
SYNSETS = "synonym/english.synsets"
EXCEPTIONS = "synonym/english.exceptions"

# Endings of inflected forms, and the corresponding endings of base forms. The first one that forms a known word is
# used.
_ENDINGS = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
    *(("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    *(("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
)
_MOST_BYTES = 2**26  # maximum size of a list


class Word(NamedTuple):
    """Properties by which a word is compared.

    Attributes:
        code: Hash of the word, 32 bits. Words with equal hashes are treated as equal.
        stem: Hash of the stem.
        synsets: Numbers of the synonym sets of the word.
        is_function: 1 for a function word, otherwise 0.
    """

    code: int
    stem: int
    synsets: frozenset[str]
    is_function: int


class WordLists:
    """Word lists, and the properties of words that follow from them.

    Args:
        function_words: Lowercased function words.
        prefixes: Words that keep their period.
        synsets: Numbers of the synonym sets of each base form, separated by spaces.
        exceptions: Base forms of each irregular form.

    Attributes:
        prefixes: Words that keep their period.
        word: Cached function from a word to its properties, a `Word`.
    """

    def __init__(
        self,
        function_words: frozenset[str],
        prefixes: Prefixes,
        synsets: dict[str, str],
        exceptions: dict[str, list[str]],
    ) -> None:
        self.prefixes = prefixes
        self._function_words, self._synsets, self._exceptions = function_words, synsets, exceptions
        self.word = cache_per_word(self._word)

    def _word(self, word: str) -> Word:
        return Word(java_hash(word), java_hash(porter2_stem(word)), self._sets(word), int(word in self._function_words))

    def _sets(self, word: str) -> frozenset[str]:
        """Return the numbers of the synonym sets of a word and of its base forms."""
        forms = [word, *self._base_forms(word)]
        return frozenset(number for form in forms for number in self._synsets.get(form, "").split())

    def _base_forms(self, word: str) -> list[str]:
        if word in self._exceptions:
            return self._exceptions[word]
        if word.endswith("ss") or len(word) <= 2:
            return []
        forms = (word.removesuffix(old) + new for old, new in _ENDINGS if word.endswith(old))
        return [next((form for form in forms if form in self._synsets), word)]


def java_hash(word: str) -> int:
    """Compute Java's hash of a string, by which METEOR compares words. A few short words share a hash."""
    code = 0
    units = word.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + low + (high << 8)) & 0xFFFFFFFF
    return code


def read_lists(path: Path) -> WordLists:
    """Read the lists from a jar, which is a zip file.

    Raises:
        UsageError: If it is not a zip file, is damaged, or lacks a list.
        OSError: If it cannot be read.
    """
    names = (FUNCTION_WORDS, PREFIXES, SYNSETS, EXCEPTIONS)
    try:
        with zipfile.ZipFile(path) as jar:
            words, prefixes, synsets, exceptions = (_lines(jar, name, path) for name in names)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        reason = str(error.args[0] if isinstance(error, KeyError) else error)
        raise UsageError.about(
            "lists", f"must be a meteor-1.5.jar, a zip file with {', '.join(names)}, got {str(path)!r} ({reason})"
        ) from None
    forms: dict[str, list[str]] = {}
    for lemma, irregular in _pairs(exceptions):
        for form in irregular.split():
            forms.setdefault(form, []).append(lemma)
    function_words = frozenset(word.strip() for word in words if word.strip())
    return WordLists(function_words, Prefixes.of_lines(prefixes), dict(_pairs(synsets)), forms)


def _lines(jar: zipfile.ZipFile, name: str, path: Path) -> list[str]:
    if jar.getinfo(name).file_size > _MOST_BYTES:
        raise UsageError.about(
            "lists", f"must have lists of at most {_MOST_BYTES:,} bytes, got a larger {name} in {str(path)!r}"
        )
    return decode_text(jar.read(name), "`lists`", f"{path}, {name}").replace("\r", "").split("\n")


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Return pairs of consecutive lines. An unpaired last line is dropped."""
    every = iter(lines)
    return zip(every, every, strict=False)
