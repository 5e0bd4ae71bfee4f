"""Columns of an uploaded table."""

import pytest

from vlgauge_workbench import inputs, scoring, table


def test_a_name_that_two_uploads_have_is_refused():
    uploads = inputs.uploads_by_name(["a/1.png", "b/1.png"])
    with pytest.raises(ValueError, match=r"^`images\[0\]`"):
        inputs.locate_cell("1.png", uploads, "images[0]")


def test_a_cell_that_names_no_upload_is_the_reason_why_it_is_left_out():
    rows = [{"caption": "A star.", "image": "/etc/hostname"}]
    found = table.columns_of(scoring.metric_of("clip_s"), rows, {"predictions": "caption", "images": "image"}, {})
    refused = "`images[0]` must be an uploaded file, got 'hostname'; upload it with the table"
    assert str(found["images"][0]) == refused
    with pytest.raises(ValueError, match=r"^`images`"):
        table.columns_of(scoring.metric_of("clip_s"), rows, {"predictions": "caption"}, {})


def test_an_upload_is_the_file_of_one_folder_only():
    rows = [{"caption": "A star.", "image": path} for path in ("train/0.png", "val/0.png", "val/1.png", "./val/1.png")]
    chosen = {"predictions": "caption", "images": "image"}
    found = table.columns_of(scoring.metric_of("clip_s"), rows, chosen, {"0.png": "/up/0.png", "1.png": "/up/1.png"})
    assert [isinstance(cell, ValueError) for cell in found["images"]] == [True, True, False, False]
    assert "`images[0]` must be the name of one uploaded file, got that of several '0.png'" in str(found["images"][0])
    assert found["images"][2:] == ["/up/1.png"] * 2
