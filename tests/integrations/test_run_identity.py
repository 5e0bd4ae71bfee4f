"""What a run is known by: content, of large files a sample, and never a time."""

import os
from unittest.mock import patch

import pytest

from vlgauge.integrations import run_identity
from vlgauge.integrations.run_identity import content_of, contents_of, settings_told


def test_other_content_of_the_same_size_and_time_is_another_file(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("a dog")
    before, stat = content_of(file), file.stat()
    file.write_text("a cat")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert content_of(file) != before
    file.write_text("a dog")
    os.utime(file, (1, 1))
    assert content_of(file) == before == {"bytes": 5, "sha256": before["sha256"], "sampled": False}


@pytest.fixture
def small():
    with patch.multiple(run_identity, WHOLE_BYTES=10_000, BLOCK_BYTES=16, N_BLOCKS=64):
        yield


@pytest.mark.usefixtures("small")
def test_a_large_file_is_sampled_and_that_is_said(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(bytes(10_001))
    with pytest.warns(
        UserWarning, match=r"^1 files of more than 10,000 bytes, such as '.*rows.jsonl', .* sampled digest"
    ):
        found = contents_of([file])
    assert found == {str(file): content_of(file)}
    assert found[str(file)]["sampled"]
    file.write_bytes(bytes(10_000))
    assert not contents_of([file])[str(file)]["sampled"]


@pytest.mark.usefixtures("small")
def test_of_a_large_file_head_tail_blocks_and_size_are_looked_at(tmp_path):
    file, whole = tmp_path / "rows", bytearray(20_000)
    file.write_bytes(whole)
    before = content_of(file)

    def changed(at):
        file.write_bytes(whole[:at] + b"x" + whole[at + 1 :])
        return content_of(file) != before

    assert all(map(changed, [0, 15, len(whole) - 1, len(whole) - 16]))
    # 64 of about 1,250 blocks: a change somewhere is rarely seen, one everywhere always.
    seen = [at for at in range(16, len(whole) - 16, 4) if changed(at)]
    assert 0.03 < len(seen) / (len(whole) / 4) < 0.06
    file.write_bytes(bytes(20_001))
    assert content_of(file) != before
    file.write_bytes(bytes(20_000))
    assert content_of(file) == before


def test_settings_stand_with_the_content_of_what_they_name(tmp_path):
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "model" / "deep" / "weights").write_text("1")
    (tmp_path / "df").write_text("1")
    given = {"model": str(tmp_path / "model"), "df": tmp_path / "df", "n": 4, "orders": [1, 2], "w": None, "f": len}
    before = settings_told(given)
    assert before["n"] == 4
    assert before["w"] is None
    assert before["f"] == "custom(builtins.len)"
    assert before["orders"] == [1, 2] != settings_told({"orders": [1, 3]})["orders"]
    (tmp_path / "df").write_text("2")
    (tmp_path / "model" / "deep" / "weights").write_text("2")
    after = settings_told(given)
    assert [name for name in given if before[name] != after[name]] == ["model", "df"]
    assert settings_told({"a": "no\0path", "b": "x" * 5_000, "c": "paper"}) == {
        "a": "no\0path",
        "b": "x" * 5_000,
        "c": "paper",
    }
