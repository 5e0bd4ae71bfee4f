"""The column of the metrics that look at videos, and that of those that look at one image."""

from typing import Any

import datasets
import pyarrow as pa

from vlgauge.base.columns import Column, Images, LazyRows
from vlgauge.errors import UsageError
from vlgauge.media.images import images_of, is_single_image
from vlgauge.media.videos import video_cell
from vlgauge.settings import what_to_do


class OneImage(Images):
    """One image, or a list of one; stored as `Images` stores it, so that all image metrics share a schema."""

    def store(self, row: Any, place: str) -> list[dict[str, Any]] | None:
        """The one cell (``bytes``, ``path``) in a list."""
        images = images_of(row)
        if images is not None and len(images) != 1:
            raise UsageError.about(place, f"must be one image, got a list of {len(images)}")
        image = row if images is None else images[0]
        if not is_single_image(image):
            got = f"{type(image).__name__}{what_to_do(image)}" if images_of(image) is None else "a list in a list"
            raise UsageError.about(place, f"must be one image, got {got}")
        return super().store(image, place)


class Videos(Column):
    """A video: a file or a segment of it, or frames. Stored as path or undecoded images; see `vlgauge.media.frames`."""

    def feature(self) -> Any:
        """Path and segment, or frames."""
        seconds = datasets.Value("float64")
        frames = datasets.Sequence(datasets.Image(decode=False))
        return {"path": datasets.Value("string"), "start": seconds, "end": seconds, "frames": frames}

    def store(self, row: Any, place: str) -> dict[str, Any] | None:
        """Cell ``{"path", "start", "end", "frames"}``."""
        if row is None and self.optional:
            return None
        cell = video_cell(row, place, may_be_missing=self.may_be_missing)
        # The host refuses None for a text within the first row; `LazyVideos` puts it back.
        return {**cell, "path": cell["path"] or ""}

    def restore(self, column: pa.ChunkedArray) -> LazyRows:
        """Cells that are read when asked for."""
        return LazyVideos(column)

    def size(self, stored: Any) -> int:
        """Bytes of the frames of a row."""
        return sum(len(cell["bytes"] or b"") for cell in (stored or {}).get("frames") or ())


class LazyVideos(LazyRows):
    """Stored cells of videos, one at a time, as `vlgauge.media.videos.video_cell` made them."""

    def __getitem__(self, index: int | slice) -> Any:
        """Cell, or lazily the cells of a slice."""
        found = super().__getitem__(index)
        if isinstance(index, slice):
            return LazyVideos(found.column)
        return found and {**found, "path": found["path"] or None}
