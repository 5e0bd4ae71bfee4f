"""Files in folders and archives: nothing is written, and nothing decompresses to more than requested."""

import io
import os
import tarfile
import zipfile

import pytest

from vlgauge.core.files import limits
from vlgauge.inputs import archives
from vlgauge.inputs.archives import archive_files, folder_files
from vlgauge.inputs.sandbox import workers

DEFLATED = {"compression": zipfile.ZIP_DEFLATED}


def tar(path, kind=tarfile.USTAR_FORMAT, n=9):
    """Write an archive of files, folders and a link, with names that exceed one block."""
    with tarfile.open(path, "w", format=kind) as made:
        for number in range(n):
            info = tarfile.TarInfo(f"{'long' * (20 if kind == tarfile.USTAR_FORMAT else 40)}/{number}.txt")
            info.size = 700 * number
            made.addfile(info, io.BytesIO(bytes([number]) * info.size))
            folder = tarfile.TarInfo(f"folder{number}")
            folder.type = tarfile.DIRTYPE
            made.addfile(folder)
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        made.addfile(link)
    return str(path)


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return str(path)


def files_of(path):
    return list(archive_files(str(path)))


def content_of(path, most_bytes=1000):
    (one,) = files_of(path)
    return one.content(most_bytes)


def refuse_to_open_here(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("the archive was opened here")

    monkeypatch.setattr(tarfile, "TarFile", fail)
    monkeypatch.setattr(zipfile, "ZipFile", fail)


# -- tar --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("at_a_time", [1, 2, 1000])
def test_members_of_a_tar_are_those_that_the_library_finds(tmp_path, monkeypatch, kind, at_a_time):
    path = tar(tmp_path / "a.tar", kind)
    with tarfile.open(path) as opened:
        known = [(one.name, opened.extractfile(one).read()) for one in opened if one.isreg()]
    monkeypatch.setattr(archives, "_AT_A_TIME", at_a_time)
    refuse_to_open_here(monkeypatch)
    *found, link = files_of(path)
    assert [(one.name, one.content(10_000)) for one in found] == known
    assert (link.name, link.read) == ("link.txt", None)


def test_a_tar_that_ends_without_a_mark_ends_and_a_damaged_header_is_no_end(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_AT_A_TIME", 1)
    tar(tmp_path / "a.tar", n=3)
    content = (tmp_path / "a.tar").read_bytes().rstrip(b"\0")
    (tmp_path / "a.tar").write_bytes(content + bytes(-len(content) % 512))
    assert [one.name[-5:] for one in files_of(tmp_path / "a.tar")] == ["0.txt", "1.txt", "2.txt", "k.txt"]
    for damaged in (content, content[:1024] + b"x" * 512 + content[1536:]):
        (tmp_path / "a.tar").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^FILE.*uncompressed.*damaged"):
            files_of(tmp_path / "a.tar")


def test_members_are_counted_with_folders(tmp_path):
    path = tar(tmp_path / "a.tar")
    with limits(max_rows=19):
        assert len(files_of(path)) == 10
    with limits(max_rows=18), pytest.raises(ValueError, match=r"^FILE.*at most 18 files.*--max-rows"):
        files_of(path)


def test_a_long_name_is_cut(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as made:
        made.addfile(tarfile.TarInfo("a" * 10**6))
    assert [one.name for one in files_of(tmp_path / "a.tar")] == ["a" * 4096]


def test_a_header_of_gigabytes_costs_one_sentence(tmp_path):
    path = tmp_path / "a.tar"
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 2**32
    with path.open("wb") as file:
        file.write(info.tobuf(tarfile.GNU_FORMAT))
        file.truncate(2**32 + 1024)  # sparse zeros
    with pytest.raises(
        ValueError, match=r"^FILE(, '.*a\.tar', cannot be read within| must be a complete uncompressed tar archive)"
    ):
        files_of(path)


def test_a_header_that_blocks_its_parser_blocks_a_worker(tmp_path, monkeypatch):
    info, digits = tarfile.TarInfo("x"), b"1" * 2_000_000  # CVE-2024-6232
    info.type, info.size = tarfile.XHDTYPE, len(digits)
    path = tmp_path / "a.tar"
    path.write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + digits + bytes(-len(digits) % 512 + 1024))
    monkeypatch.setattr(workers, "SECONDS", 0.5)
    with pytest.raises(
        ValueError, match=r"^FILE, '.*a\.tar', cannot be read within|^FILE must be a complete uncompressed"
    ):
        files_of(path)


# -- zip --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_of_a_zip_are_those_that_were_put_in(tmp_path, monkeypatch, method):
    members = {"a/b.txt": b"x" * 1000, "c.png": bytes(range(256)), "empty.txt": b"", "../../x.txt": b"y"}
    path = zipped(tmp_path / "a.zip", {"folder/": b"", **members}, compression=method)
    refuse_to_open_here(monkeypatch)
    assert {one.name: one.content(1000) for one in archive_files(path)} == members
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zip"]


def test_a_member_that_unpacks_to_more_is_refused(tmp_path):
    path = zipped(tmp_path / "bomb.zip", {"zeros": b"\0" * 50_000_000}, **DEFLATED)
    with pytest.raises(ValueError, match=r"^`zeros`.*at most 1,000 bytes"):
        content_of(path)
    # Also if the archive states another size.
    content = (tmp_path / "bomb.zip").read_bytes().replace((50_000_000).to_bytes(4, "little"), bytes([10, 0, 0, 0]))
    (tmp_path / "lying.zip").write_bytes(content)
    with pytest.raises(ValueError, match=r"^`zeros`.*CRC-32"):
        content_of(tmp_path / "lying.zip")


def test_damaged_zips_are_refused_in_a_sentence(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": b"hello " * 100}, **DEFLATED)
    content = bytearray((tmp_path / "a.zip").read_bytes())
    content[40:45] = b"\xff" * 5
    (tmp_path / "damaged.zip").write_bytes(content)
    with pytest.raises(ValueError, match=r"^`a\.txt`.*damaged"):
        content_of(tmp_path / "damaged.zip")
    assert content_of(path) == b"hello " * 100  # from the same worker
    for name, inside in (("cut.zip", content[:60]), ("none.zip", b"PK nothing"), ("empty.zip", b"")):
        (tmp_path / name).write_bytes(inside)
        with pytest.raises(ValueError, match=r"FILE.*zip"):
            files_of(tmp_path / name)


def test_links_and_locked_members_are_refused_one_by_one(tmp_path):
    info = zipfile.ZipInfo("link.txt")
    info.external_attr = 0o120777 << 16
    path = zipped(tmp_path / "a.zip", {info: "/etc/hostname"})
    with pytest.raises(ValueError, match=r"^`link\.txt`"):
        content_of(path)
    path = zipped(tmp_path / "b.zip", {"a.txt": b"x" * 99}, compression=zipfile.ZIP_BZIP2)
    with pytest.raises(ValueError, match=r"^`a\.txt`.*deflate"):
        content_of(path)
    zipped(tmp_path / "c.zip", {"a.txt": b"x" * 99})
    content = bytearray((tmp_path / "c.zip").read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    with pytest.raises(ValueError, match="not encrypted"):
        content_of(tmp_path / "locked.zip")


def test_an_archive_that_is_written_again_is_read_again(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": b"one"})
    assert content_of(path) == b"one"
    zipped(tmp_path / "a.zip", {"a.txt": b"another"})
    assert content_of(path) == b"another"


def test_more_members_than_rows_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {f"{number}.txt": b"" for number in range(12)})
    with limits(max_rows=10), pytest.raises(ValueError, match=r"FILE.*at most 10 files"):
        files_of(path)


def test_members_have_a_total_limit(tmp_path):
    path = zipped(tmp_path / "a.zip", {f"{number}.json": b"[" * 100_000 for number in range(30)}, **DEFLATED)
    assert len(files_of(path)) == 30
    with limits(max_unpacked=2_000_000), pytest.raises(ValueError, match=r"FILE.*2,000,000 bytes when.*a\.zip"):
        files_of(path)


def test_names_have_a_limit_of_memory(tmp_path):
    path = zipped(tmp_path / "a.zip", {f"{number}{'x' * 1000}.txt": b"" for number in range(30)})
    with limits(max_unpacked=200_000):
        assert len(files_of(path)) == 30
    with limits(max_unpacked=100_000), pytest.raises(ValueError, match=r"FILE.*100,000 bytes of file names.*a\.zip"):
        files_of(path)


# -- folders ----------------------------------------------------------------------------------------------------------
def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(b"x")
    assert [one.name for one in folder_files(tmp_path)] == ["in/a.txt"]
    scandir = os.scandir

    def fail(path):
        if str(path).endswith("in"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(PermissionError):
        list(folder_files(tmp_path))
