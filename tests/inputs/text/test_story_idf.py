"""Idf tables: fitted, given, read from our files and from a pickle that may be hostile."""

import collections
import math
import os
import pickle

import pytest

from vlgauge.inputs.text.story_idf import IdfTable, fit_idf, idf_table, read_pickled

STORIES = ["A dog ran. The dog sat.", ["A cat."], ["Dogs!"]]


def test_a_word_counts_once_per_story():
    table = fit_idf(STORIES)
    assert (table.n_stories, table.df["dog"], table.df["A"], table.df["."]) == (3, 1, 2, 2)
    assert table.value("dog") == pytest.approx(math.log(3 / 2))
    assert table.value("A") == pytest.approx(math.log(3 / 3))
    assert table.value("bird") == pytest.approx(math.log(3 / 1))
    assert (table.contains("dog"), table.contains("Dog"), table.contains("bird")) == (True, False, False)
    folded = fit_idf(STORIES, lowercase=True)
    assert folded.df["a"] == 2
    assert fit_idf(["The dog saw the cat."], lowercase=True).df["the"] == 1
    assert folded.contains("DOG")
    assert folded.value("Dog") == folded.value("dog")


def test_tables_are_written_and_read(tmp_path):
    for table in (fit_idf(STORIES), fit_idf(STORIES, lowercase=True), idf_table({"dog": 1.5, "naïve": -0.25})):
        table.save(tmp_path / "idf.json")
        again = idf_table(tmp_path / "idf.json")
        assert (again, again.identity) == (table, table.identity)
        assert again.value("no such word") == table.value("no such word")


def test_finished_values():
    table = idf_table({"dog": 1.0, "cat": 2.5})
    assert (table.value("dog"), table.value("bird")) == (1.0, pytest.approx(2.5 + math.log(2)))
    assert not table.contains("bird")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, r".*got none"),
        ({"dog": math.nan}, r".*got nan.*'dog'"),
        ({"dog": "1"}, r".*got '1'.*'dog'"),
        ({"dog": True}, r".*got True.*'dog'"),
        ({"dog": 10**400}, r".*got 1000"),
        ({3: 1.0}, r".*got 3"),
        ({"N": 0, "df": {"dog": 0}}, r".*`N`.*got 0"),
        ({"N": 2.5, "df": {"dog": 0}}, r".*`N`.*got 2\.5"),
        ({"N": 2, "df": {"dog": 3}}, r".*`N`.*2 stories.*got 3"),
        ({"N": 2, "df": {"dog": -1}}, r".*got -1"),
        ({"N": 2, "df": [1]}, r".*`df`"),
        ({"N": 2, "df": {"dog": 1}, "lowercase": 1}, r".*`df`.*`lowercase`"),
        (3, r".*got int"),
        ([], r".*least one story"),
        (["A dog.", 3], r".*got 3"),
    ],
)
def test_what_is_no_table(source, message):
    with pytest.raises(ValueError, match=f"`idf` {message}"):
        idf_table(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r".*JSON.*line 1"),
        (b"\x89ABC", r".*UTF-8.*byte 0x89.*line 1"),
        (b"[" * 100_000, r".*at most 64 deep"),
        (b"[1]", r".*JSON"),
        (b'{"dog": NaN}', r".*got nan"),
    ],
)
def test_broken_files(tmp_path, content, message):
    (tmp_path / "idf.json").write_bytes(content)
    with pytest.raises(ValueError, match=f"`idf` {message}"):
        idf_table(tmp_path / "idf.json")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^`idf`.*JSON.*none\.json"):
        idf_table(tmp_path / "none.json")


def test_a_pickled_dictionary(tmp_path):
    values = {"dog": 1.25, "cat": 3}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "idf.pkl").write_bytes(pickle.dumps(values, protocol))
        table = read_pickled(tmp_path / "idf.pkl")
        assert table == IdfTable(None, values)
    with pytest.raises(ValueError, match=r"^`idf`.*UTF-8.*`vlgauge idf OUT --pickle FILE`"):
        idf_table(tmp_path / "idf.pkl")


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("made-by-a-pickle",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Evil()), "mkdir; nothing"),
        (pickle.dumps({"dog": Evil()}), "executed"),
        (pickle.dumps(collections.Counter(a=1)), r"refers to collections\.Counter"),
        (pickle.dumps({"dog": 1.0})[:-4], "file that fails"),
        (b"(Pdog\n.", "object outside"),
        (b"", "file that fails"),
        (pickle.dumps([1.0]), r"^`path`"),
        (pickle.dumps({"dog": "x"}), r"^`idf`.*number.*word"),
    ],
)
def test_pickles_of_something_else(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "idf.pkl").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_pickled(tmp_path / "idf.pkl")
    assert not (tmp_path / "made-by-a-pickle").exists()
