"""Images and videos are bitwise identical with and without decoding in the sandbox."""

import io
import struct
import threading
import zlib
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from small_videos import HEIGHT, WIDTH, levels, video_frames, write_video

from vlgauge.core.errors import UsageError
from vlgauge.core.lru_cache import LRUCache
from vlgauge.inputs.images.cells import image_cell, image_head, open_image
from vlgauge.inputs.images.large_images import keep_large_until_done
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.inputs.sandbox import use_sandbox, workers
from vlgauge.inputs.video import decoder, frames
from vlgauge.inputs.video.cells import video_cell
from vlgauge.inputs.video.decoder import decoded_frames, sandboxed_frames
from vlgauge.inputs.video.frames import video_images

RANDOM = np.random.default_rng(3)


def noise(mode, size=(37, 300)):
    image = Image.fromarray(RANDOM.integers(0, 256, (size[1], size[0], 4), np.uint8), "RGBA")
    return image.quantize(60) if mode == "P" else image.convert("RGB").convert(mode) if mode != "RGBA" else image


def saved(mode, kind, **options):
    stream = io.BytesIO()
    noise(mode).save(stream, kind, **options)
    return stream.getvalue()


def turned():
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved("RGB", "JPEG", exif=exif)


def moving():
    stream = io.BytesIO()
    noise("P").save(stream, "GIF", save_all=True, append_images=[noise("P")], transparency=3)
    return stream.getvalue()


IMAGES = {
    **{f"{mode}-PNG": (mode, "PNG", {}) for mode in ("1", "L", "LA", "P", "RGB", "RGBA")},
    **{f"{mode}-TIFF": (mode, "TIFF", {}) for mode in ("CMYK", "LAB", "RGBA")},
    "P-PNG-clear": ("P", "PNG", {"transparency": bytes(range(60))}),
    "P-PNG-one": ("P", "PNG", {"transparency": 4}),
    "RGB-PNG-key": ("RGB", "PNG", {"transparency": (1, 2, 3)}),
    "L-JPEG": ("L", "JPEG", {}),
    "CMYK-JPEG": ("CMYK", "JPEG", {}),
    "RGBA-WEBP": ("RGBA", "WEBP", {}),
    "RGB-BMP": ("RGB", "BMP", {}),
}
FILES = {name: saved(mode, kind, **options) for name, (mode, kind, options) in IMAGES.items()}
FILES |= {"turned": turned(), "moving": moving()}


def with_late_text(mode, key, value):
    """Return a PNG file with a text after its pixels."""
    text = key + b"\0" + value
    chunk = struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", zlib.crc32(b"tEXt" + text))
    content = saved(mode, "PNG")
    return content[:-12] + chunk + content[-12:]


FILES |= {f"{mode}-PNG-text": with_late_text(mode, b"transparency", b"zz") for mode in ("L", "P", "RGB")}
BROKEN = {
    "exif": with_late_text("RGB", b"exif", b"zz"),
    "xmp": with_late_text("RGB", b"xmp", b"zz"),
    "pixels": FILES["RGB-PNG"][:2000],
}


@pytest.mark.filterwarnings("ignore:.*more than one frame", "ignore:Palette images with Transparency")
@pytest.mark.parametrize("convert", ["early", "late"])
@pytest.mark.parametrize("name", FILES)
def test_a_sandboxed_image_is_the_image(name, convert):
    cell, found = image_cell(FILES[name], "x"), []
    for sandbox in (False, True):
        with use_sandbox(sandbox):
            found.append(open_image(cell, "x", convert=convert))
    direct, other = found
    assert (direct.mode, direct.size, direct.tobytes()) == (other.mode, other.size, other.tobytes())
    assert direct.info.get("transparency") == other.info.get("transparency")
    for mode in ("RGB", "RGBA"):
        assert direct.convert(mode).tobytes() == other.convert(mode).tobytes()
    small = [one.resize((9, 11), Image.Resampling.BICUBIC).convert("RGB").tobytes() for one in found]
    assert small[0] == small[1]


def test_a_sandboxed_image_that_moves_is_told(tmp_path):
    (tmp_path / "a.gif").write_bytes(FILES["moving"])
    with use_sandbox(), pytest.warns(UserWarning, match=r"^`x`.*frame"):
        open_image(image_cell(str(tmp_path / "a.gif"), "x"), "x")


@pytest.mark.parametrize("content", [b"x", FILES["RGB-PNG"][:2000], FILES["L-JPEG"][:-200]])
def test_a_sandboxed_refusal_is_the_same(tmp_path, content):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    for cell in (image_cell(content, "x"), image_cell(str(path), "x")):
        messages = []
        for sandbox in (False, True):
            with use_sandbox(sandbox), pytest.raises(ValueError, match=r"^`x`.*readable") as told:
                open_image(cell, "x")
            messages.append(str(told.value))
        assert messages[0] == messages[1]


def test_a_head_is_the_same():
    for name, content in FILES.items():
        with use_sandbox():
            found = image_head(image_cell(content, "x"), "x")
        assert found == image_head(image_cell(content, "x"), "x"), name


@pytest.mark.parametrize("name", BROKEN)
def test_a_head_with_broken_data_is_one_sentence(tmp_path, name):
    path = tmp_path / "a.png"
    path.write_bytes(BROKEN[name])
    for cell in (image_cell(BROKEN[name], "images[1]"), image_cell(str(path), "images[1]")):
        shown, messages = repr(cell["path"]) if cell["path"] else f"{len(BROKEN[name])} bytes", set()
        for sandbox in (False, True):
            for read in (image_head, open_image):
                with use_sandbox(sandbox), pytest.raises(UsageError) as told:
                    read(cell, "images[1]")
                assert told.value.argument == "images[1]"
                messages.add(str(told.value))
            with use_sandbox(sandbox):
                assert WholeImage(cell, "images[1]").find_stored_mode() is None
        (message,) = messages
        assert message.startswith(f"`images[1]` must be a readable image, got {shown} (error: ")


def test_nothing_is_decoded_here(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the picture was opened here")

    monkeypatch.setattr(Image, "open", refuse)
    with use_sandbox():
        assert open_image(image_cell(FILES["RGB-PNG"], "x"), "x").size == (37, 300)


def frames_of(path, **segment):
    decoded_frames.clear()
    sandboxed_frames.clear()
    (images,) = video_images([video_cell({"path": path, **segment}, "x")], n_frames=7)
    return [(one.key, one.open().tobytes()) for one in images]


def test_sandboxed_frames_are_the_frames(tmp_path, monkeypatch):
    path = str(tmp_path / "a.mp4")
    write_video(Path(path))
    cut = tmp_path / "b.avi"
    write_video(cut)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size * 2 // 3])
    for name, segment in ((path, {}), (path, {"start": 0.2, "end": 0.7})):
        direct = frames_of(name, **segment)
        with use_sandbox():
            assert frames_of(name, **segment) == direct
    with use_sandbox():
        monkeypatch.setattr(sandboxed_frames, "most", 1)  # each has to be decoded again
        assert frames_of(path) == frames_of(path)


@pytest.fixture
def tasks(monkeypatch):
    """Number of tasks of workers that decode frames, and room for three frames."""
    counts = {"run": 0, "stream": 0}

    def count(kind, begin):
        def counted(task, **settings):
            counts[kind] += task.endswith("decode_frames")
            return begin(task, **settings)

        return counted

    for kind in counts:
        monkeypatch.setattr(decoder, kind, count(kind, getattr(decoder, kind)))
    monkeypatch.setattr(decoder, "sandboxed_frames", LRUCache(3 * WIDTH * HEIGHT * 3, lambda frame: frame.nbytes))
    return counts


def test_frames_of_a_worker_cost_two_passes_and_little_memory(tmp_path, tasks):
    path = write_video(tmp_path / "a.mp4", n_frames=31)
    with use_sandbox():
        images = video_frames(path, n_frames="all")
        assert decoder.sandboxed_frames.total == decoder.sandboxed_frames.most
        free = list(workers._free)
        for index in range(31):
            assert levels([images[index]]) == [index]
            assert decoder.sandboxed_frames.total == max(0, 2 - index) * WIDTH * HEIGHT * 3
    assert tasks == {"run": 1, "stream": 1}
    assert set(workers._free) == set(free)  # a worker that returned its last frame is free again
    assert decoder.SANDBOXED_STORE_BYTES <= 100 * 2**20


def test_frames_of_ended_workers_are_decoded_again(tmp_path, tasks, monkeypatch):
    monkeypatch.setattr(workers, "_MOST_STREAMS", 1)
    with use_sandbox():
        clips = [video_frames(write_video(tmp_path / f"{i}.mp4", n_frames=10 + i), n_frames="all") for i in range(2)]
        for index in range(4, 7):
            for images in clips:
                assert levels([images[index]]) == [index]
    assert tasks == {"run": 2, "stream": 6}


@pytest.mark.parametrize("order", [range(11, -1, -1), [9, 3, 9, 4, 11, 10, 3]])
def test_frames_of_a_worker_in_any_order(tmp_path, tasks, order):
    path = write_video(tmp_path / "a.mp4", n_frames=12)
    with use_sandbox():
        images = video_frames(path, n_frames="all")
        assert levels([images[index] for index in order]) == list(order)


def test_large_frames_wait_for_each_other(tmp_path, monkeypatch):
    first, second = video_frames(write_video(tmp_path / "a.mp4"), n_frames=2)
    monkeypatch.setattr(decoder, "MAX_FRAME_PIXELS", 2 * WIDTH * HEIGHT)
    is_open = threading.Event()
    thread = threading.Thread(target=lambda: (second.open(), is_open.set()))
    with keep_large_until_done():
        first.open()
        thread.start()
        assert not is_open.wait(0.5)
    assert is_open.wait(30)
    thread.join()


def test_no_clip_is_opened_here(tmp_path, monkeypatch):
    path = tmp_path / "a.mp4"
    write_video(path)
    direct = frames_of(str(path))
    frames._PLANS.clear()

    def refuse(*_, **__):
        raise AssertionError("the clip was opened here")

    monkeypatch.setattr(av, "open", refuse)
    with use_sandbox():
        assert frames_of(str(path)) == direct
    frames._PLANS.clear()
    with pytest.raises(AssertionError):
        frames_of(str(path))


def test_a_sandboxed_clip_that_is_none_says_the_same(tmp_path):
    path = tmp_path / "a.mp4"
    path.write_bytes(b"no clip" * 100)
    messages = []
    for sandbox in (False, True):
        with use_sandbox(sandbox), pytest.raises(ValueError, match="readable video") as told:
            frames_of(str(path))
        messages.append(str(told.value))
    assert messages[0] == messages[1]
