"""What single words and phrases get from a file of word vectors, and what they get that it lacks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlgauge.errors import UsageError, as_setting
from vlgauge.text.word_vectors import UNKNOWN, WordVectorFile

OOV = ("unk", "lower", "skip")


@dataclass(frozen=True)
class LookedUp:
    """Words with their vectors.

    Attributes:
        words: Those that have a vector, in their order, repetitions included.
        rows: Row of each in `vectors`.
        vectors: One per distinct word, shape ``(n_distinct, width)``, float32.
        oov: Whether each stands for a word that the file lacks in this spelling.
        skipped: Words without a vector, left out.
    """

    words: list[str]
    rows: list[int]
    vectors: np.ndarray
    oov: list[bool]
    skipped: list[str]


def look_up(words: Sequence[str], vectors: WordVectorFile, oov: str = "unk") -> LookedUp:
    """Vectors of single words, as RoViST-VG looks them up.

    Args:
        words: Any words; case counts.
        vectors: The file.
        oov: What a word that the file lacks gets: "unk", the vector of the word "unk"; "lower", that of the word in
            lower case, else of "unk"; "skip", none.
    """
    lower = {word.lower() for word in words} if oov == "lower" else set()
    found = vectors.rows([*dict.fromkeys(words), *sorted(lower), UNKNOWN])
    if oov != "skip" and UNKNOWN not in found:
        raise UsageError(
            f'`oov="{oov}"` needs the word {UNKNOWN!r} in the file of word vectors, got none in {vectors.path.name}; '
            f"choose {as_setting('oov', 'skip')}, which leaves unknown nouns out"
        )
    spelled = {word: _spelling(word, found, oov) for word in dict.fromkeys(words)}
    distinct = sorted({name for name in spelled.values() if name is not None})
    row_of = {name: row for row, name in enumerate(distinct)}
    kept = [word for word in words if spelled[word] is not None]
    return LookedUp(
        words=kept,
        rows=[row_of[name] for word in kept if (name := spelled[word]) is not None],
        vectors=np.stack([found[name] for name in distinct])
        if distinct
        else np.zeros((0, vectors.width), dtype=np.float32),
        oov=[word not in found for word in kept],
        skipped=[word for word in words if spelled[word] is None],
    )


def _spelling(word: str, found: dict[str, np.ndarray], oov: str) -> str | None:
    """The word whose vector stands for this one; None if it is left out."""
    if word in found:
        return word
    if oov == "lower" and word.lower() in found:
        return word.lower()
    return None if oov == "skip" else UNKNOWN


def mean_vectors(phrases: Sequence[str], vectors: WordVectorFile) -> tuple[np.ndarray, list[int]]:
    """Mean of the vectors of the known words of each phrase, split at white space, and the phrases that have one.

    A word that the file lacks in its spelling is known in lower case if the file has that: phrases begin sentences.

    Returns:
        Vectors, shape ``(n_kept, width)``, float32, and the positions of the phrases that they belong to.
    """
    split = [phrase.split() for phrase in phrases]
    spoken = {word for words in split for word in words}
    found = vectors.rows(sorted(spoken | {word.lower() for word in spoken}))
    own = [[found.get(word, found.get(word.lower())) for word in words] for words in split]
    known = [[row for row in rows if row is not None] for rows in own]
    kept = [i for i, rows in enumerate(known) if rows]
    if not kept:
        return np.zeros((0, vectors.width), dtype=np.float32), []
    return np.stack([np.mean(known[i], axis=0) for i in kept]), kept


def write_vectors(path: Path, table: Iterator[tuple[str, np.ndarray]]) -> None:
    """Write words and their vectors as text, four digits after the point."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for word, vector in table:
            file.write(" ".join([word, *(f"{value:.4f}" for value in vector)]) + "\n")
