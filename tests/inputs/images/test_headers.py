"""Memory use of image decoding."""

import io
import struct

import numpy as np
import pytest
from hostile_media import GIF, GIF_FRAME
from image_samples import RGB, encoded, pixels
from PIL import Image

from vlgauge.inputs.images import cells
from vlgauge.inputs.images.cells import image_cell, open_image


def opened(data, **options):
    return open_image({"bytes": data, "path": None}, "images[1]", **options)


@pytest.mark.parametrize(("kind", "most"), [("PNG", 35), ("JPEG", 35), ("progressive", 52), ("WEBP", 70)])
def test_formats_that_take_more_memory_may_have_fewer_pixels(kind, most):
    data = encoded(RGB, "JPEG", progressive=True) if kind == "progressive" else encoded(RGB, kind)
    assert opened(data, max_pixels=most + (kind == "progressive")).size == (5, 7)
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*at most 34 pixels.*got 5 x"):
        opened(data, max_pixels=most - 1 if kind != "progressive" else most)


def test_tiles_larger_than_their_image_are_refused():
    tags = [(256, 4, 1, 4), (257, 4, 1, 4), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1), (277, 3, 1, 1)]
    tags += [(322, 4, 1, 30_000), (323, 4, 1, 30_000), (324, 4, 1, 200), (325, 4, 1, 100)]
    data = b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*at most 52428800 pixels.*got 30000 x"):
        opened(data + bytes(300))


def test_rows_count_whatever_their_width(monkeypatch):
    monkeypatch.setattr(cells, "MAX_SIDE", 9)
    assert image_cell(np.zeros((9, 1), np.uint8), "x")
    with pytest.raises(ValueError, match=r"^`x`.*at most 9 pixels.*got 1 x"):
        image_cell(np.zeros((10, 1), np.uint8), "x")


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3), (1, 1)])
def test_an_array_becomes_the_file_that_pillow_would_write(shape):
    array = np.random.default_rng(0).integers(0, 256, (*shape[:1], 2 * shape[1], *shape[2:]), dtype=np.uint8)[:, ::2]
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PPM")
    assert image_cell(array, "x")["bytes"] == buffer.getvalue()


def test_an_image_is_decoded_without_a_second_copy(monkeypatch):
    monkeypatch.setattr(Image.Image, "copy", lambda _: pytest.fail("a copy"))
    assert pixels(opened(encoded(RGB, "PNG"))) == pixels(RGB)


def comment(n_bytes):
    return b"\x21\xfe" + (b"\xff" + b"c" * 255) * (n_bytes // 255) + b"\0"


@pytest.mark.parametrize(
    "data",
    [
        GIF + comment(2_000_000) + GIF_FRAME,
        GIF + GIF_FRAME + comment(2_000_000) + GIF_FRAME,
        GIF + GIF_FRAME + comment(100) * 1_100_000,
        GIF + b"\1" * 2_000_000 + GIF_FRAME,
    ],
    ids=["before", "between", "many", "no blocks"],
)
def test_long_comments_are_refused_before_they_are_joined(data, monkeypatch):
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("opened by Pillow"))
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*\(error: more than 1,048,576 bytes of comments\)$"):
        opened(data)


@pytest.mark.filterwarnings("ignore:.*more than one frame")
def test_other_blocks_of_a_gif_are_not_counted():
    colors = b"\x2c\0\0\0\0\x01\0\x01\0\x80!!!\xfe\xfe\xfe\x02\x02\x44\x01\0"  # own colors with the bytes of a comment
    unknown = b"\x21\x55" + (b"\xff" + b"c" * 255) * 8_000 + b"\0"
    for data in (GIF + colors, GIF + unknown + GIF_FRAME, GIF + GIF_FRAME + GIF_FRAME + comment(2_000_000)):
        assert opened(data + b";").size == (1, 1)
