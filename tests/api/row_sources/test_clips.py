"""Videos of datasets, archives and folders: temporary files are removed, and hostile videos are omitted."""

import gc
import json
import re
import tempfile
from pathlib import Path

import pytest
from hub_data_sets import Repository, commit_of
from made_data_sets import archive, draw_png, parquet_of_clips
from small_videos import write_video

from vlgauge.api.row_sources import RowLimits, RowReader, check_cell, guess_titles, kept_files, reading
from vlgauge.api.row_sources.grouped_files import tar_rows
from vlgauge.api.row_sources.hub import HubRows, pin_dataset
from vlgauge.api.row_sources.tables import folder_rows, read_uploaded_rows
from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.families.base.columns import Text
from vlgauge.families.base.video_columns import OneImage, Videos

COLUMNS = [Text("predictions"), Videos("videos")]
SMALL = RowLimits(clip_bytes=60_000)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Return three small videos by name, and one that is too large."""
    folder = tmp_path_factory.mktemp("clips")
    made = {name: write_video(folder / name, 4).read_bytes() for name in ("a.mp4", "b.avi", "c.mp4")}
    made["c.mp4"] = made["c.mp4"] + bytes(8)  # a different file with the same frames
    return made


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Return the folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def ours(folder):
    """Return the content of the folder without the folders of workers."""
    return [path for path in folder.iterdir() if not path.name.startswith("vlgauge-sandbox-")]


def read(source, **options):
    options.setdefault("limits", SMALL)
    reader = RowReader(source, COLUMNS, guess_titles(COLUMNS, source.kinds), **options)
    reader.read(100)
    return reader


def contents(reader):
    return [Path(path).read_bytes() for path in reader.columns["videos"]]


def opened(hub, name, files):
    hub.repositories[name] = Repository({commit_of(files): files})
    return HubRows(pin_dataset(name), None, "test")


@pytest.mark.streaming
def test_clips_in_rows_are_files_until_the_reader_is_gone(hub, clips, temporary):
    cells = [{"bytes": content, "path": name} for name, content in clips.items()]
    source = opened(hub, "org/clips", {"data/test-0.parquet": parquet_of_clips(cells, ["One.", "Two.", "Three."])})
    assert source.kinds == {"video": "video", "caption": "text"}
    reader = read(source)
    assert (contents(reader), reader.left_out) == (list(clips.values()), [])
    (folder,) = ours(temporary)
    assert folder.stat().st_mode & 0o777 == 0o700
    del reader
    gc.collect()
    assert ours(temporary) == []


def test_clips_are_gone_when_they_are_cleared(clips, tmp_path, temporary):
    members = [("a.mp4", clips["a.mp4"]), ("a.txt", b"A clip.")]
    reader = read(tar_rows(archive(tmp_path / "clips.tar", members), SMALL))
    assert contents(reader) == [clips["a.mp4"]]
    reader.clear()
    assert ours(temporary) == []


@pytest.mark.streaming
def test_clips_that_are_files_of_the_data_set_are_read(hub, clips):
    files = {f"test/{name}": content for name, content in clips.items()}
    rows = [{"file_name": name, "text": "A clip."} for name in clips]
    files["test/metadata.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    source = opened(hub, "org/clipfolder", files)
    assert source.kinds == {"video": "video", "text": "text"}
    assert sorted(contents(read(source))) == sorted(clips.values())


@pytest.mark.streaming
def test_hostile_clips_are_left_out_and_nothing_of_them_is_opened(hub, within, clips, temporary):
    right = {"bytes": clips["a.mp4"], "path": "a.mp4"}
    cells = [
        right,
        {"bytes": None, "path": "/etc/hostname"},
        {"bytes": None, "path": f"{within[0]}/inside.mp4"},
        {"bytes": clips["a.mp4"][: len(clips["a.mp4"]) // 2], "path": "cut.mp4"},
        {"bytes": draw_png("red"), "path": "red.mp4"},
        {"bytes": f"#EXTM3U\n#EXTINF:1,\n{within[0]}/x.ts\n".encode(), "path": "list.mp4"},
        {"bytes": b"", "path": None},
        {"bytes": bytes(60_001), "path": "large.mp4"},
        None,
        right,
    ]
    source = opened(hub, "org/hostileclips", {"data/test-0.parquet": parquet_of_clips(cells, ["A clip."] * len(cells))})
    reader = read(source)
    assert reader.ids == [0, 9]
    reasons = {one.id: one.reason for one in reader.left_out}
    own = "an image or video must be bytes or a file of the dataset itself, got another path or URL"
    assert [reasons.pop(number) for number in (1, 2)] == [own] * 2
    assert reasons.pop(6) == "`videos` must be a video file, got 0 bytes, which is empty"
    for number in (3, 4, 5):
        told = f"`videos` must be a readable video, got {len(cells[number]['bytes']):,} bytes (Invalid "
        assert reasons.pop(number).startswith(told)
    assert reasons.pop(7) == "`videos` must be a file of at most 60,000 bytes, got a larger one"
    assert reasons == {8: "`videos` is required"}
    assert within[1] == []
    assert len([path for folder in ours(temporary) for path in folder.rglob("*") if path.is_file()]) == 2


def test_clips_of_archives_and_folders(clips, tmp_path):
    members = [
        (f"{name[0]}.{ending}", content)
        for name, clip in clips.items()
        for ending, content in ((name[2:], clip), ("txt", b"A clip."))
    ]
    members = [one for one in members if not one[0].startswith("b")] + [("d.mp4", bytes(60_001)), ("d.txt", b"Large.")]
    source = tar_rows(archive(tmp_path / "clips.tar", members), SMALL)
    assert source.kinds == {"__key__": "text", "mp4": "video", "txt": "text"}
    (tmp_path / "clips").mkdir()
    for name, content in members:
        (tmp_path / "clips" / name).write_bytes(content)
    for rows in (source, folder_rows(str(tmp_path / "clips"), SMALL)):
        reader = read(rows)
        assert contents(reader) == [clips["a.mp4"], clips["c.mp4"]]
        assert [one.reason for one in reader.left_out] == [
            "`d.mp4` must be a file of at most 60,000 bytes, got a larger one"
        ]


def test_the_table_of_a_folder_names_clips_and_their_segments(clips, tmp_path):
    rows = [{"file_name": "a.mp4", "text": "A clip."}, {"file_name": "../b.avi", "text": "Outside."}]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.mp4").write_bytes(clips["a.mp4"])
    (tmp_path / "b.avi").write_bytes(clips["b.avi"])
    (tmp_path / "in" / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = read(folder_rows(str(tmp_path / "in"), SMALL))
    assert contents(reader) == [clips["a.mp4"]]
    assert "must be a file in the folder, got '../b.avi'" in reader.left_out[0].reason


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ({"path": "a.mp4", "start": 0.1, "end": 0.3}, {"start": 0.1, "end": 0.3}),
        ({"frames": ["red.png", "red.png"]}, {"frames": 2}),
        (["red.png"], None),
    ],
)
def test_segments_and_frames_of_uploads_stay_what_they_are(clips, tmp_path, cell, expected):
    (tmp_path / "a.mp4").write_bytes(clips["a.mp4"])
    (tmp_path / "red.png").write_bytes(draw_png("red"))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"predictions": "A clip.", "videos": cell}) + "\n")
    source = read_uploaded_rows(str(tmp_path / "rows.jsonl"), [str(tmp_path / name) for name in ("a.mp4", "red.png")])
    reader = RowReader(source, COLUMNS, {"predictions": ["predictions"], "videos": ["videos"]}, SMALL)
    reader.read(9)
    (found,) = reader.columns["videos"]
    if expected is None:
        assert found == [str(tmp_path / "red.png")]
    elif "frames" in expected:
        assert found == {"frames": [str(tmp_path / "red.png")] * 2}
    else:
        assert found == {"path": str(tmp_path / "a.mp4"), **expected}


def test_a_damaged_upload_and_a_clip_without_frames_are_left_out(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"no clip")
    rows = [{"predictions": "A clip.", "videos": cell} for cell in ("a.mp4", [])]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = read_uploaded_rows(str(tmp_path / "rows.jsonl"), [str(tmp_path / "a.mp4")])
    reader = RowReader(source, COLUMNS, {"predictions": ["predictions"], "videos": ["videos"]}, SMALL)
    reader.read(9)
    assert "must be a readable video" in reader.left_out[0].reason
    assert reader.left_out[1].reason == "`videos` must have at least one frame, got none"


def test_files_with_the_same_content_are_checked_once(clips, tmp_path, monkeypatch):
    files = {"bad1.png": b"no image", "bad2.png": b"no image", "red1.png": draw_png("red"), "red2.png": draw_png("red")}
    files |= {"bad1.mp4": b"no clip", "bad2.mp4": b"no clip", "a1.mp4": clips["a.mp4"], "a2.mp4": clips["a.mp4"]}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    cells = [*files, "gone.png", {"path": "a1.mp4", "start": 0.1}, {"path": "a2.mp4", "start": 9.0}]
    cells = [[cell] if str(cell).endswith("png") else cell for cell in cells]
    rows = [{"predictions": "A clip.", "videos": cell} for cell in cells]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = read_uploaded_rows(str(tmp_path / "rows.jsonl"), [str(tmp_path / name) for name in files])
    checked = []
    for name in ("check_image", "check_video"):
        check = getattr(reading, name)

        def checking(cell, place, check=check, **how):
            checked.append(cell["path"] and Path(cell["path"]).name)
            check(cell, place, **how)

        monkeypatch.setattr(reading, name, checking)
    reader = RowReader(source, COLUMNS, {"predictions": ["predictions"], "videos": ["videos"]}, SMALL)
    reader.read(99)
    assert [one for one in checked if one] == ["bad1.png", "red1.png", "bad1.mp4", "a1.mp4", "a1.mp4", "a2.mp4"]
    assert reader.ids == [2, 3, 6, 7, 9]
    reasons = [one.reason for one in reader.left_out]
    assert [one.id for one in reader.left_out] == [0, 1, 4, 5, 8, 10]
    for number, name in enumerate(("bad1.png", "bad2.png", "bad1.mp4", "bad2.mp4")):
        assert (
            f"must be a readable {'image' if 'png' in name else 'video'}, got '{tmp_path / name}' (" in reasons[number]
        )


def test_the_message_about_a_known_file_names_the_place_and_the_file_of_the_cell(tmp_path, monkeypatch):
    checked = {}
    for place in ("a.png", "images[1]", "b.png"):
        cell, shown = {"bytes": b"no image", "path": None}, "8 bytes"
        if place != "images[1]":
            cell, shown = str(tmp_path / place), rf"'.*/{place}'"
            (tmp_path / place).write_bytes(b"no image")
        with pytest.raises(
            UsageError, match=rf"^`{re.escape(place)}` must be a readable image, got {shown} "
        ) as caught:
            check_cell(OneImage("images"), cell, place, SMALL, checked)
        assert caught.value.argument == place
        monkeypatch.setattr(reading, "check_image", lambda *_, **__: pytest.fail("checked again"))
    assert len(checked) == 1


@pytest.mark.streaming
def test_all_clips_of_a_run_have_a_limit_and_a_full_disk_ends_it(hub, clips, monkeypatch, temporary):
    cells = [{"bytes": clips["a.mp4"], "path": None}] * 3
    source = opened(hub, "org/manyclips", {"data/test-0.parquet": parquet_of_clips(cells, ["A clip."] * 3)})
    with pytest.raises(ValueError, match="row 2"):
        read(source, stop_row=3, limits=RowLimits(run_bytes=2 * len(clips["a.mp4"])))
    gc.collect()

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_files.Path, "write_bytes", full)
    with pytest.raises(ValueError, match="No space left"):
        read(source)


def test_without_pyav_no_row_is_left_out(clips, tmp_path, monkeypatch):
    (tmp_path / "1.mp4").write_bytes(clips["a.mp4"])
    (tmp_path / "1.txt").write_text("a dog")
    titles = {"predictions": ("txt",), "videos": ("mp4",)}
    reader = RowReader(folder_rows(str(tmp_path), RowLimits()), COLUMNS, titles)

    def fail(*_):
        raise MissingExtraError("video files need PyAV")

    monkeypatch.setattr("vlgauge.api.row_sources.reading.check_video", fail)
    with pytest.raises(MissingExtraError, match="PyAV"):
        reader.read(1)
    assert reader.left_out == []
