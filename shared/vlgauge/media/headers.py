"""Picture files opened by Pillow, what they take while they are decoded, and found whole where it does not look."""

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from PIL import Image, ImageChops
from PIL.ImageFile import ImageFile

from vlgauge.errors import UsageError
from vlgauge.files import open_file

# Formats read without help of another program; Pillow would start one for EPS.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")

_TILE_WIDTH, _TILE_HEIGHT = 322, 323  # tags of TIFF
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a PNG, by its colour type
# Left, top, and steps to the right and down of the seven passes of an interlaced PNG.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_CHUNK = 2**20
_ROWS = 256
# Markers of the frames of a JPEG, and those that are coded by Huffman and not progressive.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_HUFFMAN = (0xC0, 0xC1)
# No picture goes on with this: the zero makes a pixel of what could begin a marker, and where a part has ended, the
# next one begins with one of eight markers.
_FILLING = b"".join(b"\0" + bytes(range(1, 255, 2)) + bytes([0xFF, 0xD0 + part]) for part in range(8)) + bytes(9)


@contextmanager
def opened(data: bytes | None, path: str) -> Iterator[tuple[ImageFile, "io.BufferedReader[Any]"]]:
    """A picture of which the header has been read, and its file.

    Raises:
        Exception: Whatever Pillow raises.
    """
    source = io.BytesIO(data) if data else open_file(path)
    with io.BufferedReader(cast(io.RawIOBase, source)) as file, Image.open(file, formats=FORMATS) as image:
        yield image, file


def sizes(image: ImageFile) -> list[tuple[int, int]]:
    """Width and height of the picture, and of the tiles that it is stored in."""
    tags = getattr(image, "tag_v2", {})
    tiles = [(tags[_TILE_WIDTH], tags[_TILE_HEIGHT])] if _TILE_WIDTH in tags and _TILE_HEIGHT in tags else []
    return [image.size, *tiles]


def bytes_per_pixel(image: ImageFile) -> int:
    """What a picture takes at most while it is decoded, for each of its pixels: WebP four copies, all else two."""
    if image.format == "WEBP":
        return 16
    return 12 if "progressive" in image.info else 8  # JPEG: its coefficients, until the last scan is read


def check_whole(image: ImageFile, file: io.BufferedReader) -> None:
    """Refuse a PNG or JPEG that was decoded and has fewer pixels than it says.

    Of a PNG Pillow leaves the rest black; of a JPEG with an end marker it makes it grey. A progressive one, which has
    all pixels after the first scan, is not looked at; nor an arithmetic one, whose last bytes may be left out.

    Raises:
        ValueError: If pixels are missing.
    """
    if image.format in ("JPEG", "MPO") and _ends_flat(image) and _needs_more(file):
        raise UsageError("pixels are missing before its end")
    if image.format != "PNG":
        return
    width, height = image.size
    file.seek(16)
    *_, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", file.read(13))
    # Rows come one after the other, so that a last one that is not black has those before it.
    if not interlaced and image.crop((0, height - 1, width, height)).getbbox(alpha_only=False):
        return
    expected, found = _packed_bytes(width, height, depth * _CHANNELS[colour], bool(interlaced)), 0
    for n_bytes in _unpacked(file):
        found += n_bytes
        if found >= expected:
            return
    raise UsageError(f"{expected - found:,} of {expected:,} bytes of pixels are missing")


def _ends_flat(image: ImageFile) -> bool:
    """Whether the last block of a JPEG has one colour, as where it was filled up."""
    width, height = image.size
    block = image.crop(((width - 1) // 8 * 8, (height - 1) // 8 * 8, width, height))
    return len(block.getcolors(64) or ()) == 1


def _needs_more(file: io.BufferedReader) -> bool:
    """Whether other bytes before the end marker of a JPEG change its pixels: of a whole one nobody reads them."""
    file.seek(0)
    data = file.read()
    end = data.rfind(b"\xff\xd9")
    if end < 0 or _frame_of(data) not in _HUFFMAN:
        return False
    other = data[:end] + _FILLING + data[end:]
    try:
        with (
            Image.open(io.BytesIO(data), formats=["JPEG"]) as small,
            Image.open(io.BytesIO(other), formats=["JPEG"]) as filled,
        ):
            for one in (small, filled):
                one.draft(None, (1, 1))  # an eighth of the size takes little, and has what differs
            return _differ(small, filled)
    except OSError:  # that end marker is of a small picture in the header
        return False


def _frame_of(data: bytes) -> int:
    """The second byte of the marker at which the frame of a JPEG begins: how its pixels are coded."""
    at = 2
    while data[at : at + 1] == b"\xff" and at + 4 <= len(data):
        marker = data[at + 1]
        if marker in _FRAMES:
            return marker
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0


def _differ(one: Image.Image, other: Image.Image) -> bool:
    """Whether a pixel differs, looked for in some rows at a time."""
    one.load()
    other.load()
    bands = ((0, top, one.width, min(top + _ROWS, one.height)) for top in range(0, one.height, _ROWS))
    return any(ImageChops.difference(one.crop(band), other.crop(band)).getbbox(alpha_only=False) for band in bands)


def _packed_bytes(width: int, height: int, bits: int, interlaced: bool) -> int:
    """Bytes of the pixels of a PNG before they are packed; each row has one more."""
    total = 0
    for left, top, right, down in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = -((left - width) // right), -((top - height) // down)
        total += rows * (1 + (columns * bits + 7) // 8) if columns > 0 and rows > 0 else 0
    return total


def _unpacked(file: io.BufferedReader) -> Iterator[int]:
    """How many bytes the pixels of a PNG unpack to, in pieces."""
    unpacker, seen = zlib.decompressobj(), False
    file.seek(8)
    while len(head := file.read(8)) == 8:
        length, kind = struct.unpack(">I4s", head)
        if kind == b"IDAT":
            seen = True
            data = file.read(length)
            while data:
                yield len(unpacker.decompress(data, _CHUNK))
                data = unpacker.unconsumed_tail
            file.seek(4, io.SEEK_CUR)
        elif seen:
            return
        else:
            file.seek(length + 4, io.SEEK_CUR)
