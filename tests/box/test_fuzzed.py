"""Files changed at random, from a fixed seed: no crash and no hang here, and one sentence for what is broken."""

import io
import json
import random
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_media import encoded
from PIL import Image
from scipy.io import savemat
from small_videos import video_frames, write_video

from vlgauge.box import reading
from vlgauge.media.images import image_cell, open_image
from vlgauge.media.tables import read_rows
from vlgauge.studies.protocols.matlab import read_matlab

MOST_EXTRA = 100  # MB
MOST_SECONDS = 30.0  # no measure of speed: what hangs is told apart from what ends
ROWS = [{"id": f"s{i}", "predictions": f"A dog ran {i} times.", "l": ["a", "b"], "n": i / 3} for i in range(40)]
PIXELS = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*more than one frame"),
    pytest.mark.filterwarnings("ignore:.*ended before they should"),
]


def parquet(**options):
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), stream, **options)
    return stream.getvalue()


def picture(kind, **options):
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, kind, **options)
    return stream.getvalue()


def moving():
    stream = io.BytesIO()
    frames = [Image.fromarray(PIXELS).quantize(16), Image.fromarray(PIXELS[::-1]).quantize(16)]
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    return stream.getvalue()


def matlab():
    stream = io.BytesIO()
    savemat(stream, {"x": {"a": "text", "b": np.arange(6.0)}, "y": np.array(["one", 2.0], object)})
    return stream.getvalue()


def clip(ending):
    def made(folder):
        return write_video(folder / f"plain.{ending}").read_bytes()

    return made


def as_table(path):
    read_rows(str(path))


def as_picture(path):
    open_image(image_cell(path.read_bytes(), "x"), "x")


def as_matlab(path):
    read_matlab(path, ["x", "y"])


FORMATS = {
    "jsonl": ("".join(json.dumps(row) + "\n" for row in ROWS).encode(), as_table),
    "json": (json.dumps(ROWS).encode(), as_table),
    "csv": (b"id,predictions\n" + b's,"a ""b"" c"\n' * 40, as_table),
    "parquet": (parquet(), as_table),
    "zstd.parquet": (parquet(compression="zstd", use_dictionary=False, data_page_version="2.0"), as_table),
    "png": (picture("PNG"), as_picture),
    "jpg": (picture("JPEG"), as_picture),
    "progressive.jpg": (picture("JPEG", progressive=True), as_picture),
    "webp": (picture("WEBP"), as_picture),
    "tiff": (picture("TIFF", compression="tiff_lzw"), as_picture),
    "bmp": (picture("BMP"), as_picture),
    "ppm": (picture("PPM"), as_picture),
    "gif": (moving(), as_picture),
    "small.png": (encoded("PNG"), as_picture),
    "mat": (matlab(), as_matlab),
    "mp4": (clip("mp4"), video_frames),
    "avi": (clip("avi"), video_frames),
    "mkv": (clip("mkv"), video_frames),
}


def changed(data, draw):
    """The bytes after one to six changes: others, fewer, twice, or numbers that are too large."""
    found = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        if not found:
            break
        place, end = sorted(draw.randrange(len(found) + 1) for _ in range(2))
        end = min(end, place + 200)
        match draw.randrange(6):
            case 0:
                del found[place:end]
            case 1:
                found[place:place] = found[place:end]
            case 2:
                found[place : place + 4] = draw.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80"))
            case 3:
                del found[place + 1 :]
            case _:
                found[place : place + 1] = bytes([draw.randrange(256)])
    return bytes(found)


def resident():
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4096 / 2**20 if path.exists() else 0.0


def fuzz(name, rounds, folder):
    """How many of the changed files were refused."""
    made, read = FORMATS[name]
    data = made(folder) if callable(made) else made
    path = folder / f"file.{name.rpartition('.')[2]}"
    draw, told = random.Random(name), list[str]()
    path.write_bytes(data)
    with reading("boxed"):
        read(path)  # a child is there, and the file as it was is read
        before = resident()
        for _ in range(rounds):
            path.write_bytes(changed(data, draw))
            begun = time.monotonic()
            try:
                read(path)
            except ValueError as error:
                told.append(str(error))
            assert time.monotonic() - begun < MOST_SECONDS
        assert resident() - before < MOST_EXTRA
    assert not [message for message in told if "\n" in message]
    return len(told)


@pytest.mark.parametrize("name", FORMATS)
def test_some_changed_files(name, tmp_path):
    fuzz(name, 5, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_two_hundred_changed_files(name, tmp_path):
    assert fuzz(name, 200, tmp_path) > 10
