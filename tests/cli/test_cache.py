"""`vlgauge cache`."""

import numpy as np
import pytest

from vlgauge.cli import main
from vlgauge.models.features.disk import DiskStore


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


@pytest.fixture
def features(tmp_path):
    for side in ("image", "text"):
        store = DiskStore(
            tmp_path / "features", weights_digest="ab" * 32, side=side, preprocess_id="0" * 16, dtype="float32"
        )
        store.put({bytes([number]) * 32: np.ones(512) for number in range(200)})
    return tmp_path / "features"


def test_cache_info_and_clear(capsys, features, monkeypatch):
    code, out, _ = run(capsys, "cache", "info", "--folder", features)
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert [line[:4] for line in lines[2:4]] == [
        ["clip-" + "ab" * 16, f"{side}-{'0' * 16}-float32", "200", "0.4"] for side in ("image", "text")
    ]
    assert lines[4] == ["0.8", "MiB", "in", "all"]
    monkeypatch.setenv("VLGAUGE_FEATURES", str(features))
    size = (features / "features.sqlite").stat().st_size / 2**20
    (features / "mine.txt").write_text("x")
    code, out, _ = run(capsys, "cache", "clear")
    assert (code, out) == (0, f"removed {size:.1f} MiB from {features}\n")
    assert [path.name for path in features.rglob("*")] == ["mine.txt"]
    assert "0.0 MiB in all" in run(capsys, "cache", "info")[1]


def test_cache_needs_a_folder(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("VLGAUGE_FEATURES", raising=False)
    assert "--folder is required, because VLGAUGE_FEATURES is not set" in run(capsys, "cache", "info")[2]
    assert "nowhere is not a folder" in run(capsys, "cache", "clear", "--folder", tmp_path / "nowhere")[2]
    with pytest.raises(SystemExit, match="2"):
        main(["cache"])


def test_features_that_cannot_be_removed_are_an_error(capsys, tmp_path):
    (tmp_path / "features.sqlite").mkdir()  # not even by the superuser
    code, out, err = run(capsys, "cache", "clear", "--folder", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith(f"vlgauge cache: error: {tmp_path / 'features.sqlite'}: ")


def test_a_damaged_file_is_one_sentence(capsys, features):
    path = features / "features.sqlite"
    path.write_bytes(b"x" * 1000)
    sentence = f"{path} cannot be read: file is not a database; `vlgauge cache clear` removes it"
    assert run(capsys, "cache", "info", "--folder", features) == (2, "", f"vlgauge cache: error: {sentence}\n")
