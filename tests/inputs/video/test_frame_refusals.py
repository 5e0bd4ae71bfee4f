"""Videos that are truncated, damaged, not videos, or given in an unsupported way."""

import os
import struct
import sys

import av
import numpy as np
import pytest
import small_videos
from PIL import Image
from small_videos import indices, levels, noisy, video_frames, write_shifted, write_silence, write_video

from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.core.files import limits
from vlgauge.core.lru_cache import LRUCache
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.video import decoder, frames
from vlgauge.inputs.video.cells import video_cell
from vlgauge.inputs.video.frames import sample_indices, video_images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="module")
def mp4(folder):
    return write_video(folder / "plain.mp4")


def cut(path, folder, share=0.5, name="cut"):
    data = path.read_bytes()
    target = folder / f"{name}{path.suffix}"
    target.write_bytes(data[: int(len(data) * share)])
    return target


# -- broken and foreign files -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["mkv", "avi"])
def test_a_cut_file_is_sampled_as_far_as_it_goes(name, folder):
    half = cut(write_video(folder / f"whole.{name}", n_frames=36), folder)
    with pytest.warns(UserWarning, match="1 of 1 videos ended") as caught:
        images = video_frames(half)
    assert {warning.filename for warning in caught} == {small_videos.__file__}
    seen = indices(images)
    assert 5 < seen[-1] < 30
    assert seen == sample_indices(0, seen[-1] + 1, 10)
    assert levels(images[:-1]) == seen[:-1]
    # Seconds count from the start of the available frames.
    with pytest.warns(UserWarning, match="ended before"):
        assert indices(video_frames(half, n_frames=1, start=0.55)) == [5]
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*`start`.*got 3\.4"):
        video_frames(half, start=3.4)


def avi_frames(data):
    """Begin and end of each frame in an AVI file, which are chunks with a name and a size."""
    place = data.index(b"movi") + 4
    while data[place : place + 4] == b"00dc":
        end = place + 8 + struct.unpack_from("<I", data, place + 4)[0]
        yield place, end
        place = end + end % 2


@pytest.mark.parametrize("codec", ["mpeg4", "mjpeg"])
@pytest.mark.parametrize("whole", [2, 4, 6])
@pytest.mark.parametrize("half", [False, True])
def test_a_cut_avi_has_its_whole_frames(codec, whole, half, folder):
    """Check a duration that is estimated from the file size, and half a frame that would decode as the previous one."""
    data = write_video(folder / "seven.avi", n_frames=7, codec=codec).read_bytes()
    begin, end = list(avi_frames(data))[whole]
    short = data[: (begin + end) // 2 if half else begin]
    with pytest.warns(UserWarning, match="1 of 1 videos ended") as caught:
        images = video_frames(short)
    assert {warning.filename for warning in caught} == {small_videos.__file__}
    assert len(caught) == 1
    assert indices(images) == levels(images) == sample_indices(0, whole, 10)
    with pytest.warns(UserWarning, match="ended before"):
        assert levels(video_frames(short, n_frames=whole)) == list(range(whole))
    with pytest.warns(UserWarning, match="ended before"):
        assert levels(video_frames(short, n_frames="all")) == list(range(whole))


def test_half_of_the_last_frame_is_missed(folder):
    data = write_video(folder / "thirty.avi").read_bytes()
    begin, end = list(avi_frames(data))[29]
    with pytest.warns(UserWarning, match="ended before"):
        assert levels(video_frames(data[: (begin + end) // 2], n_frames="all")) == list(range(29))


@pytest.mark.parametrize("whole", range(9, 13))
def test_half_a_frame_between_others_is_left_out(whole, folder):
    """Check a truncated frame that is not the last one displayed, because frames are stored after later ones."""
    data = write_video(folder / "turned.avi", codec="libx264").read_bytes()
    begin, end = list(avi_frames(data))[whole]
    with pytest.warns(UserWarning, match="ended before"):
        seen = levels(video_frames(data[: (begin + end) // 2], n_frames="all"))
    assert len(seen) == whole
    assert seen == sorted(set(seen))
    assert set(range(whole - 2)) <= set(seen)


def test_an_avi_may_leave_frames_out(folder):
    """Check that chunks without content count as frames, because they repeat an unchanged image."""
    path = write_video(folder / "slow.avi", n_frames=12, every=3)
    assert levels(video_frames(path, n_frames="all")) == list(range(12))
    assert levels(video_frames(path, n_frames="all", start=1.7)) == list(range(6, 12))


def test_a_file_cut_before_its_first_frame_is_cut_short(folder):
    data = write_video(folder / "begun.mkv").read_bytes()
    with pytest.warns(UserWarning, match="1 of 1 videos ended"):
        assert video_frames(data[: data.index(b"\x1f\x43\xb6\x75") + 12]) == []


@pytest.mark.parametrize(("codec", "seconds", "first"), [("mpeg4", -1.0, 10), ("libx264", -0.7, 7)])
def test_a_trimmed_file_is_not_cut_short(codec, seconds, first, folder):
    """Check that frames trimmed without reencoding, which remain in the file but are not displayed, are skipped."""
    trimmed = write_shifted(write_video(folder / "long.mp4", codec=codec), folder / "trimmed.mp4", seconds)
    images = video_frames(trimmed, n_frames="all")
    assert indices(images) == list(range(30 - first))
    assert levels(images) == list(range(first, 30))
    assert levels(video_frames(trimmed, n_frames=1, start=1.05)) == [first + 10]


@pytest.mark.parametrize("name", ["mp4", "webm"])
def test_images_may_begin_late(name, folder):
    late = write_shifted(write_video(folder / f"early.{name}"), folder / f"late.{name}", 5.0)
    images = video_frames(late)
    assert indices(images) == levels(images) == sample_indices(0, 30, 10)
    assert levels(video_frames(late, n_frames="all", start=0.55, end=1.05)) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(("packets", "is_short"), [(31, False), (60, True)])
def test_packets_without_an_image(packets, is_short, mp4, monkeypatch, recwarn):
    monkeypatch.setattr(decoder.VideoSource, "extent", lambda self: decoder.Extent(packets, True, 3.0, 64 * 48))
    assert levels(video_frames(mp4.read_bytes() + b"\0" * packets, n_frames=3)) == [0, 14, 29]
    assert [str(warning.message) for warning in recwarn] == [
        "1 of 1 videos ended before their stated end; their frames are sampled from the decoded part"
    ] * is_short


def test_a_damaged_file_is_sampled_as_far_as_it_decodes(folder):
    data = bytearray(write_video(folder / "sound.mp4", codec="libx264").read_bytes())
    data[len(data) // 2 - 2000 : len(data) // 2] = b"\xff" * 2000
    damaged = folder / "damaged.mp4"
    damaged.write_bytes(data)
    cells = [video_cell(damaged, "videos[0]")] * 2 + [video_cell(folder / "sound.mp4", "videos[2]")]
    with pytest.warns(UserWarning, match="2 of 3 videos ended"):
        images = video_images(cells, n_frames="all")
    assert 0 < len(images[0]) == len(images[1]) < 30 == len(images[2])
    assert indices(images[0]) == list(range(len(images[0])))
    assert levels(images[0][:4]) == [0, 1, 2, 3]


@pytest.fixture(scope="module")
def unreadable(folder, mp4):
    """Files that are not videos, keyed by name."""
    paths = {name: folder / f"{name}.mp4" for name in ("text", "empty", "picture", "sound_only")}
    paths["text"].write_text("no video at all\n" * 100)
    paths["empty"].write_bytes(b"")
    Image.new("RGB", (64, 64)).save(paths["picture"], "JPEG")
    paths["playlist"] = folder / "playlist.m3u8"
    paths["playlist"].write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:3,\n{mp4}\n#EXT-X-ENDLIST\n")
    paths["half"] = cut(mp4, folder, 0.4, "half")
    with av.open(str(paths["sound_only"]), "w") as container:
        write_silence(container, container.add_stream("mp2", rate=16_000), 0.5)
    return paths


@pytest.mark.parametrize("name", ["text", "empty", "picture", "playlist", "half"])
def test_what_is_no_video_is_refused(name, unreadable):
    with pytest.raises(ValueError, match=rf"^`videos\[0\]`.*{name}\.m"):
        video_frames(unreadable[name])
    cells = [video_cell(unreadable[name], "videos[0]", may_be_missing=True)]
    assert video_images(cells, on_error="nan") == [None]
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*readable"):
        video_images(cells)


def test_the_cover_of_a_record_is_no_video(folder):
    path = folder / "song.mp4"
    with av.open(str(path), "w") as container:
        sound, cover = container.add_stream("mp2", rate=16_000), container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 48, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic.value  # version 15 does not accept a member
        write_silence(container, sound, 0.5)
        container.mux(cover.encode(av.VideoFrame.from_ndarray(noisy(0), format="rgb24")))
        container.mux(cover.encode())
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*song\.mp4"):
        video_frames(path)


@pytest.mark.parametrize("sandbox", [False, True])
def test_texts_that_are_not_unicode_and_unknown_codecs_raise_no_other_error(folder, mp4, sandbox):
    data = mp4.read_bytes()
    codec = b"\4\x80\x80\x80A\x20"  # in the box `esds`
    assert data.count(b"VideoHandler") == data.count(codec) == 1
    (folder / "latin.mp4").write_bytes(data.replace(b"VideoHandler", b"Vide\xf3Handler"))
    (folder / "unknown.mp4").write_bytes(data.replace(codec, codec[:-1] + b"\xf1").replace(b"mp4v", b"\0xyz"))
    with use_sandbox(sandbox):
        assert levels(video_frames(folder / "latin.mp4", n_frames=1)) == [0]
        with pytest.raises(UsageError, match=r"^`videos\[0\]` must be.*unknown\.mp4' without a known video stream$"):
            video_frames(folder / "unknown.mp4")


def test_other_refusals(unreadable, folder, mp4):
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*only\.mp4"):
        video_frames(unreadable["sound_only"])
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*gone\.mp4"):
        video_frames(folder / "gone.mp4")
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*regular"):
        video_frames(folder)
    os.mkfifo(folder / "pipe.mp4")
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*regular"):
        video_frames(folder / "pipe.mp4")
    for address in ("https://example.com/a.mp4", "rtsp://camera", "data:video/mp4;base64,AAAA"):
        with pytest.raises(ValueError, match=r"^`videos\[0\]`.*local"):
            video_frames(address)
    cell = video_cell(folder / "plain.mp4", "videos[0]") | {"path": str(folder / "vanished.mp4")}
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*vanished\.mp4"):
        video_images([cell])


def test_streams_without_times_frames_or_bounds(folder, monkeypatch):
    raw = write_video(folder / "raw.h264", codec="libx264")
    assert levels(video_frames(raw, n_frames=2)) == [0, 29]
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*duration"):
        video_frames(raw, start=1)
    monkeypatch.setattr(decoder, "MAX_FRAME_PIXELS", 1_000)
    message = r"^`videos\[0\]`.*at most 1,000 pixels.*got 64 x"
    with pytest.raises(ValueError, match=message):
        video_frames(raw, n_frames=3)


def test_a_clip_has_a_limit_of_frames_and_of_pixels(folder, monkeypatch):
    monkeypatch.setattr(frames, "_PLANS", LRUCache(8))  # other tests may have decoded a file of the same frames
    path = write_video(folder / "bounded.mp4")  # 30 frames of 64 x 48
    monkeypatch.setattr(decoder, "MAX_CLIP_PIXELS", 64 * 48 * 20)
    # Up to the last frame that is looked at.
    assert levels(video_frames(path, n_frames=2, end=2.0)) == [0, 19]
    message = r"`videos\[0\]` must have at most 61,440 pixels in all frames up to the last sampled one, got 92,160 in"
    with pytest.raises(ValueError, match=message + " '.*bounded.mp4'; cut it or scale it first"):
        video_frames(path)
    monkeypatch.setattr(decoder, "MAX_FRAMES", 29)
    with pytest.raises(ValueError, match=r"^`videos\[0\]`.*at most 29 frames.*bounded\.mp4"):
        video_frames(path, n_frames=3, end=1.0)


def test_pixels_are_counted_when_they_are_decoded(folder, monkeypatch):
    """Check the limit on frames that are larger than the first ones, from which the size of the video is known."""
    source = decoder.VideoSource(str(write_video(folder / "counted.mp4")), "videos[0]")
    monkeypatch.setattr(decoder, "MAX_CLIP_PIXELS", 64 * 48 * 20)
    frames = source.frames()
    assert [next(frames)[0] for _ in range(20)] == list(range(20))
    with pytest.raises(ValueError, match=r"at most 61,440 pixels.*got 64,512"):
        next(frames)


def test_a_length_that_is_no_number_is_not_believed(folder):
    data = write_video(folder / "lengthy.mkv").read_bytes()
    at = data.index(b"00:00:03.")
    for length in (b"00:00:inf", b"00:00:nan"):
        path = folder / "odd.mkv"
        path.write_bytes(data[:at] + length.ljust(18, b" ") + data[at + 18 :])
        assert levels(video_frames(path, n_frames=2)) == [0, 29]


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_file_that_changes_is_refused(folder, sandbox):
    path = write_video(folder / "changing.mp4")
    with use_sandbox(sandbox):
        image = video_frames(path)[3]
        image.open()
        write_video(path, n_frames=12)
        with pytest.raises(ValueError, match=r"^`videos\[0\]`.*change"):
            image.open()


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_file_that_changes_before_it_is_decoded_is_refused(folder, sandbox):
    path = write_video(folder / "planned.mp4")
    with use_sandbox(sandbox):
        chosen = decoder.ChosenFrames(decoder.VideoSource(str(path), "videos[0]"), [0, 3])
        write_video(path, n_frames=12)
        with pytest.raises(ValueError, match=r"^`videos\[0\]`.*change"):
            chosen.decode_all()


def test_a_worker_decodes_only_the_file_that_was_hashed(mp4):
    with use_sandbox():
        source = decoder.VideoSource(str(mp4), "videos[0]", bytes(32))
        with pytest.raises(ValueError, match=r"^`videos\[0\]`.*change"):
            list(source.selected_frames({0}, 0, room=2**20))


def test_a_worker_obeys_the_limit_of_file_sizes(folder):
    path = write_video(folder / "limited.mp4", n_frames=17)
    with use_sandbox(), limits(max_bytes=20), pytest.raises(UsageError, match=r"^`videos\[0\]`.*max_bytes"):
        video_frames(path)


@pytest.mark.parametrize(
    ("video", "error", "message"),
    [
        (7, TypeError, r"^`videos\[1\]`.*frames.*got int"),
        (b"abc", TypeError, r"^`videos\[1\]`.*got bytes"),
        (np.zeros((4, 4, 3), np.uint8), TypeError, r"^`videos\[1\]`.*n_frames"),
        (np.zeros((2, 4, 4, 3), np.float32), TypeError, r"`videos\[1\]\[0\]` must be a uint8 array"),
        ([["a"]], TypeError, r"^`videos\[1\]\[0\]`.*got list"),
        (
            {"start": 1.0},
            ValueError,
            r"^`videos\[1\]`.*`path`.*got \['s",
        ),
        ({"path": "a.mp4", "frames": []}, ValueError, r"or `frames`, got \['frames', 'path'\]"),
        ({"path": "a.mp4", "stop": 1}, ValueError, r"or `frames`, got \['path', 'stop'\]"),
        ({"frames": [], "start": 1.0}, ValueError, r"^`videos\[1\]`.*`start`.*`end`.*path.*fra"),
        ({"frames": "abc"}, TypeError, r"^`videos\[1\]`.*`frames`.*got str"),
        ({"path": 3}, TypeError, r"^`videos\[1\]`.*`path`.*got int"),
        ({"path": __file__, "start": "1"}, TypeError, r"^`videos\[1\]`.*`start`.*got str"),
        (
            {"path": __file__, "start": 2, "end": 2},
            ValueError,
            r"^`videos\[1\]`.*`start`.*got 2",
        ),
        ({"path": __file__, "start": -1}, ValueError, r"^`videos\[1\]`.*`start`.*got -1"),
        (
            {"path": __file__, "end": float("nan")},
            ValueError,
            r"^`videos\[1\]`.*`start`.*got None",
        ),
    ],
)
def test_what_cannot_be_a_video_is_refused(video, error, message):
    with pytest.raises(error, match=message):
        video_cell(video, "videos[1]")


def test_pyav_is_named_where_it_is_missing(mp4, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ImportError, match=r'PyAV.*"vlgauge\[video\]"'):
        video_frames(mp4)


def test_without_pyav_no_video_is_taken_for_damaged(folder, monkeypatch):
    cells = [video_cell(write_video(folder / "whole.mp4", 4), "videos[0]")]
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match="PyAV"):
        video_images(cells, on_error="nan")


def test_a_bug_is_not_taken_for_a_damaged_video(folder, monkeypatch):
    cells = [video_cell(write_video(folder / "whole.mp4", 4), "videos[0]")]

    def fail(*_):
        raise ValueError("bug")

    monkeypatch.setattr("vlgauge.inputs.video.frames._cell_frames", fail)
    with pytest.raises(ValueError, match=r"^bug$"):
        video_images(cells, on_error="nan")
