"""Images of every kind: stored form, errors, decoded pixels."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from image_samples import RGB, RGBA, RNG, encoded, in_mode, pixels
from PIL import Image

from vlgauge.families.base.columns import Images
from vlgauge.inputs.images.cells import image_cell, is_single_image, open_image
from vlgauge.inputs.limits import MAX_PIXELS
from vlgauge.inputs.video.cells import video_cell


# -- from an input to its cell ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("convert", ["early", "late"])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_pil_modes_round_trip(mode, convert):
    image = in_mode(mode)
    expected = image.convert("RGB") if convert == "early" else image
    assert pixels(open_image(image_cell(image, "x"), "x", convert=convert)) == pixels(expected)


@pytest.mark.parametrize("mode", ["YCbCr", "LAB", "HSV", "PA", "RGBX", "RGBa"])
def test_other_modes_of_8_bits_travel_as_rgb(mode):
    image = in_mode(mode) if mode != "LAB" else Image.new("LAB", (5, 7), (50, 20, 30))
    assert pixels(open_image(image_cell(image, "x"), "x", convert="late")) == pixels(image.convert("RGB"))


@pytest.mark.parametrize("mode", ["I", "F", "I;16", "I;16B", "I;16L"])
def test_pil_images_over_8_bits_are_refused(mode):
    with pytest.raises(ValueError, match=r"`images\[3\]\[2\]` must have 8 bits per channel, got mode '" + mode):
        image_cell(Image.new(mode, (5, 7)), "images[3][2]")


def test_mode_that_pillow_cannot_convert_is_refused():
    with pytest.raises(ValueError, match=r"^`x`.*readable.*PIL"):
        image_cell(RGBA.convert("LA").convert("La"), "x")


def test_edit_in_place_counts_and_the_image_stays_as_it_was(tmp_path):
    RGB.save(tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png")
    image.putpixel((0, 0), (1, 2, 3))
    out = open_image(image_cell(image, "x"), "x")
    assert out.getpixel((0, 0)) == (1, 2, 3) == image.getpixel((0, 0))


def test_pil_image_outlives_its_file(tmp_path):
    RGB.save(tmp_path / "a.png")
    stored = image_cell(Image.open(tmp_path / "a.png"), "x")
    (tmp_path / "a.png").unlink()
    assert pixels(open_image(stored, "x")) == pixels(RGB)


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3), (1, 1), (1, 5000, 3), (5000, 1)])
def test_arrays_are_their_pixels(shape):
    array = RNG.integers(0, 256, shape, dtype=np.uint8)
    out = open_image(image_cell(array, "x"), "x", convert="late")
    assert np.array_equal(np.asarray(out), array)


def test_array_that_is_a_view_is_its_pixels():
    array = RNG.integers(0, 256, (14, 10, 3), dtype=np.uint8)[::-2, ::2]
    assert np.array_equal(np.asarray(open_image(image_cell(array, "x"), "x")), array)


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros((7, 5, 3), np.float32), r"float32 of shape \(7, 5, 3\)"),
        (np.zeros((7, 5), np.uint16), r"uint16 of shape \(7, 5\)"),
        (np.zeros((7, 5), bool), "bool of shape"),
        (np.zeros((3, 7, 5), np.uint8), r"uint8 of shape \(3, 7, 5\)"),
        (np.zeros((7, 5, 4), np.uint8), r"uint8 of shape \(7, 5, 4\)"),
        (np.zeros(5, np.uint8), r"uint8 of shape \(5,\)"),
    ],
)
def test_other_arrays_are_refused(array, got):
    with pytest.raises(TypeError, match=r"`x` must be a uint8 array of shape \(height, width\) or .*, got " + got):
        image_cell(array, "x")


@pytest.mark.parametrize(
    "make", [lambda: Image.new("1", (10_000, 9_000)), lambda: np.broadcast_to(np.uint8(0), (9_000, 10_000))]
)
def test_images_of_too_many_pixels_are_refused_before_they_are_copied(make, monkeypatch):
    monkeypatch.setattr(Image.Image, "save", None)
    monkeypatch.setattr(Image, "fromarray", None)
    with pytest.raises(ValueError, match=rf"^`x`.*at most {MAX_PIXELS}.*got 10000 x"):
        image_cell(make(), "x")


def test_array_without_pixels_is_refused():
    with pytest.raises(ValueError, match=r"^`x`.*least"):
        image_cell(np.zeros((0, 5, 3), np.uint8), "x")


@pytest.mark.parametrize("data", [encoded(RGB, "PNG"), bytearray(encoded(RGB, "PNG"))])
def test_bytes_are_stored_as_they_are(data):
    assert image_cell(data, "x") == {"bytes": bytes(data), "path": None}


@pytest.mark.parametrize("empty", [b"", bytearray(), {"bytes": b"", "path": None}])
def test_no_bytes_are_refused(empty):
    with pytest.raises(ValueError, match=r"^`x`.*got 0 bytes"):
        image_cell(empty, "x")


def test_mapping_bytes_win_over_path():
    assert image_cell({"bytes": b"data", "path": "/missing"}, "x") == {"bytes": b"data", "path": None}


@pytest.mark.parametrize("mapping", [{}, {"bytes": None, "path": None}, {"url": "x"}])
def test_mapping_without_bytes_and_path_is_refused(mapping):
    with pytest.raises(ValueError, match=r"^`x`.*`bytes`.*`path`"):
        image_cell(mapping, "x")


@pytest.mark.parametrize(
    "form", [str, Path, lambda path: {"path": str(path)}, lambda path: {"bytes": None, "path": path}]
)
def test_path_is_stored_absolute(tmp_path, monkeypatch, form):
    (tmp_path / "ä b.png").write_bytes(encoded(RGB, "PNG"))
    monkeypatch.chdir(tmp_path)
    assert image_cell(form("ä b.png"), "x") == {"bytes": None, "path": str(tmp_path / "ä b.png")}


@pytest.mark.parametrize(
    "address", ["http://h/a.jpg", "HTTPS://h/a.jpg", " s3://b/a.jpg", "file:///a", "data:image/png,"]
)
def test_address_is_refused(address, no_sockets):
    with pytest.raises(ValueError, match=r"^`x`.*local"):
        image_cell(address, "x")


@pytest.mark.parametrize("path", ["missing.jpg", "a\0b.jpg", "x" * 5000])
def test_missing_file_is_refused(path):
    with pytest.raises(ValueError, match=r"^`x`.*existing"):
        image_cell(path, "x")


def test_a_text_that_is_no_path_is_not_told_whole():
    with pytest.raises(ValueError, match="which is missing") as told:
        image_cell("x" * 100_000, "x")
    assert len(str(told.value)) < 5_000


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
def test_what_is_no_regular_file_is_refused(tmp_path, kind):
    path = {"folder": tmp_path, "fifo": tmp_path / "fifo", "device": Path(os.devnull)}[kind]
    if kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(ValueError, match=r"^`x`.*regular"):
        image_cell(path, "x")


def test_file_name_that_is_no_unicode_is_refused(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff.png")
    with open(path, "wb") as file:
        file.write(encoded(RGB, "PNG"))
    with pytest.raises(ValueError, match=r"^`x`.*Unicode"):
        image_cell(os.fsdecode(path), "x")


@pytest.mark.parametrize("other", [None, 3, object(), {1}])
def test_other_objects_are_refused(other):
    with pytest.raises(TypeError, match=r"`x` must be an image .*, got " + type(other).__name__):
        image_cell(other, "x")


@pytest.mark.parametrize("image", ["a", Path("a"), b"a", {}, RGB, np.zeros((2, 2)), np.zeros((2, 2, 3))])
def test_one_image_is_known(image):
    assert is_single_image(image)


@pytest.mark.parametrize("images", [[], ["a"], (RGB,), np.array(["a"]), np.zeros((2, 2), object), None])
def test_lists_are_no_single_image(images):
    assert not is_single_image(images)


def test_floats_of_a_large_image_are_turned_to_bytes_by_parts():
    tensor = torch.rand((3, 1500, 2000), generator=torch.Generator().manual_seed(1))
    expected = np.rint(np.moveaxis(tensor.double().numpy(), 0, 2) * 255).astype(np.uint8)
    tracemalloc.start()
    try:
        cell = image_cell(tensor, "images[0]")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(np.asarray(open_image(cell, "images[0]")), expected)
    # The bytes, and the file that is made of them; as double numbers they alone would be 72 MB.
    assert peak < 50 * 2**20
    tensor[2, 1499, 1999] = 1.5
    with pytest.raises(ValueError, match=r"^`images\[0\]`.*0\.\.1.*1\.5"):
        image_cell(tensor, "images[0]")


class Foreign:
    """An array of a library that numpy reads by one protocol alone."""

    def __init__(self, array):
        self.array = array


class ByArray(Foreign):
    def __array__(self, dtype=None, copy=None):
        return self.array


class ByInterface(Foreign):
    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class ByDlpack(Foreign):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(Foreign):
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no implicit copies")


@pytest.mark.parametrize("kind", [ByArray, ByInterface, ByDlpack])
def test_arrays_of_other_libraries_are_their_pixels(kind):
    pixels = RNG.integers(0, 256, (3, 5, 4, 3), dtype=np.uint8)
    batch, one = kind(pixels), kind(pixels[0])
    assert is_single_image(one)
    assert not is_single_image(batch)
    column = Images("images")
    expected = [image_cell(image, "x") for image in pixels]
    assert column.store(one, "x") == expected[:1]
    assert column.store([kind(image) for image in pixels], "x") == expected
    assert video_cell(batch, "x")["frames"] == video_cell({"frames": batch}, "x")["frames"] == expected
    with pytest.raises(TypeError, match=r"^`x`.*uint8.*got float64"):
        image_cell(kind(np.zeros((4, 3))), "x")
    with pytest.raises(TypeError, match=r"^`x`.*n_frames"):
        video_cell(one, "x")


def test_array_that_numpy_cannot_read_is_refused():
    with pytest.raises(TypeError, match="got OnDevice"):
        Images("images").store(OnDevice(None), "x")


def test_frames_of_a_tensor_are_a_video():
    pixels = RNG.integers(0, 256, (2, 5, 4, 3), dtype=np.uint8)
    expected = [image_cell(image, "x") for image in pixels]
    assert video_cell(torch.from_numpy(pixels), "x")["frames"] == expected


@pytest.mark.parametrize("value", [3, 3.5, np.float64("nan"), None, float("nan")])
def test_numbers_are_no_images(value):
    assert not is_single_image(value)
    with pytest.raises(ValueError, match=rf"^`x`.*images.*got {type(value).__name__}"):
        Images("images").store(value, "x")
