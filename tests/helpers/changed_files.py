"""Files of all supported formats with random changes from a fixed seed, their readers, and checks of the reading."""

import contextlib
import io
import json
import os
import random
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hostile_media import encoded
from PIL import Image
from scipy.io import savemat
from small_videos import video_frames, write_video

from vlgauge.core.errors import NetworkError
from vlgauge.inputs.images.cells import image_cell, open_image
from vlgauge.inputs.tables.files import read_rows
from vlgauge.inputs.tables.matlab import read_matlab

ROWS = [{"id": f"s{i}", "predictions": f"A dog ran {i} times.", "l": ["a", "b"], "n": i / 3} for i in range(40)]
PIXELS = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)


def parquet(**options):
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), stream, **options)
    return stream.getvalue()


def image(kind, **options):
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


def as_image(path):
    open_image(image_cell(path.read_bytes(), "x"), "x")


def as_matlab(path):
    read_matlab(path, ["x", "y"])


def as_archive(path):
    """Read all rows of an archive."""
    from vlgauge.api.row_sources.grouped_files import tar_rows
    from vlgauge.inputs.limits import RowLimits

    source = tar_rows(str(path), RowLimits())
    for row in source.rows(list(source.kinds)):
        if isinstance(row.get("png"), dict):
            open_image(image_cell(row["png"]["bytes"], "x"), "x")


def as_weights(path):
    """Read the tensors of a weight file."""
    from vlgauge.checkpoints.reading import read_tensors

    read_tensors(path)


def tar(kind=tarfile.PAX_FORMAT):
    """Return an archive of images, captions and objects."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=kind) as made:
        for number in range(6):
            own = {"png": encoded("PNG"), "txt": b"A dog.", "json": json.dumps(ROWS[number]).encode()}
            for ending, content in own.items():
                info = tarfile.TarInfo(f"{'folder' * 20}/{number}.{ending}")
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def weights(ending):
    """Return a function that writes a file with two tensors."""

    def made(folder):
        import torch
        from safetensors.torch import save_file

        tensors = {"a.weight": torch.arange(600.0).reshape(20, 30), "a.bias": torch.zeros(20)}
        path = folder / f"made.{ending}"
        if ending == "safetensors":
            save_file(tensors, path)
        else:
            torch.save(tensors, path)
        return path.read_bytes()

    return made


FORMATS = {
    "jsonl": ("".join(json.dumps(row) + "\n" for row in ROWS).encode(), as_table),
    "json": (json.dumps(ROWS).encode(), as_table),
    "csv": (b"id,predictions\n" + b's,"a ""b"" c"\n' * 40, as_table),
    "parquet": (parquet(), as_table),
    "zstd.parquet": (parquet(compression="zstd", use_dictionary=False, data_page_version="2.0"), as_table),
    "png": (image("PNG"), as_image),
    "jpg": (image("JPEG"), as_image),
    "progressive.jpg": (image("JPEG", progressive=True), as_image),
    "webp": (image("WEBP"), as_image),
    "tiff": (image("TIFF", compression="tiff_lzw"), as_image),
    "bmp": (image("BMP"), as_image),
    "ppm": (image("PPM"), as_image),
    "gif": (moving(), as_image),
    "small.png": (encoded("PNG"), as_image),
    "mat": (matlab(), as_matlab),
    "mp4": (clip("mp4"), video_frames),
    "avi": (clip("avi"), video_frames),
    "mkv": (clip("mkv"), video_frames),
    "tar": (tar(), as_archive),
    "gnu.tar": (tar(tarfile.GNU_FORMAT), as_archive),
    "safetensors": (weights("safetensors"), as_weights),
    "zip.pt": (weights("pt"), as_weights),
}


def changed(data, draw):
    """Return the bytes after one to six changes: replaced, removed, repeated, or with integers that are too large."""
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


MOST_EXTRA = 100  # MB
MOST_SECONDS = 30.0  # not a measure of speed: separates reads that hang from reads that finish


@dataclass
class Watched:
    """Observations while changed files were read.

    Attributes:
        refused: Error messages.
        seconds: Longest reading time of a file.
        extra: Memory growth of this process, in MB.
        opened: Files that this process opened.
    """

    refused: list[str] = field(default_factory=list)
    seconds: float = 0.0
    extra: float = 0.0
    opened: set[str] = field(default_factory=set)


def read_changed(data, rounds, seed, read):
    """Read randomly changed files with `read(content)`, and return the observations."""
    draw, found = random.Random(seed), Watched()
    before = resident()
    for _ in range(rounds):
        content = changed(data, draw)
        begun = time.monotonic()
        try:
            with opened_files(found.opened):
                read(content)
        except (ValueError, NetworkError) as error:
            found.refused.append(str(error))
        found.seconds = max(found.seconds, time.monotonic() - begun)
        found.extra = max(found.extra, resident() - before)
    return found


def check(found, folder):
    """Check that no read hung, memory did not grow, no other file was opened, and each error message is one line."""
    assert found.seconds < MOST_SECONDS
    assert found.extra < MOST_EXTRA
    assert not [message for message in found.refused if "\n" in message]
    known = (str(folder), tempfile.gettempdir(), "/proc/", "/dev/null", sys.prefix, sys.base_prefix)
    source = str(Path(__file__).resolve().parents[2])  # files that Python imports
    # The others are names in a worker's folder, which is removed from within.
    assert not [path for path in found.opened if os.path.isabs(path) and not path.startswith((*known, source))]


_HOOK: dict = {}


@contextlib.contextmanager
def opened_files(found):
    """Collect the files that this process opens inside the block, in any thread."""
    if not _HOOK:

        def hear(event, arguments):
            if event == "open" and _HOOK["found"] is not None and isinstance(arguments[0], (str, bytes)):
                _HOOK["found"].add(os.fsdecode(arguments[0]))

        sys.addaudithook(hear)  # which cannot be removed
    _HOOK["found"] = found
    try:
        yield
    finally:
        _HOOK["found"] = None
