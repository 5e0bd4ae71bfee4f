"""The only file writer: no file is ever incomplete, and the previous content remains if the disk is full."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from folders import EXAMPLES

from vlgauge.cli import main
from vlgauge.core.errors import UsageError
from vlgauge.core.writing import PART, NotWritableError, atomic_write, parts_of, resolve_target, write

# Files of this process may have 4,096 bytes, as on a disk that is nearly full.
SMALL_DISK = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
target = Path(sys.argv[1])
try:
{body}
except OSError as error:
    print(error)
"""
WRITERS = {
    "text": "from vlgauge.core.writing import write\nwrite(target, 'x' * 10_000)",
    "tensors": (
        "import numpy as np\nfrom safetensors.numpy import save_file\nfrom vlgauge.core.writing import atomic_write\n"
        "with atomic_write(target) as part:\n    save_file({'a': np.zeros(10_000)}, part)"
    ),
    "table": (
        "import pyarrow as pa\nimport pyarrow.parquet as pq\nfrom vlgauge.core.writing import atomic_write\n"
        "rows = pa.table({'a': [f'word{i}' for i in range(10_000)]})\n"
        "with atomic_write(target) as part:\n    pq.write_table(rows, part)"
    ),
    "frequencies": (
        "from vlgauge.families.ngram.cider import DocumentFrequency\nimport random\n"
        "words = [str(random.Random(i).random()) for i in range(3_000)]\n"
        "DocumentFrequency.from_references([[' '.join(words)], [' '.join(words)]]).save(target)"
    ),
    "idf": (
        "from vlgauge.inputs.text.story_idf import fit_idf\n"
        "fit_idf([f'word{i} here.' for i in range(2_000)]).save(target)"
    ),
}


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def indented(code):
    return "".join(f"    {line}\n" for line in code.split("\n"))


def test_a_new_file_is_open_as_others_are(tmp_path):
    write(tmp_path / "new.txt", "grüße\n")
    (tmp_path / "plain").touch()
    assert (tmp_path / "new.txt").read_bytes() == "grüße\n".encode()
    assert (tmp_path / "new.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert left(tmp_path) == ["new.txt", "plain"]


def test_a_replaced_file_keeps_its_mode(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o640)
    write(tmp_path / "old", b"new")
    assert (tmp_path / "old").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_a_private_file_is_never_open_to_others(tmp_path, umask):
    before = os.umask(umask)
    try:
        with atomic_write(tmp_path / "new", mode=0o600) as part:
            assert stat.S_IMODE(part.stat().st_mode) == 0o600
            part.write_text("mine")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_what_is_being_written_is_told_apart_by_target(tmp_path):
    long = "x" * 60
    with atomic_write(tmp_path / f"{long}1") as one, atomic_write(tmp_path / f"{long}2") as other:
        assert [Path(entry.path) for entry in parts_of(tmp_path / f"{long}1")] == [one]
        assert [Path(entry.path) for entry in parts_of(tmp_path / f"{long}2")] == [other]
        assert PART.fullmatch(one.name)
        one.touch()
    assert parts_of(tmp_path / f"{long}1") == parts_of(tmp_path / "no" / "folder") == []


def test_what_fails_in_between_leaves_the_old_file(tmp_path):
    def fail():
        with atomic_write(tmp_path / "file") as part:
            part.write_text("half")
            raise KeyError("of the caller")

    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyError):
        fail()
    assert (tmp_path / "file").read_text() == "old"
    assert left(tmp_path) == ["file"]


def test_an_error_of_another_file_is_told_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"), atomic_write(tmp_path / "file"):
        (tmp_path / "missing").read_text()
    assert left(tmp_path) == []


def test_two_writers_use_two_names(tmp_path):
    with atomic_write(tmp_path / "file") as one, atomic_write(tmp_path / "file") as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "file").read_text() == "one"
    assert left(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["a" * 240, "ü" * 120])
def test_a_long_name_is_no_obstacle(tmp_path, name):
    write(tmp_path / name, "x")
    assert left(tmp_path) == [name]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits of file sizes are of POSIX")
@pytest.mark.parametrize("writer", WRITERS)
def test_on_a_full_disk_the_old_file_stays_and_is_named(tmp_path, writer):
    if writer == "tensors":
        pytest.importorskip("safetensors")
    target = tmp_path / "out.parquet"
    target.write_text("old")
    code = SMALL_DISK.format(body=indented(WRITERS[writer]))
    command = [sys.executable, "-c", code, str(target)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "could not be written, the disk is full; its previous content is unchanged" in finished.stdout, (
        finished.stderr
    )
    assert repr(str(target)) in finished.stdout
    assert target.read_text() == "old"
    assert left(tmp_path) == ["out.parquet"]


def test_a_really_full_disk_is_told(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        allowed = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        allowed = False
    if not allowed:
        pytest.skip("a disk may not be mounted here")
    try:
        write(disk / "out", "old")
        with pytest.raises(OSError, match=r"`path`.*full"):
            write(disk / "out", "x" * 200_000)
        assert (disk / "out").read_text() == "old"
        assert left(disk) == ["out"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_the_old_file(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    code = (
        "import os, signal, sys\nfrom vlgauge.core.writing import atomic_write\n"
        "with atomic_write(sys.argv[1]) as part:\n"
        "    part.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    finished = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert finished.returncode == -signal.SIGKILL
    assert target.read_text() == "old"
    (stale,) = [path for path in tmp_path.iterdir() if path != target]
    write(target, "new")
    assert stale.exists()  # it might be of a process at work
    day_ago = time.time() - 25 * 60 * 60
    os.utime(stale, (day_ago, day_ago))
    write(target, "newer")
    assert left(tmp_path) == ["out"]
    assert target.read_text() == "newer"


def test_behind_a_link_its_target_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def loop(folder):
    (folder / "out").symlink_to("again")
    (folder / "again").symlink_to("out")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (loop, r"`path`.*link"),
        (lambda folder: (folder / "out").mkdir(), "`path` must be a file in an existing folder, got '"),
        (lambda folder: os.mkfifo(folder / "out"), r"`path`.*pipe"),
        (lambda folder: (folder / "out").symlink_to(os.devnull), r"`path`.*pipe"),
        (lambda folder: (folder / "out").symlink_to("no/where"), "`path` must be a file in an existing folder, got '"),
    ],
    ids=["loop", "folder", "pipe", "device", "nowhere"],
)
def test_what_can_be_no_target_is_refused(tmp_path, make, message):
    make(tmp_path)
    before = left(tmp_path)
    for act in (lambda: resolve_target(tmp_path / "out"), lambda: write(tmp_path / "out", "x")):
        with pytest.raises(NotWritableError, match=rf"^{message}"):
            act()
    assert left(tmp_path) == before


@pytest.mark.parametrize("path", [None, 3, b"x"])
def test_a_target_that_is_no_path_is_refused(path):
    with pytest.raises(NotWritableError, match=r"^`path` must be the path of a file, got"):
        write(path, b"")


def test_a_path_with_a_zero_byte_is_refused():
    with pytest.raises(ValueError, match=r"^`path`.*got 'a\\x00b'"):
        write("a\0b", "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_closed_folder_is_told_before_the_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match=r"^`path`.*got"):
        resolve_target(tmp_path / "out")


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard", "symbolic"])
@pytest.mark.parametrize(
    ("command", "source", "ending"),
    [
        (["score", "rovist_nr", "FILE", "--predictions", "story", "--output"], "stories.csv", ".csv"),
        (["d-hm", "FILE", "FILE", "--output"], "human_scores.csv", ".json"),
        (["sensitivity", "FILE", "--metrics", "trm", "--output"], "caption_sets.jsonl", ".json"),
        (["style-fit", "FILE", "--output"], "styled_captions.jsonl", ".parquet"),
        (["grounding", "fit-theta", "FILE", "--theta"], "drawn_stories.jsonl", ".json"),
    ],
    ids=["score", "d-hm", "sensitivity", "style-fit", "fit-theta"],
)
def test_an_input_is_never_the_target(tmp_path, monkeypatch, capsys, link, command, source, ending):
    content = (EXAMPLES / "stories.csv").read_bytes()
    (tmp_path / source).write_bytes(content)
    link(tmp_path / source, tmp_path / f"target{ending}")
    monkeypatch.chdir(tmp_path)
    assert main([*(source if part == "FILE" else part for part in command), f"target{ending}"]) == 2
    assert f"FILE, got 'target{ending}'" in capsys.readouterr().err
    assert (tmp_path / source).read_bytes() == content


def test_a_path_that_no_system_takes_is_refused():
    with pytest.raises(NotWritableError, match=r"^`path`.*got '\\ud800'"):
        write("\ud800", "x")


def test_a_text_that_utf8_cannot_hold_leaves_the_old_file(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(UsageError, match=r"^`path`.*U\+D800"):
        write(target, "a \ud800 dog")
    assert target.read_text() == "old"
    assert left(tmp_path) == ["out"]
