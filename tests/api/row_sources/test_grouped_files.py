"""Archives and folders: their rows, and members that would be outside."""

import json
import os
import tarfile
import tracemalloc
from functools import partial
from itertools import islice

import pytest
from made_data_sets import COLOURS, archive, draw_png

from vlgauge.api.row_sources import RowLimits, RowReader, grouped_files, guess_titles
from vlgauge.api.row_sources.grouped_files import tar_rows
from vlgauge.api.row_sources.tables import archive_rows, folder_rows, n_files_named
from vlgauge.core.errors import UsageError
from vlgauge.core.files import limits
from vlgauge.families.base.columns import References, Text
from vlgauge.families.base.video_columns import OneImage, Videos
from vlgauge.inputs import archives
from vlgauge.inputs.sandbox import use_sandbox

COLUMNS = [Text("predictions"), OneImage("images"), References("references", optional=True)]
MOST = RowLimits(picture_bytes=10_000)


def linked(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def read(source, titles=None):
    reader = RowReader(source, COLUMNS, titles or guess_titles(COLUMNS, source.kinds))
    reader.read(100)
    return reader


def samples(n=3):
    for i, colour in enumerate(COLOURS[:n]):
        yield f"train/{i:04}.png", draw_png(colour)
        yield f"train/{i:04}.txt", f"A {colour} square.\n".encode()
        yield f"train/{i:04}.json", json.dumps({"refs": [f"All is {colour}."], "note": 1}).encode()


def test_an_archive_is_read_as_webdataset_writes_it(tmp_path):
    source = tar_rows(archive(tmp_path / "rows.tar", samples()), MOST)
    assert source.kinds == {
        "__key__": "text",
        "png": "image",
        "txt": "text",
        "json.refs": "texts",
        "json.note": "other",
    }
    titles = {"predictions": ["txt"], "images": ["png"], "references": ["json.refs"], "id": ["__key__"]}
    reader = read(source, titles)
    assert reader.ids == ["train/0000", "train/0001", "train/0002"]
    assert reader.columns == {
        "predictions": [f"A {colour} square." for colour in COLOURS[:3]],
        "images": [draw_png(colour) for colour in COLOURS[:3]],
        "references": [[f"All is {colour}."] for colour in COLOURS[:3]],
    }
    assert read(source, titles | {"groups": ["json.refs"]}).groups == [f"['All is {one}.']" for one in COLOURS[:3]]
    later = RowReader(source, COLUMNS, titles, next_row=2)
    later.read(9)
    assert later.ids == ["train/0002"]


def test_rows_of_an_archive_without_a_group_are_left_out(tmp_path):
    members = dict(samples())
    members["train/0001.json"] = json.dumps({"note": " "}).encode()
    source = tar_rows(archive(tmp_path / "rows.tar", members.items()), MOST)
    reader = read(source, {"predictions": ["txt"], "images": ["png"], "groups": ["json.note"]})
    assert (reader.ids, reader.groups) == ([0, 2], ["1", "1"])
    assert reader.left_out[0].reason == "`groups` must be a column with a value in every row, got none in json.note"


def test_the_mark_that_windows_puts_before_a_text_is_no_letter_of_it(tmp_path):
    members = [("0.txt", b"\xef\xbb\xbfA star.\r\n"), ("0.json", b'\xef\xbb\xbf{"refs": ["A sun."]}')]
    source = tar_rows(archive(tmp_path / "rows.tar", members), MOST)
    (row,) = source.rows(["txt", "json.refs"])
    assert row == {"txt": "A star.", "json.refs": ["A sun."]}


def test_members_that_lead_out_are_refused_or_mere_names(tmp_path):
    members = [
        ("../../a.txt", b"A name is a label."),
        ("../../a.png", draw_png("red")),
        ("/etc/b.png", draw_png("red")),
        ("/etc/b.txt", b"Another."),
        ("c.png", draw_png("red")),
        ("c.txt", linked("c.txt", tarfile.SYMTYPE, "/etc/hostname")),
        ("d.png", linked("d.png", tarfile.LNKTYPE, "../../a.png")),
        ("d.txt", b"A hard link."),
        ("e.png", linked("e.png", tarfile.CHRTYPE)),
        ("e.txt", b"A device."),
        ("f.png", b"x" * (MOST.picture_bytes + 1)),
        ("f.txt", b"Too large."),
        ("g.png", draw_png("red")),
        ("g.txt", b"\xff\xfe"),
    ]
    before = sorted(path.name for path in tmp_path.parent.parent.iterdir())
    reader = read(tar_rows(archive(tmp_path / "rows.tar", members), MOST))
    assert reader.ids == ["../../a", "/etc/b"]
    told = {one.id: one.reason for one in reader.left_out}
    link = "must be a regular file, got a link or a device"
    assert [told["c"], told["d"], told["e"]] == [f"`c.txt` {link}", f"`d.png` {link}", f"`e.png` {link}"]
    assert told["f"] == "`f.png` must be a file of at most 10,000 bytes, got a larger one"
    assert told["g"] == "`txt` must be UTF-8 text, got byte 0xff in line 1 of 'g.txt'; save it as UTF-8"
    assert sorted(path.name for path in tmp_path.parent.parent.iterdir()) == before


def test_a_folder_is_read_by_names_and_links_are_not_followed(tmp_path):
    folder = tmp_path / "rows"
    (folder / "in").mkdir(parents=True)
    for name, content in samples(2):
        (folder / "in" / name.partition("/")[2]).write_bytes(content)
    (folder / "link.txt").symlink_to("/etc/hostname")
    (folder / "link.png").write_bytes(draw_png("red"))
    os.symlink("/etc", folder / "elsewhere")
    reader = read(folder_rows(str(folder), MOST))
    assert reader.ids == ["in/0000", "in/0001"]
    assert [(one.id, one.reason) for one in reader.left_out] == [
        ("link", "`link.txt` must be a regular file, got a link or a device")
    ]


def test_the_table_of_a_folder_names_its_images_and_nothing_else(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(draw_png("blue"))
    (folder / "a.png").write_bytes(draw_png("red"))
    names = [
        "a.png",
        "in/a.png",
        "../outside.png",
        str(tmp_path / "outside.png"),
        "http://127.0.0.1:9/x.png",
        "missing.png",
    ]
    rows = [{"file_name": name, "text": "A red square."} for name in names]
    (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = read(folder_rows(str(folder), MOST))
    assert (reader.ids, reader.columns["images"]) == ([0], [draw_png("red")])
    assert {one.reason.partition(", got")[0] for one in reader.left_out} == {
        "an image or video must be a file in the folder"
    }
    assert len(reader.left_out) == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive at all", "tar archive"),
        (b"", "tar archive"),
        (b"\x1f\x8b\x08\x00packed", "tar archive"),
    ],
)
def test_what_is_no_archive_is_told(tmp_path, content, message):
    path = tmp_path / "rows.tar"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        tar_rows(str(path), MOST)


def test_archives_and_folders_without_rows_and_with_too_many(tmp_path):
    with pytest.raises(ValueError, match=r"files.*got none"):
        tar_rows(archive(tmp_path / "empty.tar", [("a.bin", b"x")]), MOST)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ValueError, match=r"files.*got none in 'nothing'"):
        folder_rows(str(tmp_path / "nothing"), MOST)
    path = archive(tmp_path / "rows.tar", samples(3))
    (tmp_path / "many").mkdir()
    for i in range(6):
        (tmp_path / "many" / f"{i}.txt").write_text("x")
    for source in (partial(tar_rows, path), partial(folder_rows, str(tmp_path / "many"))):
        with limits(max_rows=5), pytest.raises(ValueError, match=r"at most 5 files.*--max-rows"):
            read(source(MOST))


def test_json_of_very_many_objects_is_not_made(tmp_path):
    members = [("a.json", b'{"caption": "One.", "a": [' + b"[]," * 300_000 + b"0]}"), ("a.txt", b"One.")]
    path = archive(tmp_path / "rows.tar", members)
    most = RowLimits(picture_bytes=10**6)
    assert "json.caption" in tar_rows(path, most).kinds
    with limits(max_unpacked=2**25):
        source = tar_rows(path, most)
        assert source.kinds == {"__key__": "text", "txt": "text"}
        (row,) = source.rows(["json.caption"])
    assert str(row["json.caption"]).startswith("`json` must have at most 8,388,608 bytes of lists, objects and cells")


def test_json_is_parsed_by_workers_once_per_row(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("JSON was parsed here")

    sent = []

    def watched(task, settings, *parts, **limits):
        sent.append(settings["titles"])
        return run(task, settings, *parts, **limits)

    run = grouped_files.run
    monkeypatch.setattr(grouped_files, "run", watched)
    monkeypatch.setattr(archives, "parse_json", refuse)
    source = tar_rows(archive(tmp_path / "rows.tar", [("0.json", b'{"a": "x", "b": ["y"], "c": NaN}')]), MOST)
    assert source.kinds == {"__key__": "text", "json.a": "text", "json.b": "texts", "json.c": "other"}
    assert list(source.rows(["json.b", "json.a"])) == [{"json.a": "x", "json.b": ["y"]}]
    assert sent == [None, ["b", "a"]]


def test_columns_are_few_and_come_from_the_first_json_files(tmp_path, monkeypatch):
    members = [(f"{i}.json", json.dumps({"a": "x", f"a{i}": "x"}).encode()) for i in range(4)]
    path = archive(tmp_path / "rows.tar", members)
    monkeypatch.setattr(grouped_files, "_JSON_FILES", 3)
    assert list(tar_rows(path, MOST).kinds) == ["__key__", "json.a", "json.a0", "json.a1", "json.a2"]
    monkeypatch.setattr(grouped_files, "_JSON_BYTES", 50)
    assert list(tar_rows(path, MOST).kinds) == ["__key__", "json.a", "json.a0", "json.a1"]
    monkeypatch.setattr(grouped_files, "MAX_COLUMNS", 3)
    monkeypatch.setattr("vlgauge.inputs.limits.MAX_COLUMNS", 3)
    with pytest.raises(UsageError, match=r"at most 3 columns, got more in '1\.json'"):
        tar_rows(path, MOST)


def test_a_row_of_json_has_a_limit(tmp_path):
    path = archive(tmp_path / "rows.tar", [("0.json", b'{"a": "x"}'), ("1.json", b'{"a": "xx"}')])
    with limits(max_row=10):
        one, two = (row["json.a"] for row in tar_rows(path, MOST).rows(["json.a"]))
    assert one == "x"
    assert "must be a file of at most 10 bytes" in str(two)


def test_paths_of_very_many_folders_need_little_memory():
    paths = ["a/1.png", "b/a/1.png", "c/1.png", *("/" * 4000 + f"{i}.png" for i in range(2, 500))]
    tracemalloc.start()
    found = n_files_named(paths)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == {"1.png": 2, **{f"{i}.png": 1 for i in range(2, 500)}}
    assert most < 5_000_000


def test_several_columns_are_references_side_by_side(tmp_path):
    (tmp_path / "a.png").write_bytes(draw_png("red"))
    row = {"file_name": "a.png", "text": "One.", "ref_1": "Two.", "ref_2": "", "ref_3": None, "ref_4": "Three."}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row))
    source = folder_rows(str(tmp_path), MOST)
    titles = guess_titles(COLUMNS, source.kinds)
    assert titles["references"] == ["ref_1", "ref_2", "ref_4"]
    assert read(source).columns["references"] == [["Two.", "Three."]]


def test_names_of_folders_are_cut_at_their_last_dot_and_those_of_webdataset_at_the_first(tmp_path):
    names = ["shot 10.15.23.png", "shot 10.15.24.png"]
    for name in names:
        (tmp_path / name).write_bytes(draw_png("red"))
    (row, other) = folder_rows(str(tmp_path), MOST).rows(["__key__"])
    assert [row["__key__"], other["__key__"]] == ["shot 10.15.23", "shot 10.15.24"]
    members = [("0.png", draw_png("red")), ("0.seg.png", draw_png("blue")), ("0.txt", b"A red square.")]
    source = tar_rows(archive(tmp_path / "rows.tar", members), MOST)
    assert (source.kinds, source.n_rows) == ({"__key__": "text", "png": "image", "txt": "text"}, 1)


def test_a_key_that_comes_back_is_the_same_row_and_a_file_that_does_is_refused(tmp_path):
    red, blue = draw_png("red"), draw_png("blue")
    apart = [("0.png", red), ("1.png", blue), ("0.txt", b"A red square."), ("1.txt", b"A blue square.")]
    reader = read(tar_rows(archive(tmp_path / "apart.tar", apart), MOST))
    assert (reader.ids, reader.columns["images"], reader.left_out) == (["0", "1"], [red, blue], [])
    told = r"FILE must have each file of a row once, got '0\.png' and '{}'; rename or remove one of them"
    for name in ("0.png", "0.PNG"):
        for between in ([], [("1.png", red), ("1.txt", b"One.")]):
            members = [("0.png", red), ("0.txt", b"A red square."), *between, (name, blue)]
            with pytest.raises(UsageError, match=told.format(name.replace(".", r"\."))):
                tar_rows(archive(tmp_path / "twice.tar", members), MOST)


def together(n):
    """Return consecutive files of rows."""
    return [(f"{i:03}.{ending}", b"x") for i in range(n) for ending in ("png", "txt")]


@pytest.mark.parametrize(
    ("members", "n_listed"),
    [
        (together(300), 201),
        (sorted(together(300), key=lambda one: one[0][-3:]), 600),
        ([*together(1), *together(300)[4:], *together(2)[2:]], 201),
        ([("001.png", b"x"), *together(1), ("001.txt", b"x"), *together(300)[4:]], 600),
        ([(f"{i:03}.json", b'{"a": "b"}') for i in range(600)], 600),
    ],
    ids=["together", "images first", "last row at the end", "scattered", "one file a row"],
)
def test_files_behind_the_rows_that_are_read_are_not_listed_if_rows_stand_together(
    tmp_path, monkeypatch, members, n_listed
):
    monkeypatch.setattr(grouped_files, "_LOOK_AHEAD", 200)
    listed, archive_files = [], grouped_files.archive_files
    monkeypatch.setattr(
        grouped_files, "archive_files", lambda path: (listed.append(one) or one for one in archive_files(path))
    )
    path = archive(tmp_path / "rows.tar", members)
    source, whole = tar_rows(path, MOST, 50), tar_rows(path, MOST)
    assert len(listed) - len(members) == n_listed
    assert source.n_rows == (None if n_listed < len(members) else whole.n_rows)
    titles = list(whole.kinds)
    assert list(source.kinds) == titles
    assert list(islice(source.rows(titles), 50)) == list(islice(whole.rows(titles), 50))


def test_the_one_image_of_a_row_may_have_any_ending(tmp_path):
    red, blue = draw_png("red"), draw_png("blue")
    members = [(f"{i:02}.png", red) for i in range(30)] + [("30.jpg", blue), ("31.jpg", blue), ("31.png", red)]
    members += [(f"{i:02}.txt", b"A square.") for i in range(32)]
    source = tar_rows(archive(tmp_path / "rows.tar", members), MOST)
    assert source.kinds["image"] == source.kinds["jpg"] == "image"
    assert guess_titles(COLUMNS, source.kinds)["images"] == ["image"]
    reader = read(source)
    assert reader.columns["images"] == [*[red] * 30, blue]
    (left_out,) = reader.left_out
    told = "`image` must be one file per row, got '31.jpg' and '31.png'; choose the column jpg or png"
    assert (left_out.id, left_out.reason) == ("31", told)
    both = read(source, {"predictions": ["txt"], "images": ["png", "jpg"]})
    assert both.columns["images"] == [*[red] * 30, blue]
    assert [one.reason for one in both.left_out] == ["`images` must be one image, got a list of 2"]
    # The images have the suffix that every row has, even if there are masks.
    members = [
        (f"{i}.{ending}", content) for i in range(3) for ending, content in (("png", red), ("txt", b"A square."))
    ]
    source = tar_rows(archive(tmp_path / "masks.tar", [*members, ("2.jpg", blue)]), MOST)
    assert read(source).columns["images"] == [red] * 3


def test_clips_may_have_any_ending(tmp_path):
    members = [("0.mp4", b"one"), ("1.webm", b"two"), ("0.txt", b"A."), ("1.txt", b"B.")]
    source = tar_rows(archive(tmp_path / "clips.tar", members), MOST)
    assert [row["video"]["bytes"] for row in source.rows(["video"])] == [b"one", b"two"]
    assert guess_titles([Videos("videos")], source.kinds)["videos"] == ["video"]


def test_columns_are_found_in_all_rows_and_files_that_say_nothing_make_none(tmp_path):
    for i in range(30):
        (tmp_path / f"{i:02}.json").write_text(json.dumps({"refs": ["One."]} if i > 25 else {"refs": []}))
    for name in ("Thumbs.db", "notes.md", ".hidden.txt", "data.bin"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.txt").write_text("x")
    source = folder_rows(str(tmp_path), MOST)
    assert (source.kinds, source.n_rows) == ({"__key__": "text", "json.refs": "texts"}, 30)
    rows = [{"file_name": "a.png", "text": None, "refs": []}, {"file_name": "b.png", "text": "One.", "refs": ["Two."]}]
    (tmp_path / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert folder_rows(str(tmp_path), MOST).kinds == {"file_name": "image", "text": "text", "refs": "texts"}


def test_columns_that_are_missing_are_told_all_at_once(tmp_path):
    source = tar_rows(archive(tmp_path / "rows.tar", samples()), MOST)
    with pytest.raises(ValueError, match=r"^`predictions`.*`images`"):
        RowReader(source, COLUMNS, {})
    with pytest.raises(ValueError, match="got __key__"):
        RowReader(source, COLUMNS, {"predictions": ["a"], "images": ["b"]})


def tar_header(name, kind=tarfile.REGTYPE, size=0):
    """Return the header of a member with any size."""
    info = tarfile.TarInfo(name)
    info.type = kind
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    block[124:136] = size.to_bytes(12, "big", signed=True) if size < 0 else b"\x80" + size.to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.parametrize(
    "headers",
    [
        tar_header("x", tarfile.XHDTYPE) * 2000,
        (tar_header("x", tarfile.GNUTYPE_LONGNAME, 2) + b"a\0".ljust(512, b"\0")) * 2000,
        tar_header("x", tarfile.XHDTYPE, 2**80) + bytes(512),
        tar_header("x", tarfile.GNUTYPE_LONGNAME, 2**80) + bytes(512),
        tar_header("x", tarfile.XHDTYPE, 18) + b"18 size=-99999999\n".ljust(512, b"\0") + tar_header("b.txt"),
        tar_header("b.txt", size=2**80) + bytes(512),
    ],
)
def test_headers_that_lie_are_a_damaged_archive(tmp_path, headers):
    path = tmp_path / "rows.tar"
    path.write_bytes(tar_header("a.txt") + headers + tar_header("c.txt") + bytes(1024))
    with pytest.raises(ValueError, match=r"FILE.*rows\.tar"):
        list(tar_rows(str(path), MOST).rows(["txt"]))


def test_a_row_of_an_archive_has_few_texts(tmp_path):
    members = []
    for i, n_texts in enumerate((3, 4)):
        rows = {"refs": ["a"] * n_texts}
        members += [(f"{i}.png", draw_png("red")), (f"{i}.txt", b"A"), (f"{i}.json", json.dumps(rows).encode())]
    source = tar_rows(archive(tmp_path / "rows.tar", members), RowLimits())
    titles = {"predictions": ["txt"], "images": ["png"], "references": ["json.refs"]}
    reader = RowReader(source, COLUMNS, titles, RowLimits(texts=3))
    reader.read(100)
    assert reader.ids == [0]
    assert [one.reason for one in reader.left_out] == ["`references` must have at most 3 texts per row, got 4"]
    table = json.dumps({"predictions": "a", "references": ["b"] * 4}).encode()
    path = archive(tmp_path / "table.tar", [("rows.jsonl", table)])
    with use_sandbox(), pytest.raises(UsageError, match=r"^`references`.*at most 3 texts per row, got 4 in row 0"):
        archive_rows(path, RowLimits(texts=3))
