"""What pictures take while they are decoded, and pixels that are not there."""

import io
import itertools
import struct
import zlib

import numpy as np
import pytest
from image_samples import RGB, encoded, pixels
from PIL import Image, ImageFile

from vlgauge.media import headers, images
from vlgauge.media.images import image_cell, open_image


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(size, packed, depth=8, colour=2, interlaced=0):
    head = struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, interlaced)
    halves = packed[: len(packed) // 2], packed[len(packed) // 2 :]
    pieces = chunk(b"IHDR", head), chunk(b"PLTE", bytes(3)) if colour == 3 else b"", chunk(b"tEXt", b"a\0b")
    return b"\x89PNG\r\n\x1a\n" + b"".join([*pieces, *(chunk(b"IDAT", half) for half in halves), chunk(b"IEND", b"")])


def opened(data, **options):
    return open_image({"bytes": data, "path": None}, "images[1]", **options)


# -- pixels that are missing ------------------------------------------------------------------------------------------
def rows_by_pass(width, height, interlaced):
    """Pixels of each row that is stored; the passes of an interlaced picture as the eight by eight of PNG 8.2."""
    table = ["16462646", "77777777", "56565656", "77777777", "36463646", "77777777", "56565656", "77777777"]
    rows = {}
    for y in range(height):
        for x in range(width):
            row = (table[y % 8][x % 8], y) if interlaced else y
            rows[row] = rows.get(row, 0) + 1
    return list(rows.values())


@pytest.mark.parametrize("interlaced", [0, 1])
@pytest.mark.parametrize(
    ("depth", "colour", "bits"), [(8, 2, 24), (8, 6, 32), (8, 4, 16), (8, 0, 8), (1, 0, 1), (2, 3, 2)]
)
@pytest.mark.parametrize("size", [(5, 7), (1, 9), (17, 1), (3, 2)])
def test_black_png_is_whole_or_refused(size, depth, colour, bits, interlaced):
    rows = [1 + (columns * bits + 7) // 8 for columns in rows_by_pass(*size, interlaced)]
    assert headers._packed_bytes(*size, bits, bool(interlaced)) == sum(rows)
    whole = opened(png(size, zlib.compress(bytes(sum(rows))), depth, colour, interlaced))
    assert (whole.size, whole.getextrema()) == (size, ((0, 0),) * 3)
    for missing in {1, rows[-1]}:
        data = png(size, zlib.compress(bytes(sum(rows) - missing)), depth, colour, interlaced)
        with pytest.raises(ValueError, match=rf"images\[1\].*({missing} of {sum(rows)} bytes of pixels|truncated)"):
            opened(data)


@pytest.mark.parametrize("convert", ["early", "late"])
def test_png_with_black_at_its_end_is_whole_and_cut_at_a_row_refused(convert):
    raw = (b"\0" + b"\x07" * 15) * 3 + bytes(16) * 4
    assert pixels(opened(png((5, 7), zlib.compress(raw)), convert=convert))[1] == (5, 7)
    with pytest.raises(ValueError, match=r"\(error: 64 of 112 bytes of pixels are missing\)"):
        opened(png((5, 7), zlib.compress(raw[:48])), convert=convert)


# -- memory -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "most"), [("PNG", 35), ("JPEG", 35), ("progressive", 52), ("WEBP", 70)])
def test_formats_that_take_more_memory_may_have_fewer_pixels(kind, most):
    data = encoded(RGB, "JPEG", progressive=True) if kind == "progressive" else encoded(RGB, kind)
    assert opened(data, max_pixels=most + (kind == "progressive")).size == (5, 7)
    with pytest.raises(ValueError, match="must have at most 34 pixels, got 5 x 7 in"):
        opened(data, max_pixels=most - 1 if kind != "progressive" else most)


def test_tiles_larger_than_their_picture_are_refused():
    tags = [(256, 4, 1, 4), (257, 4, 1, 4), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1), (277, 3, 1, 1)]
    tags += [(322, 4, 1, 30_000), (323, 4, 1, 30_000), (324, 4, 1, 200), (325, 4, 1, 100)]
    data = b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    with pytest.raises(ValueError, match=r"`images\[1\]` must have at most 52428800 pixels, got 30000 x 30000 in"):
        opened(data + bytes(300))


def test_rows_count_whatever_their_width(monkeypatch):
    monkeypatch.setattr(images, "MAX_SIDE", 9)
    assert image_cell(np.zeros((9, 1), np.uint8), "x")
    with pytest.raises(ValueError, match=r"^`x` must have sides of at most 9 pixels, got 1 x 10$"):
        image_cell(np.zeros((10, 1), np.uint8), "x")


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3), (1, 1)])
def test_an_array_becomes_the_file_that_pillow_would_write(shape):
    array = np.random.default_rng(0).integers(0, 256, (*shape[:1], 2 * shape[1], *shape[2:]), dtype=np.uint8)[:, ::2]
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PPM")
    assert image_cell(array, "x")["bytes"] == buffer.getvalue()


def test_a_picture_is_decoded_without_a_second_copy(monkeypatch):
    monkeypatch.setattr(Image.Image, "copy", lambda _: pytest.fail("a copy"))
    assert pixels(opened(encoded(RGB, "PNG"))) == pixels(RGB)


# -- pixels of a JPEG -------------------------------------------------------------------------------------------------
NOISE = Image.fromarray(np.random.default_rng(5).integers(0, 255, (30, 40, 3), np.uint8)).resize((203, 151))
FRAMED = Image.new("RGB", (203, 151), "white")
FRAMED.paste(NOISE.resize((150, 90)), (20, 20))
# 640 x 480 white pixels in arithmetic coding, which Pillow reads and does not write.
ARITHMETIC = (
    "ffd8ffe000104a46494600010100000100010000ffdb004300080606070605080707070909080a0c140d0c0b0b0c1912130f141d"
    "1a1f1e1d1a1c1c20242e2720222c231c1c2837292c30313434341f27393d38323c2e333432ffdb0043010909090c0b0c180d0d18"
    "32211c21323232323232323232323232323232323232323232323232323232323232323232323232323232323232323232323232"
    "3232ffc900110801e0028003012200021101031101ffcc000a0010100501101105ffda000c03010002110311003f00d2b7ff0085"
    "16ffd9"
)
WAYS = ({}, {"restart_marker_rows": 1}, {"subsampling": 0, "quality": 95}, {"optimize": True})


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_cut_jpeg_with_an_end_is_refused(mode, options):
    for image in (NOISE, FRAMED):
        whole = encoded(image.convert(mode), "JPEG", **options)
        # Whatever follows the end, an end of its own included, does not count.
        for data in (whole, whole + b"more", whole + whole):
            assert opened(data, convert="late").tobytes() == Image.open(io.BytesIO(whole)).tobytes()
        said = []
        for sixteenth in range(6, 13):
            with pytest.raises(ValueError, match=r"`images\[1\]` must be a readable image, got \d+ bytes") as caught:
                opened(whole[: len(whole) * sixteenth // 16] + b"\xff\xd9")
            said.append("(error: pixels are missing before its end)" in str(caught.value))
        assert sum(said) > 3  # Pillow refuses some by itself


def test_jpegs_that_no_other_bytes_can_tell_are_left_to_pillow():
    progressive = encoded(FRAMED, "JPEG", progressive=True)
    assert opened(progressive).tobytes() == opened(progressive + b"more").tobytes()
    read = 0
    for sixteenth in range(6, 16):
        cut = progressive[: len(progressive) * sixteenth // 16] + b"\xff\xd9"
        try:
            expected = Image.open(io.BytesIO(cut)).tobytes()
        except OSError:
            continue
        read += 1
        assert opened(cut).tobytes() == expected
    assert read
    # The zeros at the end of arithmetic coding may be left out: here all, of white pixels.
    arithmetic = bytes.fromhex(ARITHMETIC)
    assert opened(arithmetic).tobytes() == Image.open(io.BytesIO(arithmetic)).tobytes()


def test_the_end_of_a_small_picture_in_the_header_is_not_that_of_the_pixels():
    found = 0
    for width, height in itertools.product(range(20, 200, 9), range(20, 200, 9)):
        whole = encoded(Image.new("RGB", (width, height), "white"), "JPEG", exif=b"Exif\0\0\xff\xd8\xff\xd9")
        try:
            Image.open(io.BytesIO(whole[:-2])).load()
        except OSError:
            continue
        found += 1
        assert opened(whole[:-2]).tobytes() == opened(whole).tobytes()
    assert found


def test_a_jpeg_without_an_end_is_left_to_pillow(monkeypatch):
    whole = encoded(FRAMED, "JPEG", progressive=True)
    with pytest.raises(ValueError, match="truncated"):
        opened(whole[:-2])
    # Where it is told to read such files, as far as they go.
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert opened(whole[:-2]).tobytes() == opened(whole).tobytes()
