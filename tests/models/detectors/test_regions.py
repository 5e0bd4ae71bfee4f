"""Regions: boxes to pixels, sources, and per-call inputs. See also test_region_files.py and test_detectors.py."""

import math

import numpy as np
import pytest
from small_regions import SIZE, cell, draw_image, given

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.inputs.images.cells import image_cell
from vlgauge.models import detectors
from vlgauge.models.detectors import boxes as numbers
from vlgauge.models.detectors.sources import image_head


def found(source, cells=None, **options):
    """Return the regions of one story."""
    chosen = detectors.region_source(source) if not isinstance(source, detectors.RegionSource) else source
    return detectors.regions_of([cells or [cell()]], chosen, **options)[0]


# -- boxes ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((2, 3, 10, 12), (2, 3, 10, 12)),
        ((-5, -1, 40.2, 40), (0, 0, 30, 20)),
        # Half to even, as Pillow rounds.
        ((0.5, 1.5, 2.5, 3.5), (0, 2, 2, 4)),
        ((29.4, 0, 31, 2), (29, 0, 30, 2)),
        ((29.6, 0, 31, 2), None),
        ((5, 5, 5, 9), None),
        ((9, 5, 5, 9), None),
        ((31, 0, 40, 5), None),
    ],
)
def test_pixels_of_a_box(box, expected):
    assert numbers.pixel_box(box, SIZE) == expected


def test_rounding_is_that_of_pillow():
    rng = np.random.default_rng(0)
    whole = draw_image()
    for box in rng.uniform(0, 20, (200, 4)).round(1):
        left, top, right, bottom = sorted(box[::2])[0], sorted(box[1::2])[0], sorted(box[::2])[1], sorted(box[1::2])[1]
        pixels = numbers.pixel_box((left, top, right, bottom), SIZE)
        if pixels is not None:
            assert whole.crop((left, top, right, bottom)).tobytes() == whole.crop(pixels).tobytes()


def test_kept_regions():
    assert numbers.select_regions([0.2, 0.9, 0.9, 0.1], top_k=3, min_score=0.15) == [1, 2, 0]
    assert numbers.select_regions([None, None, None], top_k=2, min_score=0.5) == [0, 1]
    assert numbers.select_regions([], top_k=2, min_score=0.0) == []
    assert numbers.select_regions([0.0, -0.1], top_k=None, min_score=0.0) == [0]


def test_grid_covers_the_image():
    boxes = numbers.grid_boxes((100, 37))
    assert boxes[0] == (0, 0, 100, 37)
    assert boxes[1:4] == [(0, 0, 33, 12), (33, 0, 67, 12), (67, 0, 100, 12)]
    assert sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes[1:]) == 3700
    assert len(boxes) == 10
    assert numbers.grid_boxes((1, 1)) == [(0, 0, 1, 1), (0, 0, 1, 1)]


@pytest.mark.parametrize("boxes", [[[1, 2, 3]], [1, 2, 3, 4], "box", [[1, 2, 3, "x"]]])
def test_boxes_of_another_form_are_refused(boxes):
    with pytest.raises(ValueError, match=r"^`regions\[0\]\[0\]`"):
        given([{"boxes": boxes}], [cell()])


# -- sources ----------------------------------------------------------------------------------------------------------
def test_whole_is_the_image():
    (of_image,) = found("whole")
    (region,) = of_image
    assert (region.box, region.score) == ((0, 0, *SIZE), None)
    assert region.image.open().tobytes() == draw_image().tobytes()
    from vlgauge.inputs.images.lazy_images import WholeImage

    # An encoder of whole images has the same key in its cache.
    assert region.image.key == WholeImage(cell(), "image").key


@pytest.mark.parametrize(
    ("mode", "convert"), [("RGB", "late"), ("L", "late"), ("P", "early"), ("RGBA", "early"), ("1", "early")]
)
def test_whole_image_passes_for_one_that_is_converted_late_where_that_is_the_same(mode, convert):
    from vlgauge.inputs.images.lazy_images import WholeImage
    from vlgauge.models.clip.architectures import TABLE
    from vlgauge.models.clip.pixels import square

    stored = image_cell(draw_image().convert(mode), "x")
    ((region,),) = found("whole", [stored])
    assert region.image.convert == convert
    late, row = WholeImage(stored, "x", "late").open(), TABLE["ViT-B/32"]
    same = np.array_equal(square(late, row), square(region.image.open(), row))
    assert same or convert == "early"


def test_grid_has_the_image_and_nine_cells():
    (of_image,) = found("grid")
    assert [region.box for region in of_image] == numbers.grid_boxes(SIZE)
    assert [region.image.open().size for region in of_image[:2]] == [SIZE, (10, 7)]
    assert len({region.image.key for region in of_image}) == 10
    assert [len(row) for row in found("grid", top_k=4)] == [4]


def test_function_is_a_detector():
    seen = []

    def detector(image):
        seen.append((image.mode, image.size))
        return np.array([[0, 0, 5, 5], [50, 50, 60, 60], [1, 1, 9, 9], [2, 2, 8, 8]]), [0.3, 0.99, 0.5, 0.05]

    source = detectors.region_source(detector)
    assert source.identity.startswith(f"custom({__name__}.")
    (of_image,) = found(source, min_score=0.1)
    # Regions are sorted by score. The empty box and the uncertain one are removed.
    assert [(region.box, region.score) for region in of_image] == [((1, 1, 9, 9), 0.5), ((0, 0, 5, 5), 0.3)]
    assert seen == [("RGB", SIZE)]
    assert [len(row) for row in found(source, top_k=1)] == [1]


def test_detector_and_crops_share_one_decoded_image(monkeypatch):
    from vlgauge.inputs.images import lazy_images

    opened = []
    real = lazy_images.open_image
    monkeypatch.setattr(lazy_images, "open_image", lambda *a, **k: opened.append(1) or real(*a, **k))
    (of_image,) = found(lambda image: ([[0, 0, 5, 5], [2, 2, 9, 9]], None), top_k=5)
    crops = [region.image.open() for region in of_image]
    assert [crop.size for crop in crops] == [(5, 5), (7, 7)]
    assert len(opened) == 1
    assert of_image[0].image._whole._image is None  # freed after the last


def test_detector_looks_at_each_distinct_image_once(monkeypatch):
    from vlgauge.models.detectors import sources

    seen = []
    source = detectors.region_source(
        lambda image: seen.append(image.size) or ([[0, 0, 5, 5], [1, 1, 9, 9]], [0.1, 0.9])
    )
    rows = detectors.regions_of([[cell(1), cell(2)], [cell(2), cell(1)]], source)
    assert len(seen) == 2
    assert [[region.box for region in of] for of in rows[0]] == [[region.box for region in of] for of in rows[1]]
    assert [region.image.open().tobytes() for region in rows[1][1]] == [
        region.image.open().tobytes() for region in rows[0][0]
    ]
    # Other limits require no further detection.
    assert [[region.score for region in of] for of in found(source, [cell(1)], top_k=1)] == [[0.9]]
    monkeypatch.setattr(sources, "MOST_KNOWN", 2)
    found(source, [cell(3)])
    assert (len(seen), len(source.known)) == (3, 1)


def test_boxes_that_another_thread_forgets_are_used_all_the_same():
    class Forgetful(dict):
        def __setitem__(self, key, value):
            pass

    source = detectors.RegionSource("detector", lambda image: ([[0, 0, 5, 5]], [0.5]), known=Forgetful())
    assert [[region.box for region in of] for of in found(source)] == [[(0, 0, 5, 5)]]


def test_detector_without_boxes():
    assert found(lambda image: ([], [])) == [[]]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (([[0, 0, 1, 1]], [0.1, 0.2]), r"^`images\[0\]\[0\] as seen by the detector`.*region"),
        (([[0, 0, math.nan, 1]], None), r"^`images\[0\]\[0\] as seen by the detector`.*got \[0\.0.*0\.0"),
        (([[0, 0, 1, 1]], [math.inf]), r"^`images\[0\]\[0\] as seen by the detector`.*scores"),
        ({"boxes": []}, r"^`regions`.*got dict.*images\[0\]\[0\]"),
        (([],), "function that returns boxes"),
    ],
)
def test_broken_detector(result, message):
    with pytest.raises(ValueError, match=message):
        found(lambda image: result)


def test_size_is_that_of_the_upright_image(tmp_path):
    turned = draw_image()
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=exif)
    assert image_head(image_cell(tmp_path / "turned.jpg", "x"), "x")[0] == (20, 30)
    assert image_head(image_cell(draw_image(), "x"), "x")[0] == SIZE
    (of_image,) = found("grid", [image_cell(tmp_path / "turned.jpg", "x")])
    assert of_image[0].image.open().size == (20, 30)


@pytest.mark.parametrize("source", ["grid", lambda image: ([], [])])
def test_unreadable_image_names_story_and_image(source, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"\x89PNG nothing")
    cells = [cell(), image_cell(tmp_path / "broken.png", "x")]
    with pytest.raises(ValueError, match=r"^`images\[0\]\[1\]`"):
        found(source, cells)


@pytest.mark.parametrize("cells", [[], None])
def test_story_without_images(cells):
    with pytest.raises(ValueError, match=r"^`images\[4\]`.*got none"):
        detectors.regions_of([cells], detectors.region_source("whole"), first_story=4)


def test_default_source_by_profile(monkeypatch, tmp_path):
    import torch

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    assert detectors.region_source(None, profile="embedded").identity == "grid"
    with pytest.raises(WeightsNotFoundError, match=r"^`detector_weights`"):
        detectors.region_source(None, profile="embedded", weights="none.pth")  # `weights` implies the detector
    message = "fasterrcnn_resnet50_fpn_v2_coco-"
    with pytest.raises(WeightsNotFoundError, match=message):
        detectors.region_source(None)
    with pytest.raises(ValueError, match=r"^`regions`.*'embedded'"):
        detectors.region_source("ssd300_vgg16", profile="embedded")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("fasterrcnn_resnet50", "`fasterrcnn_resnet50_fpn`"),
        ("grids", "`grid`"),
        ([[[1, 2, 3, 4]]], "`compute`"),
    ],
)
def test_unknown_source(setting, message):
    with pytest.raises(ValueError, match=rf"^`regions`.*{message}"):
        detectors.check_region_source(setting)
