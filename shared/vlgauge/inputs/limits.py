"""Limits of the content of rows, in a module without heavy imports for the command line."""

from dataclasses import dataclass

from vlgauge.core.files import FileLimitError
from vlgauge.core.validation import check_int

# Other limits of images and videos are `MAX_SIDE` in images/cells.py, `FORMATS` in images/headers.py, `MOST_FILE_BYTES`
# in images/sandboxed.py, and memory and time in sandbox/workers.py. The workbench has limits in app.py, hosting.py and
# inputs.py. docs/howto/untrusted_files.md lists all of them. With `--untrusted` and in the workbench, decoders run
# in a worker process, and a breakpoint in them does not reach your terminal.

# Maximum number of pixels of an image. Decoding needs up to eight bytes per pixel: four for the image, and four for a
# copy that is rotated or has an alpha channel.
MAX_PIXELS = 50 * 2**20

# Limits of a video: pixels of a frame, of which a decoder may keep 17, number of frames, and pixels of all frames up to
# the last one used. Decoding that many pixels takes some minutes: 8 hours of 640 x 480 or 74 minutes of 1920 x 1080, at
# 30 frames per second.
MAX_FRAME_PIXELS = 9 * 2**20
MAX_FRAMES = 2**20
MAX_CLIP_PIXELS = 2**38

# Maximum number of columns of an untrusted table. In Parquet, each field of a nested column counts.
MAX_COLUMNS = 1_000


@dataclass(frozen=True)
class RowLimits:
    """Limits of the content of a row. Rows that exceed a limit are skipped with a reason.

    Attributes:
        picture_bytes: Maximum size of an image file in bytes.
        clip_bytes: Maximum size of a video file in bytes.
        pixels: Maximum number of pixels of an image, checked in its header.
        characters: Maximum number of characters of a text.
        texts: Maximum number of texts of a cell, such as the references of an image or the sentences of a story.
        run_bytes: Maximum size in bytes of all images and videos of a run, which are stored until it is scored.
    """

    picture_bytes: int = 20_000_000
    clip_bytes: int = 100_000_000
    pixels: int = MAX_PIXELS
    characters: int = 20_000
    texts: int = 1_000
    run_bytes: int = 2**30

    def __post_init__(self) -> None:
        """Check that all limits are at least 1."""
        for name, value in vars(self).items():
            check_int(name, value, 1)


def check_n_texts(place: str, n_texts: int, most: int, row: str = "") -> None:
    """Check the number of texts of a cell.

    Args:
        place: Name of the column.
        n_texts: Number of texts.
        most: Maximum number of texts.
        row: Position of the row, for messages about files.

    Raises:
        FileLimitError: If there are more texts.
    """
    if n_texts > most:
        problem = f"must have at most {most:,} texts per row, got {n_texts:,}"
        raise FileLimitError.about(f"{place:.60}", f"{problem} in {row}" if row else problem)


def check_n_columns(name: str, n_columns: int, got: str) -> None:
    """Check the number of columns of an untrusted table.

    Args:
        name: Name of the file in messages, such as ``"FILE"``.
        n_columns: Number of columns.
        got: Path of the file in messages.

    Raises:
        FileLimitError: If there are more than `MAX_COLUMNS`.
    """
    if n_columns > MAX_COLUMNS:
        raise FileLimitError(f"{name} must have at most {MAX_COLUMNS:,} columns, got more in {got!r}")
