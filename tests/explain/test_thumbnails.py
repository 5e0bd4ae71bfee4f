"""Images that are embedded in the page, and boxes over them."""

import base64
import io
import re

import numpy as np
import pytest
from folders import EXAMPLES
from PIL import Image

from vlgauge.explain.marks import Mark
from vlgauge.explain.thumbnails import SIDE, Thumbnail, draw_boxes, frames_of, small, thumbnail, with_boxes

TAG = r'<g class="tg \w+"><rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"'


def decoded(found):
    return Image.open(io.BytesIO(base64.b64decode(str(found.address).partition(",")[2])))


def test_a_thumbnail_keeps_shape_and_size_of_the_image_itself():
    found = small(Image.new("RGB", (640, 480), "red"))
    assert (found.width, found.height) == (640, 480)
    assert decoded(found).size == (SIDE, SIDE * 480 // 640)
    assert found.address.startswith("data:image/png;base64,")


def test_a_photograph_is_small_in_bytes_too():
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    found = thumbnail(noise)
    assert found.address.startswith("data:image/jpeg;base64,")
    # A hundred of the worst kind stay below the limit of a report.
    assert len(found.address) * 100 < 2_500_000


@pytest.mark.parametrize("image", ["no/such.png", b"no picture", 7])
def test_what_cannot_be_read_is_no_image(image):
    assert thumbnail(image) is None


def test_boxes_are_lines_over_the_plain_image_each_with_a_casing():
    image = Thumbnail("data:image/png;base64,x", 256, 256)
    found = [
        ((20, 30, 60, 80), Mark("for", number=1)),
        ((0, 0, 256, 256), Mark("nil", number=2)),
        ((20, 30, 60, 80), Mark("against", number=13)),
    ]
    drawn = with_boxes(image, found, 'a "label"')
    assert drawn.count('stroke="#fff"') == drawn.count('class="bx ') == 2
    # The whole image is drawn first and a little inside, and boxes that count next to nothing are below the others.
    assert re.findall(r'class="bx (\w+)" x="([\d.]+)"', drawn) == [("nil", "6.0"), ("against", "20.0")]
    assert re.findall(r">(\d+)</text>", drawn) == ["2", "1", "13"]
    assert 'a "label"' not in drawn


def test_no_number_covers_another_or_leaves_the_image():
    image = Thumbnail("data:image/png;base64,x", 128, 128)
    # Seven on the whole image, four on a box in a corner, and two on boxes next to it.
    boxes = [(0, 0, 128, 128)] * 7 + [(100, 0, 128, 25)] * 4 + [(80, 2, 110, 30), (90, 5, 120, 40)]
    drawn = with_boxes(image, [(box, Mark("for", number=n)) for n, box in enumerate(boxes, 1)], "x")
    areas = [tuple(map(float, one)) for one in re.findall(TAG, drawn)]
    assert len(areas) == len(boxes)
    for number, (x, y, width, height) in enumerate(areas):
        assert x >= 0
        assert y >= 0
        assert x + width <= 128.1
        assert y + height <= 128.1
        for left, top, wide, high in areas[:number]:
            assert x + width <= left + 0.1 or left + wide <= x + 0.1 or y + height <= top + 0.1 or top + high <= y + 0.1


def test_a_box_at_the_edge_keeps_its_whole_line():
    drawn = with_boxes(Thumbnail("data:,", 128, 128), [((0, 0, 40, 128), Mark("for", number=1))], "x")
    assert 'class="bx for" x="2.0" y="2.0" width="38.0" height="124.0"' in drawn


def test_a_region_stands_in_the_image_that_won():
    images = [Image.new("RGB", (20, 20), "white")] * 2
    first, second = draw_boxes(
        images, [{"image": 1, "box": [1, 2, 8, 9]}, {"image": None, "box": None}], [Mark("for", number=1)] * 2
    )
    assert "<rect" not in first
    assert '<rect class="bx for" x="1.0" y="2.0"' in second
    assert draw_boxes(None, [], []) == []


def test_frames_of_a_clip_by_their_numbers():
    found = frames_of(str(EXAMPLES / "clips" / "01.mp4"), [0, 3])
    assert sorted(found) == [0, 3]
    assert frames_of("no/such.mp4", [0]) == {}
    images = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    assert decoded(frames_of(images, [1])[1]).convert("RGB").getpixel((0, 0)) == (0, 0, 255)
