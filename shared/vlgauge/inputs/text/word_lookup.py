"""Lookup of single words and phrases in a file of word vectors, including words that the file does not contain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlgauge.core.errors import UsageError, as_setting
from vlgauge.inputs.text.word_vectors import UNKNOWN, WordVectorFile

OOV = ("unk", "lower", "skip")


@dataclass(frozen=True)
class LookedUp:
    """Words with their vectors.

    Attributes:
        words: Words that have a vector, in input order, including repetitions.
        rows: Row of each word in `vectors`.
        vectors: One vector per distinct word, shape ``(n_distinct, width)``, float32.
        oov: Whether the file lacks this spelling, for each word.
        skipped: Words without a vector, which are left out.
    """

    words: list[str]
    rows: list[int]
    vectors: np.ndarray
    oov: list[bool]
    skipped: list[str]


def look_up(words: Sequence[str], vectors: WordVectorFile, oov: str = "unk") -> LookedUp:
    """Look up the vectors of single words as RoViST-VG does.

    Args:
        words: The words, case-sensitive.
        vectors: The file.
        oov: Fallback for words that the file lacks. "unk" uses the vector of the word "unk". "lower" uses the vector of
            the lowercased word, or of "unk" if the file lacks that too. "skip" leaves the word out.

    Raises:
        UsageError: If `oov` is not "skip" and the file lacks the word "unk".
    """
    lower = {word.lower() for word in words} if oov == "lower" else set()
    found = vectors.rows([*dict.fromkeys(words), *sorted(lower), UNKNOWN])
    if oov != "skip" and UNKNOWN not in found:
        raise UsageError(
            f'`oov="{oov}"` requires the word {UNKNOWN!r} in the file of word vectors, got none in '
            f"{vectors.path.name}; choose {as_setting('oov', 'skip')}, which ignores unknown nouns"
        )
    spelled = {word: _spelling(word, found, oov) for word in dict.fromkeys(words)}
    distinct = sorted({name for name in spelled.values() if name is not None})
    row_of = {name: row for row, name in enumerate(distinct)}
    kept = [word for word in words if spelled[word] is not None]
    return LookedUp(
        words=kept,
        rows=[row_of[name] for word in kept if (name := spelled[word]) is not None],
        vectors=np.array([found[name] for name in distinct], np.float32).reshape(-1, vectors.width),
        oov=[word not in found for word in kept],
        skipped=[word for word in words if spelled[word] is None],
    )


def _spelling(word: str, found: dict[str, np.ndarray], oov: str) -> str | None:
    """Return the spelling whose vector is used for a word, or None if the word is left out."""
    if word in found:
        return word
    if oov == "lower" and word.lower() in found:
        return word.lower()
    return None if oov == "skip" else UNKNOWN


def mean_vectors(phrases: Sequence[str], vectors: WordVectorFile) -> tuple[np.ndarray, list[int]]:
    """Return the mean vector of the known words of each phrase that has any.

    Phrases are split at whitespace. If the file lacks a word, its lowercased form is used, because phrases may begin
    sentences.

    Returns:
        Vectors, shape ``(n_kept, width)``, float32, and the indices of the phrases that they belong to.
    """
    split = [phrase.split() for phrase in phrases]
    spoken = {word for words in split for word in words}
    found = vectors.rows(sorted(spoken | {word.lower() for word in spoken}))
    own = [[found.get(word, found.get(word.lower())) for word in words] for words in split]
    known = [[row for row in rows if row is not None] for rows in own]
    kept = [i for i, rows in enumerate(known) if rows]
    return np.array([np.mean(known[i], axis=0) for i in kept], np.float32).reshape(-1, vectors.width), kept


def write_vectors(path: Path, table: Iterator[tuple[str, np.ndarray]]) -> None:
    """Write words and their vectors, shape ``(d,)`` each, as text with four decimal places."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for word, vector in table:
            file.write(" ".join([word, *(f"{value:.4f}" for value in vector)]) + "\n")
