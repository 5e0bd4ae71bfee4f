"""The only file reader: accepted files, limits, and error messages."""

import errno
import gzip
import io
import json
import os
import re
import socket
import sys
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vlgauge.cli import main
from vlgauge.core import files
from vlgauge.core.errors import MissingFileError, UsageTypeError
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables.files import read_rows


# -- not a regular file -----------------------------------------------------------------------------------------------
def made_pipe(path):
    os.mkfifo(path)


def made_socket(path):
    here = socket.socket(socket.AF_UNIX)
    here.bind(str(path))
    here.close()


@pytest.mark.parametrize(
    ("make", "kind"),
    [(made_pipe, "a pipe"), (made_socket, "a socket"), (os.mkdir, "a folder")],
    ids=["pipe", "socket", "folder"],
)
def test_only_regular_files_are_opened(tmp_path, monkeypatch, make, kind):
    monkeypatch.chdir(tmp_path)
    make("it")
    with pytest.raises(ValueError, match=rf"^FILE.*got {kind}.*'it'"):
        files.read_bytes("it", "FILE")


@pytest.mark.parametrize("read", [files.read_bytes, lambda path: list(files.unpack(path))])
def test_a_file_that_waits_for_data_is_refused(tmp_path, monkeypatch, read):
    path = tmp_path / "kmsg"
    os.mkfifo(path)
    # Like a file of the kernel, a pipe with a writer but no data waits. Unlike it, it does not count as regular.
    monkeypatch.setattr(files.stat, "S_ISREG", lambda mode: True)
    writer = os.open(path, os.O_RDWR)
    try:
        with pytest.raises(ValueError, match=r"regular file, got one that waits for data: '.*kmsg'"):
            read(path)
    finally:
        os.close(writer)


def test_a_file_that_opens_but_cannot_be_read_is_named(tmp_path, monkeypatch):
    class InvalidResponseError(io.BytesIO):
        def fileno(self):
            return own.fileno()

        def read(self, size=-1):
            raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"{}")
    with path.open("rb") as own:
        monkeypatch.setattr(files, "open_file", lambda *arguments: InvalidResponseError())
        with pytest.raises(OSError, match=r"Input/output error: '.*rows\.jsonl'"):
            files.read_bytes(path)


def test_a_device_is_not_opened():
    with pytest.raises(ValueError, match=r"^`idf`.*'/dev/zero'"):
        files.read_bytes("/dev/zero", "`idf`")


def test_links_are_followed_and_a_loop_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "loop").symlink_to("loop")
    assert files.read_bytes(tmp_path / "link") == b"x"
    with pytest.raises(OSError, match="loop"):
        files.read_bytes(tmp_path / "loop")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        files.read_bytes(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"^`path`.*got 'a\\x00b'"):
        files.read_bytes("a\0b")


def test_a_value_that_is_no_path_is_named_by_its_type(tmp_path):
    with pytest.raises(UsageTypeError, match=r"^`idf` must be an existing file, got 3 of type int$"):
        files.existing_file("idf", 3)
    with pytest.raises(MissingFileError, match=r"^`idf` must be an existing file, got '.*'; fit one$"):
        files.existing_file("idf", tmp_path, hint="fit one")


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"{}\n{}\n"), lambda path: os.truncate(path, 1)])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, change):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"{}\n")
    fstat = os.fstat

    def seen_then_changed(number):
        status = fstat(number)
        change(path)
        return status

    monkeypatch.setattr(files.os, "fstat", seen_then_changed)
    with pytest.raises(ValueError, match=r"^`path`.*rows\.jsonl"):
        files.read_bytes(path)


# -- limits -----------------------------------------------------------------------------------------------------------
def test_limits_hold_inside_the_block_and_are_named(tmp_path):
    (tmp_path / "file").write_bytes(bytes(11))
    with files.limits(max_bytes=10), files.limits(max_rows=3):
        assert files.current_limits() == files.Limits(max_bytes=10, max_rows=3)
        with pytest.raises(ValueError, match=r"at most 10 bytes.*--max-bytes"):
            files.read_bytes(tmp_path / "file")
    assert files.current_limits() == files.Limits()
    assert files.read_bytes(tmp_path / "file") == bytes(11)
    with (
        pytest.raises(ValueError, match=r"^`max_rows`.*at least 1.*got 0"),
        files.limits(max_rows=0),
    ):
        pass


def test_standard_input_is_bounded(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    with files.limits(max_bytes=3), pytest.raises(ValueError, match=r"FILE.*at most 3 bytes"):
        files.read_bytes("-", "FILE")


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_the_number_of_rows_is_bounded(tmp_path, capsys, ending):
    path, rows = tmp_path / f"rows.{ending}", [{"predictions": "A dog. It ran."}] * 3
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        lines = ["predictions", *["A dog. It ran."] * 3] if "sv" in ending else map(json.dumps, rows)
        path.write_text(json.dumps(rows) if ending == "json" else "\n".join(lines))
    assert len(read_rows(str(path))) == 3
    assert main(["score", "rovist_nr", str(path), "--max-rows", "2"]) == 2
    assert "at most 2 rows" in capsys.readouterr().err
    assert main(["score", "rovist_nr", str(path), "--max-rows", "3"]) == 0


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "txt"])
def test_the_length_of_a_row_is_bounded(tmp_path, capsys, ending):
    path, cells = tmp_path / f"rows.{ending}", ["A dog.", "A\ncat."]
    quoted = ["predictions", '"A dog."', '"A\ncat."']
    lines = cells if ending == "txt" else quoted if "sv" in ending else [json.dumps({"predictions": c}) for c in cells]
    path.write_text("\n".join(lines))
    most = {"jsonl": 26, "csv": 12, "tsv": 12, "txt": 6}[ending]
    with files.limits(max_row=most):
        assert len(read_rows(str(path))) == (3 if ending == "txt" else 2)
    assert main(["score", "rovist_nr", str(path), "--max-row", str(most - 1)]) == 2
    assert re.search(
        rf"FILE must have at most {most - 1} characters in a row, got more in '.*, line \d'; raise .* --max-row",
        capsys.readouterr().err,
    )


# -- text and JSON ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"one\ntwo\xff", r"byte 0xff.*line 2"),
        (b"\xef\xbb\xbfone\ntwo\xff", r"byte 0xff.*line 2"),
        (b"\xff\xfea\x00", r"byte 0xff.*line 1"),
        (b"a\x00\n\x00", r"a zero byte.*line 1"),
        (b"\xef\xbb\xbf\n\n\x00", r"a zero byte.*line 3"),
    ],
)
def test_bytes_that_are_no_text(data, found):
    with pytest.raises(ValueError, match=rf"^FILE.*UTF-8.*got {found}"):
        files.decode_text(data, "FILE", "x")


def test_a_mark_is_taken_off():
    assert files.decode_text(b"\xef\xbb\xbfa", "FILE", "x") == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1,\n2,]", r"FILE.*JSON.*line 8"),
        ('{"a": 1, "b": 2, "a": 3}', r"FILE.*got 'a'.*line 7"),
        ("[" * 65 + "]" * 65, r"at most 64 deep.*line 7"),
        ("[" * 100_000 + "]" * 100_000, "at most 64 deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "at most 64 deep"),
        ("\n[" + "9" * 5000 + "]\n1", "^FILE.*JSON|at most 308 digits"),
        ("[\n" + "9" * 5000 + "]", r"at most 308 digits.*line 7.*'x'"),
    ],
    ids=["broken", "repeated", "deep", "deeper", "objects", "digits", "lines"],
)
def test_json_that_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        files.parse_json(text, "FILE", "x", 7)


def test_json_as_deep_as_it_may_be():
    assert files.parse_json("[" * 64 + "]" * 64, "FILE", "x")
    assert files.parse_json(json.dumps(["[" * 100]), "FILE", "x") == ["[" * 100]
    assert files.parse_json("[[], [], {}]" + " " * 9, "FILE", "x") == [[], [], {}]


def test_repeated_names_are_found_in_one_pass():
    names = [f"k{i}" for i in range(200_000)]  # minutes, if each were looked for in all
    assert files.first_repeated(names) is None
    assert files.first_repeated([*names, "k7"]) == "k7"
    keys = ", ".join(f'"{name}": 1' for name in names)
    assert len(files.parse_json(f"{{{keys}}}", "FILE", "x")) == 200_000


# -- gzip -------------------------------------------------------------------------------------------------------------
def test_unpacking_stops_at_the_limit(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n" * 10**6))
    with (
        files.limits(max_unpacked=10**6),
        pytest.raises(ValueError, match=r"^`path`.*at most 1,000,000 bytes.*--max-unpacked"),
    ):
        files.read_unpacked(path)
    assert files.read_unpacked(path) == b"a\n" * 10**6
    path.write_bytes(gzip.compress(b"a" * 100)[:-9])
    with pytest.raises(ValueError, match=r"^`path`.*a\.gz.*Compressed"):
        files.read_unpacked(path)


def test_a_large_file_may_unpack_to_more():
    assert files.limit_unpacked_size(10) == files.Limits().max_unpacked
    assert files.limit_unpacked_size(2**30) == 2**34


# -- tables of very many small things ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lists.json", '[{"a": [' + "[]," * 2000 + "[]]}]"),
        ("objects.json", "[" + "{}," * 900 + "{}]"),
        ("values.json", '[{"a": [' + "0," * 6000 + "0]}]"),
        ("lists.jsonl", '{"a": [' + "[]," * 2000 + "[]]}"),
        ("cells.csv", "a,b,c\n" + ",,\n" * 4000),
        ("columns.tsv", "\t".join(map(str, range(4000))) + "\n" + "\t" * 3999),
    ],
)
def test_many_small_lists_objects_and_cells_are_refused_before_they_are_made(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert read_rows(str(path))
    message = r"FILE.*cells.*--max-unpacked"
    with files.limits(max_unpacked=170_000), pytest.raises(ValueError, match=message):
        read_rows(str(path))


@pytest.mark.parametrize(
    "value", [[f"{i:x}" for i in range(1000, 21000)], [i / 7 for i in range(20_000)]], ids=["strings", "numbers"]
)
def test_the_memory_of_json_is_estimated(value):
    text = json.dumps(value)
    tracemalloc.start()
    made = json.loads(text)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert made
    assert files.json_bytes(text, 0) == pytest.approx(used, rel=0.1)


def test_every_distinct_key_needs_memory_once():
    distinct = json.dumps({f"{i:x}": 0 for i in range(1000)})
    repeated = json.dumps([{"a": 0}] * 1000)
    assert files.json_bytes(distinct, 90_000) > 90_000
    assert files.json_bytes(repeated, 250_000) < 250_000


def test_a_string_without_end_is_searched_once():
    assert files.json_bytes('"' + '\\",' * 2000, 0) == files.json_bytes('""', 0)


def test_keys_are_no_strings_of_their_own():
    assert files.json_bytes('[{"a": 1, "b:": "c"}]', 0) == files.json_bytes('[{"a": 1, "b": ["c"]}]', 0) - 88


def test_objects_of_an_untrusted_table_do_not_grow_with_its_size(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"predictions": ["aa"] * 3000}))
    with files.limits(max_unpacked=100_000):
        assert read_rows(str(tmp_path / "a.jsonl"))
        with use_sandbox(), pytest.raises(ValueError, match="FILE must have at most 50,000 bytes of lists"):
            read_rows(str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
def test_brackets_and_commas_in_strings_make_nothing(tmp_path, name):
    row = {"a": '[{"box": [1, 2]}, "\\\\"]' * 300}
    (tmp_path / name).write_text(json.dumps([row] if name == "rows.json" else row))
    with files.limits(max_unpacked=40_000):
        assert read_rows(str(tmp_path / name)) == [row]


def test_json_at_once_may_be_half_as_large(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"a": "' + "x" * 1000 + '"}]')
    with (
        files.limits(max_unpacked=2000),
        pytest.raises(ValueError, match=r"at most 1,000 bytes.*JSONL"),
    ):
        read_rows(str(path))
    with files.limits(max_unpacked=2100):
        assert read_rows(str(path))[0]["a"] == "x" * 1000
