"""Files in archives, which a worker of the sandbox finds."""

import io
import tarfile

import pytest

from vlgauge.files import limits
from vlgauge.media import archives
from vlgauge.media.archives import archive_members


def archive(path, kind, n=9):
    """An archive of files, folders and a link, with names that one block does not hold."""
    with tarfile.open(path, "w", format=kind) as made:
        for number in range(n):
            info = tarfile.TarInfo(f"{'long' * (20 if kind == tarfile.USTAR_FORMAT else 40)}/{number}.txt")
            info.size = 700 * number
            made.addfile(info, io.BytesIO(bytes(info.size)))
            folder = tarfile.TarInfo(f"folder{number}")
            folder.type = tarfile.DIRTYPE
            made.addfile(folder)
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        made.addfile(link)
    return str(path)


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("steps", [(1, 2), (50, 1000)])
def test_members_are_those_that_the_library_finds(tmp_path, monkeypatch, kind, steps):
    path = archive(tmp_path / "a.tar", kind)
    with tarfile.open(path) as opened:
        known = [(one.name, one.size, one.offset_data if one.isreg() else None) for one in opened if not one.isdir()]
    monkeypatch.setattr(archives, "_AT_FIRST", steps[0])
    monkeypatch.setattr(archives, "_AT_A_TIME", steps[1])

    def refuse(*_, **__):
        raise AssertionError("the archive was opened here")

    monkeypatch.setattr(tarfile, "TarFile", refuse)
    assert list(map(tuple, archive_members(path))) == known


def test_an_archive_that_ends_without_a_mark_ends(tmp_path, monkeypatch):
    path = tmp_path / "a.tar"
    archive(path, tarfile.USTAR_FORMAT, 2)
    whole = path.read_bytes().rstrip(b"\0")
    path.write_bytes(whole + bytes(-len(whole) % 512))
    monkeypatch.setattr(archives, "_AT_FIRST", 1)
    monkeypatch.setattr(archives, "_AT_A_TIME", 1)
    assert [one.name[-5:] for one in archive_members(str(path))] == ["0.txt", "1.txt", "k.txt"]


def test_members_are_counted_with_folders(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.tar", tarfile.USTAR_FORMAT)
    monkeypatch.setattr(archives, "_AT_FIRST", 2)
    with limits(max_rows=19):
        assert len(list(archive_members(path))) == 10
    with limits(max_rows=18), pytest.raises(ValueError, match=r"^FILE must have at most 18 files.*--max-rows$"):
        list(archive_members(path))


def test_a_header_of_a_hundred_megabytes_costs_one_sentence(tmp_path):
    path = tmp_path / "a.tar"
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 10**8
    with path.open("wb") as file:
        file.write(info.tobuf(tarfile.USTAR_FORMAT))
        file.truncate(10**8 + 1024)
    with pytest.raises(ValueError, match=r"^FILE must be a whole tar archive, not packed, got .*a\.tar' \("):
        list(archive_members(str(path)))
