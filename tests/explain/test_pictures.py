"""The demo's pictures and clips: what is shown of them, and what of the captions."""

import base64
import io
import json
import math

import numpy as np
import pytest
from folders import EXAMPLES
from PIL import Image

from vlgauge.explain.sections import captioned_pictures


@pytest.fixture
def found(tmp_path):
    """Two pictures with two or three captions each; one has no score."""
    Image.new("RGB", (4, 4), "red").save(tmp_path / "one.png")
    rows = [
        {"id": "1r", "picture": "1", "kind": "right", "predictions": "a", "references": ["x <b>"]},
        {"id": "1w", "picture": "1", "kind": "wrong", "predictions": "b", "references": ["x <b>"]},
        {"id": "1v", "picture": "1", "kind": "worse", "predictions": "c", "references": ["x <b>"]},
        {"id": "2r", "picture": "2", "kind": "right", "predictions": "d", "references": ["y"]},
        {"id": "2w", "picture": "2", "kind": "wrong", "predictions": "e", "references": ["y"]},
    ]
    result = {"m_scores": [0.5, 0.7, 0.1, 0.6, 0.2], "ref_m_scores": [0.6, 0.4, 0.2, 0.5, math.nan]}
    return captioned_pictures.Scores(rows, [str(tmp_path / "one.png")] * 3 + ["two.mp4"] * 2, result, "m")


def test_kinds(found):
    table = captioned_pictures.kind_table(found)
    assert table.header[-1] == "below the right one"
    assert table.rows == [
        ("right", 2, 0, pytest.approx(0.55), pytest.approx(0.55), ""),
        ("wrong", 2, 0, pytest.approx(0.45), pytest.approx(0.4), "1 of 2"),
        ("worse", 1, 0, pytest.approx(0.1), pytest.approx(0.2), "1 of 1"),
    ]


def test_captions_of_a_picture(found, tmp_path):
    shown = captioned_pictures.picture_with_captions(found, "1", [0, 1, 2])
    assert [caption["kind"] for caption in shown["captions"]] == ["wrong", "right", "worse"]
    assert [caption["is_right"] for caption in shown["captions"]] == [False, True, False]
    assert shown["references"] == ["x <b>"]
    kind, _, data = shown["image"].partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data) == (tmp_path / "one.png").read_bytes()
    assert captioned_pictures.picture_with_captions(found, "2", [3, 4])["image"] == ""


def test_shades_of_a_map():
    cells = captioned_pictures.shaded(np.array([[0.1, 0.3], [0.2, -0.1]]))
    assert [[cell["shade"] for cell in row] for row in cells] == [[30, 60], [45, 0]]
    assert [[cell["is_best"] for cell in row] for row in cells] == [[False, True], [True, False]]
    assert captioned_pictures.shaded(np.ones((1, 2)))[0][1] == {"value": 1.0, "shade": 0, "is_best": False}


def test_frames_and_words():
    _, _, data = captioned_pictures.frame_image(Image.new("RGB", (96, 96), "blue")).partition(",")
    with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
        assert (picture.size, picture.getpixel((3, 3))) == ((40, 40), (0, 0, 255))
    assert [captioned_pictures.spoken(token) for token in ("<|startoftext|>", "dog", "<|endoftext|>")] == [
        "start",
        "dog",
        "whole caption",
    ]


@pytest.mark.parametrize("metric", ["clip_s", "pac_s"])
def test_section(metric):
    said = []
    section = captioned_pictures.captioned_section(metric, EXAMPLES, said.append)
    assert said[:2] == ["Scoring 68 captions of 10 images", "Scoring 30 captions of 5 videos"]
    assert section.signature.startswith(f"{metric}|")
    assert list(section.scores) == [row[0] for row in section.by_kind.rows]
    body = str(section.body)
    assert body.count('width="128" height="128"') == 10
    assert body.count('width="40" height="40"') == 5 * 10
    assert "toy" in body
    for file in ("captioned_scenes", "captioned_clips"):
        for line in (EXAMPLES / f"{file}.jsonl").read_text("utf-8").splitlines():
            assert json.loads(line)["predictions"] in body
    means = {row[0]: row[3] for row in section.by_kind.rows}
    for kind in ("other colour", "other size", "other background", "other scene"):
        assert means["right"] > means[kind]
