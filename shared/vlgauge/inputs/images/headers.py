"""Image file headers read with Pillow: formats, sizes, and the memory that decoding needs."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from PIL import Image
from PIL.ImageFile import ImageFile

from vlgauge.core.files import open_file

# Formats that Pillow decodes without an external program, unlike EPS.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")

MOST_COMMENT_BYTES = 2**20

_TILE_WIDTH, _TILE_HEIGHT = 322, 323  # TIFF tags


@contextmanager
def open_header(data: bytes | None, path: str) -> Iterator[ImageFile]:
    """Open an image and read only its header.

    Raises:
        Exception: Any error of Pillow.
    """
    with io.BytesIO(data) if data else open_file(path) as file:
        _check_gif(file)
        with Image.open(file, formats=FORMATS) as image:
            yield image


def _check_gif(file: IO[bytes]) -> None:
    """Check the size of the comments in a GIF up to its second frame, which take quadratic time.

    Pillow skips bytes between blocks one at a time, so they count, too.
    """
    if (head := file.read(13)).startswith(b"GIF8"):
        _skip_colors(file, head[10:])
        n_bytes = n_frames = 0
        while n_frames < 2 and (kind := file.read(1)) not in (b"", b";"):
            is_comment = kind not in b"!," or (kind == b"!" and file.read(1) == b"\xfe")
            n_bytes += is_comment
            if kind == b",":
                n_frames += 1
                _skip_colors(file, file.read(9)[8:])
                file.seek(1, io.SEEK_CUR)  # size of codes
            while kind in b"!," and (size := file.read(1)) not in (b"", b"\0"):
                n_bytes += is_comment * size[0]
                file.seek(size[0], io.SEEK_CUR)
            if n_bytes > MOST_COMMENT_BYTES:
                raise ValueError(f"more than {MOST_COMMENT_BYTES:,} bytes of comments")
    file.seek(0)


def _skip_colors(file: IO[bytes], flags: bytes) -> None:
    if flags and flags[0] & 128:
        file.seek(3 << (flags[0] & 7) + 1, io.SEEK_CUR)


def sizes(image: ImageFile) -> list[tuple[int, int]]:
    """Return width and height in pixels of an image and, as a second pair, of the tiles in which it may be stored."""
    tags = getattr(image, "tag_v2", {})
    tiles = [(tags[_TILE_WIDTH], tags[_TILE_HEIGHT])] if _TILE_WIDTH in tags and _TILE_HEIGHT in tags else []
    return [image.size, *tiles]


def bytes_per_pixel(image: ImageFile) -> int:
    """Return the maximum memory per pixel while an image is decoded, in bytes.

    WebP needs four copies of four bytes per pixel, other formats two. Progressive JPEG also needs memory for its
    coefficients.
    """
    if image.format == "WEBP":
        return 16
    return 12 if "progressive" in image.info else 8  # progressive JPEG stores coefficients until the last scan
