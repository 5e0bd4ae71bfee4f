"""Memory use of image decoding."""

import io
import struct

import numpy as np
import pytest
from image_samples import RGB, encoded, pixels
from PIL import Image

from vlgauge.inputs.media import images
from vlgauge.inputs.media.images import image_cell, open_image


def opened(data, **options):
    return open_image({"bytes": data, "path": None}, "images[1]", **options)


@pytest.mark.parametrize(("kind", "most"), [("PNG", 35), ("JPEG", 35), ("progressive", 52), ("WEBP", 70)])
def test_formats_that_take_more_memory_may_have_fewer_pixels(kind, most):
    data = encoded(RGB, "JPEG", progressive=True) if kind == "progressive" else encoded(RGB, kind)
    assert opened(data, max_pixels=most + (kind == "progressive")).size == (5, 7)
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*at most 34 pixels.*got 5 x"):
        opened(data, max_pixels=most - 1 if kind != "progressive" else most)


def test_tiles_larger_than_their_picture_are_refused():
    tags = [(256, 4, 1, 4), (257, 4, 1, 4), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1), (277, 3, 1, 1)]
    tags += [(322, 4, 1, 30_000), (323, 4, 1, 30_000), (324, 4, 1, 200), (325, 4, 1, 100)]
    data = b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    with pytest.raises(ValueError, match=r"^`images\[1\]`.*at most 52428800 pixels.*got 30000 x"):
        opened(data + bytes(300))


def test_rows_count_whatever_their_width(monkeypatch):
    monkeypatch.setattr(images, "MAX_SIDE", 9)
    assert image_cell(np.zeros((9, 1), np.uint8), "x")
    with pytest.raises(ValueError, match=r"^`x`.*at most 9 pixels.*got 1 x"):
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
