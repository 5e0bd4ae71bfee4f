"""Boxes and crops from the caller."""

import math

import pytest
from small_regions import cell, given, picture


# -- data of the caller -----------------------------------------------------------------------------------------------
def test_given_boxes():
    entry = {"boxes": [[0, 0, 4, 4], [1.2, 1.2, 60, 60], [0, 0, 30, 20]], "scores": [0.1, 0.9, 0.5]}
    (of_image,) = given([entry], [cell()])
    assert [region.box for region in of_image] == [(1, 1, 30, 20), (0, 0, 30, 20), (0, 0, 4, 4)]
    assert [region.score for region in of_image] == [0.9, 0.5, 0.1]
    assert of_image[0].picture.open().tobytes() == picture().crop((1, 1, 30, 20)).tobytes()
    (unscored,) = given([{"boxes": entry["boxes"]}], [cell()], top_k=2)
    assert [region.box for region in unscored] == [(0, 0, 4, 4), (1, 1, 30, 20)]
    assert given([{"boxes": [], "scores": []}], [cell()]) == [[]]


@pytest.mark.parametrize("box", [[31, 0, 40, 5], [5, 5, 5, 9], [-9, -9, -1, -1], [7, 7, 3, 9]])
def test_given_box_without_a_pixel(box):
    entries = [{"boxes": [[0, 0, 3, 3]]}, {"boxes": [[0, 0, 3, 3], box]}]
    message = r"`regions\[0\]\[1\]` must have boxes .* at least one pixel of the image of 30 x 20, got \[.*\] as box 1"
    with pytest.raises(ValueError, match=message):
        given(entries, [cell(), cell(1)])


def test_given_crops(tmp_path):
    crop = picture(3, (6, 7))
    crop.save(tmp_path / "crop.png")
    (listed, empty, scored) = given(
        [
            [crop, str(tmp_path / "crop.png")],
            [],
            {"crops": [crop, picture(4)], "scores": [0.2, 0.8], "boxes": [[0, 0, 6, 7]] * 2},
        ]
    )
    assert [region.picture.open().tobytes() for region in listed] == [crop.tobytes()] * 2
    assert [region.box for region in listed] == [None, None]
    assert empty == []
    assert [(region.score, region.box) for region in scored] == [(0.8, (0, 0, 6, 7)), (0.2, (0, 0, 6, 7))]
    assert scored[0].picture.open().tobytes() == picture(4).tobytes()


@pytest.mark.parametrize(
    ("entries", "cells", "message"),
    [
        ("crops", None, r"`regions\[0\]` must be a list with one entry per image, .* got str"),
        ([], None, r"`regions\[0\]` must have an entry for at least one image"),
        ([[]], [cell(), cell()], r"`regions\[0\]` must have one entry per image, got 1 for 2 images"),
        ([picture()], None, r"`regions\[0\]\[0\]` must be a list of crops, or \{'boxes'.* got Image"),
        ([{"bbox": []}], None, r"must be a list of crops, .* got a mapping with \['bbox'\]"),
        ([{"boxes": [[0, 0, 1, 1]]}], None, r"`images\[0\]\[0\]` is missing: `regions\[0\]\[0\]` has boxes"),
        ([["nowhere.png"]], None, r"`regions\[0\]\[0\]\[0\]` must be an existing image file"),
        ([{"crops": [picture()], "boxes": [[0, 0, 1, 1]] * 2}], None, "must have one box per crop, got 2 for 1"),
        ([{"boxes": [[0, 0, 1, 1]], "scores": [math.nan]}], [cell()], "must have finite scores"),
        ([{"boxes": [[0, 0, 1, 1]], "scores": ["high"]}], [cell()], "must have finite scores"),
        ([{"boxes": [[0, 0, 1, 1]], "scores": [1, 2]}], [cell()], r"one score per region, got shape \(2,\) for 1"),
    ],
)
def test_given_regions_that_are_refused(entries, cells, message):
    with pytest.raises(ValueError, match=message):
        given(entries, cells)
