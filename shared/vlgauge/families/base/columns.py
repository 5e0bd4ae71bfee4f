"""Input columns of metrics, which validate, store and restore rows.

`evaluate` checks the type of the first row only and casts the others to strings, so columns validate every row before
anything is written.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import as_list, plain_text, valid_unicode, warn, what_to_do
from vlgauge.inputs.images.cells import image_cell, images_of, is_single_image
from vlgauge.inputs.tables.files import check_no_lists_as_text, without_blanks

REFERENCES = "references"


def are_proper_texts(texts: Sequence[Any]) -> bool:
    """Return whether all texts are plain strings that UTF-8 can encode.

    All texts are checked at once, so the result does not identify an invalid one.
    """
    if not set(map(type, texts)) <= {str}:
        return False
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Column(ABC):
    """Abstract base class of input columns.

    Attributes:
        name: Keyword argument of `add_batch` and `compute`.
        optional: Whether the whole column may be omitted. Its rows are then None.
        may_be_missing: Whether files of images and videos may be missing, in which case they cannot be read later.
        feature: The `datasets` feature of the column, an object such as ``datasets.Value`` or a dictionary of them. It
            is fixed, because a schema has one type per column.
    """

    feature: ClassVar[Any]

    name: str
    optional: bool = False
    may_be_missing: bool = False

    def store(self, row: Any, place: str) -> Any:
        """Validate a row and convert it to the storage format of `evaluate`. None stays None in an optional column.

        Args:
            row: Value passed by the user.
            place: Position of the row, such as ``"images[3]"``, for error messages.

        Returns:
            Value that `feature` can store.

        Raises:
            ValueError: If the row is not a valid value of the column.
        """
        return None if row is None and self.optional else self._store(row, place)

    @abstractmethod
    def _store(self, row: Any, place: str) -> Any: ...

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """Validate all rows and convert them to the storage format, one value per row.

        Subclasses may check all rows at once.

        Raises:
            ValueError: If a row is not a valid value of the column.
        """
        return [self.store(row, f"{self.name}[{i}]") for i, row in enumerate(rows)]

    def check_together(self, stored: Sequence[Any]) -> None:  # noqa: B027  # most columns have no such check
        """Check properties of the column as a whole, such as a common form of its rows.

        Raises:
            ValueError: If rows are valid one by one but not in combination.
        """

    def restore(self, column: pa.ChunkedArray) -> Sequence[Any]:
        """Return the rows of a stored column, one value per row, in the form that `_compute` expects."""
        return column.to_pylist()

    def size(self, stored: Any) -> int:
        """Return the number of bytes of a stored row that count against the limit of one write. 0 if negligible."""
        return 0


class Story(Column):
    """Column of stories, each a string or a list of sentences.

    Rows are stored as JSON, which distinguishes the two forms and preserves every character.
    """

    feature = datasets.Value("string")

    def _store(self, row: Any, place: str) -> str:
        """Return the row as JSON text. See `Column.store`.

        Raises:
            ValueError: If the row is neither a string nor a list of strings.
        """
        if isinstance(row, str):
            return json.dumps(str(row))
        sentences = as_list(row)
        if sentences is None:
            got = type(row).__name__
            hint = what_to_do(row)
            raise UsageError.about(place, f"must be a story (a string or a list of sentences), got {got}{hint}")
        texts = [plain_text(text, f"{place}[{i}]", "a sentence (str)") for i, text in enumerate(sentences)]
        return json.dumps(texts)

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """Return the rows as JSON texts, one per row.

        Raises:
            ValueError: If a row is not a story, or a list was passed as text.
        """
        check_no_lists_as_text(self.name, rows)
        return super().store_all(rows)

    def check_together(self, stored: Sequence[Any]) -> None:
        """Check that all rows have the same form, because only strings are split into sentences.

        Raises:
            ValueError: If strings and lists are mixed.
        """
        forms = [row[0] for row in stored]
        for i, form in enumerate(forms):
            if form != forms[0]:
                kinds = {'"': "a string", "[": "a list of sentences"}
                raise UsageError.about(
                    self.name,
                    f"must have one form in a call, got {kinds[forms[0]]} first and {kinds[form]} in row {i}; "
                    "pass every story as a list of sentences",
                )

    def restore(self, column: pa.ChunkedArray) -> list[str | list[str]]:
        """Return the rows as strings or lists of strings, in the form in which they were passed.

        Raises:
            ValueError: If the rows have different forms.
        """
        stored = column.to_pylist()
        self.check_together(stored)
        return [json.loads(row) for row in stored]


class Captions(Column):
    """Column of lists of captions, which may be empty."""

    feature = datasets.Sequence(datasets.Value("string"))

    def _store(self, row: Any, place: str) -> list[str]:
        """Return the captions as a plain list.

        Raises:
            ValueError: If the row is not a list of valid strings.
        """
        captions = as_list(row)
        if captions is None:
            hint = "; wrap a single caption: [caption]" if isinstance(row, str) else ""
            hint = hint or ("; pass [] for none" if what_to_do(row) else "")
            raise UsageError.about(place, f"must be a list of captions, got {type(row).__name__}{hint}")
        texts = (plain_text(text, f"{place}[{i}]", "a caption (str)") for i, text in enumerate(captions))
        return [valid_unicode(text, f"{place}[{i}]") for i, text in enumerate(texts)]

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """Validate all rows at once if they are lists of plain strings, as most are, and otherwise one by one.

        Empty references are dropped, as if they were not passed, and counted in a warning.

        Returns:
            A list of strings per row. None for a missing row of an optional column.

        Raises:
            ValueError: If a row is not a list of valid strings, or a list was passed as text.
        """
        check_no_lists_as_text(self.name, rows)
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
                f"`{self.name}` has {n_blank} empty strings in {len(fewer)} of {len(stored)} rows, the first in "
                f"row {fewer[0]}; they are ignored (rows without another reference: {bare})"
            )
        return kept


class References(Captions):
    """Column of references, each row a string or a list of strings, which may be empty."""

    def _store(self, row: Any, place: str) -> list[str]:
        """Return the references as a plain list. A single string becomes a list of one.

        Raises:
            ValueError: If the row is neither a string nor a list of valid strings.
        """
        return super()._store([row] if isinstance(row, str) else row, place)


class Text(Column):
    """Column of strings, such as captions or names of styles."""

    feature = datasets.Value("string")

    def _store(self, row: Any, place: str) -> str:
        """Return the string unchanged.

        Raises:
            ValueError: If the row is not a valid string.
        """
        return valid_unicode(plain_text(row, place, "a string"), place)

    def store_all(self, rows: Sequence[Any]) -> list[Any]:
        """Validate all strings at once if they are plain, as most are, and otherwise one by one.

        Returns:
            A string per row. None for a missing row of an optional column.

        Raises:
            ValueError: If a row is not a valid string.
        """
        check_no_lists_as_text(self.name, rows, may_be_texts=True)
        return list(rows) if are_proper_texts(rows) else super().store_all(rows)


class Images(Column):
    """Column of images, each row an image or a list of images.

    Images are stored undecoded, as bytes or as a path. See `vlgauge.inputs.images.cells`.
    """

    feature = datasets.Sequence(datasets.Image(decode=False))

    def _store(self, row: Any, place: str) -> list[dict[str, Any]]:
        """Return one cell (``bytes``, ``path``) per image.

        Raises:
            ValueError: If the row is not an image or a list of images, or an image is invalid.
        """
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
        """Return rows that are converted on access, so that the bytes of a call are never in memory twice."""
        return LazyRows(column)

    def size(self, stored: Any) -> int:
        """Return the number of bytes of the images of a row."""
        return sum(len(cell["bytes"] or b"") for cell in stored or ())


class LazyRows(Sequence[Any]):
    """Stored column whose rows are converted to Python objects one at a time."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, index: int | slice) -> Any:
        """Return a row, or a lazy view of the rows of a slice."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return LazyRows(self.column.take(pa.array(range(start, stop, step))))
            return LazyRows(self.column.slice(start, max(0, stop - start)))
        return self.column[index].as_py()
