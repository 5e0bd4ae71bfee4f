"""Files in zip archives, of which none writes or unpacks more than is asked for."""

import zipfile

import pytest

from vlgauge.files import limits
from vlgauge.media.zips import zip_members


def archive(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return str(path)


def one(path):
    (member,) = zip_members(path)
    return member


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_those_that_were_put_in(tmp_path, method):
    members = {"a/b.txt": b"x" * 1000, "c.png": bytes(range(256)), "empty.txt": b""}
    path = archive(tmp_path / "a.zip", members, compression=method)
    found = zip_members(path)
    assert {member.name: member.content(path, 2000) for member in found} == members


def test_folders_are_left_out_and_nothing_is_written(tmp_path):
    path = archive(tmp_path / "a.zip", {"folder/": b"", "../../x.txt": b"y"})
    assert [member.name for member in zip_members(path)] == ["../../x.txt"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zip"]


def test_a_member_that_unpacks_to_more_is_refused(tmp_path):
    path = archive(tmp_path / "bomb.zip", {"zeros": b"\0" * 50_000_000}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="`zeros` must be a file of at most 1,000 bytes, got a larger one"):
        one(path).content(path, 1000)
    # Also where the archive lies of its size.
    lying = one(path)._replace(n_bytes=10)
    with pytest.raises(ValueError, match="`zeros` must be a whole file, got a damaged one"):
        lying.content(path, 1000)


def test_damaged_archives_are_told_in_a_sentence(tmp_path):
    path = archive(tmp_path / "a.zip", {"a.txt": b"hello " * 100}, compression=zipfile.ZIP_DEFLATED)
    content = bytearray((tmp_path / "a.zip").read_bytes())
    content[40:45] = b"\xff" * 5
    (tmp_path / "damaged.zip").write_bytes(content)
    damaged = str(tmp_path / "damaged.zip")
    with pytest.raises(ValueError, match=r"`a\.txt` must be a whole file, got a damaged one"):
        one(damaged).content(damaged, 1000)
    for name, inside in (("cut.zip", content[:60]), ("none.zip", b"PK nothing"), ("empty.zip", b"")):
        (tmp_path / name).write_bytes(inside)
        with pytest.raises(ValueError, match="FILE must be a whole zip archive, got"):
            zip_members(str(tmp_path / name))
    assert one(path).content(path, 1000) == b"hello " * 100


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_of_another_content_than_was_put_in_is_refused(tmp_path, method):
    # One letter of a member that is not packed, or what unpacks to as many other bytes.
    path = archive(tmp_path / "a.zip", {"a.txt": b"a red bus"}, compression=method)
    content = (tmp_path / "a.zip").read_bytes()
    packed = one(path)
    start = packed.header + 30 + len(packed.name)
    changed = bytearray(content)
    if method == zipfile.ZIP_STORED:
        changed[start + 2] ^= 16  # r -> b
    else:
        other = archive(tmp_path / "b.zip", {"a.txt": b"a bed bus"}, compression=method)
        assert one(other).packed == packed.packed
        changed[start : start + packed.packed] = (tmp_path / "b.zip").read_bytes()[start : start + packed.packed]
    (tmp_path / "a.zip").write_bytes(changed)
    with pytest.raises(ValueError, match=r"`a\.txt` must be a whole file, got a damaged one"):
        one(path).content(path, 1000)


def test_links_and_locked_members_are_refused_one_by_one(tmp_path):
    info = zipfile.ZipInfo("link.txt")
    info.external_attr = 0o120777 << 16
    path = str(tmp_path / "a.zip")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(info, "/etc/hostname")
    with pytest.raises(ValueError, match="must be a file packed by deflate or not at all, without a password"):
        one(path).content(path, 1000)
    packed = archive(tmp_path / "b.zip", {"a.txt": b"x" * 99}, compression=zipfile.ZIP_BZIP2)
    with pytest.raises(ValueError, match="must be a file packed by deflate or not at all"):
        one(packed).content(packed, 1000)


def test_more_members_than_rows_are_refused(tmp_path):
    path = archive(tmp_path / "a.zip", {f"{number}.txt": b"" for number in range(12)})
    with limits(max_rows=10), pytest.raises(ValueError, match="FILE must have at most 10 files, got more"):
        zip_members(path)
