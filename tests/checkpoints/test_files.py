"""Sources of the weights of a sentence encoder, and errors."""

import hashlib
import os
from pathlib import Path

import pytest

from vlgauge.checkpoints import files, hub


# ----------------------------------------------------------------------------------------------------------------------
# Sources of weights
# ----------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"])
@pytest.mark.parametrize(("value", "off"), [("1", True), ("true", True), ("ON", True), ("0", False), ("", False)])
def test_either_switch_is_offline(monkeypatch, switch, value, off):
    for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(switch, value)
    assert hub.offline() is off


def rested(path, content, stamp=(10**18, 10**18)):
    """Write a file with a modification time that is long ago."""
    path.write_bytes(content)
    os.utime(path, ns=stamp)
    return path


@pytest.fixture
def settled(monkeypatch):
    """Every file is old enough for its digest to be cached."""
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))


@pytest.fixture
def hashed(monkeypatch):
    """Names of the files that were hashed."""
    names, open_file = [], files.open_file

    def noted(path):
        names.append(path.name)
        return open_file(path)

    monkeypatch.setattr(files, "open_file", noted)
    return names


def test_the_digest_of_a_file_that_stays_is_remembered(tmp_path, settled, hashed):
    path = rested(tmp_path / "a.bin", b"one")
    digests = [files.sha256_of(path) for _ in range(3)]
    assert digests == [hashlib.sha256(b"one").hexdigest()] * 3
    assert hashed == ["a.bin"]


def test_a_file_put_in_the_place_of_another_has_its_own_digest(tmp_path, settled):
    path = rested(tmp_path / "a.bin", b"one")
    files.sha256_of(path)
    os.replace(rested(tmp_path / "b.bin", b"two"), path)
    assert files.sha256_of(path) == hashlib.sha256(b"two").hexdigest()


def test_a_file_written_in_place_has_another_digest(tmp_path):
    """Check an immediate change with the same size and modification time, because the clock may be coarse."""
    path = tmp_path / "a.bin"
    for content in (b"one", b"two", b"six", b"ten"):
        assert files.sha256_of(rested(path, content)) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("field", ["path", "device", "inode", "n_bytes", "written_ns", "changed_ns"])
def test_every_field_of_the_state_counts(field, tmp_path, monkeypatch, settled, hashed):
    path = rested(tmp_path / "a.bin", b"one")
    state, found = files.FileState.of(path), path.stat()
    assert state == (
        str(path.resolve()),
        *(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns),
    )
    files.sha256_of(path)
    other = state._replace(**{field: "/b" if field == "path" else getattr(state, field) + 1})
    monkeypatch.setattr(files.FileState, "of", lambda path: other)
    files.sha256_of(path)
    assert hashed == ["a.bin"] * 2


def test_only_what_rests_is_settled(tmp_path, monkeypatch):
    state = files.FileState.of(rested(tmp_path / "a.bin", b"one"))
    monkeypatch.setattr(files.time, "time_ns", lambda: state.changed_ns + 10**6)
    assert not state.is_settled
    assert not state._replace(changed_ns=state.changed_ns + 10**18).is_settled  # a clock in the future
    assert not state._replace(written_ns=state.changed_ns, changed_ns=0).is_settled
    assert state._replace(changed_ns=state.changed_ns - 10**10).is_settled


def test_the_digest_of_a_file_that_grows_has_an_end(tmp_path, monkeypatch):
    path = rested(tmp_path / "a.bin", b"one, two")
    state = files.FileState.of(path)._replace(n_bytes=3)
    monkeypatch.setattr(files.FileState, "of", lambda path: state)
    assert files.sha256_of(path) == hashlib.sha256(b"one").hexdigest()


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="has no device without an end")
def test_what_has_no_end_has_no_digest():
    with pytest.raises(OSError, match="folder, a pipe"):
        files.sha256_of(Path("/dev/zero"))
