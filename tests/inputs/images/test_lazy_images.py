"""Images: identity of their content, and a shared image that is decoded once and released."""

import hashlib
import threading

import numpy as np
import pytest
from PIL import Image

from vlgauge.inputs.images import lazy_images
from vlgauge.inputs.images.cells import image_cell, open_image
from vlgauge.inputs.images.lazy_images import ImageCrop, SharedImage, WholeImage, unique_images

PIXELS = np.random.default_rng(3).integers(0, 256, (9, 12, 3), dtype=np.uint8)


@pytest.fixture
def cell(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "a.png")
    return image_cell(tmp_path / "a.png", "images[0]")


@pytest.fixture
def opened(monkeypatch):
    """Places of the images that were decoded."""
    places = []

    def counting(cell, place, **options):
        places.append(place)
        return open_image(cell, place, **options)

    monkeypatch.setattr(lazy_images, "open_image", counting)
    return places


def test_the_key_is_the_digest_of_the_file(cell, tmp_path):
    data = (tmp_path / "a.png").read_bytes()
    assert WholeImage(cell, "images[0]").key == hashlib.sha256(data).digest()
    assert WholeImage({"bytes": data, "path": None}, "images[1]").key == hashlib.sha256(data).digest()


def test_a_file_that_changes_has_another_key(cell, tmp_path):
    before = WholeImage(cell, "images[0]").key
    Image.fromarray(255 - PIXELS).save(tmp_path / "a.png")
    assert WholeImage(cell, "images[0]").key != before


def test_rows_of_the_same_image_are_one_image(cell, tmp_path):
    data = {"bytes": (tmp_path / "a.png").read_bytes(), "path": None}
    other = {"bytes": None, "path": str(tmp_path / "other.png")}
    third = {"bytes": b"third", "path": None}
    found, image_of = unique_images([[data], [other], [cell], [data], [dict(other)], [third]])
    assert image_of.tolist() == [0, 1, 2, 0, 1, 3]
    assert [(image.place, image.convert) for image in found] == [(f"images[{i}]", "late") for i in (0, 1, 2, 5)]
    assert unique_images([])[0] == []


def test_the_stored_mode_is_kept_unless_asked_otherwise(tmp_path):
    Image.fromarray(PIXELS).quantize(4).save(tmp_path / "p.png")
    cell = image_cell(tmp_path / "p.png", "images[0]")
    assert WholeImage(cell, "images[0]").open().mode == "P"
    assert WholeImage(cell, "images[0]", "early").open().mode == "RGB"


def test_a_missing_file_is_told_by_its_place(cell, tmp_path):
    (tmp_path / "a.png").unlink()
    with pytest.raises(ValueError, match=r"^`images\[4\]`.*a\.png"):
        _ = WholeImage(cell, "images[4]").key


def test_crops_are_the_pixels_of_their_boxes(cell):
    whole = SharedImage(cell, "images[0]", 2)
    assert whole.size == (12, 9)
    for left, top, right, bottom in [(0, 0, 12, 9), (3, 1, 7, 8)]:
        crop = ImageCrop(whole, (left, top, right, bottom), "images[0]").open()
        np.testing.assert_array_equal(np.asarray(crop), PIXELS[top:bottom, left:right])


def test_an_image_is_decoded_once_and_freed_after_its_last_crop(cell, opened):
    whole = SharedImage(cell, "images[0]", 3)
    crops = [ImageCrop(whole, (i, 0, i + 2, 5), f"images[0] box {i}") for i in range(3)]
    for crop in crops[:2]:
        crop.open()
        assert whole._image is not None
    crops[2].skip()
    assert whole._image is None
    assert opened == ["images[0]"]


def test_a_crop_that_fails_counts_as_used(cell, tmp_path):
    (tmp_path / "a.png").write_bytes(b"no image")
    whole = SharedImage(cell, "images[0]", 1)
    with pytest.raises(ValueError, match=r"^`images\[0\]`"):
        ImageCrop(whole, (0, 0, 2, 2), "images[0]").open()


def test_threads_share_one_decoded_image(cell, opened):
    whole = SharedImage(cell, "images[0]", 8)
    crops = [ImageCrop(whole, (i, 0, i + 2, 5), "images[0]") for i in range(8)]
    threads = [threading.Thread(target=crop.open) for crop in crops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == ["images[0]"]
    assert whole._image is None


def test_crops_differ_by_image_and_box_and_stand_together(cell, tmp_path):
    Image.fromarray(255 - PIXELS).save(tmp_path / "b.png")
    other = SharedImage(image_cell(tmp_path / "b.png", "images[1]"), "images[1]", 9)
    whole, again = SharedImage(cell, "images[0]", 9), SharedImage(cell, "images[5]", 9)
    boxes = [(0, 0, 2, 2), (0, 0, 2, 3), (1, 0, 3, 2)]
    crops = [ImageCrop(image, box, "x") for image in (whole, other) for box in boxes]
    assert len({crop.key for crop in crops}) == 6
    assert ImageCrop(again, np.array(boxes[0]), "y").key == crops[0].key
    assert WholeImage(cell, "images[0]").key not in {crop.key for crop in crops}
    owners = [crops.index(crop) // 3 for crop in sorted(crops, key=lambda crop: crop.order)]
    assert owners in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])


@pytest.mark.parametrize("box", [(3, 0, 3, 5), (0, 5, 4, 5), (4, 0, 1, 5)])
def test_an_empty_box_is_refused(cell, box):
    with pytest.raises(ValueError, match=r"^`regions\[2\]`"):
        ImageCrop(SharedImage(cell, "images[0]", 1), box, "regions[2]").open()
