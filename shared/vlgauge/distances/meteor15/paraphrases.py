"""The paraphrase table of METEOR 1.5: phrases and their paraphrases, of which only those that can occur are kept.

The table has millions of pairs. The first call keeps those that consist of its words. A later call with other words
keeps all of them, so that nothing is read a third time.
"""

import threading
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from vlgauge.errors import UsageError
from vlgauge.files import unpacking

_LINES = 3  # of a pair: probability, phrase, paraphrase
_PIECES = 2  # of 1 MB, which are looked at together


@dataclass(frozen=True, eq=False)
class Paraphrases:
    """Pairs of a table.

    Attributes:
        words: Words of which the pairs consist; None for any.
        numbers: Phrases with their numbers.
        starts: Where the paraphrases of each phrase begin, and where the last ones end.
        texts: The paraphrases, those of a phrase side by side in the order of the file.
        longest: Words of the longest phrase or paraphrase.
    """

    words: frozenset[str] | None
    numbers: dict[str, int]
    starts: npt.NDArray[np.int64]
    texts: pa.StringArray
    longest: int

    def within(self, phrases: Set[str]) -> dict[str, list[str]]:
        """Find the pairs of which both sides are among some phrases."""
        found = {}
        for phrase in self.numbers.keys() & phrases:
            start, stop = self.starts[self.numbers[phrase] :][:2].tolist()
            own = self.texts[start:stop]
            if kept := [text for text in own.to_pylist() if text in phrases]:
                found[phrase] = kept
        return found


class ParaphraseTable:
    """A table in a gzip file; safe in threads.

    Args:
        path: The file.
        is_known: Whether it is the published table, which has single blanks and no phrase without words.
    """

    def __init__(self, path: Path, *, is_known: bool) -> None:
        self._path, self._is_known = path, is_known
        self._kept: Paraphrases | None = None
        self._lock = threading.Lock()

    def of_words(self, words: Set[str]) -> Paraphrases:
        """Return the pairs that consist of some words and maybe others; the file is read if they are new.

        Raises:
            ValueError: If the file is no such table, or is damaged.
            OSError: If it cannot be read.
        """
        with self._lock:
            if self._kept is None:
                self._kept = self._read(frozenset(words))
            elif self._kept.words is not None and not words <= self._kept.words:
                self._kept = self._read(None)
            return self._kept

    def _read(self, words: frozenset[str] | None) -> Paraphrases:
        known = None if words is None else pa.array(sorted(words), pa.string())
        collected = _Collected()
        for lines in self._lines():
            # Pairs of one phrase are neighbors, so that most phrases are looked at once.
            runs = pc.run_end_encode(lines.take(pa.array(np.arange(1, len(lines), _LINES))))
            phrases = self._cleaned(runs.values)
            lengths = np.diff(runs.run_ends.to_numpy(), prepend=0)
            rows = np.flatnonzero(np.repeat(_consist_of(phrases, known), lengths))
            texts = self._cleaned(lines.take(pa.array(_LINES * rows + 2)))
            fits = _consist_of(texts, known)
            run_of_row = np.repeat(np.arange(len(phrases)), lengths)[rows[fits]]
            n_texts = np.bincount(run_of_row, minlength=len(phrases))
            has_any = n_texts > 0
            collected.add(phrases.filter(pa.array(has_any)), n_texts[has_any].tolist(), texts.filter(pa.array(fits)))
        return collected.grouped(words)

    def _lines(self) -> Iterator[pa.StringArray]:
        """Lines of whole pairs, each with its end, some MB at a time; the next are unpacked meanwhile."""
        rest = b""
        with unpacking(self._path, "`paraphrases`") as pieces, ThreadPoolExecutor(1) as reader:

            def read() -> bytes:
                return b"".join(islice(pieces, _PIECES))

            waiting = reader.submit(read)
            while block := waiting.result():
                waiting = reader.submit(read)
                ends = _line_ends(data := rest + block)
                offsets = np.concatenate([[0], ends[: len(ends) // _LINES * _LINES]]).astype(np.int32)
                rest = data[offsets[-1] :]
                yield self._checked(_strings(offsets, data))
        if rest:
            # The last line may have no end.
            offsets = np.unique([0, *_line_ends(rest), len(rest)]).astype(np.int32)
            yield self._checked(_strings(offsets, rest))

    def _checked(self, lines: pa.StringArray) -> pa.StringArray:
        """The lines, if they are those of a table."""
        if self._is_known:
            return lines
        if len(lines) % _LINES:
            self._refuse("a number of lines that is no multiple of 3")
        try:
            lines.validate(full=True)
        except pa.ArrowInvalid:
            self._refuse("a line that is not UTF-8")
        numbers = np.arange(len(lines))
        texts = self._cleaned(lines.take(pa.array(numbers[numbers % _LINES > 0])))
        if pc.any(pc.equal(texts, "")).as_py():
            self._refuse("a phrase without words")
        return lines

    def _refuse(self, got: str) -> NoReturn:
        raise UsageError(
            f"`paraphrases` must have three lines per pair, a probability, a phrase and its paraphrase, got {got} in "
            f"{str(self._path)!r}"
        )

    def _cleaned(self, lines: pa.StringArray) -> pa.StringArray:
        """Lines without their ends, the words parted by single blanks."""
        if self._is_known:
            return pc.ascii_rtrim(lines, "\n")
        return pc.binary_join(pc.ascii_split_whitespace(pc.ascii_trim_whitespace(lines)), " ")


def _line_ends(data: bytes) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1


def _strings(offsets: npt.NDArray[np.int32], data: bytes | bytearray) -> pa.StringArray:
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def _consist_of(texts: pa.StringArray, words: pa.StringArray | None) -> npt.NDArray[np.bool_]:
    """Whether each text consists of some words; all do for None."""
    if words is None or not len(texts):
        return np.ones(len(texts), np.bool_)
    split = pc.split_pattern(texts, " ")
    is_known = pc.is_in(split.flatten(), value_set=words).to_numpy(zero_copy_only=False)
    return np.logical_and.reduceat(is_known, split.offsets.to_numpy()[:-1])


class _Collected:
    """Paraphrases in the order of the file; their bytes are in one piece from the start, since they are many."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._codes: list[int] = []
        self._n_texts: list[int] = []
        self._offsets: list[npt.NDArray[np.int32]] = [np.zeros(1, np.int32)]
        self._data = bytearray()
        self._longest = 0

    def add(self, phrases: pa.StringArray, n_texts: list[int], texts: pa.StringArray) -> None:
        """Take phrases, the number of paraphrases of each, and these."""
        if not len(texts):
            return
        self._codes += [self._numbers.setdefault(phrase, len(self._numbers)) for phrase in phrases.to_pylist()]
        self._n_texts += n_texts
        blanks = (pc.max(pc.count_substring(one, " ")).as_py() for one in (phrases, texts))
        self._longest = max(self._longest, *(1 + most for most in blanks))
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
        self._offsets.append(ends[1:] - ends[0] + np.int32(len(self._data)))
        self._data += memoryview(data)[ends[0] : ends[-1]]

    def grouped(self, words: frozenset[str] | None) -> Paraphrases:
        """Bring the paraphrases of each phrase together, which may have been in several places."""
        codes, n_texts = np.array(self._codes, np.int64), np.array(self._n_texts, np.int64)
        texts = _strings(np.concatenate(self._offsets), self._data)
        if (np.diff(codes) < 0).any():
            texts = texts.take(pa.array(np.argsort(np.repeat(codes, n_texts), kind="stable")))
        starts = np.zeros(len(self._numbers) + 1, np.int64)
        np.add.at(starts, codes + 1, n_texts)
        return Paraphrases(words, self._numbers, starts.cumsum(), texts, self._longest)
