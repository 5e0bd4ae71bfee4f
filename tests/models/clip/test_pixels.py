"""CLIP image inputs: bitwise identical to the released crops, a few batches ahead, in bounded memory."""

import hashlib
import os
import threading
import time

import numpy as np
import pytest
from PIL import Image
from tiny_clip import IMAGES, TINY, golden_json

from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.models.clip import pixels
from vlgauge.models.clip.architectures import HALF, TABLE, ClipArchitecture
from vlgauge.models.clip.pixels import (
    BATCHES_AHEAD,
    decode_batches,
    prepare_image,
    preprocessing,
    sort_ids,
    split_batches,
    square,
)
from vlgauge.models.clip.towers import ClipTowers

RNG = np.random.default_rng(11)
CROPS = golden_json("pixels_edge.json")["crops"]


def random_image(mode, width, height):
    shape = (height, width) if mode in ("L", "P", "1") else (height, width, len(mode))
    values = RNG.integers(0, 256, shape, dtype=np.uint8)
    if mode == "P":
        image = Image.fromarray(values % 16)
        image.putpalette(RNG.integers(0, 256, 768, dtype=np.uint8).tobytes())
        return image
    return Image.fromarray(values).convert(mode) if mode == "1" else Image.fromarray(values, mode=None).convert(mode)


def normalised(squares, row):
    """Return the input tensor of the tower, which requires no model."""
    import torch

    towers = ClipTowers.__new__(ClipTowers)
    towers.row, towers.device = row, torch.device("cpu")
    return towers.pixels(np.stack(squares))


@pytest.mark.parametrize("name", CROPS)
def test_crops_are_those_of_the_released_code(name):
    seen = prepare_image(WholeImage(image_cell(IMAGES / name, name), name), TINY)
    assert seen.shape == (224, 224, 3)
    assert seen.sum(dtype=np.int64) == CROPS[name]["sum"]
    assert hashlib.sha256(np.ascontiguousarray(seen).tobytes()).hexdigest() == CROPS[name]["sha256"]


def test_crops_are_those_of_the_reference_arrays(shared_folder):
    with np.load(shared_folder / "oracles" / "pac_s" / "pixels_edge.npz") as file:
        wanted = file["u8"]
    for name, crop in zip(CROPS, wanted, strict=True):
        np.testing.assert_array_equal(prepare_image(WholeImage(image_cell(IMAGES / name, name), name), TINY), crop)


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "CMYK", "1", "LA"])
@pytest.mark.parametrize(("width", "height"), [(227, 224), (7, 9), (301, 225), (225, 500), (1, 1), (640, 31)])
def test_pixels_are_those_of_open_clip(mode, width, height):
    import open_clip

    image = random_image(mode, width, height)
    row = TABLE["RN50x4"] if width == 301 else TABLE["laion/ViT-L-14"] if width == 225 else TABLE["ViT-B/32"]
    theirs = open_clip.image_transform(row.size, is_train=False, mean=row.mean, std=row.std)(image)
    ours = normalised([square(image, row)], row)[0]
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize(("width", "height"), [(90, 130), (500, 100)])
def test_squashed_pixels_are_those_of_open_clip(width, height):
    import open_clip

    row = ClipArchitecture("s", "s", None, 8, size=64, mean=HALF, std=HALF, resize="squash")
    theirs = open_clip.image_transform(64, is_train=False, mean=HALF, std=HALF, resize_mode="squash")
    image = random_image("RGB", width, height)
    np.testing.assert_array_equal(normalised([square(image, row)], row)[0].numpy(), theirs(image).numpy())


def test_transparency_of_a_palette_is_no_warning(tmp_path):
    image = random_image("P", 30, 40)
    image.info["transparency"] = bytes(range(16))
    assert square(image, TINY).shape == (224, 224, 3)


@pytest.mark.parametrize(("width", "height"), [(1, 5000), (5000, 1), (2, 60000)])
def test_very_long_images_take_no_memory(width, height, monkeypatch):
    image, real, sizes = random_image("RGB", width, height), Image.Image.resize, []

    def resize(self, size, *arguments, **options):
        sizes.append(size)
        return real(self, size, *arguments, **options)

    monkeypatch.setattr(Image.Image, "resize", resize)
    assert square(image, TINY).shape == (224, 224, 3)
    # Without the crop it would be 224 by 1,120,000 or more.
    assert sizes == [(224, 224)]


@pytest.mark.parametrize(("width", "height"), [(3, 200), (500, 7)])
def test_the_short_way_for_long_images_sees_the_same(monkeypatch, width, height):
    image = random_image("RGB", width, height)
    whole = square(image, TINY).astype(int)
    monkeypatch.setattr(pixels, "_SLENDER", 2)
    assert abs(square(image, TINY) - whole).max() <= 1


def test_settings_tell_every_step():
    settings = preprocessing(TABLE["ViT-B/32"], "late")
    assert settings["size"] == 224
    assert settings["convert"] == "late"
    assert settings != preprocessing(TABLE["ViT-B/32"], "early")
    assert settings != preprocessing(TABLE["RN50x4"], "late")
    assert preprocessing(TABLE["laion/ViT-L-14"], "late")["mean"] == HALF


class Slow:
    """Image that counts the number of opened images of its class."""

    opened = 0
    lock = threading.Lock()
    place, convert, key = "images[0]", "late", b""

    def open(self):
        with self.lock:
            Slow.opened += 1
        return Image.new("RGB", (4, 4))


def test_threads_work_two_batches_ahead_at_most():
    Slow.opened = 0
    with decode_batches([Slow() for _ in range(100)], TINY, 4) as stream:
        for done in range(1, 5):
            assert len(next(stream)) == 4
            time.sleep(0.05)
            assert Slow.opened <= 4 * (done + BATCHES_AHEAD)
    assert Slow.opened < 40


def test_batches_cover_everything_in_order():
    assert [list(batch) for batch in split_batches(list(range(7)), 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    with decode_batches([Slow() for _ in range(7)], TINY, 3) as batches:
        assert list(map(len, batches)) == [3, 3, 1]
    with decode_batches([], TINY, 3) as batches:
        assert list(batches) == []


def test_the_order_depends_on_contents_only_and_keeps_files_together():
    class Piece(Slow):
        def __init__(self, file, key):
            self.order, self.key = file, key

    pieces = {("late", key): Piece(file, key) for file, key in [(b"2", b"a"), (b"1", b"c"), (b"2", b"b"), (b"1", b"d")]}
    plain = {("late", key): Slow() for key in (b"z", b"x", b"y")}
    for distinct, wanted in ((pieces, b"cdab"), (plain, b"xyz")):
        for ids in (list(distinct), list(distinct)[::-1]):
            assert b"".join(key for _, key in sort_ids(distinct, ids)) == wanted


def test_an_unreadable_image_is_an_error_in_its_place(tmp_path):
    (tmp_path / "b.png").write_bytes(b"none")
    bad = WholeImage(image_cell(tmp_path / "b.png", "images[1]"), "images[1]")
    with decode_batches([Slow(), bad], TINY, 8) as batches:
        (batch,) = batches
    assert isinstance(batch[0], np.ndarray)
    assert isinstance(batch[1], ValueError)
    assert "`images[1]` must be a readable image" in str(batch[1])


def test_a_mode_without_a_way_to_rgb_is_told_by_its_place(monkeypatch):
    def refuse(self, *arguments, **options):
        raise ValueError("conversion from XYZ to RGB not supported")

    monkeypatch.setattr(Image.Image, "convert", refuse)
    with pytest.raises(ValueError, match=r"^`images\[0\]`"):
        prepare_image(Slow(), TINY)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the memory in use is read from /proc")
def test_memory_is_flat_over_many_images(tmp_path):
    # 36 decoded images of 1280 x 960 would take 133 MB.
    data = tmp_path / "a.jpg"
    Image.new("RGB", (1280, 960)).save(data)
    paths = [tmp_path / f"{i}.jpg" for i in range(36)]
    for path in paths:
        os.link(data, path)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    row = ClipArchitecture("t", "t", None, 8, size=224)
    before, peak = resident(), 0
    with decode_batches([WholeImage(image_cell(path, "x"), "x") for path in paths], row, 8) as batches:
        for _ in batches:
            peak = max(peak, resident())
    assert peak - before < 90 * 2**20
