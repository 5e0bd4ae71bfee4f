"""Inverse document frequencies (idf) of words over a corpus of stories, and their file format."""

import hashlib
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.pickles import read_pickle
from vlgauge.core.errors import UsageError
from vlgauge.core.files import existing_file, read_json
from vlgauge.core.validation import short_repr
from vlgauge.core.writing import write
from vlgauge.inputs.text.language import split_sentences, story_sentences, words

PICKLES = (".pkl", ".pickle", ".p")


@dataclass(frozen=True)
class IdfTable:
    """Table of idf(word) = ln(N / (1 + df)) for df stories that contain the word (Wang et al., 2022, Eq. 1).

    Attributes:
        n_stories: Number N of stories. None for a table of precomputed idf values.
        df: Number of stories per word, or precomputed idf values if `n_stories` is None.
        lowercase: Whether words are lowercased before the lookup.
    """

    n_stories: int | None
    df: Mapping[str, float]
    lowercase: bool = False

    @cached_property
    def _unseen(self) -> float:
        # A word of one story has the idf ln(N / 2), so a word of no story has ln 2 more.
        return max(self.df.values()) + math.log(2) if self.n_stories is None else math.log(self.n_stories)

    def contains(self, word: str) -> bool:
        """Return whether the corpus contains the word."""
        return (word.lower() if self.lowercase else word) in self.df

    def value(self, word: str) -> float:
        """Return the idf of a word (Wang et al., 2022, Eq. 1), with df = 0 if the corpus lacks the word."""
        count = self.df.get(word.lower() if self.lowercase else word)
        if count is None:
            return self._unseen
        return float(count) if self.n_stories is None else math.log(self.n_stories / (1 + count))

    def mean(self, phrase: str) -> float:
        """Return the mean idf over the words of a phrase, split at single spaces."""
        values = [self.value(word) for word in phrase.strip().split(" ")]
        return sum(values) / len(values)

    @property
    def identity(self) -> str:
        """Name and digest of the content, for signatures."""
        content = [self.n_stories, sorted(self.df.items()), self.lowercase]
        return f"idf@{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as JSON.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        content = {"N": self.n_stories, "df": dict(sorted(self.df.items())), "lowercase": self.lowercase}
        write(path, json.dumps(content, ensure_ascii=False, indent=0) + "\n")


def fit_idf(stories: Sequence[str | Sequence[str]], *, lowercase: bool = False) -> IdfTable:
    """Count the stories that contain each word.

    Args:
        stories: Stories of the corpus, each a string or a list of sentences.
        lowercase: Whether words that differ only in case are the same.

    Raises:
        UsageError: If there is no story, or a story is neither a string nor a list of strings.
    """
    if isinstance(stories, str) or not len(stories):
        raise UsageError.about("idf", f"must be fitted on a list of at least one story, got {short_repr(stories)}")
    df: Counter[str] = Counter()
    for i, story in enumerate(stories):
        texts = [story] if isinstance(story, str) else story
        if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
            raise UsageError.about(
                "idf", f"must be fitted on stories, each a string or a list of str, got {short_repr(story)} as {i}"
            )
        sentences = story_sentences(story if isinstance(story, str) else list(story), split_sentences)
        found = {word for sentence in sentences for word in words(sentence)}
        df.update({word.lower() for word in found} if lowercase else found)
    return IdfTable(len(stories), dict(df), lowercase)


def idf_table(source: Any, *, lowercase: bool = False) -> IdfTable:
    """Build the table from the value that a user passes.

    Args:
        source: A table, a JSON file ``{"N", "df", "lowercase"}`` or ``{word: idf}``, a mapping with such content, or
            the stories of the corpus. Pickles are not accepted, see `read_pickled`.
        lowercase: Whether words of a corpus that differ only in case are the same. Tables, files and mappings have
            their own value.

    Raises:
        MissingFileError: If the file does not exist.
        UsageError: If the source has another type or invalid content.
    """
    if isinstance(source, IdfTable):
        return source
    if isinstance(source, (str, os.PathLike)):
        source = _json_object(source)
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, Sequence):
        return fit_idf(source, lowercase=lowercase)
    raise UsageError.about(
        "idf",
        f"must be a file, a mapping, or the list of the stories of a corpus, got {type(source).__name__}",
        "fit one with `vlgauge.inputs.text.story_idf.fit_idf(stories)`",
    )


def _json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    file = existing_file("idf", path, "an existing JSON file", "`vlgauge idf OUT --stories FILE` writes one")
    try:
        content = read_json(file, "`idf`")
    except ValueError as error:
        hint = "; `vlgauge idf OUT --pickle FILE` converts a pickle" if file.suffix in PICKLES else ""
        raise UsageError(f"{error}{hint}") from None
    if not isinstance(content, dict):
        raise UsageError.about("idf", f"must be a file with a JSON object, got a {type(content).__name__}")
    return content


def read_pickled(path: str | os.PathLike[str]) -> IdfTable:
    """Read a pickled ``{word: idf}``, the format of the authors of RoViST, without executing any code.

    `save` writes the table as JSON, which `idf_table` and the metrics read.

    Raises:
        UsageError: If the pickle does not contain a dictionary from words to numbers.
    """
    content = read_pickle(Path(path).expanduser())
    if not isinstance(content, dict):
        raise UsageError.about("path", f"must be a pickle of a dictionary, got a {type(content).__name__}")
    return _from_mapping(content)


def _from_mapping(table: Mapping[str, Any]) -> IdfTable:
    """Build a table of counts if the mapping has ``N`` and ``df``, otherwise a table of precomputed values."""
    if not {"N", "df"} <= set(table):
        return IdfTable(None, _numbers(table, -math.inf), lowercase=False)
    n_stories, lowercase = table["N"], table.get("lowercase", False)
    if not isinstance(table["df"], Mapping) or not isinstance(lowercase, bool):
        raise UsageError.about("idf", "must have a mapping as `df` and a bool as `lowercase`")
    if n_stories is None:
        return IdfTable(None, _numbers(table["df"], -math.inf), lowercase)
    if isinstance(n_stories, bool) or not isinstance(n_stories, int) or n_stories < 1:
        raise UsageError.about(
            "idf", f"must have a positive integer as `N`, the number of stories, got {short_repr(n_stories)}"
        )
    return IdfTable(n_stories, _numbers(table["df"], 0, n_stories), lowercase)


def _numbers(table: Mapping[str, Any], minimum: float, maximum: float = math.inf) -> dict[str, float]:
    for word, value in table.items():
        if not isinstance(word, str):
            raise UsageError.about("idf", f"must have words as its keys, got {short_repr(word)}")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # Compare without a conversion, because the largest integers cannot be converted to float.
        if not number or not max(minimum, -sys.float_info.max) <= value <= min(maximum, sys.float_info.max):
            most = "" if maximum == math.inf else f" of at most `N` = {short_repr(maximum)} stories"
            raise UsageError.about(
                "idf", f"must have a number{most} for each word, got {short_repr(value)} for {short_repr(word)}"
            )
    if not table:
        raise UsageError.about("idf", "must have at least one word, got none")
    return dict(table)
