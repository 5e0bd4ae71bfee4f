"""Images and videos designed to block their reader: they block a worker, and this process reports it in one line."""

import time
from pathlib import Path

import pytest
from hostile_media import CLIPS, IMAGES
from small_videos import video_frames, write_video

from vlgauge.core.errors import UsageError
from vlgauge.inputs.images import sandboxed
from vlgauge.inputs.images.cells import image_cell, open_image
from vlgauge.inputs.sandbox import SandboxError, use_sandbox, workers
from vlgauge.inputs.video import decoder

MOST_EXTRA = 100  # MB
MOST_SECONDS = 60.0  # not a measure of speed: separates reads that hang from reads that finish


def extra_memory(deed):
    """Return the memory growth of this process, in MB, and the error message."""
    with use_sandbox():
        open_image(image_cell(IMAGES["fine"], "x"), "x")  # a worker is there
    before, begun = resident(), time.monotonic()
    try:
        deed()
        said = ""
    except ValueError as error:
        said = str(error)
    assert time.monotonic() - begun < MOST_SECONDS
    return resident() - before, said


def resident():
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4096 / 2**20 if path.exists() else 0.0


@pytest.mark.filterwarnings("ignore:.*more than one frame")
@pytest.mark.parametrize("name", IMAGES)
def test_a_hostile_image_costs_one_sentence_at_most(name, monkeypatch):
    def deed():
        monkeypatch.setattr(workers, "SECONDS", 0.5)  # Some files take any amount of time.
        with use_sandbox():
            open_image(image_cell(IMAGES[name], "images[1]"), "images[1]")

    extra, said = extra_memory(deed)
    assert extra < MOST_EXTRA
    assert not said or said.startswith("`images[1]` ")
    assert "\n" not in said


@pytest.mark.filterwarnings("ignore:.*ended before their stated end")
@pytest.mark.parametrize("name", CLIPS)
def test_a_hostile_clip_costs_one_sentence(name, tmp_path):
    plain = write_video(tmp_path / "plain.mp4")
    path = tmp_path / "claims.mp4"
    path.write_bytes(CLIPS[name](plain.read_bytes()))

    def deed():
        with use_sandbox():
            video_frames(path)

    extra, said = extra_memory(deed)
    assert extra < MOST_EXTRA
    assert not said or said.startswith("`videos[0]` ")
    assert "\n" not in said


@pytest.mark.parametrize("name", ["large.png", "large.mp4"])
def test_a_large_file_is_refused_before_it_is_read(name, tmp_path, monkeypatch):
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(2**28 + 1)  # sparse
    for module in (sandboxed, decoder):
        monkeypatch.setattr(module, "run", lambda *_, **__: pytest.fail("the file was read"))
    read = (
        (lambda: video_frames(path))
        if path.suffix == ".mp4"
        else lambda: open_image(image_cell(path, "x"), "images[0]")
    )
    wanted = r"at most 268,435,456 bytes.*got 268,435,457 bytes"
    with use_sandbox(), pytest.raises(UsageError, match=wanted):
        read()


def test_the_next_image_is_read_after_one_that_broke_a_worker(monkeypatch):
    with use_sandbox():
        with monkeypatch.context() as patched:
            patched.setattr(workers, "SECONDS", 0.001)
            with pytest.raises(SandboxError, match=r"^`x`.*512.*0\.001 s"):
                open_image(image_cell(IMAGES["jpeg comments"], "x"), "x")
        assert open_image(image_cell(IMAGES["fine"], "x"), "x").size == (2, 2)
