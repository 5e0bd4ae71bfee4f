"""Text encoders that count words or average word vectors, based on a file of the user."""

from collections.abc import Sequence

import numpy as np

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import UsageError
from vlgauge.core.files import existing_file, read_text
from vlgauge.core.progress import Progress
from vlgauge.core.signatures import local_name
from vlgauge.core.validation import warn
from vlgauge.inputs.text.word_vectors import read_rows


class BagOfWords:
    """Word counts over a word list with one word per line, with one last bin for all other words.

    Texts are lowercased and split at whitespace. The words of the list are not changed.
    """

    def __init__(self, path: str) -> None:
        file = existing_file("encoder", path, "an existing file after 'bow:'")
        # Only a line feed ends a line: splitlines() would also split at U+2028 and add columns.
        lines = (line.strip() for line in read_text(file, "`encoder`").split("\n"))
        words = dict.fromkeys(line for line in lines if line)
        if not words:
            raise UsageError.about("encoder", f"must name a list of words, one per line, got none in {path!r}")
        if lost := sum(word.lower().split() != [word] for word in words):
            warn(
                f"{lost} of {len(words)} words in {file.name} cannot occur in texts, which are lowercased and "
                "split at whitespace, unlike the list"
            )
        self._column = {word: column for column, word in enumerate(words)}
        self.identity = f"bow:{local_name(sha256_of(file))}"

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Return the word counts, shape ``(n_texts, n_words + 1)``, float32."""
        unknown = len(self._column)
        counts = np.zeros((len(texts), unknown + 1), dtype=np.float32)
        for row, text in zip(counts, texts, strict=True):
            for word in text.lower().split():
                row[self._column.get(word, unknown)] += 1
        return counts


class WordVectors:
    """Mean of the vectors of the known words of a text, or a zero vector if no word is known.

    Each line of the file contains one word and its values, as in the text formats of GloVe and word2vec, optionally
    compressed with gzip. A first line of two integers is skipped as a header. Only the rows of words that occur are
    kept.
    """

    def __init__(self, path: str) -> None:
        self._file = existing_file("encoder", path, "an existing file after 'vectors:'")
        self.identity = f"vectors:{local_name(sha256_of(self._file))}"

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Return the mean word vectors, shape ``(n_texts, d)``, float32.

        Texts are lowercased and split at whitespace.

        Raises:
            ValueError: If the file of word vectors is not valid.

        Warns:
            UserWarning: If a text contains no known word.
        """
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
