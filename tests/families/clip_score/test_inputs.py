"""Results of pac_s and clip_s for broken, hostile or unusual files and rows, with a real and small encoder."""

import io
import math
import os
import pickle
import re
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from tiny_clip import IMAGES, TINY, tiny_state, write_tiny

import vlgauge
from vlgauge.checkpoints import files
from vlgauge.core.errors import UsageError
from vlgauge.inputs.sandbox import use_sandbox

GOOD = IMAGES / "syn_224.png"
CLIP = IMAGES / "syn_clip.mp4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="module")
def base(folder):
    return write_tiny(folder, 0, 0.8)


@pytest.fixture(scope="module")
def load(base):
    def load(name="clip_s", config=None, **settings):
        settings = {"backbone": TINY, "weights": base, "device": "cpu", **settings}
        return vlgauge.load(name, config, keep_in_memory=True, **settings)

    return load


@pytest.fixture(scope="module")
def clip_s(load):
    return load()


@pytest.fixture(scope="module")
def tolerant(load):
    return load(on_error="nan")


def encoded(image, file_format, **options):
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def png_header(width, height):
    """Return a PNG whose header declares many pixels and which contains none."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    start = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", start) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


BROKEN = {
    "corrupt": b"\x89PNG\r\n\x1a\n" + bytes(range(200)),
    "no image": b"hello",
    "truncated": GOOD.read_bytes()[:20_000],
    "400 million pixels": png_header(20_000, 20_000),
    "16 bit": encoded(Image.fromarray(np.zeros((9, 9), np.uint16)), "PNG"),
    "EPS": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
}


# -- images -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_unreadable_images(clip_s, tolerant, data):
    with pytest.raises(ValueError, match=r"`images\[1\]` must (be a readable image|have at most|have 8 bits)"):
        clip_s.compute(predictions=["a dog"] * 2, images=[GOOD, data])
    with pytest.warns(UserWarning, match="2 of 4 images could"):
        result = tolerant.compute(
            predictions=["a dog"] * 4, images=[data, GOOD, GOOD, data], references=[["dogs"]] * 4, return_details=True
        )
    assert np.isnan(result["clip_s_scores"]).tolist() == [True, False, False, True]
    assert np.isnan(result["ref_clip_s_scores"]).tolist() == [True, False, False, True]
    assert result["clip_s_undefined"] == result["ref_clip_s_undefined"] == 2
    alone = clip_s.compute(predictions=["a dog"], images=[GOOD])["clip_s"]
    assert result["clip_s"] == pytest.approx(alone, abs=1e-6)


def test_a_broken_image_leaves_the_metric_usable(clip_s):
    for _ in range(2):
        with pytest.raises(ValueError, match="readable image"):
            clip_s.compute(predictions=["a dog"], images=[b"hello"])
        assert clip_s.compute(predictions=["a dog"], images=[GOOD])["clip_s_undefined"] == 0


def test_images_that_are_no_files(clip_s, tolerant, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for image, message in [
        (tmp_path, "which is not a regular file"),
        (tmp_path / "pipe", "which is not a regular file"),
        ("https://example.org/a.png", "must be a local file, got the URL"),
        ("data:image/png;base64,AAAA", "must be a local file, got the URL"),
        (b"", "must be the bytes of an image file, got 0 bytes"),
    ]:
        for metric in (clip_s, tolerant):
            with pytest.raises(ValueError, match=rf"`images\[1\]` .*{re.escape(message)}"):
                metric.compute(predictions=["a dog"] * 2, images=[GOOD, image])


@pytest.mark.parametrize("sandbox", [False, True])
def test_an_empty_file_is_never_opened(clip_s, tolerant, tmp_path, monkeypatch, sandbox):
    """Files of the kernel also have no size, and reading them may block."""
    (tmp_path / "empty.png").touch()
    rows = {"predictions": ["a dog"] * 2, "images": [GOOD, tmp_path / "empty.png"]}
    open_file = files.open_file

    def open_full(path):
        assert os.stat(path).st_size
        return open_file(path)

    monkeypatch.setattr(files, "open_file", open_full)
    with use_sandbox(sandbox):
        with pytest.raises(ValueError, match=r"^`images\[1\]` must be an image file, got '.*', which is empty"):
            clip_s.compute(**rows)
        with pytest.warns(UserWarning, match="1 of 2 images could"):
            assert tolerant.compute(**rows)["clip_s_undefined"] == 1


def test_file_that_vanishes_before_it_is_scored(clip_s, tolerant, tmp_path):
    for metric in (clip_s, tolerant):
        path = tmp_path / "soon_gone.png"
        path.write_bytes(GOOD.read_bytes())
        metric.add_batch(predictions=["a dog", "a dog"], images=[path, GOOD])
        path.unlink()
        if metric is clip_s:
            with pytest.raises(ValueError, match=r"^`images\[0\]`.*readable"):
                metric.compute()
        else:
            with pytest.warns(UserWarning, match="1 of 2 images could"):
                assert metric.compute()["clip_s_undefined"] == 1


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (7, 9)])
def test_odd_sizes(clip_s, size):
    score = clip_s.compute(predictions=["a dog"], images=[Image.new("RGB", size, (10, 200, 30))])["clip_s"]
    assert 0 <= score <= 2.5


def test_animation_is_scored_by_its_first_frame(clip_s):
    first, second = Image.new("RGB", (20, 20), "red"), Image.new("RGB", (20, 20), "blue")
    data = encoded(first, "GIF", save_all=True, append_images=[second])
    with pytest.warns(UserWarning, match="first is scored"):
        moving = clip_s.compute(predictions=["a dog"], images=[data])["clip_s"]
    assert moving == clip_s.compute(predictions=["a dog"], images=[encoded(first, "GIF")])["clip_s"]


def test_many_animations_are_one_warning(clip_s):
    frames = [Image.new("RGB", (20, 20), (i, 9, 9)) for i in range(13)]
    still = encoded(frames[0], "PNG")
    moving = [encoded(frame, "GIF", save_all=True, append_images=[frames[0]]) for frame in frames[1:]]
    message = r"^`images\[1\]`.*11 other"
    with pytest.warns(UserWarning, match=message) as told:
        clip_s.compute(predictions=["a dog"] * 13, images=[still, *moving])
    assert len(told) == 1


@pytest.mark.parametrize("name", ["syn_palette.png", "syn_cmyk.jpg", "syn_rgba.png", "syn_gray.png"])
def test_forms_of_an_image_agree(clip_s, name):
    path = IMAGES / name
    forms = [path, str(path), path.read_bytes(), {"path": str(path)}, Image.open(path), [Image.open(path)]]
    scores = clip_s.compute(predictions=["a dog"] * len(forms), images=forms)["clip_s_scores"]
    assert scores == pytest.approx([scores[0]] * len(forms), abs=1e-6)


# -- texts, references ------------------------------------------------------------------------------------------------
def test_ten_thousand_words(clip_s, load):
    with pytest.warns(UserWarning, match=r"1 of 1 captions.*than 77 tokens"):
        long = clip_s.compute(predictions=["dog " * 10_000], images=[GOOD])["clip_s"]
    with pytest.warns(UserWarning, match="were cut"):
        # First 76 ids and the end token: later tokens make no difference, and the end token is kept.
        cut = clip_s.compute(predictions=["dog " * 73 + "cat"], images=[GOOD])["clip_s"]
    assert long == cut
    fits = clip_s.compute(predictions=["dog " * 72], images=[GOOD])["clip_s"]
    assert fits == pytest.approx(long, abs=1e-5)
    with pytest.raises(ValueError, match=r"^`predictions\[0\]`.*at most 77 tokens"):
        load(long_text="error").compute(predictions=["dog " * 10_000], images=[GOOD])


def test_unusual_texts(clip_s):
    texts = ["\x00", "犬" * 10, "🐕", "a\u2028b", "<b>&amp;</b>", "A" * 60]
    with pytest.warns(UserWarning, match="1 of 6 captions are not in Latin script"):
        scores = clip_s.compute(predictions=texts, images=[GOOD] * len(texts))["clip_s_scores"]
    assert all(0 <= score <= 2.5 for score in scores)
    with pytest.raises(ValueError, match=r"^`predictions\[0\]`.*Unicode"):
        clip_s.compute(predictions=["a\ud800"], images=[GOOD])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"predictions": [3], "images": [GOOD]}, r"^`predictions\[0\]`.*got int"),
        ({"predictions": ["a"], "images": [GOOD, GOOD]}, r"^`images`.*`predictions`"),
        ({"predictions": "a", "images": [GOOD]}, r"^`predictions`.*got str"),
        ({"predictions": ["a"], "images": [3]}, r"^`images\[0\]`.*got int"),
        *(
            (
                {"predictions": ["a"], "images": [nothing]},
                r"^`images\[0\]`.*got NoneType",
            )
            for nothing in (None, [None])
        ),
        (
            {"predictions": ["a"], "images": [GOOD], "references": [[None]]},
            r"^`references\[0\]\[0\]`.*got NoneType",
        ),
        (
            {"predictions": ["a"], "images": [GOOD], "references": [3]},
            r"^`references\[0\]`.*got int",
        ),
    ],
)
def test_bad_rows_are_refused(clip_s, rows, message):
    with pytest.raises(ValueError, match=message):
        clip_s.compute(**rows)


@pytest.mark.parametrize("form", [str, lambda path: [path], lambda path: {"path": str(path)}])
def test_a_missing_file_is_one_that_cannot_be_read(load, tolerant, tmp_path, form):
    rows = {"predictions": ["a dog"] * 2, "images": [form(tmp_path / "gone.png"), GOOD], "references": [["dogs"]] * 2}
    with pytest.warns(UserWarning, match="1 of 2 images could"):
        result = tolerant.compute(**rows)
    assert np.isnan(result["clip_s_scores"]).tolist() == np.isnan(result["ref_clip_s_scores"]).tolist() == [True, False]
    with pytest.raises(UsageError, match=r"^`images\[0\]`.*gone\.png.*miss"):
        load().compute(**rows)
    # Inputs that can never be read raise an error in any case.
    for image in (str(tmp_path), "https://example.org/x.png", "a\0b"):
        with pytest.raises(UsageError, match=r"`images\[0\]` must be"):
            tolerant.compute(predictions=["a dog"], images=[image])


@pytest.mark.parametrize("form", [str, lambda path: {"path": path, "end": 1.0}, lambda path: [str(path), GOOD]])
def test_a_missing_video_is_one_that_cannot_be_read(load, tmp_path, form):
    rows = {"predictions": ["a dog"] * 2, "videos": [CLIP, form(tmp_path / "gone.mp4")]}
    with pytest.warns(UserWarning, match="1 of 2 videos could"):
        result = load(config="video", on_error="nan").compute(**rows)
    assert np.isnan(result["clip_s_scores"]).tolist() == [False, True]
    with pytest.raises(UsageError, match=r"gone\.mp4"):
        load(config="video").compute(**rows)


# -- videos -----------------------------------------------------------------------------------------------------------
def test_unreadable_videos(load, tmp_path):
    (tmp_path / "cut.mp4").write_bytes(CLIP.read_bytes()[:3000])
    (tmp_path / "text.mp4").write_text("hello", encoding="utf-8")
    for name in ("cut.mp4", "text.mp4"):
        rows = {"predictions": ["a dog"] * 2, "videos": [CLIP, tmp_path / name], "references": [["dogs"]] * 2}
        with pytest.raises(ValueError, match=r"^`videos\[1\]`.*readable"):
            load(config="video").compute(**rows)
        with pytest.warns(UserWarning, match="1 of 2 videos could"):
            result = load(config="video", on_error="nan").compute(**rows)
        assert np.isnan(result["clip_s_scores"]).tolist() == [False, True]
        assert np.isnan(result["ref_clip_s_scores"]).tolist() == [False, True]


def test_one_unreadable_frame_makes_its_video_undefined(load):
    rows = {"predictions": ["a dog"] * 2, "videos": [[GOOD, b"hello"], [GOOD]]}
    with pytest.raises(ValueError, match=r"^`videos\[0\]\[1\]`"):
        load(config="video").compute(**rows)
    with pytest.warns(UserWarning, match="1 of 2 videos could"):
        result = load(config="video", on_error="nan").compute(**rows)
    assert np.isnan(result["clip_s_scores"]).tolist() == [True, False]


def test_video_without_frames(load):
    with pytest.warns(UserWarning, match="1 of 1 videos"):
        result = load(config="video").compute(predictions=["a dog"], videos=[[]])
    assert math.isnan(result["clip_s"])


# -- checkpoints ------------------------------------------------------------------------------------------------------
class Command:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch executed",)


def test_pickle_with_code_is_not_executed(load, tmp_path, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": tiny_state(1), "command": Command()}, tmp_path / "weights.pth")
    (tmp_path / "bare.pth").write_bytes(pickle.dumps(Command()))
    for name in ("weights.pth", "bare.pth"):
        with pytest.raises(ValueError, match="`checkpoint` must"):
            load("pac_s", checkpoint=tmp_path / name).compute(predictions=["a dog"], images=[GOOD])
    assert not (tmp_path / "executed").exists()


def test_checkpoint_of_another_architecture(load, tmp_path):
    import torch

    state = tiny_state(1)
    state["visual.proj"] = state["visual.proj"][:, :16]
    torch.save(state, tmp_path / "other.pth")
    with pytest.raises(ValueError, match=r"visual\.proj"):
        load("pac_s", checkpoint=tmp_path / "other.pth").compute(predictions=["a dog"], images=[GOOD])


def test_weights_of_plain_clip_are_no_pac_s(load, base):
    with pytest.raises(ValueError, match=r"CLIP.*clip_s"):
        load("pac_s", checkpoint=base).compute(predictions=["a dog"], images=[GOOD])


def test_pac_s_without_a_checkpoint(load, monkeypatch, tmp_path):
    monkeypatch.setenv("VLGAUGE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="the weights of PAC-S for tiny are not in "):
        load("pac_s").compute(predictions=["a dog"], images=[GOOD])
    published = vlgauge.load("pac_s", keep_in_memory=True, profile="paper")
    with pytest.raises(FileNotFoundError, match=r"ViT-B/32.*drive\.google\.com.*vlgauge convert .*`checkpoint`"):
        published.compute(predictions=["a dog"], images=[GOOD])


def test_missing_checkpoint(load, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.pth"):
        load("pac_s", checkpoint=tmp_path / "missing.pth").compute(predictions=["a dog"], images=[GOOD])


# -- files that change ------------------------------------------------------------------------------------------------
def test_an_image_that_is_replaced_has_a_new_score(clip_s, tmp_path, monkeypatch):
    """Check the score of a new file with the same path, size and modification time as a file with a cached digest."""
    monkeypatch.setattr("vlgauge.checkpoints.files._SETTLED_NS", -(10**18))
    pixels = np.random.default_rng(5).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    path, other = tmp_path / "seen.bmp", tmp_path / "other.bmp"
    sizes, scores = [], []
    for image in (pixels, 255 - pixels):
        Image.fromarray(image).save(other)
        os.utime(other, ns=(10**18, 10**18))
        os.replace(other, path)
        sizes.append(path.stat().st_size)
        for _ in range(2):
            scores.append(clip_s.compute(predictions=["a dog"], images=[path])["clip_s"])
    assert sizes[0] == sizes[1]
    assert scores[0] == scores[1] != scores[2] == scores[3]
    assert scores[2] == clip_s.compute(predictions=["a dog"], images=[255 - pixels])["clip_s"]
