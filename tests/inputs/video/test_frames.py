"""Videos in several containers: selected frames, their content, and the number of times they are decoded."""

import hashlib
import struct
import threading

import numpy as np
import pytest
from PIL import Image
from small_videos import CODECS, HEIGHT, WIDTH, grey, indices, levels, video_frames, write_video
from tiny_clip import IMAGES, TINY, golden_arrays, write_tiny

from vlgauge.core.lru_cache import LRUCache
from vlgauge.core.pool import pool
from vlgauge.inputs.video import decoder
from vlgauge.inputs.video.cells import video_cell
from vlgauge.inputs.video.frames import FrameImage, check_n_frames, sample_indices, segment_frames, video_images
from vlgauge.models.clip.loading import clip_encoder

ORACLE_INDICES = [0, 3, 6, 9, 12, 16, 19, 22, 25, 29]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="module", params=sorted(CODECS))
def clip(request, folder):
    """A video of 30 frames in each container."""
    return write_video(folder / f"clip.{request.param}")


@pytest.fixture(scope="module")
def mp4(folder):
    return write_video(folder / "plain.mp4")


# -- which frames -----------------------------------------------------------------------------------------------------
def test_sampled_frames_by_hand():
    assert sample_indices(0, 30, 10) == ORACLE_INDICES
    assert sample_indices(0, 3, 5) == [0, 0, 1, 1, 2]
    assert sample_indices(4, 9, 2) == [4, 8]
    assert sample_indices(0, 30, 1) == [0]
    assert sample_indices(2, 5, "all") == [2, 3, 4]
    assert sample_indices(0, 0, 10) == sample_indices(0, 0, "all") == []


def test_segments_by_hand():
    # 30 frames in 3 s; 25 frames in 2 s: 0.9 * 12.5 = 11.25 and 1.3 * 12.5 = 16.25.
    assert segment_frames(30, 3.0, 1.0, 2.0) == (10, 20)
    assert segment_frames(25, 2.0, 0.9, 1.3) == (11, 16)
    assert segment_frames(30, 3.0, 1.01, 1.02) == (10, 11)
    assert segment_frames(30, 3.0, 2.0, 99.0) == (20, 30)
    assert segment_frames(30, 3.0, 2.9999, 3.0) == (29, 30)


@pytest.mark.parametrize("n_frames", [0, -1, 2.0, True, "every", [10]])
def test_number_of_frames_is_checked(n_frames, mp4):
    with pytest.raises(ValueError, match=r"^`n_frames`.*at least 1.*'all'"):
        check_n_frames(n_frames)
    with pytest.raises(ValueError, match="`n_frames` must be"):
        video_frames(mp4, n_frames=n_frames)


# -- frames of files --------------------------------------------------------------------------------------------------
def test_ten_frames_of_every_container(clip):
    images = video_frames(clip)
    assert indices(images) == ORACLE_INDICES
    assert levels(images) == ORACLE_INDICES
    assert all(isinstance(array, FrameImage) and array.convert == "early" for array in images)
    image = images[3].open()
    assert (image.mode, image.size) == ("RGB", (WIDTH, HEIGHT))


def test_all_frames_and_segments(clip):
    assert levels(video_frames(clip, n_frames="all")) == list(range(30))
    segment = video_frames(clip, n_frames="all", start=1.05, end=2.05)
    assert levels(segment) == indices(segment) == list(range(10, 20))
    assert indices(video_frames(clip, n_frames=4, start=2.05)) == [20, 23, 26, 29]
    assert indices(video_frames(clip, n_frames=3, end=0.01)) == [0, 0, 0]
    assert indices(video_frames(clip, n_frames=2, start=2.05, end=1_000)) == [20, 29]


def test_keys_name_file_and_frame(mp4, folder):
    images = video_frames(mp4, n_frames="all")
    assert len({image.key for image in images}) == 30
    assert all(len(image.key) == 32 for image in images)
    assert [image.key for image in video_frames(mp4)] == [images[index].key for index in ORACLE_INDICES]
    digest = hashlib.sha256(mp4.read_bytes()).digest()
    assert images[5].key == hashlib.sha256(b"pyav-2" + digest + struct.pack(">Q", 5)).digest()
    other = write_video(folder / "other.mp4", n_frames=29)
    assert not {image.key for image in images} & {image.key for image in video_frames(other)}
    assert sorted(images, key=lambda image: image.order) == images
    # The same file elsewhere is the same video.
    copy = video_frames(mp4.read_bytes())
    assert ([image.key for image in copy[:2]], copy[1].place) == (
        [images[0].key, images[3].key],
        "videos[0] frame 3",
    )


def test_few_frames_repeat(folder):
    short = write_video(folder / "short.mp4", n_frames=3)
    images = video_frames(short, n_frames=5)
    assert levels(images) == [0, 0, 1, 1, 2]
    assert images[0].key == images[1].key
    single = write_video(folder / "single.mp4", n_frames=1)
    assert levels(video_frames(single)) == [0] * 10


def test_sound_does_not_stretch_the_duration(folder):
    loud = write_video(folder / "loud.mkv", sound=True).read_bytes()
    # Not every program writes the duration of each stream.
    for data in (loud, loud.replace(b"DURATION", b"FURATION")):
        assert indices(video_frames(data, n_frames="all", start=1.05, end=2.05)) == list(range(10, 20))


@pytest.mark.parametrize(("degrees", "turns"), [(90, -1), (180, 2), (270, 1)])
def test_frames_are_turned_upright(degrees, turns, folder):
    image = np.full((HEIGHT, WIDTH, 3), 20, np.uint8)
    image[: HEIGHT // 2, : WIDTH // 2, 0] = 240
    data = bytearray(write_video(folder / "turned.mp4", n_frames=2, image=image).read_bytes())
    # The matrix of the track header: x' = a x + c y, y' = b x + d y, y downwards, clockwise by `degrees`.
    a, b = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    identity = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    where = data.index(identity, data.index(b"tkhd"))
    data[where : where + 36] = struct.pack(">9i", a << 16, b << 16, 0, -b << 16, a << 16, 0, 0, 0, 1 << 30)
    seen = np.asarray(video_frames(bytes(data), n_frames=1)[0].open()).astype(int)
    assert np.abs(seen - np.rot90(image, turns)).mean() < 5


def test_a_slanted_video_is_refused():
    class Slanted:
        rotation = 30.0

    with pytest.raises(ValueError, match=r"^`videos\[2\]`.*90 degrees.*got 30\.0"):
        decoder.upright_pixels(Slanted(), "videos[2]")


def test_features_of_the_oracle(tmp_path):
    """Compare frames of syn_clip.mp4 with the embeddings of the code of EMScore's authors."""
    pool.unload()  # other tests count with the same weights
    encoder = clip_encoder(TINY, weights=write_tiny(tmp_path))
    golden = golden_arrays("video_tiny_s0_a0.8.npz")
    for n_frames, expected in ((10, golden["clip"][ORACLE_INDICES]), ("all", golden["clip"])):
        images = video_frames(IMAGES / "syn_clip.mp4", n_frames=n_frames)
        features = encoder.project(encoder.image_hidden(images), "image")
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        np.testing.assert_allclose(features, expected, atol=1e-5)
    assert encoder.forwards["image"] == 30


# -- decoding and caching ---------------------------------------------------------------------------------------------
@pytest.fixture
def decoded(monkeypatch):
    """Counts of decoded and of converted frames."""
    counts = {"frames": 0, "pixels": 0}
    frames, pixels = decoder.VideoSource.frames, decoder.upright_pixels

    def counted_frames(self):
        for frame in frames(self):
            counts["frames"] += 1
            yield frame

    def counted_pixels(frame, place):
        counts["pixels"] += 1
        return pixels(frame, place)

    monkeypatch.setattr(decoder.VideoSource, "frames", counted_frames)
    monkeypatch.setattr(decoder, "upright_pixels", counted_pixels)
    return counts


@pytest.fixture
def small_store(monkeypatch):
    """Room for three frames."""
    store = LRUCache(3 * WIDTH * HEIGHT * 3, lambda frame: frame.nbytes)
    monkeypatch.setattr(decoder, "decoded_frames", store)
    return store


def test_a_file_is_decoded_once_and_chosen_frames_converted(folder, decoded):
    path = write_video(folder / "once.mp4", n_frames=40)
    images = video_frames(path, n_frames=4, end=2.05)
    assert indices(images) == [0, 6, 12, 19]
    assert levels(images) == [0, 6, 12, 19]
    assert decoded == {"frames": 20, "pixels": 4}
    # If features are cached, no frame is opened or decoded.
    assert indices(video_frames(path, n_frames=4, end=2.05)) == [0, 6, 12, 19]
    assert decoded == {"frames": 20, "pixels": 4}


def test_memory_is_bounded_and_nothing_stays(folder, decoded, small_store):
    path = write_video(folder / "bounded.mp4", n_frames=31)
    images = video_frames(path, n_frames="all")
    assert small_store.total <= small_store.most
    assert decoded == {"frames": 31, "pixels": 3}
    assert levels(images) == list(range(31))
    assert decoded == {"frames": 2 * 31, "pixels": 31}
    assert small_store.total == 0


def test_frames_that_wait_are_bounded():
    assert decoder.decoded_frames.total <= decoder.decoded_frames.most == 2**28


def test_any_order_from_any_thread(folder, small_store):
    path = write_video(folder / "threads.mp4", n_frames=32)
    images = video_frames(path, n_frames="all")
    order = np.random.default_rng(0).permutation(32)
    seen = {}

    def look(part):
        for index in part:
            seen[index] = levels([images[index]])[0]

    threads = [threading.Thread(target=look, args=(part,)) for part in np.split(order, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {index: index for index in range(32)}
    assert small_store.total <= small_store.most


def test_a_frame_can_be_opened_again(mp4):
    image = video_frames(mp4)[4]
    assert levels([image, image]) == [12, 12]


# -- a list of videos -------------------------------------------------------------------------------------------------
def test_videos_of_a_call(mp4, folder):
    images = [Image.new("RGB", (4, 4), (grey(index),) * 3) for index in range(12)]
    paths = []
    for index in (3, 5):
        paths.append(folder / f"frame{index}.png")
        images[index].save(paths[-1])
    array = np.stack([np.asarray(image) for image in images])
    given = [mp4, {"path": mp4, "start": 1.05, "end": 2.05}, images, array, paths, {"frames": images[:2]}, []]
    cells = [video_cell(video, f"videos[{i}]") for i, video in enumerate(given)]
    told = []
    found = video_images(cells, progress=lambda done, total: told.append((done, total)))
    expected = [ORACLE_INDICES, list(range(10, 20)), list(range(12)), list(range(12)), [3, 5], [0, 1], []]
    assert [levels(frames) for frames in found] == expected
    assert told[-1] == (7, 7)
    assert all(frame.convert == "early" for frames in found for frame in frames)
    assert found[2][4].place == "videos[2][4]"
    assert [frame.key for frame in found[2]] == [frame.key for frame in found[3]]


def test_a_number_of_frames_samples_lists_too(mp4):
    images = [np.full((4, 4, 3), grey(index), np.uint8) for index in range(12)]
    cells = [video_cell(mp4, "videos[0]"), video_cell(images, "videos[1]")]
    assert [levels(frames) for frames in video_images(cells, n_frames=3)] == [[0, 14, 29], [0, 5, 11]]
    assert [len(frames) for frames in video_images(cells, n_frames="all")] == [30, 12]


def test_cells_are_stored_by_the_host(mp4):
    import datasets

    cells = [video_cell({"path": mp4, "end": 2}, "videos[0]"), video_cell([np.zeros((2, 2, 3), np.uint8)], "videos[1]")]
    kind = {
        "path": datasets.Value("string"),
        "start": datasets.Value("float64"),
        "end": datasets.Value("float64"),
        "frames": datasets.Sequence(datasets.Image(decode=False)),
    }
    stored = datasets.Dataset.from_dict({"videos": cells}, features=datasets.Features({"videos": kind}))
    assert stored["videos"][:] == cells
    assert [len(frames) for frames in video_images(stored["videos"][:])] == [10, 1]
