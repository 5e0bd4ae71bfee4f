"""The folder in which a run keeps scored batches."""

import pyarrow as pa
import pytest

from vlgauge.integrations.scored_batches import ScoredBatches

RUN = {"metric": "bleu", "settings": {"n": 4}}


def test_what_was_added_is_there_again_for_the_same_run(tmp_path):
    files = ScoredBatches(tmp_path / "deep" / "kept", RUN)
    files.add([1, 2], pa.table({"id": [1, 2], "x": [0.5, 1.5]}))
    files.add([3], pa.table({"id": [3], "x": [2.5]}))
    again = ScoredBatches(tmp_path / "deep" / "kept", dict(RUN))
    assert again.ids("id") == {1, 2, 3}
    assert sorted(cell for table in again.batches() for cell in table["x"].to_pylist()) == [0.5, 1.5, 2.5]


def test_the_folder_is_the_same_from_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ScoredBatches("kept", RUN).folder == tmp_path / "kept"


def test_a_batch_that_is_scored_twice_is_there_once(tmp_path):
    files = ScoredBatches(tmp_path, RUN)
    for order in ([1, 2], [2, 1]):
        files.add(order, pa.table({"id": order}))
    files.add(["1", "2"], pa.table({"id": ["1", "2"]}))
    assert sorted(map(str, files.ids("id"))) == ["1", "1", "2", "2"]
    assert len(list(files.batches())) == 2


def test_another_run_is_refused_by_what_differs(tmp_path):
    ScoredBatches(tmp_path, RUN)
    with pytest.raises(ValueError, match="differs in profile"):
        ScoredBatches(tmp_path, RUN | {"settings": {"n": 3}, "profile": "paper"})


def test_one_of_two_files_with_the_same_ids_counts(tmp_path):
    """Check that only one file counts.

    A worker that dies after its batch has written it, and the scores of its successor may differ in one bit.
    """
    files = ScoredBatches(tmp_path, RUN)
    for score in (0.5, 0.5000000000000001):
        files.add([1, 2], pa.table({"id": [1, 2], "x": [score, score]}))
    assert len(list(tmp_path.glob("*.parquet"))) == 2
    assert [table.num_rows for table in files.batches()] == [2]


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ValueError, match="run, or empty"):
        ScoredBatches(tmp_path, RUN)


@pytest.mark.parametrize("content", ["[]", "{"])
def test_a_damaged_run_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match=r"--parts must .*run\.json|--parts must be of the same run"):
        ScoredBatches(tmp_path, RUN)


def test_every_byte_that_turns_over_is_noticed(tmp_path):
    files = ScoredBatches(tmp_path, RUN)
    files.add([1, 2], pa.table({"id": [1, 2], "x": [0.5, 1.5]}))
    (path,) = tmp_path.glob("*.parquet")
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=f"{path.name}"):
            list(files.batches())
    path.write_bytes(whole)
    assert len(list(files.batches())) == 1


def test_a_file_of_another_run_is_refused(tmp_path):
    other = ScoredBatches(tmp_path / "other", RUN | {"settings": {"n": 3}})
    other.add([1], pa.table({"id": [1]}))
    (path,) = other.folder.glob("*.parquet")
    files = ScoredBatches(tmp_path / "own", RUN)
    path.rename(files.folder / path.name)
    with pytest.raises(ValueError, match="its content was modified"):
        files.ids("id")


def test_a_damaged_file_is_named(tmp_path):
    files = ScoredBatches(tmp_path, RUN)
    files.add([1], pa.table({"id": [1]}))
    (path,) = tmp_path.glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=rf"--parts.*{path.name}"):
        files.ids("id")
