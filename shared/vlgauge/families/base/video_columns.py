"""Columns of video metrics and of metrics that use exactly one image per row."""

from typing import Any, ClassVar

import datasets
import pyarrow as pa

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import what_to_do
from vlgauge.families.base.columns import Column, Images, LazyRows
from vlgauge.inputs.images.cells import images_of, is_single_image
from vlgauge.inputs.video.cells import video_cell


class OneImage(Images):
    """Column of single images, each an image or a list of one image.

    Rows are stored like rows of `Images`, so that all image metrics share a schema.
    """

    def _store(self, row: Any, place: str) -> list[dict[str, Any]]:
        """Return a list with the single cell (``bytes``, ``path``).

        Raises:
            ValueError: If the row is not exactly one image, or the image is invalid.
        """
        images = images_of(row)
        if images is not None and len(images) != 1:
            raise UsageError.about(place, f"must be one image, got a list of {len(images)}")
        image = row if images is None else images[0]
        if not is_single_image(image):
            got = f"{type(image).__name__}{what_to_do(image)}" if images_of(image) is None else "a list in a list"
            raise UsageError.about(place, f"must be one image, got {got}")
        return super()._store(image, place)


class Videos(Column):
    """Column of videos, each a file, a segment of a file, or frames.

    Rows are stored as a path or as undecoded images. See `vlgauge.inputs.video.frames`.
    """

    feature: ClassVar[Any] = {
        "path": datasets.Value("string"),
        "start": datasets.Value("float64"),
        "end": datasets.Value("float64"),
        "frames": Images.feature,
    }

    def _store(self, row: Any, place: str) -> dict[str, Any]:
        """Return a cell ``{"path", "start", "end", "frames"}``.

        Raises:
            ValueError: If the video is invalid or missing.
            TypeError: If the type, dtype or shape is not supported.
        """
        cell = video_cell(row, place, may_be_missing=self.may_be_missing)
        # `evaluate` rejects None for a string in the first row. `LazyVideos` restores it.
        return {**cell, "path": cell["path"] or ""}

    def restore(self, column: pa.ChunkedArray) -> LazyRows:
        """Return cells that are read on access."""
        return LazyVideos(column)

    def size(self, stored: Any) -> int:
        """Return the number of bytes of the frames of a row."""
        return sum(len(cell["bytes"] or b"") for cell in (stored or {}).get("frames") or ())


class LazyVideos(LazyRows):
    """Stored video cells, converted one at a time to the form returned by `vlgauge.inputs.video.cells.video_cell`."""

    def __getitem__(self, index: int | slice) -> Any:
        """Return a cell, or a lazy view of the cells of a slice."""
        found = super().__getitem__(index)
        if isinstance(index, slice):
            return LazyVideos(found.column)
        return found and {**found, "path": found["path"] or None}
