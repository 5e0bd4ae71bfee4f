"""Captions with the other captions of their image, and frames with the words that match them."""

import re

from explained import scored

import vlgauge
from vlgauge.explain import explain
from vlgauge.explain.captioned import differing


def test_captions_of_an_image_come_best_first_and_the_own_one_stands_open():
    columns, result = scored("clip_s")
    found = explain("clip_s", columns, result)
    rows = found.captions_of(0)
    assert rows == sorted(rows, key=lambda row: -result["clip_s_scores"][row])
    assert {columns["images"][row] for row in rows} == {columns["images"][0]}
    for row in rows:
        values = found.values(row)
        assert [one["row"] for one in values["ladder"] if one["own"]] == [row]
        assert sorted(one["row"] for one in values["ladder"] + values["more"]) == sorted(rows)
    assert found.reason(rows[0]).startswith(f"rank 1 of {len(rows)} captions of its image; cosine 0.")
    assert " · with references " in found.extra(0)
    assert found.body(0).count("data:image/png") == 1


def test_one_caption_an_image_has_no_rank():
    columns, result = scored("clip_s")
    cut = {key: value[:1] if isinstance(value, list) else value for key, value in result.items()}
    found = explain("clip_s", {key: cells[:1] for key, cells in columns.items()}, cut)
    assert found.reason(0).startswith("cosine ")


def test_captions_are_explained_without_their_images():
    columns, result = scored("clip_s")
    body = explain("clip_s", {"predictions": columns["predictions"]}, result).body(0)
    assert "<img" not in body
    assert columns["predictions"][0] in re.sub("<.*?>", "", body)


def test_words_that_differ_are_marked_however_often_they_come():
    pieces = differing("a red box on a red hill", "A red box on a blue red hill red")
    assert "".join(piece.text for piece in pieces) == "A red box on a blue red hill red"
    assert [piece.text for piece in pieces if piece.mark] == ["blue", "red"]


def test_frames_of_a_clip_carry_the_words_that_saw_them_best():
    columns, result = scored("pac_s")
    found = explain("pac_s", columns, result)
    frames = found.values(0)["frames"]
    tokens = result["pac_s_details"][0]["tokens"]
    for frame in frames:
        assert frame["words"] == [
            one["token"] for one in tokens if one["frame"] == frame["number"] and "|" not in one["token"]
        ]
        assert frame["image"] is not None
    assert found.reason(0).startswith("rank ")
    assert "captions of its video; fine 0." in found.reason(0)


def test_range_legend_and_reading_are_those_of_what_was_scored():
    pages = {name: explain(name, *scored(name)).html() for name in ("clip_s", "pac_s")}  # images, videos
    for of_videos, page in zip((False, True), pages.values(), strict=True):
        assert ("range: about \N{MINUS SIGN}1 to 1" in page) == of_videos
        assert ("range: 0 to 2.5" in page) != of_videos
        assert ("Below each frame" in page) == of_videos
        assert ("the caption with the whole video" in page) == of_videos
        assert ("other captions of the same image" in page) != of_videos
        assert ("and at least 0" in page) != of_videos


def test_range_is_that_of_the_factor_that_was_chosen():
    columns, _ = scored("clip_s")
    asked = {name: columns[name] for name in ("predictions", "images")}
    metric = vlgauge.load("clip_s", profile="embedded", w=1, keep_in_memory=True)
    page = explain("clip_s", columns, metric.compute(**asked, return_details=True)).html()
    assert "range: 0 to 1<" in page
    assert "range: 0 to 2.5" not in page
    assert "times w (2.5 by default)" in page
