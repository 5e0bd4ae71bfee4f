"""Files of a few bytes that say that they have millions of frames, for each of which FFmpeg would make an entry."""

import io
import struct

import pytest
from small_videos import levels, video_frames, write_video

from vlgauge.media import mp4_index


@pytest.fixture(scope="module")
def mp4(tmp_path_factory):
    return write_video(tmp_path_factory.mktemp("videos") / "plain.mp4")


def claiming(data, number):
    """The file with so many frames of one byte, in one piece."""
    changed = bytearray(data)
    struct.pack_into(">II", changed, changed.index(b"stsz") + 8, 1, number)
    struct.pack_into(">III", changed, changed.index(b"stts") + 8, 1, number, 512)
    struct.pack_into(">II", changed, changed.index(b"stsc") + 12, 1, number)
    return bytes(changed)


@pytest.mark.parametrize("number", [2**21, 10**7, 10**9], ids=str)
def test_an_index_far_larger_than_its_file(number, mp4, tmp_path):
    path = tmp_path / "claims.mp4"
    path.write_bytes(claiming(mp4.read_bytes(), number))
    message = (
        r"`videos\[0\]` must be a readable video, got '.*claims.mp4' with an index of more than 1,048,576 frames and "
        r"sounds in [\d,]+ bytes"
    )
    with pytest.raises(ValueError, match=message):
        video_frames(path)
    assert levels(video_frames(mp4, n_frames=2)) == [0, 29]


def box(kind, *content):
    data = b"".join(content)
    return struct.pack(">I4s", 8 + len(data), kind) + data


def checked(path, *boxes):
    path.write_bytes(box(b"ftyp", b"isom") + b"".join(boxes))
    with path.open("rb") as file:
        mp4_index.check_index(file)


def test_fragments_and_edits_count(tmp_path):
    path = tmp_path / "made.mp4"
    samples = box(b"mdia", box(b"minf", box(b"stbl", box(b"stsz", struct.pack(">III", 0, 1, 1000)))))
    shown = struct.pack(">IiI", 1, 0, 1 << 16) * 1047
    track = box(b"trak", box(b"edts", box(b"elst", struct.pack(">II", 0, 1047), shown)), samples)
    checked(path, box(b"moov", track))
    with pytest.raises(ValueError, match="an index of more than 1,048,576 frames and sounds in"):
        checked(path, box(b"moov", track, track))
    fragment = box(b"moof", box(b"traf", box(b"trun", struct.pack(">II", 0, 2**18))))
    checked(path, *[fragment] * 4)
    checked(path, box(b"moov", track), box(b"free"))
    with pytest.raises(ValueError, match="an index of more than 1,048,576"):
        checked(path, *[fragment] * 5)


@pytest.mark.parametrize("version", [0, 1])
def test_edits_that_wait_show_nothing(version, tmp_path):
    """Sound of a camera has one number per byte of the file, and often begins late."""
    one = struct.Struct(">QqI" if version else ">IiI")
    samples = box(b"stbl", box(b"stsz", struct.pack(">III", 0, 1, 2**20 - 1)))

    def track(*starts, count=None):
        edits = b"".join(one.pack(1, start, 1 << 16) for start in starts)
        told = struct.pack(">II", version << 24, len(starts) if count is None else count)
        return box(b"moov", box(b"trak", box(b"edts", box(b"elst", told, edits)), samples))

    checked(tmp_path / "made.mov", track(-1, 0))
    checked(tmp_path / "made.mov", track(-1, -1))
    for starts, count in (((0, 0), None), ((-1, 0), 3), ((), 2)):
        with pytest.raises(ValueError, match="an index of more than 1,048,576"):
            checked(tmp_path / "made.mov", track(*starts, count=count))


def test_a_packed_header_and_many_boxes(tmp_path, monkeypatch):
    path = tmp_path / "made.mp4"
    with pytest.raises(ValueError, match="a header that is packed"):
        checked(path, box(b"moov", box(b"cmov")))
    checked(path, box(b"moov", *[box(b"free")] * 100))
    monkeypatch.setattr(mp4_index, "_MOST_BOXES", 100)
    with pytest.raises(ValueError, match="more than 100 boxes"):
        checked(path, box(b"moov", *[box(b"free")] * 100))


def test_boxes_are_followed_as_far_as_they_go(tmp_path):
    path = tmp_path / "made.mp4"
    for last in (b"\0\0\0\1mdat", b"\0\0\0\1mdat" + bytes(8), b"\0\0\0\0mdat", b"\0\0\0\4moov", b"\0\0", box(b"stsz")):
        checked(path, last)
    wide = struct.pack(">I4sQ", 1, b"moov", 16 + 20) + box(b"trun", struct.pack(">IQ", 0, 2**63))
    with pytest.raises(ValueError, match="an index of more than"):
        checked(path, wide)
    path.write_bytes(b"not an mp4, but stsz" * 10)
    with path.open("rb") as file:
        mp4_index.check_index(file)
        assert isinstance(file, io.BufferedReader)


def test_boxes_within_each_other(tmp_path):
    deep = b""
    for _ in range(17):
        deep = box(b"moov", deep)
    checked(tmp_path / "made.mp4", deep[8:])
    with pytest.raises(ValueError, match="boxes more than 16 deep within each other"):
        checked(tmp_path / "made.mp4", deep)
