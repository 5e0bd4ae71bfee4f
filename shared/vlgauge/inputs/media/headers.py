"""Image file headers read with Pillow: formats, sizes, and the memory that decoding needs."""

import io
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image
from PIL.ImageFile import ImageFile

from vlgauge.core.files import open_file

# Formats that Pillow decodes without an external program, unlike EPS.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")

_TILE_WIDTH, _TILE_HEIGHT = 322, 323  # TIFF tags


@contextmanager
def open_header(data: bytes | None, path: str) -> Iterator[ImageFile]:
    """Open an image and read only its header.

    Raises:
        Exception: Any error of Pillow.
    """
    with io.BytesIO(data) if data else open_file(path) as file, Image.open(file, formats=FORMATS) as image:
        yield image


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
