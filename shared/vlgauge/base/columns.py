"""The columns a metric can have: how a row is checked, stored by the host, and given back.

The host looks at the type of the first row only and casts the others to text, so every row is checked here, before
anything is written.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import datasets
import pyarrow as pa

from vlgauge.errors import UsageError
from vlgauge.media.images import image_cell, images_of, is_single_image
from vlgauge.media.tables import refuse_lists_as_text, without_blanks
from vlgauge.settings import listed, plain_text, valid_unicode, warn, what_to_do

REFERENCES = "references"


def are_proper_texts(texts: Sequence[Any]) -> bool:
    """Whether all are plain strings that UTF-8 can hold, by one look at all of them; who is not, it does not say."""
    if not set(map(type, texts)) <= {str}:
        return False
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Column(ABC):
    """One input column.

    Attributes:
        name: Keyword of `add_batch` and `compute`.
        optional: Whether the whole column may be left out; its rows are then None.
        may_be_missing: Whether files of images and videos may be missing: they cannot be read later.
    """

    name: str
    optional: bool = False
    may_be_missing: bool = False

    @abstractmethod
    def feature(self) -> Any:
        """Feature of the host's schema; one per column, never a choice."""

    @abstractmethod
    def store(self, row: Any, place: str) -> Any:
        """The row as the host stores it; ValueError naming ``place`` if it is not what the column holds."""

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """The rows as the host stores them; a column may look at all of them at once."""
        return [self.store(row, f"{self.name}[{i}]") for i, row in enumerate(rows)]

    def check_together(self, stored: Sequence[Any]) -> None:  # noqa: B027  # most columns have nothing to refuse
        """Refuse rows that are right one by one but not side by side."""

    def restore(self, column: pa.ChunkedArray) -> Sequence[Any]:
        """Rows as `_compute` sees them, from the stored column."""
        return column.to_pylist()

    def size(self, stored: Any) -> int:
        """Bytes of a stored row that count against the limit of one write; 0 where they can be neglected."""
        return 0


class Story(Column):
    """A story: a string, or a list of sentences. Stored as JSON, which keeps the two apart and any character."""

    def feature(self) -> datasets.Value:
        """A string."""
        return datasets.Value("string")

    def store(self, row: Any, place: str) -> str:
        """JSON text of the row."""
        if isinstance(row, str):
            return json.dumps(str(row))
        sentences = listed(row)
        if sentences is None:
            got = type(row).__name__
            hint = what_to_do(row)
            raise UsageError.about(place, f"must be a story, that is a string or a list of sentences, got {got}{hint}")
        texts = [plain_text(text, f"{place}[{i}]", "a sentence (str)") for i, text in enumerate(sentences)]
        return json.dumps(texts)

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """JSON texts of the rows."""
        refuse_lists_as_text(self.name, rows)
        return super().store_all(rows)

    def check_together(self, stored: Sequence[Any]) -> None:
        """Refuse a mixture of strings and lists: one of the two would be split and the other not."""
        forms = [row[0] for row in stored]
        for i, form in enumerate(forms):
            if form != forms[0]:
                kinds = {'"': "a string", "[": "a list of sentences"}
                raise UsageError.about(
                    self.name,
                    f"must have one form in a call, got {kinds[forms[0]]} first and "
                    f"{kinds[form]} in row {i}; give every story as a list of sentences",
                )

    def restore(self, column: pa.ChunkedArray) -> list[str | list[str]]:
        """Strings or lists of strings, as they came."""
        stored = column.to_pylist()
        self.check_together(stored)
        return [json.loads(row) for row in stored]


class Captions(Column):
    """A list of captions; may be empty."""

    def feature(self) -> Any:
        """A sequence of strings."""
        return datasets.Sequence(datasets.Value("string"))

    def store(self, row: Any, place: str) -> list[str] | None:
        """The captions as a plain list."""
        if row is None and self.optional:
            return None
        captions = listed(row)
        if captions is None:
            hint = "; wrap a single caption: [caption]" if isinstance(row, str) else ""
            hint = hint or ("; give [] where there are none" if what_to_do(row) else "")
            raise UsageError.about(place, f"must be a list of captions, got {type(row).__name__}{hint}")
        texts = (plain_text(text, f"{place}[{i}]", "a caption (str)") for i, text in enumerate(captions))
        return [valid_unicode(text, f"{place}[{i}]") for i, text in enumerate(texts)]

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """The rows as they are where all are lists of proper strings, as most are; else one by one.

        Blank references are left out, as if they were not given, and counted in a warning.
        """
        refuse_lists_as_text(self.name, rows)
        if set(map(type, rows)) == {list} and are_proper_texts(list(chain.from_iterable(rows))):
            stored = [list(row) for row in rows]
        else:
            stored = super().store_all(rows)
        return stored if self.name != REFERENCES else self._without_blanks(stored)

    def _without_blanks(self, stored: list[Any]) -> list[Any]:
        kept = without_blanks(stored)
        fewer = [row for row, (before, after) in enumerate(zip(stored, kept, strict=True)) if before != after]
        if fewer:
            n_blank = sum(len(stored[row]) - len(kept[row]) for row in fewer)
            bare = sum(not kept[row] for row in fewer)
            warn(
                f"`{self.name}` must have no blank texts, got {n_blank} in {len(fewer)} of {len(stored)} rows, the "
                f"first in row {fewer[0]}; they are left out (rows without another reference: {bare})"
            )
        return kept


class References(Captions):
    """One reference, or a list of them; may be empty."""

    def store(self, row: Any, place: str) -> list[str] | None:
        """The references as a plain list."""
        return super().store([row] if isinstance(row, str) else row, place)


class Text(Column):
    """One string, such as a caption or the name of a style."""

    def feature(self) -> datasets.Value:
        """A string."""
        return datasets.Value("string")

    def store(self, row: Any, place: str) -> str | None:
        """The string as it is."""
        if row is None and self.optional:
            return None
        return valid_unicode(plain_text(row, place, "a string"), place)

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """The strings as they are where all are proper ones, as most are; else one by one."""
        refuse_lists_as_text(self.name, rows, may_be_texts=True)
        return list(rows) if are_proper_texts(rows) else super().store_all(rows)


class Images(Column):
    """A list of images, or one image. Stored as bytes or path, undecoded; see `vlgauge.media.images`."""

    def feature(self) -> Any:
        """A sequence of undecoded images."""
        return datasets.Sequence(datasets.Image(decode=False))

    def store(self, row: Any, place: str) -> list[dict[str, Any]] | None:
        """One cell (``bytes``, ``path``) per image."""
        if row is None and self.optional:
            return None
        if is_single_image(row):
            return [image_cell(row, place, may_be_missing=self.may_be_missing)]
        images = images_of(row)
        if images is None:
            got = f"{type(row).__name__}{what_to_do(row)}"
            raise UsageError.about(place, f"must be an image or a list of images, got {got}")
        return [
            image_cell(image, f"{place}[{i}]", may_be_missing=self.may_be_missing) for i, image in enumerate(images)
        ]

    def restore(self, column: pa.ChunkedArray) -> "LazyRows":
        """Rows of cells that are read when asked for, so that the bytes of a call are never all in memory twice."""
        return LazyRows(column)

    def size(self, stored: Any) -> int:
        """Bytes of the images of a row."""
        return sum(len(cell["bytes"] or b"") for cell in stored or ())


class LazyRows(Sequence[Any]):
    """A stored column whose rows become Python objects one at a time."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, index: int | slice) -> Any:
        """Row, or lazily the rows of a slice."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return LazyRows(self.column.take(pa.array(range(start, stop, step))))
            return LazyRows(self.column.slice(start, max(0, stop - start)))
        return self.column[index].as_py()
