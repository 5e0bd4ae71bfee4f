"""The bundled images and videos equal the output of the script that draws them."""

import json

import av
import numpy as np
import pytest
from folders import EXAMPLES
from PIL import Image
from script_modules import script_module
from small_videos import video_frames


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    script_module("make/draw_examples.py").main([str(folder)])
    return folder


@pytest.mark.parametrize("name", ["captioned_scenes.jsonl", "captioned_clips.jsonl"])
def test_captions(drawn, name):
    assert (drawn / name).read_text("utf-8") == (EXAMPLES / name).read_text("utf-8")


def test_images(drawn):
    names = sorted(path.name for path in (drawn / "scenes").iterdir())
    assert names == sorted(path.name for path in (EXAMPLES / "scenes").iterdir())
    for name in names:
        with Image.open(drawn / "scenes" / name) as new, Image.open(EXAMPLES / "scenes" / name) as bundled:
            assert np.array_equal(np.asarray(new), np.asarray(bundled))


def test_clips(drawn):
    names = sorted(path.name for path in (drawn / "clips").iterdir())
    assert names == sorted(path.name for path in (EXAMPLES / "clips").iterdir())
    for name in names:
        new, bundled = (
            [np.asarray(frame.open(), dtype=int) for frame in video_frames(folder / "clips" / name, n_frames="all")]
            for folder in (drawn, EXAMPLES)
        )
        assert len(new) == len(bundled) >= 8
        # Encoders of other versions may round differently.
        assert max(abs(a - b).mean() for a, b in zip(new, bundled, strict=True)) < 2


def test_browsers_can_play_the_clips(drawn):
    for path in (drawn / "clips").iterdir():
        with av.open(str(path)) as clip:
            assert clip.streams.video[0].codec_context.name == "h264"


def test_every_image_has_a_right_caption_and_wrong_ones():
    for name, column in (("captioned_scenes.jsonl", "images"), ("captioned_clips.jsonl", "videos")):
        rows = [json.loads(line) for line in (EXAMPLES / name).read_text("utf-8").splitlines()]
        for image in {row["picture"] for row in rows}:
            own = [row for row in rows if row["picture"] == image]
            assert own[0]["kind"] == "right"
            assert len({row["kind"] for row in own}) == len(own) >= 6
            assert len({row[column] for row in own}) == 1
            assert (EXAMPLES / own[0][column]).is_file()
            # With references that are candidates too, the comparison would be won before it began.
            assert not {row["predictions"] for row in own} & set(own[0]["references"])
