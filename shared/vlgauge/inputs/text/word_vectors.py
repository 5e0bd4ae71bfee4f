"""Word vectors from a text file in the format of GloVe and word2vec, of which only the requested rows are kept.

A large file is converted to a memory-mapped table at its first use and never loaded as a whole.
"""

import codecs
import itertools
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path

import numpy as np

from vlgauge.checkpoints.files import cache_folder, sha256_of
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.files import open_file, read_gzip_lines
from vlgauge.core.pool import pool
from vlgauge.core.progress import progress_bar
from vlgauge.core.validation import warn
from vlgauge.core.writing import NotWritableError
from vlgauge.inputs.text.word_vector_table import SUFFIX, BrokenTableError, WordTable, write_table

UNKNOWN = "unk"
LONGEST_LINE = 2**20  # bytes; a file without line breaks is not a table
LARGE = 2**26  # bytes; larger files are converted to a table, one pass over a smaller file takes a fraction of a second
MOST_WORDS = 2**16  # maximum number of words whose rows are cached


def read_rows(file: Path, wanted: Collection[str], *, argument: str = "encoder") -> tuple[dict[str, np.ndarray], int]:
    """Read the vectors of the requested words in one pass over the file.

    Each line contains a word and its values, separated by single spaces. A first line of two integers is a header. If a
    word occurs twice, the first row counts. GloVe 840B contains words with spaces, which cannot be requested.

    Args:
        file: The file, optionally compressed with gzip (suffix ``.gz``).
        wanted: Words, case-sensitive.
        argument: Name of the argument that names the file, for error messages.

    Returns:
        Vectors by word, shape ``(width,)`` each, float32, and the width of all vectors.

    Raises:
        UsageError: If a line is too long or has another number of values, a requested vector has values that are not
            finite numbers, or the file has no vectors.
    """
    # A file cannot contain half of a surrogate pair, but a text may.
    names = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    table: dict[str, np.ndarray] = {}
    width = 0
    for number, found, row in _lines(file, argument):
        width = width or row.count(b" ")
        word = names.get(found)
        if word is not None and word not in table:
            table[word] = _numbers(row, f"line {number} of {file.name}", argument)
    return table, width


def _lines(file: Path, argument: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield line number, word and bytes of each row, and skip rows whose words contain spaces."""
    width = 0
    with closing(_file_lines(file, argument)) as lines:
        for number, line in enumerate(lines, 1):
            row = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).rstrip()
            count = row.count(b" ")
            if number == 1 and count == 1 and all(part.isdigit() for part in row.split(b" ")):
                continue  # header of word2vec: number of words and number of values
            width = width or count
            if not width:
                break  # a compressed file may contain millions of blank lines
            if count != width and not (count > width and _has_spaced_word(row, width)):
                raise UsageError.about(
                    argument,
                    f"must name a file of word vectors of one dimension, got {count} values after {width} in "
                    f"line {number} of {file.name}",
                )
            if count == width and count:
                yield number, row[: row.index(b" ")], row
    if not width:
        raise UsageError.about(argument, f"must name a file of word vectors, got none in {file.name}")


def _file_lines(file: Path, argument: str) -> Generator[bytes]:
    if file.suffix == ".gz":
        yield from read_gzip_lines(file, f"`{argument}`", LONGEST_LINE)
        return
    with open_file(file, f"`{argument}`") as lines:
        while line := lines.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise UsageError.about(
                    argument,
                    f"must name a file of word vectors, got a line of over {LONGEST_LINE} bytes in {file.name}",
                )
            yield line


def _has_spaced_word(row: bytes, width: int) -> bool:
    """Return whether the part before the last ``width`` values is a word with spaces instead of a word and numbers."""
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
        raise UsageError.about(
            argument, f"must name a file of word vectors of finite numbers, got invalid values in {place}"
        )
    return vector


class WordVectorFile:
    """File of word vectors that caches the rows it has read, so that a word is searched only once per process.

    Args:
        path: The file.
        argument: Name of the setting that names the file, for error messages.

    Attributes:
        path: The file.
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
        self._table: WordTable | None = None
        self._large = path.stat().st_size >= LARGE
        self._reading = threading.Lock()

    @property
    def table_path(self) -> Path:
        """Path of the table of a large file in the cache folder."""
        return cache_folder() / "word_vectors" / f"{self.path.name}-{self.sha256[:16]}{SUFFIX}"

    @property
    def width(self) -> int:
        """Number of values per vector."""
        if not self._width:
            self.rows([UNKNOWN])
        return self._width

    def rows(self, words: Iterable[str]) -> dict[str, np.ndarray]:
        """Return the vectors of the words that the file contains, shape ``(d,)`` each, float32, in input order.

        Raises:
            UsageError: If the file is not a valid file of word vectors, see `read_rows`.
        """
        asked = dict.fromkeys(words)
        with self._reading:
            known = {word: self._known[word] for word in asked if word in self._known}
            new = asked.keys() - known.keys()
            if new or not self._width:
                found, self._width = self._read(set(new))
                known.update({word: found.get(word) for word in new})
                if len(self._known) + len(new) > MOST_WORDS:
                    self._known.clear()
                self._known.update(itertools.islice(((word, known[word]) for word in new), MOST_WORDS))
            return {word: row for word in asked if (row := known[word]) is not None}

    def _read(self, words: set[str]) -> tuple[dict[str, np.ndarray], int]:
        found = self._map(words) if self._large else None
        if found is None or not all(np.isfinite(row).all() for row in found[0].values()):
            return read_rows(self.path, words, argument=self._argument)  # its error names the broken line
        return found

    def _map(self, words: set[str]) -> tuple[dict[str, np.ndarray], int] | None:
        """Return rows of the table, which is created if it is missing or broken, or None if it cannot be stored."""
        try:
            try:
                self._table = self._table or WordTable(self.table_path, self.sha256)
                return self._table.rows(words), self._table.shape[1]
            except FileNotFoundError:
                pass
            except BrokenTableError as error:
                warn(f"{self.table_path} {error}; it is created again")
            self._table = self._convert()
            return self._table.rows(words), self._table.shape[1]
        except (OSError, NotWritableError, BrokenTableError) as error:
            warn(
                f"the table of {self.path.name} cannot be stored in {self.table_path.parent}, so the text file "
                f"is parsed each time: {error}"
            )
            self._table, self._large = None, False
            return None

    def _convert(self) -> WordTable:
        with progress_bar(self.path.stat().st_size, f"Converting {self.path.name} once") as advance:
            write_table(self.table_path, self.sha256, _all_rows(self.path, self._argument, advance))
        return WordTable(self.table_path, self.sha256)


def _all_rows(file: Path, argument: str, advance: Callable[[int], object]) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yield words and vectors. Invalid numbers become NaN, because they are an error only if that word is requested."""
    for _, word, row in _lines(file, argument):
        try:
            vector = _numbers(row, "", argument)
        except ValueError:
            vector = np.full(row.count(b" "), np.nan, dtype=np.float32)
        yield word, vector
        advance(len(row) + 1)


def word_vector_file(path: str | PathLike[str], *, argument: str = "glove_path") -> WordVectorFile:
    """Open a file of word vectors once per process.

    The file is identified by its absolute path and its content, independently of the objects that use it.

    Args:
        path: The file.
        argument: Name of the setting that names the file, for error messages.

    Raises:
        WeightsNotFoundError: If the file does not exist.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise WeightsNotFoundError.about(
            argument,
            f"must name an existing file of word vectors, got {str(path)!r}",
            "glove.6B.300d.txt is in https://nlp.stanford.edu/data/glove.6B.zip",
        )
    file = file.absolute()
    key = ("word-vectors", str(file), sha256_of(file))
    return pool.get(key, lambda: WordVectorFile(file, argument))
