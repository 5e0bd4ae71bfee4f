"""Paraphrase table of METEOR 1.5 as hashes of its phrases, stored in a memory-mapped file.

The table has 5 million pairs. Its text is read once per machine, and each call then looks up only its phrases. Phrases
are compared by 64-bit hashes. Among a million phrases, a collision occurs in one of ten million calls.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.files import cache_folder, sha256_of
from vlgauge.core.errors import UsageError
from vlgauge.core.files import unpack
from vlgauge.core.writing import NotWritableError, atomic_write
from vlgauge.inputs.text.ngrams import Ints, first_of_run, lengths_of, ranges

Hashes = npt.NDArray[np.uint64]

_LINES = 3  # per pair: probability, phrase, paraphrase
_FORM = 1  # version of the file format, to be increased with every change of the hash
_FILTER_BITS = 22
_POWERS = 2**16  # number of powers that are computed together

_MULTIPLIER = 0x9E3779B97F4A7C15
_OF_BYTE = np.random.Generator(np.random.PCG64(15)).integers(2**64, size=256, dtype=np.uint64)
_OF_BYTE[ord("\n")] = 0  # so that a line has the hash of its text


# -- Hashes -----------------------------------------------------------------------------------------------------------
def powers(multiplier: int, n: int) -> Hashes:
    """Return the first powers of a number modulo 2^64, starting at exponent 0, at least `n` of them."""
    return _powers(multiplier, n // _POWERS + 1)


@lru_cache(maxsize=4)
def _powers(multiplier: int, n_blocks: int) -> Hashes:
    factors = np.full(n_blocks * _POWERS, multiplier, np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)


def hashes_of_texts(data: bytes, starts: Ints) -> Hashes:
    """Hash concatenated texts.

    Args:
        data: UTF-8, with a line end after each text.
        starts: Shape ``(n,)``, first byte of each text.

    Returns:
        Shape ``(n,)``, uint64.
    """
    values = _OF_BYTE[np.frombuffer(data, np.uint8)]
    values *= powers(_MULTIPLIER, len(data))[: len(data)]
    sums = np.add.reduceat(values, starts)
    return np.asarray(sums * powers(pow(_MULTIPLIER, -1, 2**64), len(data))[starts])


def hashes_of_tokens(tokens: Sequence[str]) -> tuple[Hashes, Ints]:
    """Hash tokens.

    Returns:
        The hashes, uint64, and the number of bytes of each token, shape ``(n,)`` each.
    """
    encoded = [token.encode("utf-8", "replace") for token in tokens]
    lengths = lengths_of(encoded)
    starts = np.cumsum(lengths + 1) - lengths - 1
    return hashes_of_texts(b"\n".join([*encoded, b""]), starts), lengths


def hashes_of_ngrams(hashes: Hashes, lengths: Ints, following: Hashes) -> Hashes:
    """Hash n-grams that are extended by one token.

    Args:
        hashes: Shape ``(n,)``, hashes of the n-grams.
        lengths: Shape ``(n,)``, number of bytes of the n-grams.
        following: Shape ``(n,)``, hashes of the next tokens.

    Returns:
        Shape ``(n,)``, uint64.
    """
    behind = powers(_MULTIPLIER, int(lengths.max(initial=0)) + 1)[lengths]
    return np.asarray(hashes + behind * (_OF_BYTE[ord(" ")] + np.uint64(_MULTIPLIER) * following))


def finder(ascending: Hashes) -> Callable[[Hashes], tuple[Ints, Ints]]:
    """Prepare a search among hashes.

    Args:
        ascending: Distinct hashes, ascending, shape ``(n,)``, at least one.

    Returns:
        Function from query hashes, shape ``(m,)``, to the indices of those found, and their indices in `ascending`,
        shape ``(n_found,)`` each.
    """
    shift = np.uint64(64 - _FILTER_BITS)
    may_be = np.zeros(2**_FILTER_BITS, np.bool_)
    may_be[ascending >> shift] = True

    def find(hashes: Hashes) -> tuple[Ints, Ints]:
        places = np.flatnonzero(may_be[hashes >> shift])
        at = np.searchsorted(ascending, hashes[places])
        is_there = ascending[np.minimum(at, len(ascending) - 1)] == hashes[places]
        return places[is_there], at[is_there]

    return find


# -- Tables -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Paraphrases:
    """Pairs of a paraphrase table.

    Attributes:
        phrases: Ascending, hash of the phrase of each run of pairs with the same phrase.
        starts: Index of the first paraphrase of each run.
        sizes: Number of paraphrases of each run.
        texts: Hashes of the paraphrases in the order of the file.
        longest: Number of words of the longest phrase or paraphrase.
    """

    phrases: Hashes
    starts: Hashes
    sizes: Hashes
    texts: Hashes
    longest: int

    def of(self, phrases: Hashes) -> tuple[Ints, Hashes]:
        """Return the paraphrases of some phrases.

        Args:
            phrases: Hashes of the phrases, shape ``(m,)``.

        Returns:
            For each paraphrase the index of its phrase in `phrases`, and its hash, shape ``(n_paraphrases,)`` each.
        """
        first, behind = (np.searchsorted(self.phrases, phrases, side) for side in ("left", "right"))
        owners, runs = ranges(first, behind - first)
        starts, sizes = self.starts[runs].astype(np.int64), self.sizes[runs].astype(np.int64)
        which, places = ranges(starts, sizes)
        return owners[which], self.texts[places]

    def write(self, path: Path) -> None:
        """Write the file that `mapped` reads.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        head = np.array([self.longest, len(self.phrases), len(self.texts)], np.uint64)
        with atomic_write(path) as part, part.open("wb") as file:
            for column in (head, self.phrases, self.starts, self.sizes, self.texts):
                column.tofile(file)

    @classmethod
    def map_file(cls, path: Path) -> "Paraphrases":
        """Map a file into memory.

        Raises:
            OSError: If the file does not exist.
            ValueError: If the file is incomplete.
        """
        words = np.memmap(path, np.uint64, "r")
        if len(words) < 3 or len(words) != 3 + 3 * int(words[1]) + int(words[2]):
            raise ValueError(f"{path} is incomplete")
        longest, n = map(int, words[:2])
        phrases, starts, sizes, texts = np.split(words[3:], [n, 2 * n, 3 * n])
        return cls(phrases, starts, sizes, texts, longest)


class ParaphraseTable:
    """Paraphrase table in a gzip file. It is thread-safe.

    Args:
        path: The file.
        is_known: Whether it is the published table, which has single spaces and no empty phrases. Its hashes are stored
            in the cache folder.
    """

    def __init__(self, path: Path, *, is_known: bool) -> None:
        self._path, self._is_known = path, is_known
        self._pairs: Paraphrases | None = None
        self._lock = threading.Lock()

    def pairs(self) -> Paraphrases:
        """Return the pairs. The file is read once.

        Raises:
            ValueError: If the file is damaged or not a paraphrase table.
            OSError: If the file cannot be read.
        """
        with self._lock:
            if self._pairs is None:
                self._pairs = self._load_kept() if self._is_known else self._read()
            return self._pairs

    def _load_kept(self) -> Paraphrases:
        path = cache_folder() / "paraphrases" / f"{sha256_of(self._path)[:16]}-{_FORM}.bin"
        with suppress(OSError, ValueError):
            return Paraphrases.map_file(path)
        pairs = self._read()
        with suppress(OSError, ValueError, NotWritableError):  # the next process then reads the table again
            pairs.write(path)
            return Paraphrases.map_file(path)
        return pairs

    def _read(self) -> Paraphrases:
        columns = [bytearray() for _ in range(3)]  # grow in place, because the table fills a large part of the memory
        longest = 0
        for data in self._blocks():
            separators = np.flatnonzero(np.frombuffer(data, np.uint8) <= ord(" "))  # spaces and line ends only
            is_end = np.frombuffer(data, np.uint8)[separators] == ord("\n")
            longest = max(longest, int(np.diff(np.flatnonzero(is_end)).max()))
            starts = np.append(0, separators[is_end][:-1] + 1)
            hashes = hashes_of_texts(data, starts).reshape(-1, _LINES)
            runs = np.flatnonzero(first_of_run(hashes[:, 1]))
            sizes = np.diff(runs, append=len(hashes)).astype(np.uint64)
            for column, found in zip(columns, (hashes[runs, 1], sizes, hashes[:, 2]), strict=True):
                column += found.tobytes()
        _powers.cache_clear()  # 20 MB, which short texts do not need
        phrases, sizes, texts = (np.frombuffer(column, np.uint64) for column in columns)
        order = np.argsort(phrases, kind="stable")
        return Paraphrases(phrases[order], (np.cumsum(sizes) - sizes)[order], sizes[order], texts, longest)

    def _blocks(self) -> Iterator[bytes]:
        """Yield lines of complete pairs, about 1 MB at a time, while a thread decompresses the next ones."""
        rest = b""
        with closing(unpack(self._path, "`paraphrases`")) as pieces, ThreadPoolExecutor(1) as reader:
            waiting = reader.submit(next, pieces, b"")
            while piece := waiting.result():
                waiting = reader.submit(next, pieces, b"")
                data = rest + piece
                end = len(data)
                for _ in range(1 + data.count(b"\n") % _LINES):
                    end = data.rfind(b"\n", 0, end)
                rest = data[end + 1 :]
                if end > 0:
                    yield self._check_lines(data[: end + 1])
        if rest:
            yield self._check_lines(rest.removesuffix(b"\n") + b"\n")

    def _check_lines(self, data: bytes) -> bytes:
        """Check that the lines are from a paraphrase table, and return them with single spaces between words."""
        if self._is_known:
            return data
        lines = [b" ".join(line.split()) for line in data.split(b"\n")[:-1]]
        if len(lines) % _LINES:
            self._refuse("a number of lines that is not a multiple of 3")
        try:
            data.decode()
        except UnicodeDecodeError:
            self._refuse("a line that is not UTF-8")
        if not all(lines[1::_LINES]) or not all(lines[2::_LINES]):
            self._refuse("a phrase without words")
        return b"\n".join([*lines, b""])

    def _refuse(self, got: str) -> NoReturn:
        raise UsageError.about(
            "paraphrases",
            f"must have three lines per pair, a probability, a phrase and its paraphrase, got {got} in "
            f"{str(self._path)!r}",
        )
