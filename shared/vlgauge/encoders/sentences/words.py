"""Texts as counts of words or as means of word vectors, from a file that the user names."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vlgauge.errors import MissingFileError, UsageError
from vlgauge.files import read_text
from vlgauge.progress import Progress
from vlgauge.settings import warn
from vlgauge.signatures import local_name
from vlgauge.text.word_vectors import read_rows
from vlgauge.weights.files import sha256_of


def existing_file(path: str, kind: str) -> Path:
    """The file behind a prefix of `encoder`."""
    found = Path(path).expanduser()
    if not found.is_file():
        raise MissingFileError.about("encoder", f"must name an existing file after {kind!r}, got {path!r}")
    return found


class BagOfWords:
    """Counts over a word list, one word per line, and one last bin for all other words.

    Texts are lower-cased and split at white space; the list is taken as it stands.
    """

    def __init__(self, path: str) -> None:
        file = existing_file(path, "bow:")
        # Only a line feed ends a line; splitlines() would also cut at U+2028 and add columns.
        lines = (line.strip() for line in read_text(file, "`encoder`").split("\n"))
        words = dict.fromkeys(line for line in lines if line)
        if not words:
            raise UsageError.about("encoder", f"must name a list of words, one per line, got none in {path!r}")
        if lost := sum(word.lower().split() != [word] for word in words):
            warn(
                f"{lost} of {len(words)} words in {file.name} are in no text: texts are lower-cased and split at white "
                "space, the list is not"
            )
        self._column = {word: column for column, word in enumerate(words)}
        self.identity = f"bow:{local_name(sha256_of(file))}"

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Counts, shape ``(n_texts, n_words + 1)``, float32."""
        unknown = len(self._column)
        counts = np.zeros((len(texts), unknown + 1), dtype=np.float32)
        for row, text in zip(counts, texts, strict=True):
            for word in text.lower().split():
                row[self._column.get(word, unknown)] += 1
        return counts


class WordVectors:
    """Mean of the vectors of the known words of a text; a zero vector where no word is known.

    The file has one word and its numbers per line, as GloVe and word2vec write them as text, perhaps packed by gzip; a
    first line of two whole numbers is a header. Only the rows of words that occur are kept.
    """

    def __init__(self, path: str) -> None:
        self._file = existing_file(path, "vectors:")
        self.identity = f"vectors:{local_name(sha256_of(self._file))}"

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Vectors, shape ``(n_texts, d)``, float32; texts are lower-cased and split at white space."""
        split = [text.lower().split() for text in texts]
        table, width = read_rows(self._file, {word for words in split for word in words})
        vectors = np.zeros((len(texts), width), dtype=np.float32)
        unknown = 0
        for row, words in zip(vectors, split, strict=True):
            known = [table[word] for word in words if word in table]
            unknown += not known
            if known:
                row[:] = np.mean(known, axis=0)
        if unknown:
            warn(f"{unknown} of {len(texts)} texts have no word in {self._file.name}: zero vectors")
        return vectors
