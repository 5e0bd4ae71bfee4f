"""Boxes and crops from the caller."""

import math

import pytest
from small_regions import cell, draw_image, given


# -- data of the caller -----------------------------------------------------------------------------------------------
def test_given_boxes():
    entry = {"boxes": [[0, 0, 4, 4], [1.2, 1.2, 60, 60], [0, 0, 30, 20]], "scores": [0.1, 0.9, 0.5]}
    (of_image,) = given([entry], [cell()])
    assert [region.box for region in of_image] == [(1, 1, 30, 20), (0, 0, 30, 20), (0, 0, 4, 4)]
    assert [region.score for region in of_image] == [0.9, 0.5, 0.1]
    assert of_image[0].image.open().tobytes() == draw_image().crop((1, 1, 30, 20)).tobytes()
    (unscored,) = given([{"boxes": entry["boxes"]}], [cell()], top_k=2)
    assert [region.box for region in unscored] == [(0, 0, 4, 4), (1, 1, 30, 20)]
    assert given([{"boxes": [], "scores": []}], [cell()]) == [[]]


@pytest.mark.parametrize("box", [[31, 0, 40, 5], [5, 5, 5, 9], [-9, -9, -1, -1], [7, 7, 3, 9]])
def test_given_box_without_a_pixel(box):
    entries = [{"boxes": [[0, 0, 3, 3]]}, {"boxes": [[0, 0, 3, 3], box]}]
    message = r"^`regions\[0\]\[1\]`.*30 x.*20"
    with pytest.raises(ValueError, match=message):
        given(entries, [cell(), cell(1)])


def test_given_crops(tmp_path):
    crop = draw_image(3, (6, 7))
    crop.save(tmp_path / "crop.png")
    (listed, empty, scored) = given(
        [
            [crop, str(tmp_path / "crop.png")],
            [],
            {"crops": [crop, draw_image(4)], "scores": [0.2, 0.8], "boxes": [[0, 0, 6, 7]] * 2},
        ]
    )
    assert [region.image.open().tobytes() for region in listed] == [crop.tobytes()] * 2
    assert [region.box for region in listed] == [None, None]
    assert empty == []
    assert [(region.score, region.box) for region in scored] == [(0.8, (0, 0, 6, 7)), (0.2, (0, 0, 6, 7))]
    assert scored[0].image.open().tobytes() == draw_image(4).tobytes()


@pytest.mark.parametrize(
    ("entries", "cells", "message"),
    [
        ("crops", None, r"^`regions\[0\]`.*got str"),
        ([], None, r"^`regions\[0\]`.*least"),
        ([[]], [cell(), cell()], r"^`regions\[0\]`.*got 1.*2 images"),
        ([draw_image()], None, r"^`regions\[0\]\[0\]`.*'boxes'.*Image"),
        ([{"bbox": []}], None, r"^`regions\[0\]\[0\]`.*'bbox'"),
        ([{"boxes": [[0, 0, 1, 1]]}], None, r"^`images\[0\]\[0\]`.*`regions\[0\]\[0\]`"),
        ([["nowhere.png"]], None, r"^`regions\[0\]\[0\]\[0\]`"),
        ([{"crops": [draw_image()], "boxes": [[0, 0, 1, 1]] * 2}], None, r"^`regions\[0\]\[0\]`.*got 2"),
        ([{"boxes": [[0, 0, 1, 1]], "scores": [math.nan]}], [cell()], r"^`regions\[0\]\[0\]`.*finite"),
        ([{"boxes": [[0, 0, 1, 1]], "scores": ["high"]}], [cell()], r"^`regions\[0\]\[0\]`.*finite"),
        ([{"boxes": [[0, 0, 1, 1]], "scores": [1, 2]}], [cell()], r"^`regions\[0\]\[0\]`.*region"),
    ],
)
def test_given_regions_that_are_refused(entries, cells, message):
    with pytest.raises(ValueError, match=message):
        given(entries, cells)
