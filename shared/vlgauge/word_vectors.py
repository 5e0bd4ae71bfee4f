"""Vectors of words from a text file as GloVe and word2vec write them; only the rows that are asked for are kept."""

from __future__ import annotations

import codecs
import gzip
import threading
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO

import numpy as np

from vlgauge.encoders.pool import pool
from vlgauge.encoders.weights import WeightsNotFound
from vlgauge.encoders.weights import sha256_of

UNKNOWN = "unk"
OOV = ("unk", "lower", "skip")
LONGEST_LINE = 2**20  # bytes; a file without line breaks is no table


def read_rows(file: Path, wanted: Collection[str], *, argument: str = "encoder") -> tuple[dict[str, np.ndarray], int]:
    """Vectors of the wanted words, and the width of all, in one pass over the file.

    One word and its numbers per line, parted by single spaces; a first line of two whole numbers is a header. Of a
    word that stands twice, the first row counts. GloVe 840B has words with spaces, which cannot be asked for.

    Args:
        file: Text in UTF-8, perhaps packed by gzip.
        wanted: Words.
        argument: Name of the setting that names the file, for messages.

    Raises:
        ValueError: If a row has another number of values than the first one, a wanted row holds anything but finite
            numbers, or there is no row.
    """
    names = {word.encode(): word for word in wanted}
    table: dict[str, np.ndarray] = {}
    width = 0
    with closing(_opened(file)) as lines:
        for number, line in enumerate(_bounded(lines, file, argument), 1):
            row = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).rstrip()
            count = row.count(b" ")
            if number == 1 and count == 1 and all(part.isdigit() for part in row.split(b" ")):
                continue  # the header of word2vec: numbers of words and of values
            width = width or count
            if count != width and not (count > width and _has_spaced_word(row, width)):
                raise ValueError(
                    f"`{argument}` must name a file of word vectors of one width, got {count} values after {width} "
                    f"in line {number} of {file.name}"
                )
            word = names.get(row[: row.index(b" ")]) if count == width and count else None
            if word is not None and word not in table:
                table[word] = _numbers(row, f"line {number} of {file.name}", argument)
    if not width:
        raise ValueError(f"`{argument}` must name a file of word vectors, got none in {file.name}")
    return table, width


def _opened(file: Path) -> IO[bytes]:
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb", buffering=2**20)  # type: ignore[return-value]


def _bounded(lines: IO[bytes], file: Path, argument: str) -> Iterator[bytes]:
    while line := lines.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(
                f"`{argument}` must name a file of word vectors, got a line of over {LONGEST_LINE} bytes in {file.name}"
            )
        yield line


def _has_spaced_word(row: bytes, width: int) -> bool:
    """Whether what stands before the last ``width`` values is a word with spaces rather than a word and numbers."""
    return any(not _is_number(part) for part in row.split(b" ")[1:-width])


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(row: bytes, place: str, argument: str) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(row.split(b" ")[1:], dtype=np.float64).astype(np.float32)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise ValueError(f"`{argument}` must name a file of word vectors of finite numbers, got others in {place}")
    return vector


class WordVectorFile:
    """A file of word vectors; rows that were read are remembered, so that a word is looked for once per process.

    Args:
        path: The file.
        argument: Name of the setting that names it, for messages.

    Attributes:
        identity: Name and digest of the file, for signatures.
        sha256: Digest of the file.
    """

    def __init__(self, path: Path, argument: str) -> None:
        self.path = path
        self.sha256 = sha256_of(path)
        self.identity = f"{path.name}@{self.sha256[:8]}"
        self._argument = argument
        self._known: dict[str, np.ndarray | None] = {}
        self._width = 0
        self._reading = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """Bytes of the rows that are kept."""
        return sum(row.nbytes for row in self._known.values() if row is not None)

    @property
    def width(self) -> int:
        """Number of values of a row."""
        if not self._width:
            self.rows([UNKNOWN])
        return self._width

    def rows(self, words: Iterable[str]) -> dict[str, np.ndarray]:
        """Vectors of those words that the file has, float32.

        Raises:
            ValueError: If the file is broken; see `read_rows`.
        """
        asked = dict.fromkeys(words)
        with self._reading:
            new = {word for word in asked if word not in self._known}
            if new or not self._width:
                found, self._width = read_rows(self.path, new, argument=self._argument)
                self._known.update({word: found.get(word) for word in new})
            return {word: row for word in asked if (row := self._known[word]) is not None}


def word_vector_file(path: str | PathLike[str], *, argument: str = "glove_path") -> WordVectorFile:
    """The file of that path, opened once per process.

    Raises:
        WeightsNotFound: If there is no such file.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise WeightsNotFound(
            f"`{argument}` must name an existing file of word vectors, got {str(path)!r}; "
            "glove.6B.300d.txt is in https://nlp.stanford.edu/data/glove.6B.zip"
        )
    vectors: WordVectorFile = pool.get(("word-vectors", sha256_of(file)), lambda: WordVectorFile(file, argument))
    return vectors


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

    Raises:
        ValueError: If `oov` is something else, or the file lacks the word "unk" and it is needed.
    """
    if oov not in OOV:
        raise ValueError(f"`oov` must be one of {', '.join(map(repr, OOV))}, got {oov!r}")
    lower = {word.lower() for word in words} if oov == "lower" else set()
    found = vectors.rows([*dict.fromkeys(words), *sorted(lower), UNKNOWN])
    if oov != "skip" and UNKNOWN not in found:
        raise ValueError(
            f'`oov="{oov}"` needs the word {UNKNOWN!r} in the file of word vectors, got none in {vectors.path.name}; '
            'choose oov="skip", which leaves unknown nouns out'
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

    Returns:
        Vectors, shape ``(n_kept, width)``, float32, and the positions of the phrases that they belong to.
    """
    found = vectors.rows(word for phrase in phrases for word in phrase.split())
    kept = [i for i, phrase in enumerate(phrases) if any(word in found for word in phrase.split())]
    rows = [np.mean([found[word] for word in phrases[i].split() if word in found], axis=0) for i in kept]
    return (np.stack(rows) if rows else np.zeros((0, vectors.width), dtype=np.float32)), kept


def write_vectors(path: Path, table: Iterator[tuple[str, np.ndarray]]) -> None:
    """Write words and their vectors as text, four digits after the point."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for word, vector in table:
            file.write(" ".join([word, *(f"{value:.4f}" for value in vector)]) + "\n")
